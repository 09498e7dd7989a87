use rusqlite::{Connection, Result};
use thiserror::Error;

use crate::chain::{Hash, recorded_hash_at};
use crate::event::{Event, Head, Seq, Session};
use crate::rows;

/// How far around its place an event that was moved is looked for.
const MOVED_DISTANCE_MAX: i64 = 64;

/// What the chain of a session says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every event follows the one before, from the header to this head.
    Intact(Head),
    /// The chain is broken.
    Broken {
        /// The place of the first event that is wrong.
        seq: Seq,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// What is wrong with the first bad event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// A field of the event is not what was hashed.
    #[error("was edited")]
    Edited,
    /// The event is missing, although later ones are there.
    #[error("was dropped")]
    Dropped,
    /// Another event of this session stands in its place.
    #[error("was exchanged with another event of the session")]
    Reordered,
    /// The event is whole, but it does not follow the one before it: one of the two was replaced or inserted.
    #[error("does not follow the event before it")]
    Unlinked,
    /// The first event does not belong to this header: the session's kind, times, folder or meta data were edited.
    #[error("does not belong to the header of the session, which was edited")]
    HeaderEdited,
    /// The head of the session says that there were events from here on.
    #[error("was cut off, with everything after it")]
    CutOff,
    /// The head of the session names an earlier event or another hash than that of the last event.
    #[error("is not what the head of the session says")]
    HeadDiffers,
    /// The row cannot be read.
    #[error("cannot be read ({found})")]
    Unreadable {
        /// What is wrong with the row.
        found: String,
    },
}

/// Checks one session inside a transaction of the caller's; keeps one event in memory.
pub(crate) fn session(connection: &Connection, number: i64, session: &Session) -> Result<Verdict> {
    let query = "SELECT seq, type, time_ms, call_id, data, prev_hash, hash FROM event
        WHERE session = ?1 ORDER BY seq";
    let mut statement = connection.prepare_cached(query)?;
    let mut found = statement.query([number])?;
    let (mut expected, mut prev) = (Seq::FIRST, rows::header_hash(session));
    loop {
        let fault = match found.next() {
            Ok(None) => break,
            Err(error) => Some(Fault::Unreadable { found: error.to_string() }),
            Ok(Some(row)) => match rows::event(session.id, row) {
                Err(damage) => Some(Fault::Unreadable { found: damage.found }),
                Ok(event) => {
                    let fault = fault_of(connection, number, &event, expected, prev)?;
                    prev = event.hash;
                    fault
                }
            },
        };
        if let Some(fault) = fault {
            return Ok(Verdict::Broken { seq: expected, fault });
        }
        expected = expected.next();
    }
    Ok(check_head(session.head, expected, prev))
}

/// `end` is the place after the last event, whose hash is `last`.
fn check_head(head: Head, end: Seq, last: Hash) -> Verdict {
    if head.seq >= end {
        return Verdict::Broken { seq: end, fault: Fault::CutOff };
    }
    if head.seq.next() < end {
        return Verdict::Broken { seq: head.seq.next(), fault: Fault::HeadDiffers };
    }
    if head.hash != last {
        return Verdict::Broken { seq: head.seq, fault: Fault::HeadDiffers };
    }
    Verdict::Intact(head)
}

fn fault_of(
    connection: &Connection,
    number: i64,
    event: &Event,
    expected: Seq,
    prev: Hash,
) -> Result<Option<Fault>> {
    if event.seq != expected {
        return Ok(Some(Fault::Dropped));
    }
    let is_whole = recorded_hash_at(event, expected) == event.hash;
    match (is_whole, event.prev_hash == prev) {
        (true, true) => Ok(None),
        (true, false) if expected == Seq::FIRST => Ok(Some(Fault::HeaderEdited)),
        (true, false) => Ok(Some(Fault::Unlinked)),
        (false, true) => Ok(Some(Fault::Edited)),
        (false, false) => explain_stranger(connection, number, event, expected).map(Some),
    }
}

/// An event that neither follows the one before nor is whole at its place may be whole at another: then it was moved
/// here, either into the place of a dropped one or in exchange.
fn explain_stranger(connection: &Connection, number: i64, event: &Event, expected: Seq) -> Result<Fault> {
    let nearby =
        expected.get().saturating_sub(MOVED_DISTANCE_MAX)..=expected.get().saturating_add(MOVED_DISTANCE_MAX);
    let by_successor =
        place_of(connection, number, "prev_hash", &event.hash)?.map(|seq| seq.saturating_sub(1));
    let home = by_successor
        .into_iter()
        .chain(nearby)
        .filter_map(Seq::new)
        .find(|seq| recorded_hash_at(event, *seq) == event.hash);
    Ok(match home {
        None => Fault::Edited,
        // What it followed is gone, and everything moved up.
        Some(home)
            if home > expected && place_of(connection, number, "hash", &event.prev_hash)?.is_none() =>
        {
            Fault::Dropped
        }
        Some(_) => Fault::Reordered,
    })
}

fn place_of(connection: &Connection, number: i64, column: &str, hash: &Hash) -> Result<Option<i64>> {
    let query = format!("SELECT min(seq) FROM event WHERE session = ?1 AND {column} = ?2");
    connection.query_row(&query, (number, hash.as_bytes()), |row| row.get(0))
}
