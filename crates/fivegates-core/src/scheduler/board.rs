//! One batch on its way.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use super::pool::{Pool, Progress, Started};
use super::{BatchReport, CallReport, Scheduler};
use crate::call::Request;
use crate::cancel::Cancel;
use crate::error::own;
use crate::gates::contain;
use crate::outcome::{Ending, Outcome};
use crate::pipeline::{self, Prepared, Settled};
use crate::ports::{CallEntry, GateVerdict, OutcomeEntry, PortFuture, RecordError};

pub(super) struct Board {
    scheduler: Scheduler,
    cancel: Cancel,
    pool: Pool,
    reports: Vec<CallReport>,
    failure: Option<RecordError>,
}

impl Board {
    pub(super) fn new(scheduler: Scheduler, cancel: Cancel) -> Self {
        Self { scheduler, cancel, pool: Pool::default(), reports: Vec::new(), failure: None }
    }

    /// Starts calls in order as far as they may overlap, commits in order, and closes what never starts.
    pub(super) async fn run(mut self, calls: Vec<Request>) -> BatchReport {
        let mut waiting: VecDeque<Request> = calls.into();
        while self.failure.is_none() && !self.cancel.is_cancelled() {
            let Some(head) = waiting.front_mut() else {
                break;
            };
            // Classified right before each start, so that changes of the registry take effect.
            let overlaps = self.scheduler.overlaps(head);
            let room = if overlaps { self.scheduler.parallel_max.get() } else { 1 };
            if self.pool.len() >= room {
                self.commit_next().await;
                continue;
            }
            let Some(head) = waiting.pop_front() else {
                break;
            };
            self.start(head).await;
            if !overlaps {
                // The barrier is held through the commit (L-36).
                self.drain().await;
            }
        }
        self.drain().await;
        let aborted = !waiting.is_empty() && self.failure.is_none();
        for request in waiting {
            self.close_unstarted(request).await;
        }
        BatchReport { calls: self.reports, aborted, failure: self.failure }
    }

    /// Records the call, takes it through gates 1 and 2, and launches it.
    async fn start(&mut self, request: Request) {
        let since = Instant::now();
        if let Err(error) = self.record_call(&request).await {
            return self.refuse_unrecorded(request, "call", error).await;
        }
        let inner = Arc::clone(self.scheduler.pipeline.inner());
        let prepared = match request.refusal.clone() {
            Some(error) => Prepared::Settled(pipeline::unstarted(&inner, request, error)),
            None => self.pool.drive(pipeline::prepare(&inner, request)).await,
        };
        let state = match self.record_decision(prepared).await {
            Prepared::Settled(settled) => Progress::Settled(settled),
            permitted => {
                Progress::Running(Box::pin(async move { pipeline::dispatch(&inner, permitted).await }))
            }
        };
        self.pool.push(Started { state, since });
    }

    async fn record_call(&mut self, request: &Request) -> Result<(), RecordError> {
        let record = Arc::clone(&self.scheduler.record);
        let arguments = request.arguments.text();
        let parent = request.parent.as_ref();
        let entry = CallEntry {
            id: &request.id,
            name: &request.name,
            arguments: &arguments,
            parent: parent.map(|parent| &parent.id),
            root: parent.map_or(&request.id, |parent| &parent.root),
        };
        self.pool.drive(contained(|| record.call(&entry))).await
    }

    /// Records what the gates decided, and the intent of a body with effects. What cannot be recorded does not run (L-62).
    async fn record_decision(&mut self, prepared: Prepared) -> Prepared {
        let record = Arc::clone(&self.scheduler.record);
        let call = prepared.call().clone();
        let met = call.met();
        let permitted = matches!(prepared, Prepared::Permitted(_));
        let verdict = if permitted { GateVerdict::Permitted } else { GateVerdict::Refused };
        let intended = async {
            contained(|| record.decision(&call, verdict, &met)).await?;
            // A name that was unknown when the call came in has no body that could run.
            let acts = permitted && call.definition().is_some() && !call.effects().read_only;
            if acts { contained(|| record.intent(&call)).await } else { Ok(()) }
        };
        match (self.pool.drive(intended).await, prepared) {
            (Ok(()), prepared) => prepared,
            (Err(error), Prepared::Permitted(permitted)) => {
                let refused = own::record_failed("intent", &error.to_string());
                self.failure.get_or_insert(error);
                Prepared::Settled(Settled::refused(permitted, refused))
            }
            (Err(error), settled) => {
                self.failure.get_or_insert(error);
                settled
            }
        }
    }

