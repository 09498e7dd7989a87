//! One JSON line for each call.

use std::io::{Stdout, Write as _};

use fivegates_core::content::Block;
use fivegates_core::json::{Json, compact};
use fivegates_core::scheduler::CallReport;
use fivegates_session::journal::denial_json;

use crate::error::CliError;
use crate::escape;

/// Standard output, a line at a time.
pub(super) struct Out(Stdout);

impl Out {
    pub(super) fn stdout() -> Self {
        Self(std::io::stdout())
    }

    pub(super) fn call(&mut self, report: &CallReport) -> Result<(), CliError> {
        self.line(&call_json(report))
    }

    /// A line that is no call: it has no id, so its number stands for it.
    pub(super) fn bad_line(&mut self, number: u64, problem: &str) -> Result<(), CliError> {
        let text = format!("Error: line {number} is not a call: {problem}");
        self.line(&Json::object([
            ("id", Json::Null),
            ("line", Json::from(number)),
            ("outcome", Json::from("error")),
            ("code", Json::from("BAD_LINE")),
            ("content", Json::array([Block::text(text).to_json()])),
            ("denial", Json::Null),
            ("stages", Json::array([])),
        ]))
    }

    fn line(&mut self, value: &Json) -> Result<(), CliError> {
        // The same JSON, with everything that is invisible on a terminal written as an escape (invariant 7).
        let mut text = escape::json(&compact(value));
        text.push('\n');
        // This runs on the main thread, which no other task needs; handing each line to a thread costs more than writing it.
        let written = tokio::task::block_in_place(|| {
            let mut out = self.0.lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        written.map_err(|error: std::io::Error| {
            CliError::failed(format!("standard output cannot be written: {error}"))
                .hint("the calls so far are on record (`fivegates log`); the rest of the input was not run")
        })
    }
}

/// A call's line: id, tool, outcome, code, content, denial, and the stages it met, in order.
pub(crate) fn call_json(report: &CallReport) -> Json {
    let outcome = &report.outcome;
    let failure = outcome.failure();
    let mut stages: Vec<&str> = Vec::new();
    for met in &report.met {
        if stages.last() != Some(&met.stage.as_str()) {
            stages.push(met.stage.as_str());
        }
    }
    Json::object([
        ("id", Json::from(report.id.as_str())),
        ("name", Json::from(report.name.as_str())),
        ("outcome", Json::from(if outcome.is_error() { "error" } else { "success" })),
        ("code", Json::from(outcome.code().map(str::to_owned))),
        ("content", Json::array(outcome.content().iter().map(Block::to_json))),
        ("denial", failure.and_then(|failure| failure.denial()).map_or(Json::Null, denial_json)),
        ("stages", Json::array(stages.into_iter().map(Json::from))),
    ])
}
