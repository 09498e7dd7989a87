//! The loop's own events.

use fivegates_core::content::{Block, Context};
use fivegates_core::json::Json;
use fivegates_session::journal::{Entry, Position, types};

use super::event::TurnEnd;
use crate::provider::{Message, ModelTurn, Usage};

fn at(position: Position) -> [(&'static str, Json); 2] {
    [("turn", Json::from(position.turn)), ("step", Json::from(position.step))]
}

pub(super) fn turn_start(turn: u32) -> Entry {
    Entry::new(types::TURN_START, Json::object([("turn", Json::from(turn))]))
}

pub(super) fn turn_end(turn: u32, end: &TurnEnd) -> Entry {
    let mut reason = vec![("kind", Json::from(end.kind()))];
    match end {
        TurnEnd::Completed { .. } | TurnEnd::MaxTokens { .. } => {}
        TurnEnd::Aborted(cause) => reason.push(("reason", Json::from(cause.to_string()))),
        TurnEnd::Error(failure) => {
            let members = [
                ("code", Json::from(failure.code.as_str())),
                ("message", Json::from(failure.message.as_str())),
            ];
            reason.push(("failure", Json::object(members)));
        }
    }
    Entry::new(types::TURN_END, Json::object([("turn", Json::from(turn)), ("reason", Json::object(reason))]))
}

pub(super) fn step_start(position: Position) -> Entry {
    Entry::new(types::STEP_START, Json::object(at(position)))
}

pub(super) fn step_end(position: Position) -> Entry {
    Entry::new(types::STEP_END, Json::object(at(position)))
}

pub(super) fn user_message(position: Position, context: &Context) -> Entry {
    let source = match &*context.source {
        "user" => Json::object([("kind", Json::from("user"))]),
        plugin => Json::object([("kind", Json::from("plugin")), ("plugin", Json::from(plugin))]),
    };
    let content = Json::array(context.content.iter().map(Block::to_json));
    message(types::USER_MESSAGE, position, "user", content, source, Vec::new())
}

pub(super) fn assistant_message(position: Position, turn: &ModelTurn) -> Entry {
    let mut content = Vec::new();
    if let Some(reasoning) = &turn.reasoning {
        content.push(block("reasoning", reasoning));
    }
    if !turn.text.is_empty() {
        content.push(block("text", &turn.text));
    }
    content.extend(turn.calls.iter().map(|call| {
        Json::object([
            ("type", Json::from("tool-call")),
            ("id", Json::from(call.id.as_str())),
            ("name", Json::from(call.name.as_str())),
            ("arguments", Json::from(call.arguments.as_str())),
        ])
    }));
    let mut more = vec![("finish", Json::from(turn.finish.as_str()))];
    if let Some(usage) = &turn.usage {
        more.push(("usage", usage_json(usage)));
    }
    message(types::ASSISTANT_MESSAGE, position, "assistant", Json::from(content), model_source(), more)
}

pub(super) fn interrupted_message(position: Position, heard: &str) -> Entry {
    let content = Json::array([block("text", heard)]);
    let more = vec![("interrupted", Json::from(true))];
    message(types::ASSISTANT_MESSAGE, position, "assistant", content, model_source(), more)
}

/// What the model is sent back of its own answer.
pub(super) fn remembered(turn: &ModelTurn) -> Message {
    Message::Assistant {
        text: turn.text.clone(),
        reasoning: turn.reasoning.clone(),
        calls: turn.calls.clone(),
    }
}

fn model_source() -> Json {
    Json::object([("kind", Json::from("model"))])
}

fn block(kind: &str, text: &str) -> Json {
    Json::object([("type", Json::from(kind)), ("text", Json::from(text))])
}

fn message(
    event_type: &'static str,
    position: Position,
    role: &str,
    content: Json,
    source: Json,
    more: Vec<(&'static str, Json)>,
) -> Entry {
    let message = Json::object([("role", Json::from(role)), ("content", content), ("source", source)]);
    let members = at(position).into_iter().chain([("message", message)]).chain(more);
    Entry::new(event_type, Json::object(members))
}

fn usage_json(usage: &Usage) -> Json {
    let counted = [
        ("inputTokens", Some(usage.input_tokens)),
        ("outputTokens", Some(usage.output_tokens)),
        ("cacheReadTokens", usage.cache_read_tokens),
        ("cacheWriteTokens", usage.cache_write_tokens),
        ("reasoningTokens", usage.reasoning_tokens),
    ];
    Json::object(counted.into_iter().filter_map(|(name, count)| Some((name, Json::from(count?)))))
}
