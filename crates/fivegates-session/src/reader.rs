use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row};
use thiserror::Error;

use crate::event::{Event, Seq, Session};
use crate::id::SessionId;
use crate::open::{self, StoreError, shown};
use crate::rows::{self, Damage};
use crate::verify::{self, Verdict};

/// A page of events ends early once it holds this many bytes of data.
const PAGE_BYTES_MAX: usize = 16 << 20;

/// How many sessions an ambiguous prefix lists.
const MATCHES_MAX: usize = 10;

/// The reading half of the record.
///
/// Every method blocks on the file; asynchronous code gives the reader a thread of its own. A reader sees what was
/// committed when a method was called. It takes the record to be a stranger's: what cannot be read is an error that
/// names it, and the rest is still there.
pub struct Reader {
    connection: Connection,
    path: PathBuf,
}

/// Events in order, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The events, those that cannot be read as [`Damage`].
    pub events: Vec<Result<Event, Damage>>,
    /// What to ask for next as `after`; `None` after the last page.
    pub next: Option<Seq>,
}

/// An event that carries a call id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallMatch {
    /// The session it is in.
    pub session: SessionId,
    /// Its place there.
    pub seq: Seq,
    /// Its type, such as `tool/call`.
    pub event_type: String,
    /// When it happened, in milliseconds since 1970.
    pub time_ms: i64,
}

