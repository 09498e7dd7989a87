use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};
use thiserror::Error;

use crate::connect;
use crate::id::SessionId;
use crate::schema;

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The smallest page that SQLite knows, and so its smallest file, in bytes.
const SQLITE_BYTES_MIN: u64 = 512;

/// How long a reader waits for a lock, in milliseconds.
const READER_BUSY_TIMEOUT_MS: u32 = 5_000;

/// How a [`Store`](crate::Store) is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// What an acknowledged append survives.
    pub sync: Sync,
    /// How long an append waits for another process that is writing, in milliseconds.
    pub busy_timeout_ms: u32,
    /// The largest event, in bytes of type, call id and data together.
    pub event_bytes_max: usize,
    /// How many bytes of events may wait for the writer; further appends wait until there is room.
    pub queue_bytes_max: usize,
    /// The largest file, in bytes, where it is limited. The WAL beside it is not counted.
    pub file_bytes_max: Option<u64>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            sync: Sync::Normal,
            busy_timeout_ms: 5_000,
            event_bytes_max: 16 << 20,
            queue_bytes_max: 64 << 20,
            file_bytes_max: None,
        }
    }
}

/// What an acknowledged append survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// The end of the process, by `kill -9` too. After a power loss the last events may be missing, never one from the
    /// middle, back to the last [`Store::flush`](crate::Store::flush).
    #[default]
    Normal,
    /// Power loss too: every commit waits for the disk (one wait for all appends that share the commit).
    Full,
}

/// Says why a record could not be opened. In every case the file is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are the parts of the message beside them")]
pub enum StoreError {
    /// There is no file; only a writer makes one.
    #[error("there is no record at `{path}`: run something first, or name another file")]
    Missing { path: String },
    /// The path leads to something else than a file.
    #[error("the record `{path}` is {found}, not a file: name another file")]
    NotAFile { path: String, found: &'static str },
    /// The folder of a new record could not be made.
    #[error(
        "cannot make the folder `{path}` for the record ({detail}): make it yourself, or name another file"
    )]
    Folder { path: String, detail: String },
    /// A new record could not be made.
    #[error(
        "cannot create the record `{path}` ({detail}): check the folder and the free space, or name another file"
    )]
    Create { path: String, detail: String },
    /// The file was removed, but a part of it is still there; a new file would be garbled by it.
    #[error(
        "the record `{path}` is missing but `{beside}` is there: bring the record back, or move that file away"
    )]
    HalfMissing { path: String, beside: String },
    /// The file has no bytes at all.
    #[error(
        "the record `{path}` is an empty file, so it was cut or is not a record: \
         delete it to start a new one, or name another file"
    )]
    Empty { path: String },
    /// The system does not let us at the file.
    #[error(
        "cannot open the record `{path}` ({detail}): check the permissions of the file, \
         of its folder and of the `-wal` and `-shm` files beside it"
    )]
    CannotOpen { path: String, detail: String },
    /// The file is not an SQLite file.
    #[error("the file `{path}` is not a record (it is not an SQLite file): name another file")]
    NotSqlite { path: String },
    /// The file is an SQLite file of another program.
    #[error(
        "the file `{path}` is not a record (it is an SQLite file of another program, \
         application id {application_id:#010x}): name another file"
    )]
    Foreign { path: String, application_id: i32 },
    /// The file was made by a later version.
    #[error(
        "the record `{path}` was made by a newer fivegates (its schema is {found}, this one knows {known}): \
         use the newer fivegates, or name another file"
    )]
    Newer { path: String, found: i32, known: i32 },
    /// The file was made by an earlier version.
    #[error(
        "the record `{path}` was made by an older fivegates (its schema is {found}, this one knows {known}): \
         read it with that version, and name another file here"
    )]
    Older { path: String, found: i32, known: i32 },
    /// The tables are not those of the version that the file claims.
    #[error(
        "the record `{path}` was changed by another program ({detail}): use a copy from before, or name another file"
    )]
    Altered { path: String, detail: String },
    /// SQLite finds the file damaged.
    #[error(
        "the record `{path}` is damaged ({detail}): keep it, use a copy from before, or name another file"
    )]
    Damaged { path: String, detail: String },
    /// The file may not be written.
    #[error("the record `{path}` is read-only: make it writable, or name another file")]
    ReadOnly { path: String },
    /// Another process holds the file.
    #[error("the record `{path}` is held by another process: wait until it ends, then try again")]
    Busy { path: String },
    /// Anything else that SQLite or the system says.
    #[error("cannot open the record `{path}` ({detail}): try again, or name another file")]
    Other { path: String, detail: String },
}

