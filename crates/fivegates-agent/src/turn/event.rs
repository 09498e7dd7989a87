//! What a watcher is told, and how turns end.

use std::sync::Arc;

use fivegates_core::call::Met;
use fivegates_core::cancel::CancelReason;
use fivegates_core::outcome::Outcome;
use fivegates_core::ports::RecordError;
use fivegates_core::registry::RegistryError;

use crate::provider::{Delta, ModelTurn, ProviderError};

/// Is told what happens, as it happens. It runs on the async thread and must not block for long.
pub type Watcher = Arc<dyn Fn(&AgentEvent<'_>) + Send + Sync>;

/// Something that happened. Calls and results are told once they are on record.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields are what the variant says")]
pub enum AgentEvent<'a> {
    /// A turn began.
    TurnStart { turn: u32 },
    /// The model will read this as the user's.
    UserMessage { text: &'a str },
    /// A piece of an answer that is arriving.
    Delta(Delta<'a>),
    /// An answer is complete.
    Assistant { turn: &'a ModelTurn },
    /// A call was recorded; its gates come next.
    Call { id: &'a str, name: &'a str, arguments: &'a str },
    /// A result was recorded.
    Result { id: &'a str, name: &'a str, outcome: &'a Outcome, met: &'a [Met], duration_ms: u64 },
    /// A turn is over.
    TurnEnd { turn: u32, end: &'a TurnEnd },
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model answered in text, or a tool concluded the turn.
    Completed {
        /// The last answer's text.
        text: String,
    },
    /// The answer was cut at the output limit; its calls were not run.
    MaxTokens {
        /// What there is of the answer.
        text: String,
    },
    /// The turn was cancelled.
    Aborted(CancelReason),
    /// Something failed that is not a call.
    Error(Failure),
}

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable code, such as `TRANSPORT`, `RECORD_FAILED`, `TOOLS_FAILED` or `STEP_LIMIT`.
    pub code: String,
    /// What happened and what to do next.
    pub message: String,
}

impl TurnEnd {
    /// The kind of end as it is written in the record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::MaxTokens { .. } => "max-tokens",
            Self::Aborted(_) => "aborted",
            Self::Error(_) => "error",
        }
    }

    pub(super) fn record_failed(error: &RecordError) -> Self {
        Self::Error(Failure { code: "RECORD_FAILED".to_owned(), message: error.to_string() })
    }

    pub(super) fn provider_failed(error: &ProviderError) -> Self {
        Self::Error(Failure { code: error.code.as_str().into_owned(), message: error.to_string() })
    }

    /// What the model is to be shown could not be assembled.
    pub(super) fn tools_failed(error: &RegistryError) -> Self {
        Self::Error(Failure { code: "TOOLS_FAILED".to_owned(), message: error.to_string() })
    }

    pub(super) fn step_limit(steps_max: u32) -> Self {
        let message = format!("the turn made {steps_max} model requests without coming to an end");
        Self::Error(Failure { code: "STEP_LIMIT".to_owned(), message })
    }
}
