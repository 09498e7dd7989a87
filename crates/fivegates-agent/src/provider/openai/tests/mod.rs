//! Tests against a real local server.

mod answers;
mod faults;

use super::super::testing::{FakeServer, Reply};
use super::super::{ApiKey, Delta, Limits, Message, ModelRequest, ModelTurn, Provider, ProviderError};
use super::{OpenAiConfig, OpenAiProvider};

const KEY: &str = "sk-test-secret";

fn config(base_url: &str) -> OpenAiConfig {
    OpenAiConfig {
        base_url: Some(base_url.to_owned()),
        key: Some(ApiKey::parse(KEY, "TEST_KEY").unwrap()),
        ..OpenAiConfig::default()
    }
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".to_owned(),
        messages: vec![Message::User { text: "hi".to_owned() }],
        ..ModelRequest::default()
    }
}

async fn ask(config: OpenAiConfig) -> (Result<ModelTurn, ProviderError>, String) {
    let mut seen = String::new();
    let mut sink = |delta: Delta<'_>| {
        seen.push_str(&match delta {
            Delta::Text(text) => text.to_owned(),
            Delta::Reasoning(text) => format!("<{text}>"),
            Delta::CallStarted { index, name } => format!("[{index} {name}]"),
            Delta::CallArguments { index, text } => format!("{{{index}:{text}}}"),
        });
    };
    let provider = OpenAiProvider::new(config).unwrap();
    let turn = provider.turn(&request(), &mut sink).await;
    (turn, seen)
}

/// Plays one reply and returns the turn and what the sink saw.
async fn play(reply: Reply, limits: Limits) -> (Result<ModelTurn, ProviderError>, String) {
    let server = FakeServer::start(vec![reply]).await.unwrap();
    let answer = ask(OpenAiConfig { limits, ..config(server.base_url()) }).await;
    assert_eq!(server.requests().len(), 1);
    answer
}
