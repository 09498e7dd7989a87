//! The journal over the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use fivegates_core::call::{Call, Met};
use fivegates_core::ids::CallId;
use fivegates_core::ports::{CallEntry, GateVerdict, OutcomeEntry, PortFuture, Record, RecordError};

use super::{Entry, Journal, Position};
use crate::appender::{AppendError, Appender};
use crate::event::NewEvent;

/// Writes one session's events to the record.
///
/// A call and an intent are committed before they are acknowledged, a result before anybody sees it. A decision is
/// committed together with what follows from it: the intent of a body with effects, else the result.
pub struct SessionJournal {
    appender: Appender,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    position: Option<Position>,
    /// Where each open call was recorded, and the decision that waits for its intent or result. One entry for each call under way.
    open: HashMap<CallId, Vec<Open>>,
}

struct Open {
    seq: i64,
    decision: Option<NewEvent>,
}

impl SessionJournal {
    /// Makes a journal that appends to one session.
    pub fn new(appender: Appender) -> Self {
        Self { appender, state: Mutex::default() }
    }

    /// The appender, for flushing.
    pub fn appender(&self) -> &Appender {
        &self.appender
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, events: Vec<NewEvent>) -> Result<Vec<i64>, RecordError> {
        let seqs = self.appender.append_all(events).await.map_err(record_error)?;
        Ok(seqs.into_iter().map(crate::event::Seq::get).collect())
    }
}

fn record_error(error: AppendError) -> RecordError {
    RecordError(error.to_string())
}

fn event(entry: Entry) -> NewEvent {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    NewEvent {
        event_type: entry.event_type.to_owned(),
        time_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        call_id: entry.call_id.map(|id| id.to_string()),
        data: fivegates_core::json::compact(&entry.data),
    }
}

impl Journal for SessionJournal {
    fn append(&self, entry: Entry) -> PortFuture<'_, Result<i64, RecordError>> {
        Box::pin(async move {
            let seqs = self.write(vec![event(entry)]).await?;
            seqs.first().copied().ok_or_else(|| RecordError("the record gave no place".to_owned()))
        })
    }

    fn set_position(&self, position: Option<Position>) {
        self.state().position = position;
    }
}

impl Record for SessionJournal {
    fn call<'a>(&'a self, entry: &'a CallEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move {
            let at = self.state().position;
            let seqs = self.write(vec![event(Entry::call(entry, at))]).await?;
            let seq = seqs.first().copied().unwrap_or_default();
            self.state().open.entry(entry.id.clone()).or_default().push(Open { seq, decision: None });
            Ok(())
        })
    }

    fn decision<'a>(
        &'a self,
        call: &'a Call,
        verdict: GateVerdict,
        met: &'a [Met],
    ) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move {
            let mut state = self.state();
            let decision = event(Entry::decision(call, verdict, met, state.position));
            match state.open.get_mut(call.id()).and_then(|open| open.last_mut()) {
                Some(open) => open.decision = Some(decision),
                None => {
                    return Err(RecordError(format!("no `tool/call` is open for the call `{}`", call.id())));
                }
            }
            Ok(())
        })
    }

    fn intent<'a>(&'a self, call: &'a Call) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move {
            let events = {
                let mut state = self.state();
                let intent = event(Entry::intent(call, state.position));
                let waiting = state.open.get_mut(call.id()).and_then(|open| open.last_mut());
                waiting.and_then(|open| open.decision.take()).into_iter().chain([intent]).collect()
            };
            self.write(events).await.map(|_| ())
        })
    }

    fn outcome<'a>(&'a self, entry: &'a OutcomeEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move {
            let (open, at) = {
                let mut state = self.state();
                let open = match state.open.get_mut(entry.id) {
                    // Calls commit in the order in which they were recorded.
                    Some(waiting) if waiting.len() > 1 => Some(waiting.remove(0)),
                    Some(_) => state.open.remove(entry.id).and_then(|mut waiting| waiting.pop()),
                    None => None,
                };
                (open, state.position)
            };
            let seq = open.as_ref().map(|open| open.seq);
            let mut events: Vec<NewEvent> = open.and_then(|open| open.decision).into_iter().collect();
            events.push(event(Entry::result(entry, seq, at)));
            self.write(events).await.map(|_| ())
        })
    }
}
