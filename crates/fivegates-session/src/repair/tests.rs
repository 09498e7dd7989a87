use std::path::Path;

use fivegates_core::json::{Json, parse};

use super::*;
use crate::event::{NewEvent, NewSession};
use crate::journal::types;
use crate::{OpenOptions, SessionId, Store, Verdict};

/// A log of `type call-id` lines, `+` after an approval or intent as its type says.
fn log(lines: &[&str]) -> Vec<Seen> {
    let seen = |(seq, line): (usize, &&str)| {
        let (event_type, call) =
            line.split_once(' ').map_or((*line, None), |(kind, call)| (kind, Some(call)));
        let data = match event_type {
            types::ASSISTANT_MESSAGE => {
                let calls = call
                    .unwrap_or_default()
                    .split(',')
                    .map(|id| Json::object([("type", Json::from("tool-call")), ("id", Json::from(id))]));
                Json::object([("message", Json::object([("content", Json::array(calls))]))])
            }
            _ => parse(r#"{"turn":1,"step":1}"#).unwrap(),
        };
        let call_id = call.filter(|_| event_type != types::ASSISTANT_MESSAGE).map(str::to_owned);
        Seen { seq: seq as i64, time_ms: seq as i64, event_type: event_type.to_owned(), call_id, data }
    };
    lines.iter().enumerate().map(seen).collect()
}

fn check(lines: &[&str], trust: Trust, expected: &[&str]) {
    let shown = |closer: &Closer| {
        let code = closer.data.get("error").and_then(|error| error.get("code")).and_then(Json::as_str);
        let call = closer.call_id.as_deref().unwrap_or_default();
        format!("{} {call} {}", closer.event_type, code.unwrap_or_default()).trim_end().to_owned()
    };
    let events = log(lines);
    let closing = closers(&events, trust);
    assert_eq!(closing.iter().map(shown).collect::<Vec<_>>(), expected, "{lines:?}");
    // Idempotent: the closed log needs nothing (R-315).
    let mut closed = events;
    closed.extend(closing.iter().map(|closer| Seen {
        seq: closer.seq,
        time_ms: closer.time_ms,
        event_type: closer.event_type.to_owned(),
        call_id: closer.call_id.clone(),
        data: closer.data.clone(),
    }));
    assert_eq!(closers(&closed, trust), []);
}

#[test]
fn every_recorded_call_is_closed_once() {
    let (call, result) = ("tool/call a", "tool/result a TOOL_OUTCOME_UNKNOWN");
    check(&[], Trust::CallsOnly, &[]);
    check(&[call], Trust::CallsOnly, &[result]);
    check(&[call, "tool/result a"], Trust::CallsOnly, &[]);
    check(&[call, call, "tool/result a"], Trust::CallsOnly, &[result]);
    check(&[call], Trust::Intents, &["tool/result a TOOL_NOT_STARTED"]);
    check(&[call, "tool/decision a"], Trust::Intents, &["tool/result a TOOL_NOT_STARTED"]);
    check(&[call, "tool/decision a", "tool/intent a"], Trust::Intents, &[result]);
}

#[test]
fn a_call_that_waits_for_a_human_stays_parked() {
    check(
        &["tool/call a", "approval/asked a", "tool/call b"],
        Trust::Intents,
        &["tool/result b TOOL_NOT_STARTED"],
    );
    let decided = ["tool/call a", "approval/asked a", "approval/decided a"];
    check(&decided, Trust::Intents, &["tool/result a TOOL_NOT_STARTED"]);
}

#[test]
fn an_open_turn_is_closed_after_its_calls() {
    let lines = ["turn/start", "step/start", "assistant/message a,b", "tool/call b"];
    let expected =
        ["tool/result a TOOL_NOT_STARTED", "tool/result b TOOL_OUTCOME_UNKNOWN", "step/end", "turn/end"];
    check(&lines, Trust::CallsOnly, &expected);
    check(
        &["turn/start", "step/start", "assistant/message a", "tool/call a", "tool/result a"],
        Trust::Intents,
        &["step/end", "turn/end"],
    );
}

fn new_session() -> NewSession {
    let meta = r#"{"intents":true}"#.to_owned();
    let id = SessionId::generate().unwrap();
    NewSession { id, created_at_ms: 1, kind: "exec".to_owned(), cwd: None, meta }
}

fn event(event_type: &str, call_id: &str) -> NewEvent {
    NewEvent {
        event_type: event_type.to_owned(),
        time_ms: 7,
        call_id: Some(call_id.to_owned()),
        data: "{}".to_owned(),
    }
}

/// Leaves the mark of a session as its dead process would.
fn abandon(record: &Path, session: SessionId) {
    Live::hold(record, session).unwrap().leave();
}

#[tokio::test]
async fn only_sessions_of_dead_processes_are_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.sqlite");
    let store = Store::open(&path, &OpenOptions::default()).unwrap();
    let (dead, living) = (new_session(), new_session());
    for session in [&dead, &living] {
        let appender = store.begin(session.clone()).unwrap();
        appender
            .append_all(vec![event(types::TOOL_CALL, "a"), event(types::TOOL_INTENT, "a")])
            .await
            .unwrap();
    }
    abandon(&path, dead.id);
    abandon(&path, SessionId::generate().unwrap());
    let held = Live::hold(&path, living.id).unwrap();
    assert!(Live::hold(&path, living.id).is_err());
    let repaired = repair_abandoned(&store).await.unwrap();
    assert_eq!(repaired, [Repaired { session: dead.id, results: 1 }]);
    assert_eq!(repair_abandoned(&store).await.unwrap(), []);
    drop(held);
    let reader = store.reader().unwrap();
    assert_eq!(reader.session(dead.id.as_str()).unwrap().event_count(), 3);
    assert_eq!(reader.session(living.id.as_str()).unwrap().event_count(), 2);
    assert!(matches!(reader.verify(dead.id).unwrap(), Verdict::Intact(_)));
    let marks = std::fs::read_dir(folder.path().join("record.sqlite-live")).unwrap().count();
    assert_eq!(marks, 0);
}
