//! Deadlines: a call that takes longer than its tool declares is stopped and answered with `TOOL_TIMEOUT`
//! (R-270 … R-274, L-15).

mod listener;
mod policy;

use fivegates_core::registry::{Listen, Registration, Registry};

pub use policy::{Config, ConfigError};

/// The plugin's id in the record.
pub const ID: &str = "deadline";

/// Mounts the deadline policy as a wrapper around the body.
///
/// Mounted outside a retry it bounds all attempts together; mounted inside, each attempt.
///
/// # Errors
/// Limits that contradict one another.
pub fn mount(registry: &Registry, config: Config) -> Result<Vec<Registration>, ConfigError> {
    let policy = policy::Policy::new(config)?;
    Ok(vec![registry.around(Listen::as_id(ID), listener::Deadline { policy })])
}

#[cfg(test)]
mod tests;
