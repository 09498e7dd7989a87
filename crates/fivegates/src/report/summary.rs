//! One event in a few words.

use fivegates_core::json::{self, Json};
use fivegates_session::Event;
use fivegates_session::journal::types;

use super::collect::{APPROVAL_ASKED, APPROVAL_DECIDED};
use super::payload::{flag, number, text};
use crate::escape;

/// Characters of a summary.
const SUMMARY_CHARS_MAX: usize = 100;
/// Characters of a call id in it, so that there is room for the rest.
const ID_CHARS_MAX: usize = 40;

/// Sums an event up in one escaped line.
pub(crate) fn summary(event: &Event) -> String {
    let call = event.call_id.as_deref().map(|id| escape::line(id, ID_CHARS_MAX));
    let rest = match json::parse(&event.data) {
        Ok(data) => escape::line(&words(&event.event_type, &data), SUMMARY_CHARS_MAX),
        Err(error) => escape::line(&format!("data that cannot be read: {error}"), SUMMARY_CHARS_MAX),
    };
    [call, Some(rest)].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

fn words(event_type: &str, data: &Json) -> String {
    let member = |key| text(data, key).unwrap_or_else(|| "?".to_owned());
    match event_type {
        types::TOOL_CALL => format!("{} {}", member("name"), member("arguments")),
        types::TOOL_DECISION => last_met(data).map_or_else(
            || member("verdict"),
            |(stage, verdict, by)| format!("{}: {stage} {verdict}{by}", member("verdict")),
        ),
        types::TOOL_INTENT => {
            let word = |key, yes: &str, no: &str| match flag(data, key) {
                Some(true) => yes.to_owned(),
                Some(false) => no.to_owned(),
                None => "?".to_owned(),
            };
            let destructive = word("destructive", "destructive", "not destructive");
            format!("{destructive}, {}", word("idempotent", "idempotent", "not idempotent"))
        }
        types::TOOL_RESULT => result(data),
        types::TURN_START => position(data),
        types::STEP_START | types::STEP_END => position(data),
        types::TURN_END => format!("{}: {}", position(data), turn_end(data)),
        types::USER_MESSAGE | types::ASSISTANT_MESSAGE => message(data),
        APPROVAL_ASKED => format!("{}: {}", member("toolName"), member("reason")),
        APPROVAL_DECIDED => match text(data, "by") {
            Some(by) => format!("{} by {by}", member("outcome")),
            None => member("outcome"),
        },
        _ => json::compact(data),
    }
}

fn last_met(data: &Json) -> Option<(String, String, String)> {
    let met = data.get("met")?.as_array()?.last()?;
    let by = text(met, "by").map_or_else(String::new, |by| format!(" by {by}"));
    Some((text(met, "stage")?, text(met, "verdict")?, by))
}

fn result(data: &Json) -> String {
    let block = data.get("message").and_then(|message| message.get("content")?.as_array()?.first());
    let how = match block.and_then(|block| flag(block, "isError")) {
        Some(false) => "ok",
        Some(true) => "error",
        None => "?",
    };
    let code =
        [data.get("denial"), data.get("error")].into_iter().flatten().find_map(|why| text(why, "code"));
    let code = code.map_or_else(String::new, |code| format!(" {code}"));
    let duration = number(data, "durationMs").map_or_else(String::new, |ms| format!(" {ms} ms"));
    let told = block.and_then(|block| block.get("content")).and_then(texts).unwrap_or_default();
    format!("{how}{code}{duration}: {told}")
}

fn position(data: &Json) -> String {
    let part = |key| number(data, key).map(|number| format!("{key} {number}"));
    [part("turn"), part("step")].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn turn_end(data: &Json) -> String {
    let Some(reason) = data.get("reason") else {
        return "?".to_owned();
    };
    let kind = text(reason, "kind").unwrap_or_else(|| "?".to_owned());
    let why = text(reason, "reason").or_else(|| {
        let failure = reason.get("failure")?;
        let parts = [text(failure, "code"), text(failure, "message")];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(": "))
    });
    why.map_or(kind.clone(), |why| format!("{kind} ({why})"))
}

fn message(data: &Json) -> String {
    let content = data.get("message").and_then(|message| message.get("content"));
    let said = content.and_then(texts).unwrap_or_default();
    let calls = content.and_then(Json::as_array).unwrap_or_default().iter();
    let calls: Vec<_> = calls
        .filter(|block| block.get("type").and_then(Json::as_str) == Some("tool-call"))
        .map(|block| text(block, "name").unwrap_or_else(|| "?".to_owned()))
        .collect();
    match (said.is_empty(), calls.is_empty()) {
        (_, true) => said,
        (true, false) => format!("calls {}", calls.join(", ")),
        (false, false) => format!("calls {}: {said}", calls.join(", ")),
    }
}

/// The texts of blocks, or a text.
fn texts(content: &Json) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let is_text = |block: &&Json| block.get("type").and_then(Json::as_str) == Some("text");
    let texts: Vec<_> =
        content.as_array()?.iter().filter(is_text).filter_map(|block| text(block, "text")).collect();
    Some(texts.join("\n"))
}
