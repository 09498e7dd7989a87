//! Tells a model that it repeats the same call (R-280 … R-282). It never touches a result.

mod chains;
mod glob;
mod listener;
mod policy;
mod text;

use std::sync::Arc;

use fivegates_core::ids::ScopeId;
use fivegates_core::registry::{Listen, Registration, Registry};

pub use glob::{Glob, GlobError};
pub use policy::{Config, ConfigError};
pub use text::Kind;

/// The plugin's id in the record.
pub const ID: &str = "repeat_reminder";

/// The mounted plugin; dropping it removes it.
#[derive(Debug)]
pub struct Mounted {
    shared: Arc<chains::Chains>,
    /// Keeps the listener mounted.
    _listener: Registration,
}

impl Mounted {
    /// Forgets an agent's calls, because a user spoke to it or because it is gone.
    ///
    /// A message that a call queued for the model is no user's, and is not to be told here.
    pub fn note_user_message(&self, agent: ScopeId) {
        self.shared.forget(agent);
    }
}

/// Mounts the reminder as a post-execute listener.
///
/// # Errors
/// Thresholds or limits that make no sense.
pub fn mount(registry: &Registry, config: Config) -> Result<Mounted, ConfigError> {
    let policy = policy::Policy::new(config)?;
    let shared = Arc::new(chains::Chains::new(policy.agents_max()));
    let listener = listener::RepeatReminder { policy, chains: Arc::clone(&shared) };
    Ok(Mounted { shared, _listener: registry.post_execute(Listen::as_id(ID), listener) })
}

#[cfg(test)]
mod tests;
