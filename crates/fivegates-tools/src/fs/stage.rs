//! Putting new content in a file's place: all of it or nothing.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use fivegates_core::cancel::Cancel;
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, linkat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::error::FsError;
use super::handle::{Place, Version};

/// The bits of a file's mode that stay when its content is replaced: set-user-ID and set-group-ID do not, as for a plain
/// write.
const KEPT_MODE: u32 = 0o1777;

/// Name of the new content in its staging directory.
const CONTENT: &str = "content";
/// Bytes written between two looks at the caller's cancellation.
const CHUNK_BYTES: usize = 1 << 20;
/// Tries for a name that nobody has.
const NAMES_MAX: u32 = 16;

static SERIAL: AtomicU64 = AtomicU64::new(0);

/// New content on disk next to its target, in a directory that only this user can enter. Dropping it removes what is left.
pub(super) struct Staged<'p> {
    place: &'p Place<'p>,
    /// The staging directory's name next to the target.
    name: OsString,
    dir: OwnedFd,
    file: File,
}

impl<'p> Staged<'p> {
    /// Writes the content and waits for the disk. An existing file's permissions and, where allowed, its owner are kept; a
    /// new file is for its owner alone (0600). Its other links, access lists and extended attributes are not kept.
    pub(super) fn write(
        place: &'p Place<'p>,
        content: &[u8],
        existing: Option<&Stat>,
        cancel: &Cancel,
    ) -> Result<Self, FsError> {
        let failed = |error: std::io::Error| place.target.failed(error);
        let name = make_directory(place)?;
        let opened = open_staging(place, &name);
        if opened.is_err() {
            let _ = unlinkat(&place.dir, &name, AtFlags::REMOVEDIR);
        }
        let (dir, file) = opened.map_err(|errno| place.target.failed(errno))?;
        let mut staged = Self { place, name, dir, file };
        for chunk in content.chunks(CHUNK_BYTES) {
            check_cancel(cancel)?;
            staged.file.write_all(chunk).map_err(failed)?;
        }
        if let Some(existing) = existing {
            staged.keep_owner_and_mode(existing).map_err(|errno| place.target.failed(errno))?;
        }
        staged.file.sync_all().map_err(failed)?;
        check_cancel(cancel)?;
        Ok(staged)
    }

    /// Puts it where nothing is. Somebody who was faster keeps what they made: [`FsError::Unseen`].
    pub(super) fn create(self) -> Result<Version, FsError> {
        let Place { target, dir, name } = self.place;
        match linkat(&self.dir, CONTENT, dir, name, AtFlags::empty()) {
            Ok(()) => self.published(),
            Err(Errno::EXIST) => Err(FsError::Unseen { path: target.shown.clone() }),
            Err(errno) => Err(target.failed(errno)),
        }
    }

    /// Puts it in place of the file of this version. A link that took the file's place is not followed, and stays.
    pub(super) fn replace(self, version: &Version) -> Result<Version, FsError> {
        let Place { target, dir, name } = self.place;
        match self.place.look()? {
            None => return Err(target.gone()),
            Some(now) if Version::of(&now) != *version => return Err(target.stale()),
            Some(_) => {}
        }
        renameat(&self.dir, CONTENT, dir, name).map_err(|errno| target.failed(errno))?;
        self.published()
    }

    fn keep_owner_and_mode(&self, existing: &Stat) -> Result<(), Errno> {
        let own = fstat(&self.file)?;
        if (own.st_uid, own.st_gid) != (existing.st_uid, existing.st_gid) {
            // Only the system's administrator can give files away; for others the file becomes theirs, as in any editor.
            let (uid, gid) = (Uid::from_raw(existing.st_uid), Gid::from_raw(existing.st_gid));
            let _ = fchown(&self.file, Some(uid), Some(gid));
        }
        fchmod(&self.file, Mode::from_raw_mode(existing.st_mode & KEPT_MODE))
    }

    /// The version of what was published. It is taken after the staging name is gone, since that touches the file.
    fn published(self) -> Result<Version, FsError> {
        let _ = unlinkat(&self.dir, CONTENT, AtFlags::empty());
        let stat = fstat(&self.file).map_err(|errno| self.place.target.failed(errno))?;
        Ok(Version::of(&stat))
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // What cannot be removed is a private directory of a recognisable name; the operation itself is decided already.
        let _ = unlinkat(&self.dir, CONTENT, AtFlags::empty());
        let _ = unlinkat(&self.place.dir, &self.name, AtFlags::REMOVEDIR);
    }
}

pub(super) fn check_cancel(cancel: &Cancel) -> Result<(), FsError> {
    if cancel.is_cancelled() { Err(FsError::Aborted) } else { Ok(()) }
}

fn make_directory(place: &Place<'_>) -> Result<OsString, FsError> {
    let mut last = Errno::EXIST;
    for _ in 0..NAMES_MAX {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = OsString::from(format!(".fivegates-{:x}-{serial:x}-{clock:x}", std::process::id()));
        match mkdirat(&place.dir, &name, Mode::RWXU) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => last = Errno::EXIST,
            Err(errno) => return Err(place.target.failed(errno)),
        }
    }
    Err(place.target.failed(last))
}

fn open_staging(place: &Place<'_>, name: &OsString) -> Result<(OwnedFd, File), Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(&place.dir, name, flags, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&dir, CONTENT, flags, Mode::RUSR | Mode::WUSR)?;
    Ok((dir, file.into()))
}
