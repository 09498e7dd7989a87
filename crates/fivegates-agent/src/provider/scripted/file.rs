//! Reads a script into turns.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::super::error::excerpt;
use super::super::{CallText, Finish, ModelTurn};

/// Bytes of a call's id and of its name, as for a model behind a server.
const CALL_WORD_BYTES_MAX: usize = super::super::assembly::WORD_BYTES_MAX;

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
    let source = std::str::from_utf8(bytes).map_err(|error| {
        let (line, column) = place(&bytes[..error.valid_up_to()]);
        Fault { line, column, message: "this byte is not UTF-8; save the script as UTF-8".to_owned() }
    })?;
    let source = Source(source);
    let script: Script<'_> = source.read(source.0)?;
    let turns = source.read::<Vec<&RawValue>>(script.turns.get())?;
    if turns.is_empty() {
        return Err(source.fault(script.turns.get(), "`turns` is empty; add at least one turn"));
    }
    turns.into_iter().zip(1..).map(|(turn, number)| model_turn(source, turn.get(), number)).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `turns`")]
struct Script<'a> {
    #[serde(borrow)]
    turns: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a turn: an object with `text`, `calls` or both")]
struct Turn<'a> {
    #[serde(default, deserialize_with = "given")]
    text: Option<String>,
    #[serde(borrow, default, deserialize_with = "given")]
    calls: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, deserialize_with = "given")]
    finish: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a call: an object with `name`, and perhaps `id` and `arguments`")]
struct Call<'a> {
    #[serde(default, deserialize_with = "given")]
    id: Option<String>,
    name: String,
    #[serde(borrow, default, deserialize_with = "given")]
    arguments: Option<&'a RawValue>,
}

/// Reads a value that may be left out but not be `null`.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Makes turn `number`, counted from 1, as a real model's answer would come out.
fn model_turn(source: Source<'_>, text: &str, number: usize) -> Result<ModelTurn, Fault> {
    let turn: Turn<'_> = source.read(text)?;
    if turn.text.is_none() && turn.calls.is_none() {
        return Err(source.fault(text, "this turn has nothing in it; give it `text`, `calls` or both"));
    }
    let mut calls: Vec<CallText> = Vec::new();
    for (raw, index) in turn.calls.unwrap_or_default().into_iter().zip(1..) {
        let call: Call<'_> = source.read(raw.get())?;
        let id = call.id.unwrap_or_else(|| format!("call-{number}-{index}"));
        if id.len().max(call.name.len()) > CALL_WORD_BYTES_MAX {
            let message =
                format!("a call has an id or a name of more than {CALL_WORD_BYTES_MAX} bytes; shorten it");
            return Err(source.fault(raw.get(), &message));
        }
        if calls.iter().any(|earlier| earlier.id == id) {
            let id = excerpt(&id, WORD_BYTES_MAX);
            let message = format!("another call of this turn has the id `{id}` already; give each its own");
            return Err(source.fault(raw.get(), &message));
        }
        let arguments = call.arguments.map_or(Ok(String::new()), |raw| arguments(source, raw.get()))?;
        calls.push(CallText { id, name: call.name, arguments });
    }
    let finish = match (turn.finish, calls.is_empty()) {
        (None, true) => Finish::Stop,
        (None, false) => Finish::ToolCalls,
        (Some(word), no_calls) => finish(source, word.get(), no_calls)?,
    };
    if finish == Finish::MaxTokens {
        calls.clear();
    }
    Ok(ModelTurn { text: turn.text.unwrap_or_default(), reasoning: None, calls, finish, usage: None })
}

/// Takes the raw argument text: the source of an object, or the content of a string.
fn arguments(source: Source<'_>, text: &str) -> Result<String, Fault> {
    match text.as_bytes().first() {
        Some(b'{') => Ok(text.to_owned()),
        Some(b'"') => source.read(text),
        _ => Err(source.fault(text, "`arguments` must be an object, or a string with the raw text")),
    }
}

fn finish(source: Source<'_>, text: &str, no_calls: bool) -> Result<Finish, Fault> {
    let word: String = source.read(text)?;
    let known = [Finish::Stop, Finish::ToolCalls, Finish::MaxTokens].into_iter().find(|f| f.as_str() == word);
    match known {
        None => {
            let word = excerpt(&word, WORD_BYTES_MAX);
            let message = format!("`finish` is `{word}`; use `stop`, `tool-calls` or `max-tokens`");
            Err(source.fault(text, &message))
        }
        Some(Finish::ToolCalls) if no_calls => {
            Err(source.fault(text, "`finish` is `tool-calls`, but this turn has no calls; add one"))
        }
        Some(Finish::Stop) if !no_calls => Ok(Finish::ToolCalls),
        Some(finish) => Ok(finish),
    }
}

/// Is the script's text, of which every value that is read apart is a slice, so that its place is known.
#[derive(Clone, Copy)]
struct Source<'a>(&'a str);

impl<'a> Source<'a> {
    fn read<T: Deserialize<'a>>(self, part: &'a str) -> Result<T, Fault> {
        serde_json::from_str(part).map_err(|error| {
            let (line, column) = self.place(part);
            let text = error.to_string();
            let suffix = format!(" at line {} column {}", error.line(), error.column());
            let message = excerpt(text.strip_suffix(&suffix).unwrap_or(&text), MESSAGE_BYTES_MAX);
            let within = error.column().max(1);
            match error.line() {
                0 | 1 => Fault { line, column: column + within - 1, message },
                lines => Fault { line: line + lines - 1, column: within, message },
            }
        })
    }

    fn fault(self, part: &str, message: &str) -> Fault {
        let (line, column) = self.place(part);
        Fault { line, column, message: message.to_owned() }
    }

    fn place(self, part: &str) -> (usize, usize) {
        let before = (part.as_ptr() as usize).saturating_sub(self.0.as_ptr() as usize);
        place(&self.0.as_bytes()[..before.min(self.0.len())])
    }
}

/// Returns the line and column, from 1, of what follows `before`.
fn place(before: &[u8]) -> (usize, usize) {
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    (before.iter().filter(|b| **b == b'\n').count() + 1, before.len() - line_start + 1)
}
