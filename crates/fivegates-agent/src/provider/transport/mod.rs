//! Carries a request to a model server and its answer back as events: bytes, time and limits, no dialect.

mod failure;
mod sse;

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url, redirect};
use tokio::time::{Instant, timeout, timeout_at};

use super::assembly::malformed;
use super::{ApiKey, ErrorCode, Limits, ProviderError};

pub(crate) use failure::{WireError, of_error_event, of_event};
pub(crate) use sse::Event;

/// Bytes of an error answer that are read.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;
/// Milliseconds that reading an error answer may take; the status alone is enough.
const ERROR_BODY_TIMEOUT_MS: u64 = 10_000;

/// Sends requests to one server.
#[derive(Debug)]
pub(crate) struct Transport {
    client: Client,
    url: Url,
    key: Option<ApiKey>,
    limits: Limits,
}

impl Transport {
    /// Prepares a client for `url`.
    ///
    /// - TLS: rustls with ring; certificates are judged by the system's roots (`SSL_CERT_FILE` counts), so a company's
    ///   own authority works as it does for every other program. A plain `http` URL needs no roots and loads none.
    /// - Redirects are not followed: the key must not travel to a host nobody named.
    /// - `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` are honoured, except for a loopback host, which no proxy
    ///   could reach.
    pub(crate) fn new(url: Url, key: Option<ApiKey>, limits: Limits) -> Result<Self, ProviderError> {
        install_crypto();
        let mut builder = Client::builder()
            .user_agent(concat!("fivegates/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_millis(limits.connect_timeout_ms));
        if url.scheme() == "http" {
            builder = builder.tls_certs_only([]);
        }
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            ProviderError::new(
                ErrorCode::TlsSetup,
                format!(
                    "cannot prepare the connection to the model server: {}; install the system's root certificates \
                     or name a file of them in `SSL_CERT_FILE`",
                    failure::clean(&innermost(&error), key.as_ref())
                ),
            )
        })?;
        Ok(Self { client, url, key, limits })
    }

    /// Returns the limits it keeps.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the key it sends, for scrubbing.
    pub(crate) fn key(&self) -> Option<&ApiKey> {
        self.key.as_ref()
    }

    /// Posts a JSON `body` and returns the answer's events once the server has answered with a success.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<EventStream<'_>, ProviderError> {
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, bearer(key)?);
        }
        let idle = Duration::from_millis(self.limits.idle_timeout_ms);
        let response = match timeout(idle, request.send()).await {
            Err(_) => return Err(self.idle()),
            Ok(Err(error)) => return Err(self.not_sent(&error)),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let request_id = failure::request_id(response.headers());
        if is_json(&response) {
            return Err(self.not_a_stream(response).await.or_request_id(request_id.as_deref()));
        }
        Ok(EventStream {
            transport: self,
            response,
            request_id,
            parser: sse::SseParser::new(self.limits.line_bytes_max),
            received_bytes: 0,
            chunk: Vec::new(),
            used: 0,
        })
    }

    async fn refusal(&self, response: Response) -> ProviderError {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        failure::of_status(status, &headers, &self.error_body(response).await, self.key())
    }

    /// Makes the error of a success that is one JSON document: some servers put an error there.
    async fn not_a_stream(&self, response: Response) -> ProviderError {
        #[derive(serde::Deserialize)]
        struct Body {
            error: Option<WireError>,
        }
        let body = self.error_body(response).await;
        match serde_json::from_slice(&body) {
            Ok(Body { error: Some(error) }) => failure::of_event(error, self.key()),
            _ => malformed("it is one JSON document, not a stream of events"),
        }
    }

    /// Reads an error answer as far as it is worth.
    async fn error_body(&self, mut response: Response) -> Vec<u8> {
        let wait = Duration::from_millis(ERROR_BODY_TIMEOUT_MS.min(self.limits.idle_timeout_ms));
        let until = Instant::now() + wait;
        let mut body = Vec::new();
        while let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await {
            let room = ERROR_BODY_BYTES_MAX - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() >= room {
                break;
            }
        }
        body
    }

    fn idle(&self) -> ProviderError {
        ProviderError::new(
            ErrorCode::Timeout,
            format!("the model server sent nothing for {} ms; try again", self.limits.idle_timeout_ms),
        )
    }

    fn not_sent(&self, error: &reqwest::Error) -> ProviderError {
        let origin = self.url.origin().ascii_serialization();
        let cause = failure::clean(&innermost(error), self.key());
        if error.is_timeout() {
            let ms = self.limits.connect_timeout_ms;
            let text =
                format!("no connection to `{origin}` within {ms} ms; check the base URL and the network");
            return ProviderError::new(ErrorCode::Timeout, text);
        }
        let text = if error.is_connect() {
            format!("cannot connect to `{origin}`: {cause}; check the base URL and that the server runs")
        } else {
            format!("the connection to `{origin}` broke before the answer: {cause}; try again")
        };
        ProviderError::new(ErrorCode::Transport, text)
    }
}

