//! What is counted, and when the model is told.

use serde::Deserialize;

use super::glob::Glob;
use super::text::Kind;

/// How the plugin is set.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// After how many identical calls in a row the model is told; the first time gently, later in detail.
    pub thresholds: Vec<u64>,
    /// Tools that are counted; all when empty.
    pub include: Vec<Glob>,
    /// Tools that are not counted, also when they are included. Their calls do not interrupt a row.
    pub exclude: Vec<Glob>,
    /// Characters of the arguments that a detailed reminder shows.
    pub arguments_preview_chars: usize,
    /// Agents that are kept in mind at a time; beyond, the one that was quiet longest is forgotten.
    pub agents_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            thresholds: vec![3, 5, 8],
            include: Vec::new(),
            exclude: Vec::new(),
            arguments_preview_chars: 500,
            agents_max: 1_024,
        }
    }
}

/// Settings that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// No thresholds.
    #[error("`thresholds` is empty; name at least one count, or leave the reminder out")]
    NoThreshold,
    /// A single call is no repetition.
    #[error("threshold `{0}` is below 2; a single call repeats nothing")]
    BelowTwo(u64),
    /// A threshold twice.
    #[error("threshold `{0}` is given twice; name each once")]
    Duplicate(u64),
    /// No agent could be kept in mind.
    #[error("`agents_max` is 0, so nothing would be counted; give at least 1")]
    NoAgents,
}

/// Settings that were checked, thresholds in rising order.
#[derive(Debug)]
pub(super) struct Policy(Config);

impl Policy {
    pub(super) fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.thresholds.sort_unstable();
        let Some(first) = config.thresholds.first() else {
            return Err(ConfigError::NoThreshold);
        };
        if *first < 2 {
            return Err(ConfigError::BelowTwo(*first));
        }
        if let Some(pair) = config.thresholds.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ConfigError::Duplicate(pair[0]));
        }
        if config.agents_max == 0 {
            return Err(ConfigError::NoAgents);
        }
        Ok(Self(config))
    }

    pub(super) fn tracks(&self, tool: &str) -> bool {
        let any = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(tool));
        (self.0.include.is_empty() || any(&self.0.include)) && !any(&self.0.exclude)
    }

    /// Which reminder is due after this many identical calls in a row.
    pub(super) fn due(&self, count: u64) -> Option<Kind> {
        match self.0.thresholds.binary_search(&count) {
            Ok(0) => Some(Kind::Gentle),
            Ok(_) => Some(Kind::Detailed),
            Err(_) => None,
        }
    }

    pub(super) fn preview_chars(&self) -> usize {
        self.0.arguments_preview_chars
    }

    pub(super) fn agents_max(&self) -> usize {
        self.0.agents_max
    }
}
