//! Marks of sessions whose process lives.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::id::SessionId;

/// Says that a session has a living writer, until it is dropped or its process dies.
///
/// It is a locked file in a folder beside the record: death releases the lock and leaves the file, which is how the next
/// process finds what was left open.
#[derive(Debug)]
pub struct Live {
    path: PathBuf,
    _lock: File,
}

/// A mark that cannot be made or read.
#[derive(Debug, thiserror::Error)]
#[error("the mark of a running session `{}` cannot be used ({cause}): check the folder", path.display())]
pub struct LiveError {
    path: PathBuf,
    cause: io::Error,
}

impl Live {
    /// Marks a session of the record at `record` as having a writer. Blocks on files.
    ///
    /// # Errors
    /// The mark cannot be made, or somebody else holds it.
    pub fn hold(record: &Path, session: SessionId) -> Result<Self, LiveError> {
        let folder = folder(record);
        make(&folder).map_err(|cause| LiveError { path: folder.clone(), cause })?;
        let path = folder.join(session.as_str());
        let held = || -> io::Result<File> {
            let file = File::options().write(true).create(true).truncate(false).open(&path)?;
            file.try_lock().map_err(io::Error::from)?;
            Ok(file)
        };
        match held() {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(cause) => Err(LiveError { path, cause }),
        }
    }

    /// Takes over the marks whose processes are dead. Blocks on files; at most 1,000 at a time.
    ///
    /// # Errors
    /// The folder cannot be read. A mark that cannot be opened is left alone.
    pub fn abandoned(record: &Path) -> Result<Vec<(SessionId, Self)>, LiveError> {
        const MARKS_MAX: usize = 1_000;
        let folder = folder(record);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(LiveError { path: folder, cause }),
        };
        let mut found = Vec::new();
        for entry in entries.flatten().take(MARKS_MAX) {
            let path = entry.path();
            let session = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let (Some(session), Ok(file)) = (session, File::options().write(true).open(&path)) else {
                continue;
            };
            match file.try_lock() {
                // Between listing and locking its holder may have ended properly and removed it.
                Ok(()) if path.exists() => found.push((session, Self { path, _lock: file })),
                Ok(()) | Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
            }
        }
        Ok(found)
    }

    /// Leaves the mark for the next process to find, because the session could not be closed.
    pub fn leave(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // Removed while it is locked, so that nobody takes it over in between.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The folder of marks beside a record: its name with `-live` after it.
fn folder(record: &Path) -> PathBuf {
    let mut name: OsString = record.as_os_str().to_owned();
    name.push("-live");
    PathBuf::from(name)
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
