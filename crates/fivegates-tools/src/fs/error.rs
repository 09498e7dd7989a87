//! Why a file operation failed: one variant for each cause, with the codes of spec §9.1.

use std::io;
use std::path::PathBuf;

use fivegates_core::error::ToolError;
use rustix::io::Errno;

/// What was being done, for the text of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// Finding out which file a path means.
    Resolve,
    /// Reading.
    Read,
    /// Creating or replacing.
    Write,
    /// Replacing a part.
    Edit,
}

impl Verb {
    /// The word in `cannot <verb> "<path>"`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
        }
    }
}

impl std::fmt::Display for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a file operation failed. The texts that spec §9.1 gives are exact.
///
/// `path` is always the absolute path as it was asked for, its symbolic links not resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FsError {
    /// There is no such file, or no such directory on the way to it.
    #[error("cannot {verb} \"{path}\": no such file")]
    NotFound {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// Something on the way to the file is no directory.
    #[error("cannot {verb} \"{path}\": a part of the path is not a directory")]
    NotDirectory {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// The file holds NUL bytes.
    #[error("cannot {verb} \"{path}\": binary file")]
    Binary {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// The file is not UTF-8.
    #[error("cannot {verb} \"{path}\": invalid UTF-8 text")]
    InvalidUtf8 {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// A directory, a device, a pipe or a socket.
    #[error("cannot {verb} \"{path}\": not a regular file")]
    NotRegularFile {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// More bytes than the configured limit.
    #[error("cannot {verb} \"{path}\": more than {bytes_max} bytes; use bash for a file of this size")]
    TooLarge {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
        /// The limit, in bytes.
        bytes_max: u64,
    },
    /// The system does not allow it.
    #[error("cannot {verb} \"{path}\": permission denied")]
    PermissionDenied {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// Anything else that the system reported: a full disk, a failing device.
    #[error("cannot {verb} \"{path}\": {source}")]
    Io {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A symbolic link took the place of something on the way after the path had been resolved.
    #[error("cannot {verb} \"{path}\": the path changed while it was in use; try again")]
    PathChanged {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// The file is not the one that was read.
    #[error("cannot {verb} \"{path}\": file changed since it was read")]
    Stale {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// The file was read and is gone.
    #[error("cannot {verb} \"{path}\": file no longer exists")]
    Gone {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
    },
    /// A file is to be replaced that the agent has not read.
    #[error("cannot overwrite existing \"{path}\" without reading it first")]
    Unseen {
        /// The path.
        path: String,
    },
    /// A file is to be edited that the agent has not read.
    #[error("edit requires reading \"{path}\" first")]
    NotObserved {
        /// The path.
        path: String,
    },
    /// The text to replace occurs more than once.
    #[error(
        "old_string matched {matches} times in \"{path}\"; provide a more specific old_string or set replace_all to true"
    )]
    AmbiguousEdit {
        /// The path.
        path: String,
        /// How often it occurs.
        matches: usize,
    },
    /// The text to replace does not occur.
    #[error("old_string was not found in \"{path}\"")]
    EditNotFound {
        /// The path.
        path: String,
    },
    /// A change through a symbolic link of the workspace that leads out of it. Reading through it is allowed.
    #[error(
        "cannot {verb} \"{path}\": a symbolic link leads out of the workspace to \"{}\"; name that file itself if it is meant",
        target.display()
    )]
    LeadsOut {
        /// What was being done.
        verb: Verb,
        /// The path.
        path: String,
        /// Where it leads.
        target: PathBuf,
    },
    /// The call was cancelled before anything was changed.
    #[error("tool call aborted")]
    Aborted,
}

impl FsError {
    /// The stable code of the cause (spec §9.1).
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "FS_NOT_FOUND",
            Self::NotDirectory { .. } => "FS_NOT_DIRECTORY",
            Self::Binary { .. } | Self::InvalidUtf8 { .. } => "FS_NOT_TEXT",
            Self::NotRegularFile { .. } => "FS_NOT_REGULAR_FILE",
            Self::TooLarge { .. } => "FS_TOO_LARGE",
            Self::PermissionDenied { .. } => "FS_PERMISSION_DENIED",
            Self::Io { .. } | Self::PathChanged { .. } => "FS_IO_ERROR",
            Self::Stale { .. } | Self::Gone { .. } => "FS_STALE_VERSION",
            Self::Unseen { .. } | Self::NotObserved { .. } => "FS_NOT_OBSERVED",
            Self::AmbiguousEdit { .. } => "FS_AMBIGUOUS_EDIT",
            Self::EditNotFound { .. } => "FS_EDIT_NOT_FOUND",
            Self::LeadsOut { .. } => "FS_SANDBOX_DENIED",
            Self::Aborted => "FS_ABORTED",
        }
    }

    /// Sorts what the system reported into a cause.
    pub(super) fn from_io(verb: Verb, path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOENT) => Self::NotFound { verb, path },
            Some(Errno::NOTDIR) => Self::NotDirectory { verb, path },
            Some(Errno::ISDIR) => Self::NotRegularFile { verb, path },
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Self::PermissionDenied { verb, path },
            _ => Self::Io { verb, path, source },
        }
    }

    /// What the model can do about it, for the causes that reading again removes (spec §9.2).
    fn remedy(&self) -> &'static str {
        match self.code() {
            "FS_STALE_VERSION" => " — re-read the file, then retry",
            "FS_NOT_OBSERVED" => " — read the file, then retry",
            _ => "",
        }
    }
}

impl From<FsError> for ToolError {
    fn from(error: FsError) -> Self {
        Self::coded("FsError", error.code(), format!("{error}{}", error.remedy()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_errno(errno: Errno, code: &str, text: &str) {
        let error = FsError::from_io(Verb::Write, "/w/f", errno.into());
        assert_eq!((error.code(), &*error.to_string()), (code, text));
    }

    #[test]
    fn what_the_system_reports_is_sorted() {
        check_errno(Errno::NOENT, "FS_NOT_FOUND", "cannot write \"/w/f\": no such file");
        check_errno(
            Errno::NOTDIR,
            "FS_NOT_DIRECTORY",
            "cannot write \"/w/f\": a part of the path is not a directory",
        );
        check_errno(Errno::ISDIR, "FS_NOT_REGULAR_FILE", "cannot write \"/w/f\": not a regular file");
        for errno in [Errno::ACCESS, Errno::PERM, Errno::ROFS] {
            check_errno(errno, "FS_PERMISSION_DENIED", "cannot write \"/w/f\": permission denied");
        }
        check_errno(
            Errno::NOSPC,
            "FS_IO_ERROR",
            "cannot write \"/w/f\": No space left on device (os error 28)",
        );
    }

    #[test]
    fn remedies_follow_the_codes() {
        let stale = FsError::Stale { verb: Verb::Edit, path: "/f".into() };
        let text = "cannot edit \"/f\": file changed since it was read — re-read the file, then retry";
        assert_eq!(ToolError::from(stale).message(), text);
        let unseen = FsError::NotObserved { path: "/f".into() };
        let error = ToolError::from(unseen);
        assert_eq!(error.message(), "edit requires reading \"/f\" first — read the file, then retry");
        assert_eq!((error.name(), error.code()), (Some("FsError"), Some("FS_NOT_OBSERVED")));
    }
}