/// Opens the record for writing, after making it where there is none.
pub(crate) fn writer(path: &Path, options: &OpenOptions) -> Result<(Connection, PathBuf), StoreError> {
    let path = absolute(path)?;
    if !is_there(&path)? {
        create(&path)?;
    }
    probe(&path)?;
    let read_only = || StoreError::ReadOnly { path: shown(&path) };
    if fs::metadata(&path).is_ok_and(|found| found.permissions().readonly()) {
        return Err(read_only());
    }
    let connection = prepare_writer(&path, options).map_err(|error| from_sqlite(&path, &error))?;
    match connection {
        Prepared::Ready(connection) => Ok((connection, path)),
        Prepared::ReadOnly => Err(read_only()),
        Prepared::Altered(detail) => Err(StoreError::Altered { path: shown(&path), detail }),
    }
}

/// Opens the record for reading; never changes it.
pub(crate) fn reader(path: &Path) -> Result<(Connection, PathBuf), StoreError> {
    let path = absolute(path)?;
    if !is_there(&path)? {
        return Err(StoreError::Missing { path: shown(&path) });
    }
    probe(&path)?;
    let checked = |connection: Connection| Ok((schema::first_difference(&connection)?, connection));
    let opened = match connect::read_only(&path, READER_BUSY_TIMEOUT_MS).and_then(checked) {
        // Nothing may be created in this folder, and there is no WAL: the main file is all there is.
        Err(error) if needs_files_beside(&error) && !has_bytes(&with_suffix(&path, "-wal")) => {
            connect::immutable(&path).and_then(checked)
        }
        opened => opened,
    };
    match opened {
        Ok((None, connection)) => Ok((connection, path)),
        Ok((Some(detail), _)) => Err(StoreError::Altered { path: shown(&path), detail }),
        Err(error) if needs_files_beside(&error) => {
            Err(StoreError::CannotOpen { path: shown(&path), detail: error.to_string() })
        }
        Err(error) => Err(from_sqlite(&path, &error)),
    }
}

/// Whether a reader failed because it could not make the `-shm` file that it shares with writers.
fn needs_files_beside(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// A path as it may appear in a message: without characters that would drive a terminal.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
        shown
    })
}

enum Prepared {
    Ready(Connection),
    ReadOnly,
    Altered(String),
}

fn prepare_writer(path: &Path, options: &OpenOptions) -> rusqlite::Result<Prepared> {
    let connection = connect::read_write(path, options.busy_timeout_ms)?;
    if let Some(detail) = schema::first_difference(&connection)? {
        return Ok(Prepared::Altered(detail));
    }
    if connection.is_readonly("main")? {
        return Ok(Prepared::ReadOnly);
    }
    let journal: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if journal != "wal" {
        return Ok(Prepared::Altered(format!("its journal is `{journal}` and cannot be made `wal`")));
    }
    connection.pragma_update(None, "synchronous", options.sync.pragma())?;
    // A commit writes a handful of pages, and folding the WAL into the file waits for the disk: every 16 MiB, not 4.
    connection.query_row("PRAGMA wal_autocheckpoint = 4096", [], |_| Ok(()))?;
    // After a burst the WAL file is cut to this size instead of keeping its largest.
    connection.query_row("PRAGMA journal_size_limit = 67108864", [], |_| Ok(()))?;
    if let Some(bytes) = options.file_bytes_max {
        let page_bytes: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        // SQLite cannot hold more pages than this.
        let pages = (bytes / u64::from(page_bytes.max(1))).clamp(1, 4_294_967_294);
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(Prepared::Ready(connection))
}

impl Sync {
    /// The value of SQLite's `synchronous`.
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Full => "FULL",
        }
    }
}

