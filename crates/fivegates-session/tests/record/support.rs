use std::path::{Path, PathBuf};

use fivegates_session::{Appender, NewEvent, NewSession, OpenOptions, Reader, SessionId, Store};
use rusqlite::Connection;
use tempfile::TempDir;

/// A folder of its own for each test, and the place of a record in it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("state/fivegates/record.sqlite")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(self.path(), &OpenOptions::default()).unwrap()
    }

    pub(crate) fn reader(&self) -> Reader {
        Store::open_read_only(self.path()).unwrap()
    }

    /// Changes the file behind the store's back.
    pub(crate) fn tamper(&self, sql: &str) {
        tamper(&self.path(), sql);
    }
}

pub(crate) fn tamper(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

pub(crate) fn session(kind: &str) -> NewSession {
    NewSession {
        id: SessionId::generate().unwrap(),
        created_at_ms: 1_700_000_000_000,
        kind: kind.into(),
        cwd: Some("/work".into()),
        meta: r#"{"model":"scripted"}"#.into(),
    }
}

pub(crate) fn event(event_type: &str, call_id: Option<&str>, data: &str) -> NewEvent {
    NewEvent {
        event_type: event_type.into(),
        time_ms: 1_700_000_000_001,
        call_id: call_id.map(Into::into),
        data: data.into(),
    }
}

pub(crate) fn note(number: usize) -> NewEvent {
    event("note", None, &format!(r#"{{"number":{number}}}"#))
}

/// Begins a session with `count` notes.
pub(crate) async fn notes(store: &Store, count: usize) -> Appender {
    let appender = store.begin(session("run")).unwrap();
    for number in 0..count {
        appender.append(note(number)).await.unwrap();
    }
    appender
}
