//! One call as a future that may be dropped.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::Pipeline;
use crate::call::Request;
use crate::cancel::{CancelReason, CancelSource};
use crate::outcome::Outcome;

/// A call on its road; see [`Pipeline::execute`].
///
/// Dropping it once it was polled fires the call's cancellation and hands the rest of the road to the runtime, so that a
/// started body settles and its result is published (L-60).
#[must_use = "a call does nothing unless it is awaited"]
pub struct Execute<'p> {
    road: Detachable<Outcome>,
    parent: PhantomData<&'p ()>,
}

impl Execute<'_> {
    pub(super) fn new(pipeline: Pipeline, mut request: Request) -> Self {
        let (dropped, signal) = CancelSource::new();
        request.cancel = request.cancel.fuse(&signal);
        let owner = pipeline.clone();
        let road = async move { super::run(&pipeline.0, request).await };
        Self { road: Detachable::new(owner, dropped, road), parent: PhantomData }
    }
}

impl Future for Execute<'_> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        Pin::new(&mut self.road).poll(cx)
    }
}

/// A future whose work goes on, cancelled, when it is dropped.
pub(crate) struct Detachable<T: Send + 'static> {
    pipeline: Pipeline,
    dropped: CancelSource,
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    polled: bool,
}

impl<T: Send + 'static> Detachable<T> {
    pub(crate) fn new(
        pipeline: Pipeline,
        dropped: CancelSource,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        Self { pipeline, dropped, work: Some(Box::pin(work)), polled: false }
    }
}

impl<T: Send + 'static> Future for Detachable<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.polled = true;
        let Some(work) = &mut self.work else {
            return Poll::Pending;
        };
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        if !matches!(polled, Ok(Poll::Pending)) {
            // Ended, or broken: either way it is not polled again, here or when this is dropped.
            self.work = None;
        }
        polled.unwrap_or_else(|cause| resume_unwind(cause))
    }
}

impl<T: Send + 'static> Drop for Detachable<T> {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else {
            return;
        };
        if !self.polled {
            return;
        }
        self.dropped.fire(CancelReason::Disposed);
        let runtime = Handle::try_current().ok().or_else(|| self.pipeline.0.runtime.clone());
        // Without a runtime nobody can poll the rest: it is dropped, and the record closes the call when it is next opened.
        if let Some(runtime) = runtime {
            let ticket = self.pipeline.0.drains.enter();
            runtime.spawn(async move {
                work.await;
                drop(ticket);
            });
        }
    }
}

/// Counts dropped calls that have not come to their end.
#[derive(Default)]
pub(crate) struct Drains(Arc<Count>);

#[derive(Default)]
struct Count {
    open: AtomicUsize,
    changed: Notify,
}

struct Ticket(Arc<Count>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}

impl Drains {
    fn enter(&self) -> Ticket {
        self.0.open.fetch_add(1, Ordering::SeqCst);
        Ticket(Arc::clone(&self.0))
    }

    pub(super) async fn wait(&self, wait: Duration) -> usize {
        let empty = async {
            loop {
                let changed = self.0.changed.notified();
                if self.0.open.load(Ordering::SeqCst) == 0 {
                    return;
                }
                changed.await;
            }
        };
        // Whether it was in time shows in the count.
        let _ = tokio::time::timeout(wait, empty).await;
        self.0.open.load(Ordering::SeqCst)
    }
}
