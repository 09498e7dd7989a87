//! A published result in the form in which scenarios state it.

use fivegates_core::content::{Block, flatten};
use fivegates_core::json::Json;
use fivegates_core::outcome::{Ending, Outcome};

/// Writes a result down.
pub fn written(outcome: &Outcome) -> Json {
    let mut fields = vec![
        ("is_error", Json::from(outcome.is_error())),
        ("code", Json::from(outcome.code().map(str::to_owned))),
    ];
    match outcome.ending() {
        Ending::Success(success) => {
            fields.push(("value", success.value().clone()));
            if success.concludes_turn() {
                fields.push(("concludes_turn", Json::from(true)));
            }
        }
        Ending::Failure(failure) => {
            fields.push(("name", Json::from(failure.error().name().map(str::to_owned))));
            fields.push(("message", Json::from(failure.error().message())));
        }
    }
    fields.push(("content", Json::array(outcome.content().iter().map(block))));
    if let Some(meta) = outcome.meta() {
        fields.push(("meta", meta.clone()));
    }
    let contexts = outcome.contexts().iter().map(|context| Json::from(flatten(&context.content)));
    fields.push(("contexts", Json::array(contexts)));
    Json::object(fields)
}

fn block(block: &Block) -> Json {
    match block {
        Block::Text(text) => Json::String(text.clone()),
        Block::Other(other) => other.clone(),
    }
}