/// Says why the record does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are the parts of the message beside them")]
pub enum ReadError {
    /// No session has that id, or an id that begins so.
    #[error("the record holds no session `{wanted}`: list its sessions with `fivegates log`")]
    UnknownSession { wanted: String },
    /// Several sessions have an id that begins so; at most ten are listed, the newest first.
    #[error("`{prefix}` begins the ids of several sessions ({}{}): give more of it", join(.matches), if *.more { ", …" } else { "" })]
    Ambiguous { prefix: String, matches: Vec<SessionId>, more: bool },
    /// The row that was asked for is damaged.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// Another process kept the file locked for too long.
    #[error("the record `{path}` is held by another process: try again when that one is done")]
    Busy { path: String },
    /// SQLite cannot read the file.
    #[error("the record `{path}` cannot be read ({detail}): keep it, and use a copy from before")]
    Unreadable { path: String, detail: String },
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let (connection, path) = open::reader(path)?;
        Ok(Self { connection, path })
    }

    /// The file, as an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Up to `limit` sessions, the newest first, by the order of their first events.
    ///
    /// # Errors
    /// [`ReadError`] when the list itself cannot be read; a damaged session is an entry of its own.
    pub fn sessions(&self, limit: u32) -> Result<Vec<Result<Session, Damage>>, ReadError> {
        let query = "SELECT no, id, created_at_ms, kind, cwd, meta, head_seq, head_hash FROM session
            ORDER BY no DESC LIMIT ?1";
        self.list(query, [limit], rows::session)
    }

    /// The one session whose id is or begins with `prefix`; small letters count as capitals.
    ///
    /// # Errors
    /// [`ReadError::UnknownSession`], [`ReadError::Ambiguous`], or [`ReadError::Damaged`] when its row is damaged.
    pub fn session(&self, prefix: &str) -> Result<Session, ReadError> {
        let unknown = || ReadError::UnknownSession { wanted: excerpt(prefix) };
        let upper = prefix.to_ascii_uppercase();
        if !upper.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(unknown());
        }
        // Every id that begins so sorts before the prefix with a character above all letters.
        let query = "SELECT no, id, created_at_ms, kind, cwd, meta, head_seq, head_hash FROM session
            WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id DESC LIMIT ?2";
        let mut found = self.list(query, (&upper, MATCHES_MAX as i64 + 1), rows::session)?;
        match found.len() {
            0 => Err(unknown()),
            1 => Ok(found.remove(0)?),
            count => {
                let ids = found.iter().take(MATCHES_MAX);
                let ids = ids.filter_map(|session| match session {
                    Ok(session) => Some(session.id),
                    Err(damage) => SessionId::from_str(&damage.session).ok(),
                });
                Err(ReadError::Ambiguous {
                    prefix: excerpt(prefix),
                    matches: ids.collect(),
                    more: count > MATCHES_MAX,
                })
            }
        }
    }

    /// Up to `limit` events of a session that stand after `after`, or from the first. A page may be shorter when its
    /// events are large; [`Page::next`] says whether there are more.
    ///
    /// # Errors
    /// [`ReadError`] when there is no such session or nothing can be read.
    pub fn events(&self, session: SessionId, after: Option<Seq>, limit: u32) -> Result<Page, ReadError> {
        let query = "SELECT seq, type, time_ms, call_id, data, prev_hash, hash FROM event
            WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        let after = after.map_or(i64::MIN, Seq::get);
        self.page(query, (self.number(session)?, after, limit), session, limit)
    }

    /// Up to `limit` events of one call that stand after `after`, or from the first; as [`events`](Reader::events).
    ///
    /// # Errors
    /// [`ReadError`] when there is no such session or nothing can be read.
    pub fn call_events(
        &self,
        session: SessionId,
        call_id: &str,
        after: Option<Seq>,
        limit: u32,
    ) -> Result<Page, ReadError> {
        let query = "SELECT seq, type, time_ms, call_id, data, prev_hash, hash FROM event
            WHERE call_id = ?1 AND session = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4";
        let after = after.map_or(i64::MIN, Seq::get);
        self.page(query, (call_id, self.number(session)?, after, limit), session, limit)
    }

    /// Up to `limit` events that carry the call id, over all sessions, of one type where it is given: the newest
    /// session first, within it in order. Models reuse call ids, so there may be several calls even in one session.
    ///
    /// # Errors
    /// [`ReadError`] when nothing can be read.
    pub fn find_calls(
        &self,
        call_id: &str,
        event_type: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Result<CallMatch, Damage>>, ReadError> {
        let query = "SELECT event.seq, session.id, event.type, event.time_ms, event.session
            FROM event LEFT JOIN session ON session.no = event.session
            WHERE event.call_id = ?1 AND (?2 IS NULL OR event.type = ?2)
            ORDER BY event.session DESC, event.seq LIMIT ?3";
        self.list(query, (call_id, event_type, limit), call_match)
    }

    /// Checks the chain of a session from its header to its head.
    ///
    /// # Errors
    /// [`ReadError`] when there is no such session or its row cannot be read; a bad event is a [`Verdict`].
    pub fn verify(&self, session: SessionId) -> Result<Verdict, ReadError> {
        // One transaction, so that the head and the events are of the same moment.
        let snapshot = self.connection.unchecked_transaction().map_err(|error| self.failure(&error))?;
        let query =
            "SELECT no, id, created_at_ms, kind, cwd, meta, head_seq, head_hash FROM session WHERE id = ?1";
        let found = snapshot
            .query_row(query, [session.as_str()], |row| Ok((row.get(0)?, rows::session(row))))
            .optional()
            .map_err(|error| self.failure(&error))?;
        let Some((number, recorded)) = found else { return Err(unknown(session)) };
        verify::session(&snapshot, number, &recorded?).map_err(|error| self.failure(&error))
    }

    fn number(&self, session: SessionId) -> Result<i64, ReadError> {
        let query = "SELECT no FROM session WHERE id = ?1";
        let found = self.connection.query_row(query, [session.as_str()], |row| row.get(0)).optional();
        found.map_err(|error| self.failure(&error))?.ok_or_else(|| unknown(session))
    }

    fn page(
        &self,
        query: &str,
        parameters: impl Params,
        session: SessionId,
        limit: u32,
    ) -> Result<Page, ReadError> {
        let mut statement = self.connection.prepare_cached(query).map_err(|error| self.failure(&error))?;
        let mut rows = statement.query(parameters).map_err(|error| self.failure(&error))?;
        let (mut events, mut bytes, mut last) = (Vec::new(), 0_usize, None);
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    last = rows::integer(row, 0).ok();
                    let event = rows::event(session, row);
                    bytes = bytes.saturating_add(event.as_ref().map_or(0, |event| event.data.len()));
                    events.push(event);
                }
                Ok(None) => break,
                Err(error) => {
                    // The file is damaged here; there is no way to reach what comes after.
                    let found = format!("nothing can be read after it: {error}");
                    events.push(Err(Damage { session: session.to_string(), seq: last, found }));
                    return Ok(Page { events, next: None });
                }
            }
            if bytes >= PAGE_BYTES_MAX {
                break;
            }
        }
        let is_full =
            bytes >= PAGE_BYTES_MAX || u32::try_from(events.len()).is_ok_and(|count| count >= limit);
        // A damaged number that is negative stands before all others, so going on after it is going on at 0.
        let next = last.filter(|_| is_full && limit > 0).map(|last| Seq::new(last).unwrap_or(Seq::FIRST));
        Ok(Page { events, next })
    }

    fn list<T>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl Fn(&Row<'_>) -> Result<T, Damage>,
    ) -> Result<Vec<Result<T, Damage>>, ReadError> {
        let mut statement = self.connection.prepare_cached(query).map_err(|error| self.failure(&error))?;
        let mut rows = statement.query(parameters).map_err(|error| self.failure(&error))?;
        let mut entries = Vec::new();
        loop {
            match rows.next() {
                Ok(Some(row)) => entries.push(read(row)),
                Ok(None) => return Ok(entries),
                Err(error) if entries.is_empty() => return Err(self.failure(&error)),
                Err(error) => {
                    let found = format!("nothing after it can be listed: {error}");
                    entries.push(Err(Damage { session: "?".to_owned(), seq: None, found }));
                    return Ok(entries);
                }
            }
        }
    }

    fn failure(&self, error: &rusqlite::Error) -> ReadError {
        let path = shown(&self.path);
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ReadError::Busy { path },
            _ => ReadError::Unreadable { path, detail: error.to_string() },
        }
    }
}

fn call_match(row: &Row<'_>) -> Result<CallMatch, Damage> {
    let label =
        rows::text(row, 1).unwrap_or_else(|_| format!("number {}", rows::integer(row, 4).unwrap_or(-1)));
    let read = || {
        Ok(CallMatch {
            session: rows::text(row, 1)?.parse().map_err(|_| "its session has no proper id".to_owned())?,
            seq: rows::seq(row, 0)?,
            event_type: rows::text(row, 2)?,
            time_ms: rows::integer(row, 3)?,
        })
    };
    let seq = rows::integer(row, 0).ok();
    read().map_err(|found| Damage { session: label.escape_debug().to_string(), seq, found })
}

fn unknown(session: SessionId) -> ReadError {
    ReadError::UnknownSession { wanted: session.to_string() }
}

fn excerpt(text: &str) -> String {
    text.chars().take(64).collect::<String>().escape_debug().to_string()
}

fn join(ids: &[SessionId]) -> String {
    ids.iter().map(SessionId::as_str).collect::<Vec<_>>().join(", ")
}
