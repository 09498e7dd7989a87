//! Reads a script into turns.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::super::error::excerpt;
use super::super::{CallText, Finish, ModelTurn};

/// Bytes of a fault's message; a wrong value in it can be as long as the file.
const MESSAGE_BYTES_MAX: usize = 400;
/// Bytes of a word of the script within a message.
const WORD_BYTES_MAX: usize = 80;

/// Says what is wrong with a script, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
}

/// Reads a whole script.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<ModelTurn>, Fault> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let message = "the script is empty; write an object such as `{\"turns\": [{\"text\": \"hi\"}]}`";
        return Err(Fault { line: 1, column: 1, message: message.to_owned() });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(&bytes[..error.valid_up_to()]))?;
    let script: Script = serde_json::from_str(text).map_err(|error| fault(&error))?;
    Ok(script.turns)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `turns`")]
struct Script {
    #[serde(deserialize_with = "turns")]
    turns: Vec<ModelTurn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a turn: an object with `text`, `calls` or both")]
struct Turn {
    #[serde(default, deserialize_with = "given")]
    text: Option<String>,
    #[serde(default, deserialize_with = "given")]
    calls: Option<Vec<Call>>,
    #[serde(default, deserialize_with = "finish")]
    finish: Option<Finish>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a call: an object with `name`, and perhaps `id` and `arguments`")]
struct Call {
    #[serde(default, deserialize_with = "given")]
    id: Option<String>,
    name: String,
    #[serde(default, deserialize_with = "arguments")]
    arguments: String,
}

/// Reads a value that may be left out but not be `null`.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn finish<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Finish>, D::Error> {
    let word = String::deserialize(deserializer)?;
    let known = [Finish::Stop, Finish::ToolCalls, Finish::MaxTokens].into_iter().find(|f| f.as_str() == word);
    known.map(Some).ok_or_else(|| {
        let word = excerpt(&word, WORD_BYTES_MAX);
        D::Error::custom(format!("`finish` is `{word}`; use `stop`, `tool-calls` or `max-tokens`"))
    })
}

/// Reads the raw argument text: the source of an object, or the content of a string.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw: &'de RawValue = Deserialize::deserialize(deserializer)?;
    match raw.get().as_bytes().first() {
        Some(b'{') => Ok(raw.get().to_owned()),
        Some(b'"') => serde_json::from_str(raw.get()).map_err(|_| {
            D::Error::custom("`arguments` has an escape that stands for no character; correct it")
        }),
        _ => Err(D::Error::custom("`arguments` must be an object, or a string with the raw text")),
    }
}

/// Reads the turns one by one, so that a fault in one is reported at its place.
fn turns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ModelTurn>, D::Error> {
    struct Turns;

    impl<'de> Visitor<'de> for Turns {
        type Value = Vec<ModelTurn>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of turns")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut turns = Vec::new();
            while let Some(turn) = list.next_element::<Turn>()? {
                turns.push(model_turn(turn, turns.len() + 1).map_err(A::Error::custom)?);
            }
            if turns.is_empty() {
                return Err(A::Error::custom("`turns` is empty; add at least one turn"));
            }
            Ok(turns)
        }
    }

    deserializer.deserialize_seq(Turns)
}

/// Makes turn `number`, counted from 1, as a real model's answer would come out.
fn model_turn(turn: Turn, number: usize) -> Result<ModelTurn, String> {
    if turn.text.is_none() && turn.calls.is_none() {
        return Err("this turn has nothing in it; give it `text`, `calls` or both".to_owned());
    }
    let mut calls: Vec<CallText> = Vec::new();
    for (call, index) in turn.calls.unwrap_or_default().into_iter().zip(1..) {
        let id = call.id.unwrap_or_else(|| format!("call-{number}-{index}"));
        if calls.iter().any(|earlier| earlier.id == id) {
            let id = excerpt(&id, WORD_BYTES_MAX);
            return Err(format!("two calls of this turn have the id `{id}`; give each its own"));
        }
        calls.push(CallText { id, name: call.name, arguments: call.arguments });
    }
    let finish = match (turn.finish, calls.is_empty()) {
        (Some(Finish::MaxTokens), _) => {
            calls.clear();
            Finish::MaxTokens
        }
        (Some(Finish::ToolCalls), true) => {
            return Err("this turn's `finish` is `tool-calls`, but it has no calls; add one".to_owned());
        }
        (_, true) => Finish::Stop,
        (_, false) => Finish::ToolCalls,
    };
    Ok(ModelTurn { text: turn.text.unwrap_or_default(), reasoning: None, calls, finish, usage: None })
}

fn fault(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = excerpt(text.strip_suffix(&place).unwrap_or(&text), MESSAGE_BYTES_MAX);
    Fault { line: error.line().max(1), column: error.column().max(1), message }
}

fn not_utf8(valid: &[u8]) -> Fault {
    let line_start = valid.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    Fault {
        line: valid.iter().filter(|b| **b == b'\n').count() + 1,
        column: valid.len() - line_start + 1,
        message: "this byte is not UTF-8; save the script as UTF-8".to_owned(),
    }
}