/// An absolute path has no special meaning to SQLite, unlike `:memory:`, `file:…` and the empty one.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path)
        .map_err(|error| StoreError::CannotOpen { path: shown(path), detail: error.to_string() })
}

fn is_there(path: &Path) -> Result<bool, StoreError> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::CannotOpen { path: shown(path), detail: error.to_string() }),
    };
    if found.is_dir() {
        return Err(StoreError::NotAFile { path: shown(path), found: "a folder" });
    }
    if !found.is_file() {
        return Err(StoreError::NotAFile { path: shown(path), found: "a device, pipe or socket" });
    }
    if found.len() == 0 {
        return Err(StoreError::Empty { path: shown(path) });
    }
    // SQLite takes a file of less than a page for an empty database.
    if found.len() < SQLITE_BYTES_MIN {
        return Err(StoreError::NotSqlite { path: shown(path) });
    }
    Ok(true)
}

/// Looks at the header alone, before SQLite may repair, lock or create anything.
fn probe(path: &Path) -> Result<(), StoreError> {
    let header = connect::header_only(path).and_then(|connection| schema::header(&connection));
    let (application_id, found) = header.map_err(|error| from_sqlite(path, &error))?;
    let known = schema::VERSION;
    if application_id != schema::APPLICATION_ID {
        return Err(StoreError::Foreign { path: shown(path), application_id });
    }
    match found.cmp(&known) {
        std::cmp::Ordering::Less => Err(StoreError::Older { path: shown(path), found, known }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(StoreError::Newer { path: shown(path), found, known }),
    }
}

/// Makes a new record: complete under another name, then given its own, so that nobody meets half a record and two
/// processes that start together do not overwrite each other's.
fn create(path: &Path) -> Result<(), StoreError> {
    let failed = |detail: String| StoreError::Create { path: shown(path), detail };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(StoreError::NotAFile { path: shown(path), found: "a folder" });
    };
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(|error| StoreError::Folder { path: shown(folder), detail: error.to_string() })?;
    for suffix in ["-wal", "-journal"] {
        let beside = with_suffix(path, suffix);
        // A file that vanished meanwhile belonged to a record that another process is making or removing.
        if has_bytes(&beside) && !path.exists() {
            return Err(StoreError::HalfMissing { path: shown(path), beside: shown(&beside) });
        }
    }
    let unique = SessionId::generate().map_err(|error| failed(error.to_string()))?;
    let mut draft_name = std::ffi::OsString::from(".");
    draft_name.push(name);
    draft_name.push(format!(".{unique}.new"));
    let draft = folder.join(draft_name);
    let made = fill(&draft).and_then(|()| match fs::hard_link(&draft, path) {
        // Another process was faster; its record is as good.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.to_string()),
        _ => Ok(()),
    });
    let _ = fs::remove_file(&draft);
    made.map_err(failed)?;
    let folder = fs::File::open(folder).and_then(|folder| folder.sync_all());
    folder.map_err(|error| failed(error.to_string()))
}

fn fill(draft: &Path) -> Result<(), String> {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(draft);
    drop(file.map_err(|error| error.to_string())?);
    let connection = connect::read_write(draft, 0).map_err(|error| error.to_string())?;
    schema::create(&connection).map_err(|error| error.to_string())?;
    connection.close().map_err(|(_, error)| error.to_string())
}

/// A WAL without bytes is what a reader may leave behind; it says nothing.
fn has_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn from_sqlite(path: &Path, error: &rusqlite::Error) -> StoreError {
    let (path, detail) = (shown(path), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotSqlite { path },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, detail },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::CannotOpen { path, detail },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        _ => StoreError::Other { path, detail },
    }
}
