use std::fmt;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use thiserror::Error;

use crate::chain::{self, Hash};
use crate::event::{Event, Head, NewSession, Seq, Session};
use crate::id::SessionId;

/// A row that cannot be read; the others can.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Damage {
    /// The session, as far as it can be told.
    pub session: String,
    /// The event, where it is one.
    pub seq: Option<i64>,
    /// What is wrong.
    pub found: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seq {
            Some(seq) => write!(f, "event {seq} of session `{}` is damaged ({})", self.session, self.found)?,
            None => write!(f, "session `{}` is damaged ({})", self.session, self.found)?,
        }
        f.write_str(": check it with `fivegates log verify`")
    }
}

/// Reads `no, id, created_at_ms, kind, cwd, meta, head_seq, head_hash`.
pub(crate) fn session(row: &Row<'_>) -> Result<Session, Damage> {
    let label = text(row, 1).unwrap_or_else(|_| format!("number {}", integer(row, 0).unwrap_or(-1)));
    let read = || {
        Ok(Session {
            id: text(row, 1)?.parse().map_err(|_| "its id is not one".to_owned())?,
            created_at_ms: integer(row, 2)?,
            kind: text(row, 3)?,
            cwd: optional_text(row, 4)?,
            meta: text(row, 5)?,
            head: Head { seq: seq(row, 6)?, hash: hash(row, 7)? },
        })
    };
    read().map_err(|found| Damage { session: label.escape_debug().to_string(), seq: None, found })
}

/// Reads `seq, type, time_ms, call_id, data, prev_hash, hash` of an event of `session`.
pub(crate) fn event(session: SessionId, row: &Row<'_>) -> Result<Event, Damage> {
    let read = || {
        Ok(Event {
            session,
            seq: seq(row, 0)?,
            event_type: text(row, 1)?,
            time_ms: integer(row, 2)?,
            call_id: optional_text(row, 3)?,
            data: text(row, 4)?,
            prev_hash: hash(row, 5)?,
            hash: hash(row, 6)?,
        })
    };
    read().map_err(|found| Damage { session: session.to_string(), seq: integer(row, 0).ok(), found })
}

/// The hash that the header of a recorded session has by its own fields.
pub(crate) fn header_hash(session: &Session) -> Hash {
    chain::header_hash(&NewSession {
        id: session.id,
        created_at_ms: session.created_at_ms,
        kind: session.kind.clone(),
        cwd: session.cwd.clone(),
        meta: session.meta.clone(),
    })
}

pub(crate) fn seq(row: &Row<'_>, index: usize) -> Result<Seq, String> {
    Seq::new(integer(row, index)?).ok_or_else(|| format!("its {} is negative", name(row, index)))
}

pub(crate) fn integer(row: &Row<'_>, index: usize) -> Result<i64, String> {
    match row.get_ref(index) {
        Ok(ValueRef::Integer(number)) => Ok(number),
        _ => Err(format!("its {} is not an integer", name(row, index))),
    }
}

pub(crate) fn text(row: &Row<'_>, index: usize) -> Result<String, String> {
    match row.get_ref(index) {
        Ok(ValueRef::Text(bytes)) => {
            String::from_utf8(bytes.to_vec()).map_err(|_| format!("its {} is not UTF-8", name(row, index)))
        }
        _ => Err(format!("its {} is not text", name(row, index))),
    }
}

fn optional_text(row: &Row<'_>, index: usize) -> Result<Option<String>, String> {
    match row.get_ref(index) {
        Ok(ValueRef::Null) => Ok(None),
        _ => text(row, index).map(Some),
    }
}

fn hash(row: &Row<'_>, index: usize) -> Result<Hash, String> {
    match row.get_ref(index) {
        Ok(ValueRef::Blob(bytes)) => bytes
            .try_into()
            .map(Hash::from_bytes)
            .map_err(|_| format!("its {} has {} bytes instead of 32", name(row, index), bytes.len())),
        _ => Err(format!("its {} is not a hash", name(row, index))),
    }
}

/// The name of a column, which is one of our own.
fn name(row: &Row<'_>, index: usize) -> String {
    row.as_ref().column_name(index).unwrap_or("field").to_owned()
}
