use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::appender::{AppendError, Appender};
use crate::event::NewSession;
use crate::id::SessionId;
use crate::open::{self, OpenOptions, StoreError, shown};
use crate::queue::{Queue, Work};
use crate::reader::Reader;
use crate::writer::Writer;

/// The writing half of the record: a thread that owns the connection, and a bounded queue in front of it.
///
/// Several processes may hold a store on the same file. Appends to different sessions never disturb each other; appends
/// to one session are chained correctly whoever makes them.
///
/// Dropping the store writes what is queued and ends the thread, which blocks; asynchronous code calls
/// [`close`](Store::close) first.
pub struct Store {
    queue: Arc<Queue>,
    path: PathBuf,
    event_bytes_max: usize,
    thread: Option<JoinHandle<()>>,
    ended: oneshot::Receiver<()>,
}

impl Store {
    /// Opens the record at `path` for writing; makes it (mode 0600) and its folder (mode 0700) where there is none.
    ///
    /// Blocks on files: call it before the runtime is busy, or on a thread for blocking work.
    ///
    /// # Errors
    /// [`StoreError`]; the file is then as it was.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, StoreError> {
        let (connection, path) = open::writer(path.as_ref(), options)?;
        let queue = Arc::new(Queue::new(options.queue_bytes_max));
        let writer = Writer::new(connection, path.clone(), options.sync, Arc::clone(&queue));
        let (end, ended) = oneshot::channel();
        let spawned = thread::Builder::new().name("record-writer".to_owned()).spawn(move || {
            writer.run();
            drop(end);
        });
        match spawned {
            Ok(thread) => {
                let event_bytes_max = options.event_bytes_max;
                Ok(Self { queue, path, event_bytes_max, thread: Some(thread), ended })
            }
            Err(error) => Err(StoreError::Other { path: shown(&path), detail: error.to_string() }),
        }
    }

    /// Opens the record at `path` for reading, also while other processes write; never changes it.
    ///
    /// # Errors
    /// [`StoreError`], for a missing file too.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Reader, StoreError> {
        Reader::open(path.as_ref())
    }

    /// Opens a reader on the same file.
    ///
    /// # Errors
    /// [`StoreError`], as for [`open_read_only`](Store::open_read_only).
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(&self.path)
    }

    /// The file, as an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends to a new session, which enters the record with its first event.
    ///
    /// # Errors
    /// [`AppendError::NotJson`] when `meta` is not JSON.
    pub fn begin(&self, session: NewSession) -> Result<Appender, AppendError> {
        Appender::begin(Arc::clone(&self.queue), self.event_bytes_max, session)
    }

    /// Appends to a session that is in the record already; whether it is shows at the first append.
    #[must_use]
    pub fn resume(&self, session: SessionId) -> Appender {
        Appender::resume(Arc::clone(&self.queue), self.event_bytes_max, session)
    }

    /// Waits until everything that was acknowledged so far is on the disk.
    ///
    /// It commits a small transaction of its own with `synchronous=FULL`, which syncs the WAL and with it every commit
    /// before, by other processes too. Appends that wait at the same time share the sync.
    ///
    /// # Errors
    /// [`AppendError`] when that is not certain.
    pub async fn flush(&self) -> Result<(), AppendError> {
        self.queue.ask(Work::Flush).await.map(|_| ())
    }

    /// Takes no more appends, writes those that wait, and resolves once the file is closed.
    ///
    /// # Errors
    /// [`AppendError::WriterGone`] when the writer thread had failed.
    pub async fn close(mut self) -> Result<(), AppendError> {
        self.queue.close();
        // The sender is only ever dropped, as the last thing the thread does.
        let _ = (&mut self.ended).await;
        self.join()
    }

    fn join(&mut self) -> Result<(), AppendError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(AppendError::WriterGone),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.queue.close();
        // A failure was told to every caller that was waiting.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::NewEvent;

    #[test]
    fn handles_cross_threads() {
        fn shared<T: Send + std::marker::Sync>() {}
        fn sent<T: Send>() {}
        shared::<Store>();
        shared::<Appender>();
        sent::<Reader>();
    }

    #[tokio::test]
    async fn a_dead_writer_is_told_to_everyone_who_waits_or_comes_later() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("record.sqlite"), &OpenOptions::default()).unwrap();
        let header = NewSession {
            id: SessionId::generate().unwrap(),
            created_at_ms: 0,
            kind: "run".into(),
            cwd: None,
            meta: "{}".into(),
        };
        let appender = store.begin(header).unwrap();
        let event = || NewEvent { event_type: "note".into(), time_ms: 0, call_id: None, data: "{}".into() };
        assert!(appender.append(event()).await.is_ok());
        let (panicked, waiting) = tokio::join!(store.queue.ask(Work::Panic), appender.append(event()));
        assert_eq!(panicked, Err(AppendError::WriterGone));
        assert_eq!(waiting, Err(AppendError::WriterGone));
        assert_eq!(appender.append(event()).await, Err(AppendError::WriterGone));
        assert_eq!(store.flush().await, Err(AppendError::WriterGone));
        let reader = store.reader().unwrap();
        assert_eq!(reader.session("").unwrap().event_count(), 1);
        assert_eq!(store.close().await, Err(AppendError::WriterGone));
    }
}
