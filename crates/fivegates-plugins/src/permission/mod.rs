//! Permission modes: the simplest policy that is honest about what it lets through.

mod listener;
mod policy;

use fivegates_core::registry::{Listen, Registration, Registry};

pub use policy::{Config, DENIED_CODE, Mode, UnknownMode};

/// The plugin's id in the record.
pub const ID: &str = "permission";

/// Mounts the mode as a pre-execute listener, outside those that are there: they are asked first, and the stricter
/// decision stands.
pub fn mount(registry: &Registry, config: Config) -> Vec<Registration> {
    let listener = listener::Permission { mode: config.mode };
    vec![registry.pre_execute(Listen::as_id(ID).outermost(), listener)]
}

#[cfg(test)]
mod tests;
