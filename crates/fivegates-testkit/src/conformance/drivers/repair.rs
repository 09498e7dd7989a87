//! The driver `repair`: what closes a log that a dead process left open.

use fivegates_core::json::Json;
use fivegates_session::journal::{member, types};
use fivegates_session::repair::{Closer, Seen, Trust, closers};

use super::Ran;
use crate::conformance::fields::{Fields, Stop};
use crate::conformance::scenario::Scenario;

pub(super) fn run(scenario: &Scenario) -> Result<Ran, Stop> {
    Fields::of("given", &scenario.given)?.done()?;
    let events = scenario.when.as_array().ok_or_else(|| Stop::malformed("when", "an array of events"))?;
    let log = events.iter().enumerate().map(|(at, event)| seen(at, event)).collect::<Result<Vec<_>, _>>()?;
    // The reference's logs hold no intents.
    let appended = closers(&log, Trust::CallsOnly).iter().map(shown).collect::<Vec<_>>();
    Ok(Ran::Done(vec![("appended".to_owned(), Json::from(appended))]))
}

/// Reads a compact event; its place in the list is its sequence number and its time.
fn seen(at: usize, event: &Json) -> Result<Seen, Stop> {
    let mut fields = Fields::of(&format!("when[{at}]"), event)?;
    let place = i64::try_from(at).unwrap_or(i64::MAX);
    let malformed = |what| Stop::malformed(&format!("when[{at}]"), what);
    let event_type =
        fields.get("type").and_then(Json::as_str).ok_or_else(|| malformed("an event with a type"))?;
    let call_id = fields.get("call").and_then(Json::as_str).map(str::to_owned);
    let mut members = Vec::new();
    for key in ["turn", "step", "reason"] {
        members.extend(fields.get(key).map(|value| (key, value.clone())));
    }
    if let Some(calls) = fields.get("calls") {
        let ids = calls.as_array().ok_or_else(|| malformed("`calls` as an array of ids"))?;
        let blocks =
            ids.iter().map(|id| Json::object([("type", Json::from("tool-call")), ("id", id.clone())]));
        members.push(("message", Json::object([("content", Json::array(blocks))])));
    }
    let event_type = event_type.to_owned();
    fields.done()?;
    Ok(Seen { seq: place, time_ms: place, event_type, call_id, data: Json::object(members) })
}

fn shown(closer: &Closer) -> Json {
    let data = |path: &[&str]| member(&closer.data, path).cloned().unwrap_or(Json::Null);
    let mut members = vec![
        ("seq", Json::from(closer.seq)),
        ("time", Json::from(closer.time_ms)),
        ("type", Json::from(closer.event_type)),
    ];
    match closer.event_type {
        types::TOOL_RESULT => {
            let result = data(&["message", "content"]);
            let is_error = result.as_array().and_then(|blocks| blocks.first()?.get("isError").cloned());
            members.extend([
                ("call", Json::from(closer.call_id.clone())),
                ("is_error", is_error.unwrap_or(Json::Null)),
                ("code", data(&["error", "code"])),
                ("name", data(&["error", "name"])),
                ("message_id", data(&["message", "id"])),
                ("source_seqs", data(&["sourceEventSeqs"])),
            ]);
        }
        types::TURN_END => members.push(("reason", data(&["reason", "kind"]))),
        _ => {}
    }
    Json::object(members)
}
