//! Checkpoints: what was recorded is made durable before a body runs.

mod listener;
mod policy;

use std::sync::Arc;

use fivegates_core::registry::{Listen, Registration, Registry};

pub use policy::{Config, ConfigError, Flush};

/// The plugin's id in the record.
pub const ID: &str = "checkpoint";

/// Mounts the checkpoint as a wrapper around the body.
///
/// Mounted inside a deadline, the flush counts towards it; mounted inside a retry, each attempt is preceded by one.
///
/// # Errors
/// A limit of nothing.
pub fn mount(
    registry: &Registry,
    config: Config,
    flush: Arc<dyn Flush>,
) -> Result<Vec<Registration>, ConfigError> {
    let flush_ms_max = config.checked()?;
    Ok(vec![registry.around(Listen::as_id(ID), listener::Checkpoint { flush, flush_ms_max })])
}

#[cfg(test)]
mod tests;
