//! The rules.

use std::collections::HashSet;

use serde::Deserialize;

/// Refuses one tool.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardRule {
    /// The rule's id in the record; no two rules share one.
    pub id: String,
    /// The tool's exact name. It need not exist: tools can come later.
    pub tool: String,
    /// What the model is told.
    pub reason: String,
    /// Machine-readable code of the denial; `GUARD_DENIED` without one.
    #[serde(default)]
    pub code: Option<String>,
}

/// How the plugin is set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// The rules, asked in this order.
    pub rules: Vec<GuardRule>,
}

/// Rules that make no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A part of a rule is empty.
    #[error("guard `{id}` has an empty `{part}`; give it one")]
    Empty {
        /// The rule's id, as far as it has one.
        id: String,
        /// The part.
        part: &'static str,
    },
    /// Two rules have one id.
    #[error("two guards are called `{0}`; give each an id of its own")]
    DuplicateId(String),
}

impl Config {
    pub(super) fn checked(self) -> Result<Vec<GuardRule>, ConfigError> {
        let mut ids = HashSet::new();
        for rule in &self.rules {
            let code = rule.code.as_deref().unwrap_or("-");
            let parts = [("id", &*rule.id), ("tool", &rule.tool), ("reason", &rule.reason), ("code", code)];
            if let Some((part, _)) = parts.into_iter().find(|(_, text)| text.trim().is_empty()) {
                return Err(ConfigError::Empty { id: rule.id.clone(), part });
            }
            if !ids.insert(rule.id.as_str()) {
                return Err(ConfigError::DuplicateId(rule.id.clone()));
            }
        }
        Ok(self.rules)
    }
}
