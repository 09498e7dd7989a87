use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::ErrorCode;
use serde::de::IgnoredAny;
use thiserror::Error;

use crate::event::{NewEvent, NewSession, Seq};
use crate::id::SessionId;
use crate::queue::{Queue, Work};

/// Appends events to one session. Clones append to the same session.
///
/// Appends that wait at the same time are committed together. Two appends that overlap are recorded in either order;
/// one that starts after another was acknowledged is recorded after it.
#[derive(Clone)]
pub struct Appender {
    session: SessionId,
    /// The header of a session that is not in the record yet.
    header: Option<Arc<NewSession>>,
    /// Whether the header was recorded.
    begun: Arc<AtomicBool>,
    event_bytes_max: usize,
    queue: Arc<Queue>,
}

/// Says why an event was not appended.
///
/// After an error nothing of the append is in the record and the chain is as it was. One exception: when the disk
/// refused the commit itself ([`AppendError::Io`]) and the machine loses power right after, the events may be found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are the parts of the message beside them")]
pub enum AppendError {
    /// The payload, or the meta data of a session, is not one JSON text.
    #[error("the data of a `{event_type}` is not JSON ({detail}): append one JSON text")]
    NotJson { event_type: String, detail: String },
    /// The event type is empty.
    #[error("an event without a type cannot be recorded: name its type")]
    NoType,
    /// The event is larger than `event_bytes_max`.
    #[error("a `{event_type}` of {bytes} bytes is too large for the record: shorten it to {bytes_max} bytes")]
    TooLarge { event_type: String, bytes: usize, bytes_max: usize },
    /// The session is not in the record.
    #[error("the record holds no session `{session}`: list its sessions with `fivegates log`")]
    UnknownSession { session: SessionId },
    /// The session is in the record, with another header.
    #[error("the record holds another session `{session}`: begin a session with a fresh id")]
    SessionTaken { session: SessionId },
    /// The session's own row or the place after its last event is not as the store left it.
    #[error(
        "the session `{session}` is damaged ({detail}): check it with `fivegates log verify`, and go on in a new one"
    )]
    DamagedSession { session: SessionId, detail: String },
    /// Another process kept the file locked for longer than `busy_timeout_ms`.
    #[error("the record `{path}` is held by another process: try again when that one is done")]
    Busy { path: String },
    /// The disk is full, or the file has reached `file_bytes_max`.
    #[error("there is no room left for the record `{path}`: free some space, or raise the limit of the file")]
    Full { path: String },
    /// The disk or the file system failed.
    #[error("the record `{path}` cannot be written ({detail}): check the disk")]
    Io { path: String, detail: String },
    /// The file was removed or replaced while it was open.
    #[error("the record `{path}` was removed or replaced while in use: bring it back, or start again")]
    Moved { path: String },
    /// SQLite finds the file damaged.
    #[error("the record `{path}` is damaged ({detail}): keep it, and start again with another file")]
    Damaged { path: String, detail: String },
    /// Anything else that SQLite says.
    #[error("the record `{path}` refused the event ({detail}): start again, or use another file")]
    Other { path: String, detail: String },
    /// The store was closed.
    #[error("the record was closed: open it again to append")]
    Closed,
    /// The writer thread ended early.
    #[error("the writer of the record has failed: open the record again to append")]
    WriterGone,
}

impl Appender {
    pub(crate) fn begin(
        queue: Arc<Queue>,
        event_bytes_max: usize,
        header: NewSession,
    ) -> Result<Self, AppendError> {
        check_json("session", &header.meta)?;
        let session = header.id;
        Ok(Self { header: Some(Arc::new(header)), ..Self::resume(queue, event_bytes_max, session) })
    }

    pub(crate) fn resume(queue: Arc<Queue>, event_bytes_max: usize, session: SessionId) -> Self {
        Self { session, header: None, begun: Arc::default(), event_bytes_max, queue }
    }

    /// The session that is appended to.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Appends one event; resolves once it is committed, with its place.
    ///
    /// Dropping the future leaves it open whether the event is recorded.
    ///
    /// # Errors
    /// [`AppendError`] when the event is not in the record.
    pub async fn append(&self, event: NewEvent) -> Result<Seq, AppendError> {
        match self.append_first_of(vec![event]).await? {
            Some(seq) => Ok(seq),
            None => Err(AppendError::WriterGone),
        }
    }

    /// Appends events next to each other, all or none; resolves once they are committed, with their places.
    ///
    /// # Errors
    /// [`AppendError`] when none of the events is in the record.
    pub async fn append_all(&self, events: Vec<NewEvent>) -> Result<Vec<Seq>, AppendError> {
        let count = events.len();
        let first = self.append_first_of(events).await?;
        Ok(std::iter::successors(first, |seq| Some(seq.next())).take(count).collect())
    }

    /// Waits until everything that was acknowledged so far is on the disk; see [`Store::flush`](crate::Store::flush).
    ///
    /// # Errors
    /// [`AppendError`] when that is not certain.
    pub async fn flush(&self) -> Result<(), AppendError> {
        self.queue.ask(Work::Flush).await.map(|_| ())
    }

    async fn append_first_of(&self, events: Vec<NewEvent>) -> Result<Option<Seq>, AppendError> {
        if events.is_empty() {
            return Ok(None);
        }
        events.iter().try_for_each(|event| self.check(event))?;
        let header = self.header.clone().filter(|_| !self.begun.load(Ordering::Relaxed));
        let first = self.queue.ask(Work::Append { session: self.session, header, events }).await?;
        self.begun.store(true, Ordering::Relaxed);
        Ok(first)
    }

    fn check(&self, event: &NewEvent) -> Result<(), AppendError> {
        if event.event_type.is_empty() {
            return Err(AppendError::NoType);
        }
        let (bytes, bytes_max) = (event.bytes(), self.event_bytes_max);
        if bytes > bytes_max {
            let event_type = excerpt(&event.event_type);
            return Err(AppendError::TooLarge { event_type, bytes, bytes_max });
        }
        check_json(&event.event_type, &event.data)
    }
}

impl AppendError {
    pub(crate) fn from_sqlite(path: &str, error: &rusqlite::Error) -> Self {
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
                Self::Io { path, detail }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, detail },
            _ => Self::Other { path, detail },
        }
    }
}

/// Nesting is skipped without recursion, so its depth does not matter here.
fn check_json(event_type: &str, text: &str) -> Result<(), AppendError> {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(IgnoredAny) => Ok(()),
        Err(error) => {
            Err(AppendError::NotJson { event_type: excerpt(event_type), detail: error.to_string() })
        }
    }
}

fn excerpt(event_type: &str) -> String {
    event_type.chars().take(64).collect::<String>().escape_debug().to_string()
}
