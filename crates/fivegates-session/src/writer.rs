use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, named_params};

use crate::appender::AppendError;
use crate::chain::{self, Hash};
use crate::event::{NewEvent, NewSession, Seq};
use crate::id::SessionId;
use crate::open::{Sync, shown};
use crate::queue::{Answer, Command, Queue, Work};
use crate::rows;

/// How many waiting commands share one commit.
const BATCH_COMMANDS_MAX: usize = 1024;

/// Owns the writing connection, on a thread of its own.
pub(crate) struct Writer {
    connection: Connection,
    path: PathBuf,
    shown_path: String,
    /// Device and inode of the file that is open.
    identity: Option<(u64, u64)>,
    sync: Sync,
    sync_now: Sync,
    queue: Arc<Queue>,
}

/// Where a session goes on.
#[derive(Clone, Copy)]
struct Tail {
    no: i64,
    next: Seq,
    hash: Hash,
}

/// Why a command does not go on.
enum Stop {
    /// Nothing of the command was written; the others in the transaction are not concerned.
    Refused(AppendError),
    /// The transaction must be taken back.
    Failed(AppendError),
}

/// Tells the callers when the thread ends, in whatever way it does.
struct EndOnDrop(Arc<Queue>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Writer {
    pub(crate) fn new(connection: Connection, path: PathBuf, sync: Sync, queue: Arc<Queue>) -> Self {
        let shown_path = shown(&path);
        let identity = fs::metadata(&path).ok().map(|found| (found.dev(), found.ino()));
        connection.set_prepared_statement_cache_capacity(32);
        Self { connection, path, shown_path, identity, sync, sync_now: sync, queue }
    }

    /// Carries out commands until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        let _end = EndOnDrop(Arc::clone(&self.queue));
        while let Some(batch) = self.queue.take(BATCH_COMMANDS_MAX) {
            self.write(batch);
        }
    }

    /// Commits the commands together. When one of them makes the transaction fail, each gets one of its own, so that
    /// only those fail that must.
    fn write(&mut self, batch: Vec<Command>) {
        match self.transaction(&batch) {
            Ok(answers) => {
                batch.into_iter().zip(answers).for_each(|(command, answer)| reply(command, answer));
            }
            Err(error) if batch.len() == 1 || concerns_all(&error) => {
                batch.into_iter().for_each(|command| reply(command, Err(error.clone())));
            }
            Err(_) => {
                for command in batch {
                    let answers = self.transaction(std::slice::from_ref(&command));
                    let answer = answers.and_then(|answers| answers.into_iter().next().unwrap_or(Ok(None)));
                    reply(command, answer);
                }
            }
        }
    }

    fn transaction(&mut self, batch: &[Command]) -> Result<Vec<Answer>, AppendError> {
        self.check_place()?;
        if !self.connection.is_autocommit() {
            // An earlier rollback failed; nothing may be committed on top of what it left.
            self.statement("ROLLBACK")?;
        }
        self.choose_sync(batch)?;
        self.statement("BEGIN IMMEDIATE")?;
        let answers = self.fill(batch).and_then(|answers| self.statement("COMMIT").map(|()| answers));
        if answers.is_err() && !self.connection.is_autocommit() {
            // When this fails too, the next transaction tries again, and says so if it cannot.
            let _ = self.statement("ROLLBACK");
        }
        answers
    }

    /// Refuses to write into a file that nobody will find again.
    fn check_place(&self) -> Result<(), AppendError> {
        let found = fs::metadata(&self.path).ok().map(|found| (found.dev(), found.ino()));
        if found.is_some() && found == self.identity {
            return Ok(());
        }
        Err(AppendError::Moved { path: self.shown_path.clone() })
    }

    /// A flush makes its whole transaction wait for the disk: syncing the WAL takes every earlier commit with it.
    fn choose_sync(&mut self, batch: &[Command]) -> Result<(), AppendError> {
        let flushes = batch.iter().any(|command| matches!(command.work, Work::Flush));
        let wanted = if flushes { Sync::Full } else { self.sync };
        if wanted != self.sync_now {
            let changed = self.connection.pragma_update(None, "synchronous", wanted.pragma());
            changed.map_err(|error| self.failure(&error))?;
            self.sync_now = wanted;
        }
        Ok(())
    }

    /// Heads are read in the transaction that moves them, never remembered across transactions: another process may
    /// append in between.
    fn fill(&self, batch: &[Command]) -> Result<Vec<Answer>, AppendError> {
        let mut tails: HashMap<SessionId, Tail> = HashMap::new();
        let mut answers = Vec::with_capacity(batch.len());
        for command in batch {
            let done = match &command.work {
                Work::Flush => self.move_barrier().map(|()| None),
                Work::Append { session, header, events } => {
                    self.append(&mut tails, *session, header.as_deref(), events).map(Some)
                }
                #[cfg(test)]
                Work::Panic => panic!("asked to"),
            };
            match done {
                Ok(seq) => answers.push(Ok(seq)),
                Err(Stop::Refused(error)) => answers.push(Err(error)),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        for tail in tails.values() {
            self.move_head(tail).map_err(|error| self.failure(&error))?;
        }
        Ok(answers)
    }

    fn append(
        &self,
        tails: &mut HashMap<SessionId, Tail>,
        session: SessionId,
        header: Option<&NewSession>,
        events: &[NewEvent],
    ) -> Result<Seq, Stop> {
        let mut tail = match tails.get(&session) {
            Some(tail) => *tail,
            None => self.find_tail(session, header)?,
        };
        let first = tail.next;
        for event in events {
            tail = self.insert_event(session, tail, event)?;
        }
        tails.insert(session, tail);
        Ok(first)
    }

    fn find_tail(&self, session: SessionId, header: Option<&NewSession>) -> Result<Tail, Stop> {
        let failed = |error: rusqlite::Error| Stop::Failed(self.failure(&error));
        let query =
            "SELECT no, id, created_at_ms, kind, cwd, meta, head_seq, head_hash FROM session WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(query).map_err(failed)?;
        let found =
            statement.query_row([session.as_str()], |row| Ok((row.get::<_, i64>(0)?, rows::session(row))));
        let (no, recorded) = match (found.optional().map_err(failed)?, header) {
            (Some(found), _) => found,
            (None, Some(header)) => return self.insert_session(header).map_err(failed),
            (None, None) => return Err(Stop::Refused(AppendError::UnknownSession { session })),
        };
        let recorded = recorded
            .map_err(|damage| Stop::Refused(AppendError::DamagedSession { session, detail: damage.found }))?;
        if header.is_some_and(|header| chain::header_hash(header) != rows::header_hash(&recorded)) {
            return Err(Stop::Refused(AppendError::SessionTaken { session }));
        }
        Ok(Tail { no, next: recorded.head.seq.next(), hash: recorded.head.hash })
    }

    /// Until its first event is in, in the same transaction, the session's head is its own header.
    fn insert_session(&self, header: &NewSession) -> rusqlite::Result<Tail> {
        let hash = chain::header_hash(header);
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO session (id, created_at_ms, kind, cwd, meta, head_seq, head_hash)
             VALUES (:id, :created_at_ms, :kind, :cwd, :meta, -1, :head_hash)",
        )?;
        let no = statement.insert(named_params! {
            ":id": header.id.as_str(),
            ":created_at_ms": header.created_at_ms,
            ":kind": header.kind,
            ":cwd": header.cwd,
            ":meta": header.meta,
            ":head_hash": hash.as_bytes(),
        })?;
        Ok(Tail { no, next: Seq::FIRST, hash })
    }

    fn insert_event(&self, session: SessionId, tail: Tail, event: &NewEvent) -> Result<Tail, Stop> {
        let hash = chain::event_hash(&tail.hash, session, tail.next, event);
        let inserted = self
            .connection
            .prepare_cached(
                "INSERT INTO event (session, seq, type, time_ms, call_id, data, prev_hash, hash)
                 VALUES (:session, :seq, :type, :time_ms, :call_id, :data, :prev_hash, :hash)",
            )
            .and_then(|mut statement| {
                statement.execute(named_params! {
                    ":session": tail.no,
                    ":seq": tail.next.get(),
                    ":type": event.event_type,
                    ":time_ms": event.time_ms,
                    ":call_id": event.call_id,
                    ":data": event.data,
                    ":prev_hash": tail.hash.as_bytes(),
                    ":hash": hash.as_bytes(),
                })
            });
        match inserted {
            Ok(_) => Ok(Tail { no: tail.no, next: tail.next.next(), hash }),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                let detail = format!("there is an event {} after its head", tail.next);
                Err(Stop::Failed(AppendError::DamagedSession { session, detail }))
            }
            Err(error) => Err(Stop::Failed(self.failure(&error))),
        }
    }

    fn move_head(&self, tail: &Tail) -> rusqlite::Result<()> {
        let query = "UPDATE session SET head_seq = ?2 - 1, head_hash = ?3 WHERE no = ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        statement.execute((tail.no, tail.next.get(), tail.hash.as_bytes())).map(|_| ())
    }

    /// A transaction that changes nothing is not committed, so it would not wait for the disk.
    fn move_barrier(&self) -> Result<(), Stop> {
        let query = "UPDATE barrier SET flushes = (flushes + 1) & 0xFFFFFFFF WHERE id = 0";
        let moved = self.connection.prepare_cached(query).and_then(|mut statement| statement.execute([]));
        match moved {
            Ok(1) => Ok(()),
            Ok(_) => Err(Stop::Refused(AppendError::Damaged {
                path: self.shown_path.clone(),
                detail: "the row of `barrier` is missing".to_owned(),
            })),
            Err(error) => Err(Stop::Failed(self.failure(&error))),
        }
    }

    fn statement(&self, sql: &'static str) -> Result<(), AppendError> {
        let done = self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.map(|_| ()).map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &rusqlite::Error) -> AppendError {
        AppendError::from_sqlite(&self.shown_path, error)
    }
}

/// Whether every command would fail the same way, so that trying each alone would only take time.
fn concerns_all(error: &AppendError) -> bool {
    matches!(error, AppendError::Busy { .. } | AppendError::Moved { .. })
}

fn reply(command: Command, answer: Answer) {
    // The caller may have gone; the event is recorded all the same.
    let _ = command.answer.send(answer);
}
