//! The hash chain of a session, format 1.
//!
//! A field is its length in bytes (unsigned, 64 bits, little-endian) followed by its bytes; a number is a field of eight
//! little-endian bytes; an absent field is the length `2^64 - 1` and nothing else. Hashes are BLAKE3 over the fields:
//!
//! - header: `"fivegates-record-session"`, format, session id, created at (ms), kind, working directory or absent, meta;
//! - event: `"fivegates-record-event"`, format, previous hash, session id, sequence number, type, time (ms), call id or
//!   absent, data.
//!
//! The previous hash of a session's first event is the hash of its header. The chain alone shows changes made without
//! recomputing every later hash; a whole session that was left out or rewritten to its end shows only against a head
//! kept elsewhere.

use std::fmt;

use crate::event::{Event, NewEvent, NewSession, Seq};
use crate::id::SessionId;

/// The version of the encoding that is hashed.
pub const FORMAT: i64 = 1;

const HEADER_DOMAIN: &[u8] = b"fivegates-record-session";
const EVENT_DOMAIN: &[u8] = b"fivegates-record-event";

/// A BLAKE3 hash, printed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// The hash of a session's header, to which its first event is chained.
#[must_use]
pub fn header_hash(header: &NewSession) -> Hash {
    Fields::of(HEADER_DOMAIN)
        .text(header.id.as_str())
        .number(header.created_at_ms)
        .text(&header.kind)
        .optional(header.cwd.as_deref())
        .text(&header.meta)
        .finish()
}

/// The hash of an event at a place in a session, after the event with the hash `prev`.
#[must_use]
pub fn event_hash(prev: &Hash, session: SessionId, seq: Seq, event: &NewEvent) -> Hash {
    hash_fields(prev, session, seq, (&event.event_type, event.time_ms, event.call_id.as_deref(), &event.data))
}

/// The hash that a recorded event should have if it stood at `seq`, by its own fields and its own previous hash.
pub(crate) fn recorded_hash_at(event: &Event, seq: Seq) -> Hash {
    let fields = (event.event_type.as_str(), event.time_ms, event.call_id.as_deref(), event.data.as_str());
    hash_fields(&event.prev_hash, event.session, seq, fields)
}

fn hash_fields(
    prev: &Hash,
    session: SessionId,
    seq: Seq,
    (event_type, time_ms, call_id, data): (&str, i64, Option<&str>, &str),
) -> Hash {
    Fields::of(EVENT_DOMAIN)
        .bytes(prev.as_bytes())
        .text(session.as_str())
        .number(seq.get())
        .text(event_type)
        .number(time_ms)
        .optional(call_id)
        .text(data)
        .finish()
}

struct Fields(blake3::Hasher);

impl Fields {
    fn of(domain: &[u8]) -> Self {
        Self(blake3::Hasher::new()).bytes(domain).number(FORMAT)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    fn number(self, number: i64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    fn optional(mut self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => {
                self.0.update(&u64::MAX.to_le_bytes());
                self
            }
        }
    }

    fn finish(self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> NewSession {
        NewSession {
            id: SessionId::from_parts(1_700_000_000_000, [7; 10]),
            created_at_ms: 1_700_000_000_000,
            kind: "run".into(),
            cwd: None,
            meta: "{}".into(),
        }
    }

    fn event() -> NewEvent {
        NewEvent {
            event_type: "tool/call".into(),
            time_ms: 1_700_000_000_001,
            call_id: Some("c1".into()),
            data: r#"{"name":"bash"}"#.into(),
        }
    }

    #[test]
    fn format_1_never_changes() {
        let header_hash = header_hash(&header());
        assert_eq!(
            header_hash.to_string(),
            "a6f65a586a2857e62776ef1e0aac0ee78de600279d9a180d3f5b89512994d0de"
        );
        let hash = event_hash(&header_hash, header().id, Seq::FIRST, &event());
        assert_eq!(hash.to_string(), "baaa4b85ad5b7fccc04b4dcbb9c20a7829b98b8aca0c0da8d70c61615743f74f");
    }

    #[test]
    fn every_field_counts() {
        let id = header().id;
        let prev = header_hash(&header());
        let mut hashes = vec![event_hash(&prev, id, Seq::FIRST, &event())];
        hashes.push(event_hash(&Hash::from_bytes([0; 32]), id, Seq::FIRST, &event()));
        hashes.push(event_hash(&prev, SessionId::from_parts(0, [0; 10]), Seq::FIRST, &event()));
        hashes.push(event_hash(&prev, id, Seq::FIRST.next(), &event()));
        let changes: [fn(&mut NewEvent); 6] = [
            |event| event.event_type.push('x'),
            |event| event.time_ms += 1,
            |event| event.call_id = None,
            |event| event.call_id = Some(String::new()),
            |event| event.data.push(' '),
            // The same characters, cut elsewhere.
            |event| (event.event_type, event.call_id) = ("tool/cal".into(), Some("lc1".into())),
        ];
        for change in changes {
            let mut changed = event();
            change(&mut changed);
            hashes.push(event_hash(&prev, id, Seq::FIRST, &changed));
        }
        let header_changes: [fn(&mut NewSession); 5] = [
            |header| header.id = SessionId::from_parts(0, [0; 10]),
            |header| header.created_at_ms += 1,
            |header| header.kind.push('x'),
            |header| header.cwd = Some(String::new()),
            |header| header.meta.push(' '),
        ];
        hashes.push(prev);
        for change in header_changes {
            let mut changed = header();
            change(&mut changed);
            hashes.push(header_hash(&changed));
        }
        let distinct: std::collections::HashSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
    }
}
