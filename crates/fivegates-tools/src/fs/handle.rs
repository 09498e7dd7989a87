//! Opening a canonical path without following anything.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Component;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat};
use rustix::io::Errno;

use super::error::{FsError, Verb};
use super::workspace::CanonicalPath;

/// Directories are held by place alone, where the system can: no permission to list them is needed.
#[cfg(target_os = "linux")]
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Never waits for a writer, never becomes a controlling terminal, never follows a link.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// One state of one file: `dev:ino:size:mtime_ns:ctime_ns` (spec §9.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Version([i128; 5]);

impl Version {
    pub(super) fn of(stat: &Stat) -> Self {
        let ns = |seconds: i128, rest: i128| seconds * 1_000_000_000 + rest;
        Self([
            i128::from(stat.st_dev),
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            ns(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            ns(stat.st_ctime.into(), stat.st_ctime_nsec.into()),
        ])
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [dev, ino, size, mtime_ns, ctime_ns] = self.0;
        write!(f, "{dev}:{ino}:{size}:{mtime_ns}:{ctime_ns}")
    }
}

/// A path that was resolved for one operation, with what its errors say.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) verb: Verb,
    /// The absolute path as it was asked for.
    pub(super) shown: String,
    pub(super) canonical: CanonicalPath,
}

impl Target {
    pub(super) fn failed(&self, error: impl Into<io::Error>) -> FsError {
        FsError::from_io(self.verb, &self.shown, error.into())
    }

    pub(super) fn not_regular(&self) -> FsError {
        FsError::NotRegularFile { verb: self.verb, path: self.shown.clone() }
    }

    pub(super) fn too_large(&self, bytes_max: u64) -> FsError {
        FsError::TooLarge { verb: self.verb, path: self.shown.clone(), bytes_max }
    }

    pub(super) fn stale(&self) -> FsError {
        FsError::Stale { verb: self.verb, path: self.shown.clone() }
    }

    pub(super) fn gone(&self) -> FsError {
        FsError::Gone { verb: self.verb, path: self.shown.clone() }
    }
}

/// What to do about directories that are missing on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ancestors {
    /// They are an error.
    MustExist,
    /// They are made, with the permissions that the process gives to new directories.
    Create,
}

/// The directory that holds a file, held open, and the file's name in it.
pub(super) struct Place<'t> {
    pub(super) target: &'t Target,
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
}

impl<'t> Place<'t> {
    /// Walks to the directory that holds the target. A link that came in since the path was resolved is an error.
    pub(super) fn open(target: &'t Target, ancestors: Ancestors) -> Result<Self, FsError> {
        let path = target.canonical.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(target.not_regular());
        };
        let failed = |errno| match errno {
            Errno::LOOP => FsError::PathChanged { verb: target.verb, path: target.shown.clone() },
            errno => target.failed(errno),
        };
        let mut dir = open("/", DIRECTORY, Mode::empty()).map_err(failed)?;
        for component in parent.components() {
            let Component::Normal(step) = component else { continue };
            let found = openat(&dir, step, DIRECTORY, Mode::empty());
            dir = match found {
                Err(Errno::NOENT) if ancestors == Ancestors::Create => {
                    match mkdirat(&dir, step, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                        // Somebody else made it in between, which is as good.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(failed(errno)),
                    }
                    openat(&dir, step, DIRECTORY, Mode::empty()).map_err(failed)?
                }
                found => found.map_err(failed)?,
            };
        }
        Ok(Self { target, dir, name: name.to_owned() })
    }

    /// What is there now; nothing when there is no file.
    pub(super) fn look(&self) -> Result<Option<Stat>, FsError> {
        match statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.target.failed(errno)),
        }
    }

    /// Opens the file for reading, if it is a regular one. Nothing else is ever opened, as opening a device can act on it.
    pub(super) fn open_regular(&self) -> Result<(File, Stat), FsError> {
        let target = self.target;
        let Some(found) = self.look()? else {
            return Err(target.failed(Errno::NOENT));
        };
        self.check_regular(&found)?;
        let file = openat(&self.dir, &self.name, FILE | OFlags::RDONLY, Mode::empty())
            .map_err(|errno| self.opening(errno))?;
        let stat = fstat(&file).map_err(|errno| target.failed(errno))?;
        self.check_regular(&stat)?;
        Ok((File::from(file), stat))
    }

    /// Fails unless the process may write to the file. A rename needs no such permission, yet a protected file is to stay.
    pub(super) fn check_writable(&self) -> Result<(), FsError> {
        match openat(&self.dir, &self.name, FILE | OFlags::WRONLY, Mode::empty()) {
            // A program that runs can be replaced, though not written to.
            Ok(_) | Err(Errno::TXTBSY) => Ok(()),
            Err(errno) => Err(self.opening(errno)),
        }
    }

    pub(super) fn check_regular(&self, stat: &Stat) -> Result<(), FsError> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::Symlink => Err(self.changed()),
            _ => Err(self.target.not_regular()),
        }
    }

    fn opening(&self, errno: Errno) -> FsError {
        match errno {
            Errno::LOOP => self.changed(),
            // A socket, or a pipe without a reader, that took the file's place.
            Errno::NXIO => self.target.not_regular(),
            errno => self.target.failed(errno),
        }
    }

    fn changed(&self) -> FsError {
        FsError::PathChanged { verb: self.target.verb, path: self.target.shown.clone() }
    }
}
