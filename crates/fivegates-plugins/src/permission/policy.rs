//! What each mode says to a call.

use std::fmt;
use std::str::FromStr;

use fivegates_core::call::Call;
use fivegates_core::decision::{Denial, PreDecision};
use fivegates_core::tool::Effects;
use serde::Deserialize;

/// The code of the denials of the read-only mode.
pub const DENIED_CODE: &str = "PERMISSION_READ_ONLY";

/// How the plugin is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// The mode.
    pub mode: Mode,
}

/// How much a model may do without a person.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub enum Mode {
    /// Calls that change nothing run; all others are denied.
    ReadOnly,
    /// Calls that change nothing run; somebody is asked about each of the others.
    #[default]
    Ask,
    /// All calls run.
    Allow,
}

impl Mode {
    /// All modes, from the strictest to the loosest.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Ask, Self::Allow];

    /// The mode as it is written on the command line and in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }

    /// What this mode says to a call. A call whose effects are unknown is taken to have all of them (L-64).
    pub(super) fn decide(self, call: &Call) -> PreDecision {
        let effects = call.effects();
        match self {
            Self::Allow => PreDecision::allow_because("permission mode allow"),
            Self::ReadOnly | Self::Ask if effects.read_only => {
                PreDecision::allow_because(format!("the call is read-only, permission mode {self}"))
            }
            Self::Ask => PreDecision::ask_because(format!(
                "tool `{}` needs approval in permission mode `{self}`: it may {}",
                call.name(),
                may(effects)
            )),
            Self::ReadOnly => PreDecision::Deny(
                Denial::new(format!(
                    "tool `{}` is denied in permission mode `{self}`: it may {}; `--permission ask` would ask instead",
                    call.name(),
                    may(effects)
                ))
                .with_code(DENIED_CODE),
            ),
        }
    }
}

/// What a call that is not read-only may do, in words.
fn may(effects: Effects) -> &'static str {
    match (effects.destructive, effects.open_world) {
        (false, false) => "change things",
        (true, false) => "change or destroy things",
        (false, true) => "change things, also beyond this machine",
        (true, true) => "change or destroy things, also beyond this machine",
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no mode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown permission mode `{0}`; the modes are `read-only`, `ask` and `allow`")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        let known = Self::ALL.into_iter().find(|mode| mode.as_str() == word);
        known.ok_or_else(|| UnknownMode(word.to_owned()))
    }
}

impl TryFrom<String> for Mode {
    type Error = UnknownMode;

    fn try_from(word: String) -> Result<Self, UnknownMode> {
        word.parse()
    }
}