    async fn commit_next(&mut self) {
        if let Some((settled, since)) = self.pool.next().await {
            self.commit(settled, since).await;
        }
    }

    async fn drain(&mut self) {
        while !self.pool.is_empty() {
            self.commit_next().await;
        }
    }

    /// Gate 4, gate 5, publication, and the durable result; only then is the result anybody's.
    async fn commit(&mut self, settled: Settled, since: Instant) {
        let inner = Arc::clone(self.scheduler.pipeline.inner());
        let call = settled.call.clone();
        let outcome = self.pool.drive(pipeline::commit(&inner, settled)).await;
        let met = call.met();
        let duration_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let entry =
            OutcomeEntry { id: call.id(), name: call.name(), outcome: &outcome, met: &met, duration_ms };
        let record = Arc::clone(&self.scheduler.record);
        // Also after a failure: the record may work again, and a recorded call should not stay open (L-11).
        let recorded = self.pool.drive(contained(|| record.outcome(&entry))).await;
        let outcome = match recorded {
            Ok(()) => outcome,
            // What is not on record is nobody's to see.
            Err(error) => {
                let withheld = Outcome::publish(Ending::failed(own::unrecorded_result(&error.0)), Vec::new());
                self.failure.get_or_insert(error);
                withheld
            }
        };
        self.reports.push(CallReport { id: call.id().clone(), name: call.name().clone(), outcome, met });
    }

    /// A call that cannot be recorded does not run.
    async fn refuse_unrecorded(&mut self, request: Request, what: &str, error: RecordError) {
        let refused = own::record_failed(what, &error.to_string());
        self.failure.get_or_insert(error);
        self.drain().await;
        self.report_unrecorded(request, refused).await;
    }

    async fn report_unrecorded(&mut self, request: Request, error: crate::error::ToolError) {
        let inner = Arc::clone(self.scheduler.pipeline.inner());
        let settled = pipeline::unstarted(&inner, request, error);
        let call = settled.call.clone();
        let outcome = pipeline::commit(&inner, settled).await;
        let report =
            CallReport { id: call.id().clone(), name: call.name().clone(), outcome, met: call.met() };
        self.reports.push(report);
    }

    /// Closes a call that never starts: a pair of records after a cancellation, none after a failure of the record.
    async fn close_unstarted(&mut self, request: Request) {
        if let Some(failure) = &self.failure {
            let error = own::record_failed("call", &failure.to_string());
            return self.report_unrecorded(request, error).await;
        }
        let since = Instant::now();
        if let Err(error) = self.record_call(&request).await {
            return self.refuse_unrecorded(request, "call", error).await;
        }
        let inner = Arc::clone(self.scheduler.pipeline.inner());
        let error = request.refusal.clone().unwrap_or_else(own::aborted_before_dispatch);
        let settled = pipeline::unstarted(&inner, request, error);
        self.commit(settled, since).await;
    }
}

/// Asks the record for something; its panic is a failure of the record.
async fn contained<'a>(
    ask: impl FnOnce() -> PortFuture<'a, Result<(), RecordError>>,
) -> Result<(), RecordError> {
    let panicked = |text: String| RecordError(format!("the record panicked: {text}"));
    let mut work = contain(ask).map_err(panicked)?;
    poll_fn(|cx| match contain(|| work.as_mut().poll(cx)) {
        Ok(polled) => polled,
        Err(text) => Poll::Ready(Err(panicked(text))),
    })
    .await
}

impl Scheduler {
    /// Tells whether a call may overlap with others; its arguments are read here, once.
    fn overlaps(&self, request: &mut Request) -> bool {
        if request.refusal.is_some() {
            return true;
        }
        let inner = self.pipeline.inner();
        let read = request.read.get_or_insert_with(|| pipeline::read(inner, &request.arguments));
        inner.registry.is_parallel(request.agent, &request.name, read.as_ref().ok())
    }
}