/// Is an answer that is arriving. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct EventStream<'a> {
    transport: &'a Transport,
    response: Response,
    request_id: Option<String>,
    parser: sse::SseParser,
    received_bytes: u64,
    chunk: Vec<u8>,
    used: usize,
}

impl EventStream<'_> {
    /// Returns the server's id for the request.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Waits for the next event; `None` at the end of the answer.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        loop {
            let step = self.parser.step(&self.chunk[self.used..]).map_err(|error| match error {
                sse::SseError::TooLong { .. } => too_large(&error.to_string()),
                sse::SseError::NotUtf8 => malformed(&error.to_string()),
            })?;
            self.used += step.used;
            if step.event.is_some() {
                return Ok(step.event);
            }
            if !self.receive().await? {
                return Ok(None);
            }
        }
    }

    /// Returns the event that the end of the answer left unfinished, if any.
    pub(crate) fn tail(&mut self) -> Option<Event> {
        self.parser.tail()
    }

    async fn receive(&mut self) -> Result<bool, ProviderError> {
        let limits = &self.transport.limits;
        let idle = Duration::from_millis(limits.idle_timeout_ms);
        let chunk = match timeout(idle, self.response.chunk()).await {
            Err(_) => return Err(self.transport.idle()),
            Ok(Err(error)) => return Err(self.broken(&error)),
            Ok(Ok(None)) => return Ok(false),
            Ok(Ok(Some(chunk))) => chunk,
        };
        self.received_bytes = self.received_bytes.saturating_add(chunk.len() as u64);
        if self.received_bytes > limits.response_bytes_max {
            return Err(too_large(&format!("it is longer than {} bytes", limits.response_bytes_max)));
        }
        self.chunk.clear();
        self.chunk.extend_from_slice(&chunk);
        self.used = 0;
        Ok(true)
    }

    fn broken(&self, error: &reqwest::Error) -> ProviderError {
        let origin = self.transport.url.origin().ascii_serialization();
        let cause = failure::clean(&innermost(error), self.transport.key());
        ProviderError::new(
            ErrorCode::Transport,
            format!("the connection to `{origin}` broke within the answer: {cause}; try again"),
        )
    }
}

/// Tells whether `url` names this machine, by its form alone.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<std::net::IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Makes ring the process's TLS provider, unless the program has chosen one already.
fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // It fails only if another thread was faster, which is as good.
        let _: Result<(), Arc<_>> = rustls::crypto::ring::default_provider().install_default();
    }
}

fn bearer(key: &ApiKey) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.reveal())).map_err(|_| {
        ProviderError::new(ErrorCode::InvalidCredential, "the key cannot be sent in a header")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}

fn too_large(what: &str) -> ProviderError {
    ProviderError::new(
        ErrorCode::ResponseTooLarge,
        format!("the model's answer is too large: {what}; ask for less at once"),
    )
}

/// Returns the text of the first cause, which says more than the layers around it.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.source();
    let mut text = "unknown cause".to_owned();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_known_by_their_form() {
        let cases = [
            ("http://localhost:1", true),
            ("http://LOCALHOST./v1", true),
            ("http://api.localhost", true),
            ("http://127.0.0.1", true),
            ("http://127.9.9.9:80", true),
            ("http://[::1]:8080", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://2130706433/", true),
            ("http://localhost.evil.com", false),
            ("http://127.0.0.1.evil.com", false),
            ("http://notlocalhost", false),
            ("http://0.0.0.0", false),
            ("http://10.0.0.1", false),
            ("https://api.deepseek.com", false),
        ];
        for (url, want) in cases {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), want, "{url}");
        }
    }
}
