//! How long a call may take.

use fivegates_core::call::Call;
use serde::Deserialize;

/// Limits in milliseconds. Without any, only tools that declare a deadline have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// For tools that declare no deadline; without it they are not timed.
    pub default_ms: Option<u64>,
    /// No deadline is longer, whatever the tool declares. It gives no deadline to a tool that has none.
    pub max_ms: Option<u64>,
}

/// Limits that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A limit of nothing.
    #[error("`{0}` is 0 ms, so no call could ever finish; give at least 1 or leave it out")]
    Zero(&'static str),
    /// The default is above the maximum.
    #[error(
        "`default_ms` ({default_ms}) is longer than `max_ms` ({max_ms}); lower the one or raise the other"
    )]
    DefaultAboveMax {
        /// The default.
        default_ms: u64,
        /// The maximum.
        max_ms: u64,
    },
}

/// Limits that were checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy(Config);

impl Policy {
    pub(super) fn new(config: Config) -> Result<Self, ConfigError> {
        match (config.default_ms, config.max_ms) {
            (Some(0), _) => Err(ConfigError::Zero("default_ms")),
            (_, Some(0)) => Err(ConfigError::Zero("max_ms")),
            (Some(default_ms), Some(max_ms)) if default_ms > max_ms => {
                Err(ConfigError::DefaultAboveMax { default_ms, max_ms })
            }
            _ => Ok(Self(config)),
        }
    }

    /// The deadline of a call in milliseconds. An unknown tool has none: there is no body to time.
    pub(super) fn deadline_ms(&self, call: &Call) -> Option<u64> {
        let wanted_ms = call.definition()?.timeout_ms().or(self.0.default_ms)?;
        Some(self.0.max_ms.map_or(wanted_ms, |max_ms| wanted_ms.min(max_ms)))
    }
}
