//! Started calls in model order, polled together.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use crate::pipeline::Settled;

/// A started call.
pub(super) struct Started {
    pub(super) state: Progress,
    pub(super) since: Instant,
}

pub(super) enum Progress {
    Running(Pin<Box<dyn Future<Output = Settled> + Send>>),
    Settled(Settled),
}

/// Started calls whose result is not committed, in model order.
#[derive(Default)]
pub(super) struct Pool(VecDeque<Started>);

impl Pool {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, started: Started) {
        self.0.push_back(started);
    }

    /// Awaits something while the started calls go on.
    pub(super) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            self.poll_all(cx);
            work.as_mut().poll(cx)
        })
        .await
    }

    /// Waits for the first call in model order; faster ones behind it wait their turn.
    pub(super) async fn next(&mut self) -> Option<(Settled, Instant)> {
        poll_fn(|cx| {
            self.poll_all(cx);
            match self.0.front() {
                Some(Started { state: Progress::Running(_), .. }) => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
        match self.0.pop_front() {
            Some(Started { state: Progress::Settled(settled), since }) => Some((settled, since)),
            _ => None,
        }
    }

    fn poll_all(&mut self, cx: &mut Context<'_>) {
        for started in &mut self.0 {
            if let Progress::Running(work) = &mut started.state
                && let Poll::Ready(settled) = work.as_mut().poll(cx)
            {
                started.state = Progress::Settled(settled);
            }
        }
    }
}
