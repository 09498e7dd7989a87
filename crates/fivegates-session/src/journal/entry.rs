//! Payloads.

use std::sync::Arc;

use fivegates_core::call::{Call, Met};
use fivegates_core::content::Block;
use fivegates_core::decision::Denial;
use fivegates_core::json::Json;
use fivegates_core::outcome::Ending;
use fivegates_core::ports::{CallEntry, GateVerdict, OutcomeEntry};

use super::types;

/// One event before it is appended.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The event type.
    pub event_type: &'static str,
    /// The call that it belongs to.
    pub call_id: Option<Arc<str>>,
    /// The payload.
    pub data: Json,
}

/// The turn and step that an event belongs to, each counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The turn.
    pub turn: u32,
    /// The step within the turn.
    pub step: u32,
}

impl Entry {
    /// Makes an event that belongs to no call.
    pub fn new(event_type: &'static str, data: Json) -> Self {
        Self { event_type, call_id: None, data }
    }

    fn of_call(event_type: &'static str, call_id: &str, at: Option<Position>, mut members: Members) -> Self {
        if let Some(at) = at {
            members.splice(0..0, [("turn", Json::from(at.turn)), ("step", Json::from(at.step))]);
        }
        Self { event_type, call_id: Some(Arc::from(call_id)), data: Json::object(members) }
    }

    pub(super) fn call(entry: &CallEntry<'_>, at: Option<Position>) -> Self {
        let mut members = vec![
            ("callId", Json::from(entry.id.as_str())),
            ("name", Json::from(entry.name.as_str())),
            // The model's own text, byte for byte; it need not be JSON.
            ("arguments", Json::from(entry.arguments)),
        ];
        if let Some(parent) = entry.parent {
            members.push(("parentCallId", Json::from(parent.as_str())));
            members.push(("rootCallId", Json::from(entry.root.as_str())));
        }
        Self::of_call(types::TOOL_CALL, entry.id.as_str(), at, members)
    }

    pub(super) fn decision(call: &Call, verdict: GateVerdict, met: &[Met], at: Option<Position>) -> Self {
        let verdict = match verdict {
            GateVerdict::Permitted => "permitted",
            GateVerdict::Refused => "refused",
        };
        let members = vec![
            ("callId", Json::from(call.id().as_str())),
            ("verdict", Json::from(verdict)),
            ("digest", Json::from(hex(&call.digest()))),
            ("met", met_json(met)),
        ];
        Self::of_call(types::TOOL_DECISION, call.id().as_str(), at, members)
    }

    pub(super) fn intent(call: &Call, at: Option<Position>) -> Self {
        let effects = call.effects();
        let members = vec![
            ("callId", Json::from(call.id().as_str())),
            ("digest", Json::from(hex(&call.digest()))),
            ("idempotent", Json::from(effects.idempotent)),
            ("destructive", Json::from(effects.destructive)),
        ];
        Self::of_call(types::TOOL_INTENT, call.id().as_str(), at, members)
    }

    pub(super) fn result(entry: &OutcomeEntry<'_>, call_seq: Option<i64>, at: Option<Position>) -> Self {
        let id = Json::from(entry.id.as_str());
        let outcome: &Ending = entry.outcome;
        let content = Json::array(outcome.content().iter().map(Block::to_json));
        let result = Json::object([
            ("type", Json::from("tool-result")),
            ("toolCallId", id.clone()),
            ("content", content),
            ("isError", Json::from(outcome.is_error())),
        ]);
        let source = Json::object([("kind", Json::from("tool")), ("callId", id.clone())]);
        let message = Json::object([
            ("role", Json::from("user")),
            ("content", Json::array([result])),
            ("source", source),
        ]);
        let mut members =
            vec![("callId", id), ("name", Json::from(entry.name.as_str())), ("message", message)];
        if let Some(identity) = outcome.failure().and_then(|failure| failure.error().identity()) {
            let error = [("name", Json::from(&*identity.name)), ("code", Json::from(&*identity.code))];
            members.push(("error", Json::object(error)));
        }
        if let Some(denial) = outcome.failure().and_then(|failure| failure.denial()) {
            members.push(("denial", denial_json(denial)));
        }
        if let Some(meta) = outcome.meta() {
            members.push(("meta", meta.clone()));
        }
        members.push(("met", met_json(entry.met)));
        members.push(("durationMs", Json::from(entry.duration_ms)));
        if let Some(seq) = call_seq {
            members.push(("sourceEventSeqs", Json::array([Json::from(seq)])));
        }
        Self::of_call(types::TOOL_RESULT, entry.id.as_str(), at, members)
    }
}

type Members = Vec<(&'static str, Json)>;

/// A denial as it stands in results and in the record (L-03).
pub fn denial_json(denial: &Denial) -> Json {
    Json::object([
        ("kind", Json::from(denial.kind().as_str())),
        ("code", Json::from(denial.code())),
        ("by", Json::from(denial.by().map(|by| by.as_str().to_owned()))),
        ("reason", Json::from(denial.reason())),
    ])
}

/// What a call met, as it stands in results and in the record.
pub fn met_json(met: &[Met]) -> Json {
    Json::array(met.iter().map(|met| {
        let mut members =
            vec![("stage", Json::from(met.stage.as_str())), ("verdict", Json::from(met.verdict))];
        if let Some(by) = &met.by {
            members.push(("by", Json::from(by.as_str())));
        }
        if let Some(code) = &met.code {
            members.push(("code", Json::from(&**code)));
        }
        if let Some(reason) = &met.reason {
            members.push(("reason", Json::from(&**reason)));
        }
        Json::object(members)
    }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(half.into(), 16).unwrap_or('0'));
        }
        text
    })
}
