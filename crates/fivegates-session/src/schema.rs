use rusqlite::{Connection, OptionalExtension, Result};

/// Marks an SQLite file as a record: `FvGt` in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x4676_4774;

/// The version of the tables below; a file with another one is refused, in both directions.
pub(crate) const VERSION: i32 = 1;

/// Everything the file holds, as SQLite keeps it in `sqlite_schema`: name, then statement.
///
/// `session.head_seq` and `head_hash` repeat the last event, so that a cut tail is found. `barrier` exists to give a
/// flush something to commit.
const TABLES: [(&str, &str); 4] = [
    (
        "session",
        "CREATE TABLE session (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  created_at_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  cwd TEXT,
  meta TEXT NOT NULL,
  head_seq INTEGER NOT NULL,
  head_hash BLOB NOT NULL
) STRICT",
    ),
    (
        "event",
        "CREATE TABLE event (
  session INTEGER NOT NULL REFERENCES session (no),
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  call_id TEXT,
  data TEXT NOT NULL,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  UNIQUE (session, seq)
) STRICT",
    ),
    (
        "event_by_call",
        "CREATE INDEX event_by_call ON event (call_id, session, seq) WHERE call_id IS NOT NULL",
    ),
    (
        "barrier",
        "CREATE TABLE barrier (id INTEGER PRIMARY KEY CHECK (id = 0), flushes INTEGER NOT NULL) STRICT",
    ),
];

/// Fills an empty file. The header fields are in the main file before the journal changes to WAL, so they can be read
/// without the WAL.
pub(crate) fn create(connection: &Connection) -> Result<()> {
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
    for (_, statement) in TABLES {
        connection.execute_batch(statement)?;
    }
    connection.execute_batch("INSERT INTO barrier (id, flushes) VALUES (0, 0)")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    connection.execute_batch("COMMIT")?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
}

/// The application id and the schema version in the header.
pub(crate) fn header(connection: &Connection) -> Result<(i32, i32)> {
    let application_id = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((application_id, version))
}

/// Names the first table, index or trigger that is missing, changed or not ours.
///
/// A record may come from a stranger; a trigger or a view in it would be run by our statements.
pub(crate) fn first_difference(connection: &Connection) -> Result<Option<String>> {
    for (name, expected) in TABLES {
        let query = "SELECT sql FROM sqlite_schema WHERE name = ?1";
        let found: Option<Option<String>> =
            connection.query_row(query, [name], |row| row.get(0)).optional()?;
        match found.flatten() {
            Some(found) if found == expected => {}
            Some(_) => return Ok(Some(format!("`{name}` is not as this version makes it"))),
            None => return Ok(Some(format!("`{name}` is missing"))),
        }
    }
    let query = "SELECT type || ' ' || quote(name) FROM sqlite_schema
        WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT IN ('session', 'event', 'event_by_call', 'barrier')";
    let stranger: Option<String> = connection.query_row(query, [], |row| row.get(0)).optional()?;
    Ok(stranger.map(|name| format!("it holds a {}", name.escape_debug())))
}
