//! The limits of `bash`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fivegates_process::EnvPolicy;

use crate::args::ConfigError;

/// The longest time that timers take: 2^31 - 1 milliseconds.
const MILLISECONDS_MAX: u64 = 2_147_483_647;

/// The shell and its limits (spec §7.1).
#[derive(Clone, Debug)]
pub struct BashConfig {
    /// The shell: a path, or a name for the command's `PATH`.
    pub shell: PathBuf,
    /// Milliseconds that a command may take unless the call says otherwise.
    pub timeout_ms: u64,
    /// Milliseconds that a call may ask for; more is taken as this.
    pub timeout_ms_max: u64,
    /// Milliseconds between TERM and KILL.
    pub grace_ms: u64,
    /// Bytes kept of each output stream, the last ones.
    pub output_bytes_max: usize,
    /// What commands inherit of our environment.
    pub env_policy: EnvPolicy,
    /// What commands find in their environment besides.
    pub env: BTreeMap<String, String>,
}

impl Default for BashConfig {
    fn default() -> Self {
        Self {
            shell: PathBuf::from("bash"),
            timeout_ms: 120_000,
            timeout_ms_max: 600_000,
            grace_ms: 3_000,
            output_bytes_max: 64_000,
            env_policy: EnvPolicy::default(),
            env: BTreeMap::new(),
        }
    }
}

impl BashConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let output_bytes_max = self.output_bytes_max as u64;
        let limits = [
            ("timeout_ms", self.timeout_ms, self.timeout_ms_max),
            ("timeout_ms_max", self.timeout_ms_max, MILLISECONDS_MAX),
            ("grace_ms", self.grace_ms, MILLISECONDS_MAX),
            ("output_bytes_max", output_bytes_max, u64::MAX),
        ];
        for (name, value, most) in limits {
            if value == 0 {
                return Err(ConfigError::NotPositive { name });
            }
            if value > most {
                return Err(ConfigError::TooLarge { name, most });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&mut BashConfig), expected: &str) {
        let mut config = BashConfig::default();
        change(&mut config);
        assert_eq!(config.check().unwrap_err().to_string(), expected);
    }

    #[test]
    fn limits_that_make_no_sense_are_refused() {
        assert_eq!(BashConfig::default().check(), Ok(()));
        check(|config| config.timeout_ms = 0, "`timeout_ms` must be greater than zero");
        check(|config| config.timeout_ms = 600_001, "`timeout_ms` must be at most 600000");
        check(|config| config.grace_ms = 1 << 31, "`grace_ms` must be at most 2147483647");
        check(|config| config.output_bytes_max = 0, "`output_bytes_max` must be greater than zero");
    }
}
