//! Which calls are preceded by a flush, and how long one may take.

use fivegates_core::call::Call;
use fivegates_core::error::ToolError;
use fivegates_core::ports::PortFuture;
use serde::Deserialize;

/// Makes durable what has been recorded so far.
pub trait Flush: Send + Sync {
    /// Returns once everything recorded before is durable. Dropping the future gives up waiting.
    ///
    /// # Errors
    /// It could not be made durable; the call does not run, and the model is told this error.
    fn flush(&self) -> PortFuture<'_, Result<(), ToolError>>;
}

/// How the plugin is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Milliseconds that one flush may take; a later one is a failed one.
    pub flush_ms_max: u64,
}

impl Default for Config {
    /// Half a minute: a disk that takes longer is as good as gone.
    fn default() -> Self {
        Self { flush_ms_max: 30_000 }
    }
}

impl Config {
    pub(super) fn checked(self) -> Result<u64, ConfigError> {
        if self.flush_ms_max == 0 { Err(ConfigError::Zero) } else { Ok(self.flush_ms_max) }
    }
}

/// A limit that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A limit of nothing.
    #[error("`flush_ms_max` is 0 ms, so no flush could ever finish; give at least 1")]
    Zero,
}

/// Tells whether a call is preceded by a flush: a top-level call of an agent. Denied calls do not come this far,
/// and unknown tools do.
pub(super) fn is_due(call: &Call) -> bool {
    call.parent().is_none() && call.agent().is_some()
}

/// What the model is told when a flush is late.
pub(super) fn late(call: &Call, flush_ms_max: u64) -> ToolError {
    let message = format!(
        "the record was not made durable within {flush_ms_max}ms, so tool \"{}\" did not run; try again later",
        call.name()
    );
    ToolError::coded("CheckpointError", "CHECKPOINT_TIMEOUT", message)
}
