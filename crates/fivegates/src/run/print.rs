//! What `run` prints: text, one object, or a stream of objects.

use std::io::Write as _;

use fivegates_agent::provider::Delta;
use fivegates_agent::turn::{AgentEvent, TurnEnd};
use fivegates_core::content::{Block, flatten};
use fivegates_core::json::{Json, compact};
use fivegates_session::journal::{denial_json, met_json};

use crate::cli::Output;
use crate::error::CliError;
use crate::escape;

/// How much of an answer is shown at a terminal; all of it is on record.
const ANSWER: escape::BlockLimits = escape::BlockLimits { chars_max: 4_000_000, lines_max: 100_000 };

/// Characters that progress shows of what the model says.
const MODEL_CHARS: usize = 1_000;

/// Characters of arguments and results that progress shows.
const SHOWN_CHARS: usize = 160;

/// Prints as things happen. A failing standard output is remembered and ends the run with an error.
pub(super) struct Printer {
    output: Output,
    session: String,
    calls: Vec<Json>,
    failure: Option<std::io::Error>,
}

impl Printer {
    pub(super) fn new(output: Output, session: String) -> Self {
        Self { output, session, calls: Vec::new(), failure: None }
    }

    pub(super) fn event(&mut self, event: &AgentEvent<'_>) {
        match self.output {
            Output::Text => progress(event),
            Output::Json => {
                progress(event);
                if let AgentEvent::Result { .. } = event {
                    self.calls.extend(stream(event));
                }
            }
            Output::StreamJson => {
                if let Some(value) = stream(event) {
                    self.line(&escape::json(&compact(&value)));
                }
            }
        }
    }

    /// Prints what comes at the end.
    pub(super) fn finish(&mut self, end: &TurnEnd) -> Result<(), CliError> {
        let text = match end {
            TurnEnd::Completed { text } | TurnEnd::MaxTokens { text } => text.as_str(),
            TurnEnd::Aborted(_) | TurnEnd::Error(_) => "",
        };
        match self.output {
            // A model's text is shown line by line with everything invisible made visible (invariant 7).
            Output::Text if text.is_empty() => {}
            Output::Text => self.line(&escape::block(text, ANSWER)),
            Output::Json => {
                let calls = Json::from(std::mem::take(&mut self.calls));
                let mut members = vec![
                    ("session", Json::from(self.session.as_str())),
                    ("end", Json::from(end.kind())),
                    ("text", Json::from(text)),
                    ("calls", calls),
                ];
                members.extend(error_member(end));
                self.line(&escape::json(&compact(&Json::object(members))));
            }
            Output::StreamJson => {}
        }
        match self.failure.take() {
            Some(error) => Err(CliError::failed(format!("standard output cannot be written: {error}"))
                .hint("what happened is on record (`fivegates log`)")),
            None => Ok(()),
        }
    }

    fn line(&mut self, text: &str) {
        if self.failure.is_some() {
            return;
        }
        let mut out = std::io::stdout().lock();
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        self.failure = written.err();
    }
}

/// One line on standard error for what a person watching wants to know.
fn progress(event: &AgentEvent<'_>) {
    match event {
        // What the model says of its calls, before somebody is asked about them; its last words are the answer.
        AgentEvent::Assistant { turn } if !turn.calls.is_empty() && !turn.text.trim().is_empty() => {
            crate::say(&format!("model: {}", escape::line(turn.text.trim(), MODEL_CHARS)));
        }
        AgentEvent::Call { id, name, arguments } => {
            let arguments = escape::line(arguments, SHOWN_CHARS);
            crate::say(&format!("call {} {} {arguments}", escape::line(id, 80), escape::line(name, 80)));
        }
        AgentEvent::Result { id, outcome, .. } => {
            let word = match (outcome.failure().and_then(|failure| failure.denial()), outcome.code()) {
                (Some(denial), _) => format!("denied ({})", denial.code()),
                (None, Some(code)) => format!("failed ({code})"),
                (None, None) if outcome.is_error() => "failed".to_owned(),
                (None, None) => "done".to_owned(),
            };
            let told = escape::line(flatten(outcome.content()).trim(), SHOWN_CHARS);
            crate::say(&format!("  {} {word}: {told}", escape::line(id, 80)));
        }
        _ => {}
    }
}

/// The JSON of an event for `stream-json`.
fn stream(event: &AgentEvent<'_>) -> Option<Json> {
    let typed = |kind: &str, mut members: Vec<(&'static str, Json)>| {
        members.insert(0, ("type", Json::from(kind)));
        Some(Json::object(members))
    };
    match event {
        AgentEvent::TurnStart { turn } => typed("turn/start", vec![("turn", Json::from(*turn))]),
        AgentEvent::UserMessage { text } => typed("user/message", vec![("text", Json::from(*text))]),
        AgentEvent::Delta(Delta::Text(text)) => typed("assistant/chunk", vec![("text", Json::from(*text))]),
        AgentEvent::Delta(_) => None,
        AgentEvent::Assistant { turn } => {
            typed("assistant/message", vec![("text", Json::from(turn.text.as_str()))])
        }
        AgentEvent::Call { id, name, arguments } => typed(
            "tool/call",
            vec![("id", Json::from(*id)), ("name", Json::from(*name)), ("arguments", Json::from(*arguments))],
        ),
        AgentEvent::Result { id, name, outcome, met, duration_ms } => {
            let denial = outcome.failure().and_then(|failure| failure.denial());
            typed(
                "tool/result",
                vec![
                    ("id", Json::from(*id)),
                    ("name", Json::from(*name)),
                    ("outcome", Json::from(if outcome.is_error() { "error" } else { "success" })),
                    ("code", Json::from(outcome.code().map(str::to_owned))),
                    ("content", Json::array(outcome.content().iter().map(Block::to_json))),
                    ("denial", denial.map_or(Json::Null, denial_json)),
                    ("met", met_json(met)),
                    ("durationMs", Json::from(*duration_ms)),
                ],
            )
        }
        AgentEvent::TurnEnd { turn, end } => {
            let mut members = vec![("turn", Json::from(*turn)), ("end", Json::from(end.kind()))];
            members.extend(error_member(end));
            typed("turn/end", members)
        }
    }
}

fn error_member(end: &TurnEnd) -> Option<(&'static str, Json)> {
    let TurnEnd::Error(failure) = end else {
        return None;
    };
    let members =
        [("code", Json::from(failure.code.as_str())), ("message", Json::from(failure.message.as_str()))];
    Some(("error", Json::object(members)))
}
