//! Guards that refuse tools by name.

mod listener;
mod policy;

use fivegates_core::ids::ComponentId;
use fivegates_core::registry::{Listen, Registration, Registry};

pub use policy::{Config, ConfigError, GuardRule};

/// Mounts one guard for each rule, in this order, under the rule's own id. Nothing can lift them but dropping what is
/// returned.
///
/// # Errors
/// A rule with an empty part, or two rules with one id; then none is mounted.
pub fn mount(registry: &Registry, config: Config) -> Result<Vec<Registration>, ConfigError> {
    let rules = config.checked()?;
    let mount = |rule: GuardRule| {
        let how = Listen::as_id(ComponentId::new(rule.id.as_str()));
        registry.guard(how, listener::DenyTool::new(rule))
    };
    Ok(rules.into_iter().map(mount).collect())
}

#[cfg(test)]
mod tests;
