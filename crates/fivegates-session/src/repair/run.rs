//! Closing abandoned sessions of a record.

use std::path::Path;

use fivegates_core::json;

use super::closers::{Seen, Trust, closers};
use super::live::{Live, LiveError};
use crate::appender::AppendError;
use crate::event::{NewEvent, Seq, Session};
use crate::id::SessionId;
use crate::reader::{ReadError, Reader};
use crate::rows::Damage;
use crate::store::Store;
use crate::{StoreError, journal::types};

/// Events read at once.
const PAGE: u32 = 500;

/// A session that was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The session.
    pub session: SessionId,
    /// How many results were appended.
    pub results: usize,
}

/// Why abandoned sessions could not be closed.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Their marks cannot be read.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The record cannot be opened for reading.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A session cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An event of it is damaged; the session is left as it is.
    #[error("session `{session}` was left open: {damage}")]
    Damaged {
        /// The session.
        session: SessionId,
        /// The event.
        damage: Damage,
    },
    /// The closing events cannot be appended.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The thread that reads ended early.
    #[error("reading the record was cut short: try again")]
    Cut,
}

/// Closes every session whose process is dead. Doing it twice changes nothing.
///
/// # Errors
/// The first session that cannot be closed; it stays marked, and those before it are closed.
pub async fn repair_abandoned(store: &Store) -> Result<Vec<Repaired>, RepairError> {
    let path = store.path().to_owned();
    let found = tokio::task::spawn_blocking(move || Live::abandoned(&path)).await;
    let mut repaired = Vec::new();
    for (session, live) in found.map_err(|_| RepairError::Cut)?? {
        match repair(store, session).await {
            Ok(Some(done)) => repaired.push(done),
            // The process died before its first event: there is nothing to close.
            Ok(None) => {}
            Err(error) => {
                live.leave();
                return Err(error);
            }
        }
    }
    Ok(repaired)
}

async fn repair(store: &Store, session: SessionId) -> Result<Option<Repaired>, RepairError> {
    let path = store.path().to_owned();
    let log =
        tokio::task::spawn_blocking(move || read(&path, session)).await.map_err(|_| RepairError::Cut)??;
    let Some((log, trust)) = log else {
        return Ok(None);
    };
    let closers = closers(&log, trust);
    let results = closers.iter().filter(|closer| closer.event_type == types::TOOL_RESULT).count();
    let events = closers.into_iter().map(|closer| NewEvent {
        event_type: closer.event_type.to_owned(),
        time_ms: closer.time_ms,
        call_id: closer.call_id,
        data: json::compact(&closer.data),
    });
    store.resume(session).append_all(events.collect()).await?;
    Ok(Some(Repaired { session, results }))
}

type Log = (Vec<Seen>, Trust);

/// Reads a session whole; nothing when it is not in the record.
fn read(path: &Path, session: SessionId) -> Result<Option<Log>, RepairError> {
    let reader = Reader::open(path)?;
    let header = match reader.session(session.as_str()) {
        Ok(header) => header,
        Err(ReadError::UnknownSession { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut log = Vec::new();
    let mut after: Option<Seq> = None;
    loop {
        let page = reader.events(session, after, PAGE)?;
        for event in page.events {
            let event = event.map_err(|damage| RepairError::Damaged { session, damage })?;
            log.push(Seen {
                seq: event.seq.get(),
                time_ms: event.time_ms,
                // What is no lossless JSON was not written by us; closing needs none of it.
                data: json::parse(&event.data).unwrap_or_default(),
                event_type: event.event_type,
                call_id: event.call_id,
            });
        }
        after = page.next;
        if after.is_none() {
            return Ok(Some((log, trust(&header))));
        }
    }
}

/// A session says in its header whether its writer records intents.
fn trust(header: &Session) -> Trust {
    let intents = json::parse(&header.meta).ok().and_then(|meta| meta.get("intents")?.as_bool());
    if intents == Some(true) { Trust::Intents } else { Trust::CallsOnly }
}
