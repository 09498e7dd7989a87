//! What all tools do alike: refusing argument values and configuration.

use std::sync::Arc;

use fivegates_core::error::ToolError;

/// Bytes of a path that the kernel takes, its end included.
pub(crate) const PATH_BYTES_MAX: usize = 4_095;

/// A value that fits the schema and still cannot be.
pub(crate) fn invalid_args(message: impl Into<Arc<str>>) -> ToolError {
    ToolError::coded("ToolArgsError", "INVALID_ARGS", message)
}

/// A limit with which a tool cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It must be above zero.
    #[error("`{name}` must be greater than zero")]
    NotPositive {
        /// The setting.
        name: &'static str,
    },
    /// It is less than what other settings need.
    #[error("`{name}` must be at least {least}, which the other limits need")]
    TooSmall {
        /// The setting.
        name: &'static str,
        /// The least that works.
        least: usize,
    },
    /// It is more than what the system or another setting allows.
    #[error("`{name}` must be at most {most}")]
    TooLarge {
        /// The setting.
        name: &'static str,
        /// The most that works.
        most: u64,
    },
}
