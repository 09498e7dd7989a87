//! Where a value comes from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::escape;

/// Characters of a path that are shown.
const PATH_CHARS_MAX: usize = 1_000;

/// Who set a value. A later kind is applied after an earlier one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Nobody did.
    Default,
    /// The user's own file.
    User(Arc<Path>),
    /// A file found upward from the working directory. It may come with a foreign repository and is not trusted.
    Project(Arc<Path>),
    /// The command line.
    CommandLine,
}

impl Origin {
    /// The file, when it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::User(path) | Self::Project(path) => Some(path),
            Self::Default | Self::CommandLine => None,
        }
    }

    /// One word for ids.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User(_) => "user",
            Self::Project(_) => "project",
            Self::CommandLine => "command-line",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::User(path) => write!(f, "the user's `{}`", shown(path)),
            Self::Project(path) => write!(f, "the project's `{}`", shown(path)),
            Self::CommandLine => f.write_str("the command line"),
        }
    }
}

/// A path as it may be printed.
pub(super) fn shown(path: &Path) -> String {
    escape::line(&path.to_string_lossy(), PATH_CHARS_MAX)
}

/// A value, and who set it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Who set it.
    pub(crate) origin: Origin,
}

impl<T> Setting<T> {
    /// A value that nobody set.
    pub(super) fn default_of(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}
