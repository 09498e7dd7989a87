//! Which of the host's variables a program may see: an allow-list, never a list of secrets to remove.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::error::RunError;

/// Inherited unless configured otherwise.
const DEFAULT_NAMES: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR"];
/// Our own variables (settings, session and key material) are never inherited, not even when a policy names them.
const OWN_PREFIX: &str = "FIVEGATES_";

/// The explicit entries of a program: a value, or `None` for a name that must be absent.
pub(crate) type Entries = BTreeMap<OsString, Option<OsString>>;

/// The names that a program inherits from this process. A name that ends in `*` is a prefix.
///
/// The default is `PATH HOME USER LOGNAME SHELL LANG LC_* TZ TMPDIR`. Names that start with `FIVEGATES_` are never inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvPolicy {
    names: Vec<String>,
}

impl Default for EnvPolicy {
    fn default() -> Self {
        Self::only(DEFAULT_NAMES)
    }
}

impl EnvPolicy {
    /// Inherits exactly these names (or, with a `*` at the end, prefixes).
    pub fn only<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect() }
    }

    /// Inherits nothing.
    pub fn nothing() -> Self {
        Self { names: Vec::new() }
    }

    /// Inherits these names as well.
    #[must_use]
    pub fn and<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether a host variable of this name is inherited.
    pub fn inherits(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        !name.starts_with(OWN_PREFIX.as_bytes())
            && self.names.iter().any(|rule| match rule.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix.as_bytes()),
                None => name == rule.as_bytes(),
            })
    }

    /// The environment of a program: what this policy lets through of `host`, then the explicit entries, which win.
    pub(crate) fn resolve(
        &self,
        host: impl IntoIterator<Item = (OsString, OsString)>,
        explicit: &Entries,
    ) -> Result<BTreeMap<OsString, OsString>, RunError> {
        let mut env: BTreeMap<_, _> = host.into_iter().filter(|(name, _)| self.inherits(name)).collect();
        for (name, value) in explicit {
            check(name, value.as_deref())?;
            match value {
                Some(value) => env.insert(name.clone(), value.clone()),
                None => env.remove(name),
            };
        }
        Ok(env)
    }
}

fn check(name: &OsStr, value: Option<&OsStr>) -> Result<(), RunError> {
    let bytes = name.as_encoded_bytes();
    let reason = if bytes.is_empty() {
        "the name is empty"
    } else if bytes.contains(&b'=') {
        "the name contains `=`"
    } else if bytes.contains(&0) {
        "the name contains a NUL byte"
    } else if value.is_some_and(|value| value.as_encoded_bytes().contains(&0)) {
        "the value contains a NUL byte"
    } else {
        return Ok(());
    };
    Err(RunError::InvalidEnvironment { name: bytes.escape_ascii().to_string(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_env(
        policy: &EnvPolicy,
        host: &[(&str, &str)],
        explicit: &[(&str, Option<&str>)],
        expected: &[(&str, &str)],
    ) {
        let host = host.iter().map(|(name, value)| (name.into(), value.into()));
        let explicit = explicit.iter().map(|(name, value)| (name.into(), value.map(Into::into))).collect();
        let env = policy.resolve(host, &explicit).unwrap();
        let expected = expected.iter().map(|(name, value)| (name.into(), value.into())).collect();
        assert_eq!(env, expected);
    }

    const HOST: &[(&str, &str)] = &[
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("LC", "no"),
        ("SECRET_X", "s"),
        ("MY_PATH", "no"),
        ("path", "no"),
        ("FIVEGATES_KEY", "k"),
    ];

    #[test]
    fn only_listed_names_and_prefixes_are_inherited() {
        check_env(&EnvPolicy::default(), HOST, &[], &[("PATH", "/bin"), ("LC_ALL", "C")]);
        check_env(&EnvPolicy::nothing(), HOST, &[], &[]);
        check_env(&EnvPolicy::nothing().and(["SECRET_X"]), HOST, &[], &[("SECRET_X", "s")]);
    }

    #[test]
    fn our_own_names_are_never_inherited_but_may_be_given() {
        let greedy = EnvPolicy::only(["*", "FIVEGATES_KEY", "FIVEGATES_*"]);
        assert!(!greedy.inherits(OsStr::new("FIVEGATES_KEY")));
        assert!(greedy.inherits(OsStr::new("SECRET_X")));
        check_env(
            &EnvPolicy::nothing(),
            HOST,
            &[("FIVEGATES_SESSION_ID", Some("7"))],
            &[("FIVEGATES_SESSION_ID", "7")],
        );
    }

    #[test]
    fn explicit_entries_win_and_can_remove() {
        check_env(&EnvPolicy::default(), HOST, &[("PATH", Some("/x")), ("LC_ALL", None)], &[("PATH", "/x")]);
    }

    #[test]
    fn impossible_entries_are_refused() {
        for (name, value) in [("", "v"), ("A=B", "v"), ("A\0", "v"), ("A", "v\0")] {
            let explicit = [(OsString::from(name), Some(OsString::from(value)))].into();
            let error = EnvPolicy::default().resolve([], &explicit).unwrap_err();
            assert_eq!(error.code(), "INVALID_ENVIRONMENT", "{name:?}={value:?}");
        }
    }
}
