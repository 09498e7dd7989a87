//! What a log lacks, as a function of the log alone.

use std::collections::HashSet;

use fivegates_core::json::Json;

use crate::journal::types;

/// An event of the log, as far as closing it needs.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its place.
    pub seq: i64,
    /// When it happened, in milliseconds since 1970.
    pub time_ms: i64,
    /// Its type.
    pub event_type: String,
    /// The call that it belongs to.
    pub call_id: Option<String>,
    /// Its payload.
    pub data: Json,
}

/// An event that closes something. It repeats the time of the last event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closer {
    /// Where it goes.
    pub seq: i64,
    /// When, in milliseconds since 1970.
    pub time_ms: i64,
    /// Its type.
    pub event_type: &'static str,
    /// The call that it answers.
    pub call_id: Option<String>,
    /// Its payload.
    pub data: Json,
}

/// What the absence of an intent means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The log has an intent for every body with effects: a call without one did not start (L-50).
    Intents,
    /// The log has no intents: a recorded call may have run.
    CallsOnly,
}

const NOT_STARTED: Outcome = Outcome {
    name: "ToolNotStartedError",
    code: "TOOL_NOT_STARTED",
    text: "the tool was not started before the run was interrupted; call it again if it is still needed",
};

const UNKNOWN: Outcome = Outcome {
    name: "ToolOutcomeUnknownError",
    code: "TOOL_OUTCOME_UNKNOWN",
    text: "the run was interrupted after this call was recorded, so it may or may not have taken effect; repeat it \
           only if it reads or is idempotent, otherwise look first or ask",
};

struct Outcome {
    name: &'static str,
    code: &'static str,
    text: &'static str,
}

/// A recorded call that has no result.
struct Open {
    id: String,
    seq: i64,
    intended: bool,
    asked: bool,
    decided: bool,
}

/// Returns what closes a log, in the order in which it is appended; nothing when nothing is open.
pub fn closers(log: &[Seen], trust: Trust) -> Vec<Closer> {
    let mut state = State::default();
    for event in log {
        state.take(event);
    }
    let Some(last) = log.last() else {
        return Vec::new();
    };
    let mut closing = Closing { next: last.seq + 1, time_ms: last.time_ms, closers: Vec::new() };
    let place = state.step.or(state.turn.map(|turn| (turn, 0)));
    // Calls that the open step asked for, in the order in which it did; then what was recorded without being asked for.
    for id in std::mem::take(&mut state.requested) {
        match state.open.iter().position(|open| open.id == id) {
            Some(at) => {
                let open = state.open.remove(at);
                closing.result(&open.id, Some(&open), trust, place);
            }
            None if state.answered.contains(&id) => {}
            None => closing.result(&id, None, trust, place),
        }
    }
    for open in &state.open {
        closing.result(&open.id, Some(open), trust, place);
    }
    if let Some((turn, step)) = state.step {
        closing.push(
            types::STEP_END,
            None,
            Json::object([("turn", Json::from(turn)), ("step", Json::from(step))]),
        );
    }
    if let Some(turn) = state.turn {
        let reason = Json::object([("kind", Json::from("interrupted"))]);
        closing.push(types::TURN_END, None, Json::object([("turn", Json::from(turn)), ("reason", reason)]));
    }
    closing.closers
}

/// What is open at some point of a log.
#[derive(Default)]
struct State {
    turn: Option<i64>,
    step: Option<(i64, i64)>,
    /// Ids that the open step's answers asked for.
    requested: Vec<String>,
    /// Ids that got a result in the open step.
    answered: HashSet<String>,
    open: Vec<Open>,
}

impl State {
    fn take(&mut self, event: &Seen) {
        match event.event_type.as_str() {
            types::TURN_START => self.turn = Some(number(&event.data, "turn")),
            types::TURN_END => self.turn = None,
            types::STEP_START => {
                self.step = Some((number(&event.data, "turn"), number(&event.data, "step")));
                self.requested.clear();
                self.answered.clear();
            }
            types::STEP_END => {
                self.step = None;
                self.requested.clear();
            }
            types::ASSISTANT_MESSAGE => self.requested.extend(requested(&event.data)),
            types::TOOL_CALL => self.open.push(Open {
                id: event.call_id.clone().unwrap_or_default(),
                seq: event.seq,
                intended: false,
                asked: false,
                decided: false,
            }),
            types::TOOL_INTENT => self.mark(event, |open| open.intended = true),
            types::APPROVAL_ASKED => self.mark(event, |open| open.asked = true),
            types::APPROVAL_DECIDED => self.mark(event, |open| open.decided = true),
            types::TOOL_RESULT => self.answer(event),
            _ => {}
        }
    }

