//! The wrapper that watches the clock.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use fivegates_core::call::Call;
use fivegates_core::cancel::{CancelReason, CancelSource};
use fivegates_core::error::ToolError;
use fivegates_core::gates::{Answer, Around, Next, Reply};
use tokio::time::{Instant, sleep_until};

use super::policy::Policy;

pub(super) struct Deadline {
    pub(super) policy: Policy,
}

impl Around for Deadline {
    fn run<'a>(&'a self, call: &'a Call, next: Next<'a>) -> Reply<'a, Answer> {
        let Some(after_ms) = self.policy.deadline_ms(call) else {
            return next.pass();
        };
        // A deadline beyond the end of the clock never comes.
        let Some(at) = Instant::now().checked_add(Duration::from_millis(after_ms)) else {
            return next.pass();
        };
        Reply::future(watched(next, after_ms, at))
    }
}

/// Runs the rest and asks it to stop when its time is up. It is never abandoned: the answer comes once it has settled
/// (R-272, invariant 5).
async fn watched(
    mut next: Next<'_>,
    after_ms: u64,
    at: Instant,
) -> Result<Answer, fivegates_core::gates::GateError> {
    let others = next.signal().clone();
    let (source, signal) = CancelSource::new();
    next.add_signal(&signal);
    let mut rest = pin!(next.run());
    // A body that is ready at once costs no timer.
    let first = poll_fn(|cx| Poll::Ready(rest.as_mut().poll(cx))).await;
    if let Poll::Ready(attempt) = first {
        return attempt.map(Answer::from);
    }
    let mut timer = pin!(sleep_until(at));
    let mut waiting = true;
    let attempt = poll_fn(|cx| {
        // The clock is looked at first: what settles at its deadline has not settled before it.
        if waiting && timer.as_mut().poll(cx).is_ready() {
            waiting = false;
            // Whoever cancelled first decides how the call ends.
            if !others.is_cancelled() {
                source.fire(CancelReason::Deadline { after_ms });
            }
        }
        rest.as_mut().poll(cx)
    })
    .await?;
    if !source.is_fired() {
        return Ok(attempt.into());
    }
    let message = format!("tool call timed out after {after_ms}ms");
    Ok(Answer::failure(ToolError::coded("ToolTimeoutError", "TOOL_TIMEOUT", message)))
}
