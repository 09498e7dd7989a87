//! The OpenAI-compatible streaming chat completions format, as DeepSeek, OpenAI and most local servers speak it
//! (spec §19).
//!
//! `POST {base}/chat/completions` with `stream: true`. The answer is a stream of chunks that end with `[DONE]`; the
//! argument text of each call is put together from its pieces and never parsed here.

mod chunk;
mod config;
mod request;

use std::time::Duration;

use reqwest::Url;
use tokio::time::timeout;

use super::assembly::Assembly;
use super::transport::Transport;
use super::{BoxFuture, DeltaSink, ErrorCode, ModelRequest, ModelTurn, Provider, ProviderError};

pub use config::{DEEPSEEK_BASE_URL, DEEPSEEK_KEY_VARIABLE, OPENAI_BASE_URL, OPENAI_KEY_VARIABLE};
pub use config::{OpenAiConfig, PlainHttp, Service};

/// The data of the event that ends a complete answer.
const END_MARK: &str = "[DONE]";

/// Talks to one server in the OpenAI-compatible streaming format.
#[derive(Debug)]
pub struct OpenAiProvider {
    service: Service,
    fields: request::Fields,
    transport: Transport,
}

impl OpenAiProvider {
    /// Checks `config` and prepares the client; nothing is sent yet.
    ///
    /// Fails with `INVALID_BASE_URL`, `INSECURE_BASE_URL`, `MISSING_CREDENTIAL` or `TLS_SETUP`.
    pub fn new(config: OpenAiConfig) -> Result<Self, ProviderError> {
        let base = config.checked_base_url()?;
        let fields = request::Fields::of(config.service, &base);
        let transport = Transport::new(completions_url(base), config.key, config.limits)?;
        Ok(Self { service: config.service, fields, transport })
    }

    async fn run(
        &self,
        request: &ModelRequest,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ModelTurn, ProviderError> {
        let body = request::encode(request, self.fields)?;
        let mut stream = self.transport.post(body).await?;
        let mut assembly = Assembly::new(self.transport.limits(), deltas);
        let key = self.transport.key();
        let read = async {
            while let Some(event) = stream.next().await? {
                if event.data.trim() == END_MARK {
                    return Ok(());
                }
                chunk::apply(&event, key, &mut assembly)?;
            }
            match stream.tail() {
                Some(event) if event.data.trim() == END_MARK => Ok(()),
                _ => Err(closed()),
            }
        };
        let read: Result<(), ProviderError> = read.await;
        read.and_then(|()| assembly.settle()).map_err(|error| error.or_request_id(stream.request_id()))
    }
}

impl Provider for OpenAiProvider {
    fn name(&self) -> &str {
        self.service.as_str()
    }

    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: &'a mut DeltaSink<'_>,
    ) -> BoxFuture<'a, Result<ModelTurn, ProviderError>> {
        let ms = self.transport.limits().turn_timeout_ms;
        Box::pin(async move {
            match timeout(Duration::from_millis(ms), self.run(request, deltas)).await {
                Ok(result) => result,
                Err(_) => Err(ProviderError::new(
                    ErrorCode::Timeout,
                    format!("the model's answer was not complete after {ms} ms; ask for less at once"),
                )),
            }
        })
    }
}

/// Appends the path of the endpoint to a base URL with or without a slash at its end.
fn completions_url(mut base: Url) -> Url {
    let path = format!("{}/chat/completions", base.path().trim_end_matches('/'));
    base.set_path(&path);
    base
}

fn closed() -> ProviderError {
    ProviderError::new(
        ErrorCode::StreamClosed,
        "the model server closed the answer before its end mark; try again",
    )
}

#[cfg(test)]
mod tests;
