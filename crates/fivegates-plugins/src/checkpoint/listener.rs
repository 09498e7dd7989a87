//! The wrapper that flushes first.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use fivegates_core::call::Call;
use fivegates_core::cancel::Cancel;
use fivegates_core::error::ToolError;
use fivegates_core::gates::{Answer, Around, Next, Reply};

use super::policy::{Flush, is_due, late};

pub(super) struct Checkpoint {
    pub(super) flush: Arc<dyn Flush>,
    pub(super) flush_ms_max: u64,
}

impl Around for Checkpoint {
    fn run<'a>(&'a self, call: &'a Call, mut next: Next<'a>) -> Reply<'a, Answer> {
        if !is_due(call) {
            return next.pass();
        }
        Reply::future(async move {
            self.flushed(call, next.signal()).await?;
            // After an abort in the meantime this ends before the body is invoked (K5).
            next.run().await.map(Answer::from)
        })
    }
}

impl Checkpoint {
    /// Flushes. Returns early when the call is cancelled, since then no body runs that would need it.
    async fn flushed(&self, call: &Call, signal: &Cancel) -> Result<(), ToolError> {
        let mut flush = self.flush.flush();
        // A flush that has nothing to wait for costs no timer.
        let first = poll_fn(|cx| Poll::Ready(flush.as_mut().poll(cx))).await;
        if let Poll::Ready(done) = first {
            return done;
        }
        let limited = tokio::time::timeout(Duration::from_millis(self.flush_ms_max), flush);
        let (mut limited, mut cancelled) = (pin!(limited), pin!(signal.cancelled()));
        poll_fn(|cx| match limited.as_mut().poll(cx) {
            Poll::Ready(Ok(done)) => Poll::Ready(done),
            Poll::Ready(Err(_)) => Poll::Ready(Err(late(call, self.flush_ms_max))),
            Poll::Pending => cancelled.as_mut().poll(cx).map(Ok),
        })
        .await
    }
}
