//! Writing a report, until nobody reads it any more.

use std::fmt;
use std::io::{self, Write};

use fivegates_core::json::{self, Json};
use fivegates_session::ReadError;

use crate::error::CliError;
use crate::escape;
use crate::report::Style;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text(Style),
    /// For machines: JSON, one value a line.
    Json,
}

/// Why a report stops.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Writing failed.
    Write(io::Error),
    /// There is something to say about it.
    Failed(CliError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl From<CliError> for Stop {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        let make = match error {
            ReadError::UnknownSession { .. } | ReadError::Ambiguous { .. } => CliError::failed,
            ReadError::Damaged(_) | ReadError::Busy { .. } | ReadError::Unreadable { .. } => CliError::record,
        };
        Self::Failed(make(shown(&error)))
    }
}

/// Ends a report: a reader that went away, as `head` does, is no failure.
///
/// # Errors
/// What stopped the report otherwise.
pub(crate) fn finish(result: Result<(), Stop>, out: &mut dyn Write) -> Result<(), CliError> {
    match result.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => Ok(()),
        Err(Stop::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(Stop::Write(error)) => Err(CliError::failed(format!("the report cannot be written: {error}"))
            .hint("check the place where the output goes")),
        Err(Stop::Failed(error)) => {
            // What was found before it is still worth reading; that it cannot be written is not the news.
            let _ = out.flush();
            Err(error)
        }
    }
}

/// Writes a value in one line.
///
/// # Errors
/// What the writer reports.
pub(crate) fn json_line(out: &mut dyn Write, value: &Json) -> io::Result<()> {
    writeln!(out, "{}", escape::json(&json::compact(value)))
}

/// The text of an error or damage in one line, which may quote the record.
pub(crate) fn shown(error: &impl fmt::Display) -> String {
    escape::line(&error.to_string(), 1_000)
}
