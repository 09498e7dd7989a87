use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Result};

/// Opens an existing file for reading and writing.
pub(crate) fn read_write(path: &Path, busy_timeout_ms: u32) -> Result<Connection> {
    guarded(Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | common())?, busy_timeout_ms)
}

/// Opens an existing file for reading. SQLite may create the `-shm` file beside it, but never changes the file.
pub(crate) fn read_only(path: &Path, busy_timeout_ms: u32) -> Result<Connection> {
    guarded(Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | common())?, busy_timeout_ms)
}

/// Opens the main file alone, as if it could not change: no lock is taken, no WAL is read, nothing is created.
pub(crate) fn immutable(path: &Path) -> Result<Connection> {
    guarded(open_immutable(path)?, 0)
}

/// Opens the main file alone to look at its header, whatever else is in it.
///
/// The header is read this way and not with `std::fs`: closing a descriptor of our own would drop the POSIX locks that
/// every other connection of this process holds on the file.
pub(crate) fn header_only(path: &Path) -> Result<Connection> {
    let connection = open_immutable(path)?;
    // A process that was killed while it folded the WAL into the file leaves a file that is shorter than its header
    // says; the WAL still has the rest. This makes SQLite overlook the length. Nothing can be written here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    Ok(connection)
}

fn open_immutable(path: &Path) -> Result<Connection> {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | common())
}

/// One thread at a time uses a connection, so SQLite's own mutexes are not needed.
fn common() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// Bounds every wait for a lock, and keeps SQL that a stranger may have put into the schema from doing anything.
fn guarded(connection: Connection, busy_timeout_ms: u32) -> Result<Connection> {
    connection.busy_timeout(Duration::from_millis(busy_timeout_ms.into()))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    Ok(connection)
}
