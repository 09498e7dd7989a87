use std::fmt;

use crate::chain::Hash;
use crate::id::SessionId;

/// An event's place in its session, counted from 0 without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(i64);

impl Seq {
    /// The place of a session's first event.
    pub const FIRST: Self = Self(0);

    /// Takes a number; `None` for a negative one.
    #[must_use]
    pub fn new(number: i64) -> Option<Self> {
        (number >= 0).then_some(Self(number))
    }

    /// The number, never negative.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }

    /// The place after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Describes a session that comes into being with its first event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The name of the session, usually fresh from [`SessionId::generate`].
    pub id: SessionId,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// What made it: `run`, `exec`, `demo`, ….
    pub kind: String,
    /// The working directory, where there is one.
    pub cwd: Option<String>,
    /// Anything else, as JSON text.
    pub meta: String,
}

/// An event that is to be appended; the store gives it its place and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The event type, such as `tool/call` (spec harness §21). Not empty.
    pub event_type: String,
    /// When it happened, in milliseconds since 1970. The store does not compare times: clocks go backwards.
    pub time_ms: i64,
    /// The call it belongs to; any string a model may have made up.
    pub call_id: Option<String>,
    /// The payload: one JSON text, kept byte for byte.
    pub data: String,
}

impl NewEvent {
    /// The bytes that are limited: type, call id and data.
    pub(crate) fn bytes(&self) -> usize {
        let call_id = self.call_id.as_ref().map_or(0, String::len);
        self.event_type.len().saturating_add(call_id).saturating_add(self.data.len())
    }
}

/// A recorded event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The session it belongs to.
    pub session: SessionId,
    /// Its place in the session.
    pub seq: Seq,
    /// The event type, such as `tool/call`.
    pub event_type: String,
    /// When it happened, in milliseconds since 1970.
    pub time_ms: i64,
    /// The call it belongs to.
    pub call_id: Option<String>,
    /// The payload: the JSON text that was appended.
    pub data: String,
    /// The hash of the event before, or of the session's header for the first.
    pub prev_hash: Hash,
    /// The hash of this event, as stored; [`Reader::verify`](crate::Reader::verify) says whether it is right.
    pub hash: Hash,
}

/// The last event of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its place.
    pub seq: Seq,
    /// Its hash, which stands for the whole session up to here.
    pub hash: Hash,
}

/// A recorded session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// What made it: `run`, `exec`, `demo`, ….
    pub kind: String,
    /// The working directory, where there was one.
    pub cwd: Option<String>,
    /// Anything else, as JSON text.
    pub meta: String,
    /// Its last event, as stored.
    pub head: Head,
}

impl Session {
    /// How many events were appended to it.
    #[must_use]
    pub fn event_count(&self) -> i64 {
        self.head.seq.get().saturating_add(1)
    }
}
