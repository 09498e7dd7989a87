use std::ffi::OsString;
use std::path::PathBuf;

use thiserror::Error;

/// Says why there is no default place for the record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// Neither variable holds an absolute path.
    #[error(
        "no place for the record: neither `XDG_STATE_HOME` nor `HOME` holds an absolute path; \
         set one of them, or name the file in the configuration"
    )]
    NoStateFolder,
}

/// The file that holds the record unless another is configured: `$XDG_STATE_HOME/fivegates/record.sqlite`, else
/// `$HOME/.local/state/fivegates/record.sqlite`.
///
/// `variable` looks up an environment variable. As the XDG rules say, a path that is not absolute does not count.
///
/// # Errors
/// [`PathError::NoStateFolder`] when neither variable holds an absolute path.
pub fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, PathError> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    match state {
        Some(state) => Ok(state.join("fivegates/record.sqlite")),
        None => Err(PathError::NoStateFolder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(xdg: Option<&str>, home: Option<&str>, expected: Option<&str>) {
        let variable = |name: &str| match name {
            "XDG_STATE_HOME" => xdg.map(OsString::from),
            "HOME" => home.map(OsString::from),
            _ => None,
        };
        let found = default_path(variable);
        assert_eq!(found.as_ref().ok().map(|path| path.to_str().unwrap()), expected, "{xdg:?} {home:?}");
    }

    #[test]
    fn only_absolute_paths_count() {
        check(Some("/state"), Some("/home/a"), Some("/state/fivegates/record.sqlite"));
        check(None, Some("/home/a"), Some("/home/a/.local/state/fivegates/record.sqlite"));
        check(Some("state"), Some("/home/a"), Some("/home/a/.local/state/fivegates/record.sqlite"));
        check(Some(""), Some("/home/a"), Some("/home/a/.local/state/fivegates/record.sqlite"));
        check(None, Some("home"), None);
        check(Some("./state"), None, None);
        check(None, None, None);
    }
}
