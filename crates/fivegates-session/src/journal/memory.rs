//! A journal that keeps its events, for tests and for embedders without a file.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fivegates_core::call::{Call, Met};
use fivegates_core::ports::{CallEntry, GateVerdict, OutcomeEntry, PortFuture, Record, RecordError};

use super::{Entry, Journal, Position, types};

/// Events that are kept at most, unless configured otherwise.
const EVENTS_MAX: usize = 100_000;

/// Keeps up to 100,000 events; one more is a failure of the record.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    position: Option<Position>,
    events: Vec<Entry>,
}

impl MemoryJournal {
    /// Makes an empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that was appended, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.state().events.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, make: impl FnOnce(Option<Position>, &[Entry]) -> Entry) -> Result<i64, RecordError> {
        let mut state = self.state();
        if state.events.len() >= EVENTS_MAX {
            return Err(RecordError(format!("the journal holds {EVENTS_MAX} events and takes no more")));
        }
        let entry = make(state.position, &state.events);
        state.events.push(entry);
        Ok(i64::try_from(state.events.len() - 1).unwrap_or(i64::MAX))
    }
}

impl Journal for MemoryJournal {
    fn append(&self, entry: Entry) -> PortFuture<'_, Result<i64, RecordError>> {
        Box::pin(async move { self.push(|_, _| entry) })
    }

    fn set_position(&self, position: Option<Position>) {
        self.state().position = position;
    }
}

impl Record for MemoryJournal {
    fn call<'a>(&'a self, entry: &'a CallEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move { self.push(|at, _| Entry::call(entry, at)).map(|_| ()) })
    }

    fn decision<'a>(
        &'a self,
        call: &'a Call,
        verdict: GateVerdict,
        met: &'a [Met],
    ) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move { self.push(|at, _| Entry::decision(call, verdict, met, at)).map(|_| ()) })
    }

    fn intent<'a>(&'a self, call: &'a Call) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move { self.push(|at, _| Entry::intent(call, at)).map(|_| ()) })
    }

    fn outcome<'a>(&'a self, entry: &'a OutcomeEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move {
            let of_call = |known: &Entry| {
                known.event_type == types::TOOL_CALL && known.call_id.as_deref() == Some(entry.id.as_str())
            };
            let result = |at, events: &[Entry]| {
                let seq = events.iter().rposition(of_call).and_then(|seq| i64::try_from(seq).ok());
                Entry::result(entry, seq, at)
            };
            self.push(result).map(|_| ())
        })
    }
}
