//! How long each awaited extension point may take.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::gates::contain;

/// Limits of waiting, in milliseconds. Nothing is timed where there is no limit (L-16).
///
/// A gate that does not answer in time denies the call and is named in the denial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// For the whole pre-execute chain.
    pub pre_execute_ms: Option<u64>,
    /// For an approval.
    pub approval_ms: Option<u64>,
    /// For each guard.
    pub guard_ms: Option<u64>,
    /// For the whole post-execute chain.
    pub post_execute_ms: Option<u64>,
}

impl Waits {
    /// No limits; for tests and for embedders whose listeners bound themselves.
    pub const NONE: Self =
        Self { pre_execute_ms: None, approval_ms: None, guard_ms: None, post_execute_ms: None };
}

impl Default for Waits {
    /// Gates that are programs get ten minutes, as hooks do; guards ten seconds; a human an hour.
    fn default() -> Self {
        Self {
            pre_execute_ms: Some(600_000),
            approval_ms: Some(3_600_000),
            guard_ms: Some(10_000),
            post_execute_ms: Some(600_000),
        }
    }
}

/// Awaits at most this long. The timer is armed only once the future was pending.
pub(super) async fn within<T>(limit_ms: Option<u64>, future: impl Future<Output = T>) -> Result<T, u64> {
    let Some(limit_ms) = limit_ms else {
        return Ok(future.await);
    };
    let mut future = pin!(future);
    let first = std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
    if let Poll::Ready(value) = first {
        return Ok(value);
    }
    // Without a clock nobody could say when to stop waiting, so nothing is waited for.
    let Ok(timed) = contain(|| tokio::time::timeout(Duration::from_millis(limit_ms), future)) else {
        return Err(limit_ms);
    };
    timed.await.map_err(|_| limit_ms)
}
