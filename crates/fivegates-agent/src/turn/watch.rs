//! Tells a watcher what is recorded.

use std::sync::Arc;

use fivegates_core::call::{Call, Met};
use fivegates_core::ports::{CallEntry, GateVerdict, OutcomeEntry, PortFuture, Record, RecordError};
use fivegates_session::journal::Journal;

use super::event::{AgentEvent, Watcher};

/// A journal that is watched.
pub(super) struct Watched {
    journal: Arc<dyn Journal>,
    watcher: Watcher,
}

impl Watched {
    pub(super) fn new(journal: Arc<dyn Journal>, watcher: Watcher) -> Self {
        Self { journal, watcher }
    }
}

impl Record for Watched {
    fn call<'a>(&'a self, entry: &'a CallEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move {
            self.journal.call(entry).await?;
            let (id, name) = (entry.id.as_str(), entry.name.as_str());
            (self.watcher)(&AgentEvent::Call { id, name, arguments: entry.arguments });
            Ok(())
        })
    }

    fn decision<'a>(
        &'a self,
        call: &'a Call,
        verdict: GateVerdict,
        met: &'a [Met],
    ) -> PortFuture<'a, Result<(), RecordError>> {
        self.journal.decision(call, verdict, met)
    }

    fn intent<'a>(&'a self, call: &'a Call) -> PortFuture<'a, Result<(), RecordError>> {
        self.journal.intent(call)
    }

    fn outcome<'a>(&'a self, entry: &'a OutcomeEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async move {
            self.journal.outcome(entry).await?;
            (self.watcher)(&AgentEvent::Result {
                id: entry.id.as_str(),
                name: entry.name.as_str(),
                outcome: entry.outcome,
                met: entry.met,
                duration_ms: entry.duration_ms,
            });
            Ok(())
        })
    }
}
