//! What the program can end with: kinds of failure, their exit statuses, and what to do next.

use std::fmt;

/// Kinds of failure. The kind alone decides the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The work was done and its answer is no: a turn that failed, a line that was no call, nothing found.
    Failed,
    /// The command line or the configuration cannot be used.
    Usage,
    /// The record cannot be opened, read or written.
    Record,
    /// The model could not be reached, or refused.
    Model,
    /// A person or a signal stopped the work.
    Interrupted,
}

impl Kind {
    /// The exit status; README.md lists them.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Record => 3,
            Self::Model => 4,
            Self::Interrupted => 130,
        }
    }
}

/// One clear error: what, where, and what to do next.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl CliError {
    pub(crate) fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), hint: None }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Kind::Usage, message)
    }

    pub(crate) fn record(message: impl fmt::Display) -> Self {
        Self::new(Kind::Record, message)
    }

    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// Says what to do next.
    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
