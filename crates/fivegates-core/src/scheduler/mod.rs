//! One scheduler for every entrance: prepare in order, dispatch overlapping, commit in order (R-210 … R-223, L-35).
//!
//! It is also the one place that calls the [`Record`] port, so that whoever asks for a call, it is recorded the same way.

mod board;
mod pool;

use std::collections::HashSet;
use std::future::Future;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::call::{CallRequest, Met, Request};
use crate::cancel::{Cancel, CancelSource};
use crate::error::own;
use crate::ids::{CallId, ToolName};
use crate::outcome::Outcome;
use crate::pipeline::{Detachable, Pipeline};
use crate::ports::{Record, RecordError};

use board::Board;

/// Calls that may overlap unless configured otherwise.
pub const PARALLEL_MAX_DEFAULT: NonZeroUsize = NonZeroUsize::new(10).unwrap();

/// Runs batches of calls. Clones share pipeline and record.
#[derive(Clone)]
pub struct Scheduler {
    pipeline: Pipeline,
    record: Arc<dyn Record>,
    parallel_max: NonZeroUsize,
}

/// What became of a batch.
#[derive(Debug)]
pub struct BatchReport {
    /// One report for each call, in the order in which they were asked for.
    pub calls: Vec<CallReport>,
    /// Whether the batch was cancelled before every call had started.
    pub aborted: bool,
    /// The first failure of the record. Calls after it did not run, and results since are not on record.
    pub failure: Option<RecordError>,
}

impl BatchReport {
    /// Tells whether a success asked for the turn to end.
    pub fn concludes_turn(&self) -> bool {
        self.calls.iter().any(|call| call.outcome.success().is_some_and(|success| success.concludes_turn()))
    }
}

/// What became of one call.
#[derive(Debug)]
pub struct CallReport {
    /// The call's id.
    pub id: CallId,
    /// The tool's name.
    pub name: ToolName,
    /// The published result.
    pub outcome: Outcome,
    /// What the call met, in order.
    pub met: Vec<Met>,
}

impl Scheduler {
    /// Makes a scheduler with the default limit of overlapping calls.
    pub fn new(pipeline: Pipeline, record: Arc<dyn Record>) -> Self {
        Self { pipeline, record, parallel_max: PARALLEL_MAX_DEFAULT }
    }

    /// Limits how many calls may overlap.
    #[must_use]
    pub fn with_parallel_max(self, parallel_max: NonZeroUsize) -> Self {
        Self { parallel_max, ..self }
    }

    /// The pipeline that calls go through.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Runs the calls of one model message, or one line of input.
    ///
    /// When `cancel` fires no further call starts; started ones come to their end, and each that did not start is recorded
    /// as `ABORTED_BEFORE_DISPATCH`. A repeated id is answered with `DUPLICATE_CALL_ID` (L-09). Dropping the
    /// future cancels in the same way and the rest goes on in the background (L-60).
    pub fn run<'p>(&self, calls: Vec<CallRequest<'p>>, cancel: &Cancel) -> RunBatch<'p> {
        let (dropped, signal) = CancelSource::new();
        let cancel = cancel.fuse(&signal);
        let mut seen = HashSet::new();
        let calls: Vec<Request> = calls
            .into_iter()
            .map(|call| {
                let mut request = call.inner;
                request.cancel = request.cancel.fuse(&cancel);
                if !seen.insert(request.id.clone()) && request.refusal.is_none() {
                    request.refusal = Some(own::duplicate_call_id(&request.id));
                }
                request
            })
            .collect();
        let board = Board::new(self.clone(), cancel);
        let road = Detachable::new(self.pipeline.clone(), dropped, board.run(calls));
        RunBatch { road, parent: PhantomData }
    }
}

/// A batch on its road; see [`Scheduler::run`].
#[must_use = "a batch does nothing unless it is awaited"]
pub struct RunBatch<'p> {
    road: Detachable<BatchReport>,
    parent: PhantomData<&'p ()>,
}

impl Future for RunBatch<'_> {
    type Output = BatchReport;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BatchReport> {
        Pin::new(&mut self.road).poll(cx)
    }
}

#[cfg(test)]
mod tests;