    /// Marks the newest open call of the event's id.
    fn mark(&mut self, event: &Seen, mark: impl FnOnce(&mut Open)) {
        let of_call = |open: &&mut Open| Some(&open.id) == event.call_id.as_ref();
        if let Some(open) = self.open.iter_mut().rev().find(of_call) {
            mark(open);
        }
    }

    fn answer(&mut self, event: &Seen) {
        let cited = event.data.get("sourceEventSeqs").and_then(Json::as_array);
        let cited = cited.and_then(|seqs| seqs.first()?.as_number()?.as_i64());
        let by_seq = cited.and_then(|seq| self.open.iter().position(|open| open.seq == seq));
        let by_id = || self.open.iter().position(|open| Some(&open.id) == event.call_id.as_ref());
        if let Some(at) = by_seq.or_else(by_id) {
            self.open.remove(at);
        }
        self.answered.extend(event.call_id.clone());
    }
}

/// The ids of the calls in an assistant's message.
fn requested(data: &Json) -> Vec<String> {
    let content = crate::journal::member(data, &["message", "content"]).and_then(Json::as_array);
    let blocks = content.unwrap_or_default().iter();
    let calls = blocks.filter(|block| block.get("type").and_then(Json::as_str) == Some("tool-call"));
    calls.filter_map(|call| call.get("id")?.as_str().map(str::to_owned)).collect()
}

fn number(data: &Json, key: &str) -> i64 {
    data.get(key).and_then(Json::as_number).and_then(|number| number.as_i64()).unwrap_or(0)
}

struct Closing {
    next: i64,
    time_ms: i64,
    closers: Vec<Closer>,
}

impl Closing {
    fn push(&mut self, event_type: &'static str, call_id: Option<&str>, data: Json) {
        let call_id = call_id.map(str::to_owned);
        self.closers.push(Closer { seq: self.next, time_ms: self.time_ms, event_type, call_id, data });
        self.next += 1;
    }

    fn result(&mut self, id: &str, open: Option<&Open>, trust: Trust, place: Option<(i64, i64)>) {
        let outcome = match open {
            None => &NOT_STARTED,
            // A human has not answered: the call waits, and is dispatched at most once when the session goes on (L-66).
            Some(open) if open.asked && !open.decided && !open.intended => return,
            Some(open) if trust == Trust::Intents && !open.intended => &NOT_STARTED,
            Some(_) => &UNKNOWN,
        };
        let text = Json::object([
            ("type", Json::from("text")),
            ("text", Json::from(format!("Error: {}", outcome.text))),
        ]);
        let result = Json::object([
            ("type", Json::from("tool-result")),
            ("toolCallId", Json::from(id)),
            ("content", Json::array([text])),
            ("isError", Json::from(true)),
        ]);
        let message = Json::object([
            // The same for the same log.
            ("id", Json::from(format!("interrupted-tool-result-{id}-{}", self.next))),
            ("role", Json::from("user")),
            ("content", Json::array([result])),
            ("source", Json::object([("kind", Json::from("tool")), ("callId", Json::from(id))])),
        ]);
        let error = [("name", Json::from(outcome.name)), ("code", Json::from(outcome.code))];
        let mut members = Vec::new();
        if let Some((turn, step)) = place {
            members.extend([("turn", Json::from(turn)), ("step", Json::from(step))]);
        }
        members.extend([("callId", Json::from(id)), ("message", message), ("error", Json::object(error))]);
        if let Some(open) = open {
            members.push(("sourceEventSeqs", Json::array([Json::from(open.seq)])));
        }
        self.push(types::TOOL_RESULT, Some(id), Json::object(members));
    }
}
