//! Where the files are.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::ConfigError;

/// The name of a configuration file.
pub(crate) const FILE_NAME: &str = "fivegates.toml";

/// Where configuration is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sources {
    /// The working directory: an absolute path. Relative paths of the command line start here.
    pub(crate) cwd: PathBuf,
    /// The user's file, whether or not it is there.
    pub(crate) user: Option<PathBuf>,
    /// A file that was named on the command line: it stands in the place of both.
    pub(crate) only: Option<PathBuf>,
}

impl Sources {
    /// Takes the working directory, and the user's file from `$XDG_CONFIG_HOME/fivegates/`, else
    /// `$HOME/.config/fivegates/`. As the XDG rules say, a variable that holds no absolute path does not count.
    pub(crate) fn of(cwd: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder =
            absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
        Self { cwd, user: folder.map(|folder| folder.join("fivegates").join(FILE_NAME)), only: None }
    }

    /// The user's file, when it is there. One that was named must be there: its absence shows when it is read.
    pub(super) fn user_file(&self) -> Result<Option<PathBuf>, ConfigError> {
        if let Some(only) = &self.only {
            return Ok(Some(self.cwd.join(only)));
        }
        let Some(path) = &self.user else {
            return Ok(None);
        };
        Ok(is_there(path)?.then(|| path.clone()))
    }

    /// The nearest file in the working directory and the folders around it, up to the root of the file system and across
    /// repositories, as cargo looks for its own. The user's file is not a project's, wherever one stands.
    pub(super) fn project_file(&self) -> Result<Option<PathBuf>, ConfigError> {
        if self.only.is_some() {
            return Ok(None);
        }
        let user = self.user.as_deref().and_then(|user| fs::canonicalize(user).ok());
        for folder in self.cwd.ancestors() {
            let path = folder.join(FILE_NAME);
            if is_there(&path)? {
                let is_user = user.is_some() && fs::canonicalize(&path).ok() == user;
                // A link leads to whatever file of the user's the repository names, and errors quote lines of the file.
                if !is_user && fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
                    return Err(ConfigError::NotAFile { path, found: "a link in a project" });
                }
                return Ok((!is_user).then_some(path));
            }
        }
        Ok(None)
    }
}

/// A link that leads nowhere is there: what it was meant to say must not be lost silently.
fn is_there(path: &Path) -> Result<bool, ConfigError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(cause) => Err(ConfigError::Lookup { path: path.to_owned(), cause }),
    }
}
