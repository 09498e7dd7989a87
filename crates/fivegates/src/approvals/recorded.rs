//! Asks and their answers in the record.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::error::ToolError;
use fivegates_core::gates::{GateError, Reply};
use fivegates_core::ids::ComponentId;
use fivegates_core::json::Json;
use fivegates_core::ports::{ApprovalRequest, Approver, RecordError};
use fivegates_session::journal::{Entry, Journal, types};
use tokio::sync::oneshot;

/// Somebody is asked whether a call may run.
pub(crate) const APPROVAL_ASKED: &str = types::APPROVAL_ASKED;
/// How that ended.
pub(crate) const APPROVAL_DECIDED: &str = types::APPROVAL_DECIDED;

/// Who answers in the place of an approver.
const POLICY: &str = "approval-policy";
const CALLER: &str = "caller";
const PIPELINE: &str = "pipeline";

/// Whether anybody is asked at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ApprovalPolicy {
    /// The approver is asked.
    #[default]
    Ask,
    /// Every ask is rejected, and nobody is asked.
    Never,
}

/// An approver whose every ask leaves exactly one pair of events, `approval/asked` and `approval/decided`.
///
/// When one of the two cannot be written the ask fails, whatever was answered. An approver that fails or panics was no
/// use, so nobody could be asked; the record says so. An ask that is dropped, by the caller or after its time is up, is
/// recorded as cancelled.
pub(crate) struct Recorded {
    inner: Arc<dyn Approver>,
    journal: Arc<dyn Journal>,
    policy: ApprovalPolicy,
}

/// How an ask ended, and by whom.
struct Decided {
    outcome: ApprovalOutcome,
    by: ComponentId,
}

impl Recorded {
    /// Goes around an approver, which is asked. Needs a runtime when it is asked.
    pub(crate) fn new(inner: Arc<dyn Approver>, journal: Arc<dyn Journal>) -> Self {
        Self { inner, journal, policy: ApprovalPolicy::default() }
    }

    /// Sets whether anybody is asked at all.
    #[must_use]
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "everything that runs calls so far has somebody to ask")
    )]
    pub(crate) fn with_policy(self, policy: ApprovalPolicy) -> Self {
        Self { policy, ..self }
    }

    async fn ask(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalOutcome, GateError> {
        let id = fresh_id()?;
        let (asked, is_asked) = oneshot::channel();
        let (decide, decided) = oneshot::channel();
        let asked_entry = asked_entry(&id, request);
        let call_id = asked_entry.call_id.clone();
        // The pair is written by a task of its own: a caller who goes away in between must not leave half of it.
        let pair = tokio::spawn(write_pair(
            Arc::clone(&self.journal),
            asked_entry,
            asked,
            decided,
            move |decided: &Decided| decided_entry(&id, call_id, decided),
        ));
        if is_asked.await.is_ok() {
            let answer = self.answer(request).await;
            let outcome = answer.outcome;
            // The receiver is gone only when the task is, and then the task's own end says why.
            let _ = decide.send(answer);
            return match pair.await {
                Ok(Ok(())) => Ok(outcome),
                Ok(Err(error)) => Err(unrecorded(&error.0)),
                Err(_) => Err(unrecorded("the writer is gone")),
            };
        }
        match pair.await {
            Ok(Err(error)) => Err(unrecorded(&error.0)),
            Ok(Ok(())) | Err(_) => Err(unrecorded("the writer is gone")),
        }
    }

    /// Cancelled before policy before approver, so that nobody is asked in vain (spec §3).
    async fn answer(&self, request: &ApprovalRequest<'_>) -> Decided {
        let cancelled = || Decided { outcome: ApprovalOutcome::Cancelled, by: ComponentId::new(CALLER) };
        if request.cancel.is_cancelled() {
            return cancelled();
        }
        if self.policy == ApprovalPolicy::Never {
            return Decided { outcome: ApprovalOutcome::Rejected, by: ComponentId::new(POLICY) };
        }
        let answer = async {
            let outcome = contained(|| self.inner.request(request)).await;
            let outcome = outcome.unwrap_or(ApprovalOutcome::Unavailable);
            Decided { outcome, by: self.inner.id().clone() }
        };
        tokio::select! {
            biased;
            () = request.cancel.cancelled() => cancelled(),
            answer = answer => answer,
        }
    }
}

impl Approver for Recorded {
    fn id(&self) -> &ComponentId {
        self.inner.id()
    }

    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        Reply::future(self.ask(request))
    }
}

/// Writes that somebody is asked, says so, and writes how it ended. Nobody left to decide means cancelled.
async fn write_pair(
    journal: Arc<dyn Journal>,
    asked_entry: Entry,
    asked: oneshot::Sender<()>,
    decided: oneshot::Receiver<Decided>,
    decided_entry: impl FnOnce(&Decided) -> Entry,
) -> Result<(), RecordError> {
    journal.append(asked_entry).await?;
    // Nobody may be waiting any more; the pair is completed all the same.
    let _ = asked.send(());
    let dropped = || Decided { outcome: ApprovalOutcome::Cancelled, by: ComponentId::new(PIPELINE) };
    let decided = decided.await.unwrap_or_else(|_| dropped());
    journal.append(decided_entry(&decided)).await.map(|_| ())
}

/// Asks, and takes a failure or a panic as no answer.
async fn contained<'a>(ask: impl FnOnce() -> Reply<'a, ApprovalOutcome>) -> Option<ApprovalOutcome> {
    let reply = catch_unwind(AssertUnwindSafe(ask)).ok()?;
    let mut reply = pin!(reply);
    let polled = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| reply.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(outcome)) => Poll::Ready(outcome.ok()),
        Err(_) => Poll::Ready(None),
    });
    polled.await
}

fn asked_entry(id: &str, request: &ApprovalRequest<'_>) -> Entry {
    let call = request.call;
    let mut members = vec![
        ("id", Json::from(id)),
        ("toolName", Json::from(call.name().as_str())),
        ("callId", Json::from(call.id().as_str())),
    ];
    if let Some(reason) = request.reason {
        members.push(("reason", Json::from(reason)));
    }
    if let Some(by) = request.by {
        members.push(("by", Json::from(by.as_str())));
    }
    members.push(("digest", Json::from(hex(&call.digest()))));
    let call_id = Some(Arc::from(call.id().as_str()));
    Entry { call_id, ..Entry::new(APPROVAL_ASKED, Json::object(members)) }
}

fn decided_entry(id: &str, call_id: Option<Arc<str>>, decided: &Decided) -> Entry {
    let members = [
        ("id", Json::from(id)),
        ("outcome", Json::from(decided.outcome.as_str())),
        ("by", Json::from(decided.by.as_str())),
    ];
    Entry { call_id, ..Entry::new(APPROVAL_DECIDED, Json::object(members)) }
}

fn unrecorded(cause: &str) -> GateError {
    let message = format!("the approval could not be recorded, so it does not count: {cause}");
    ToolError::coded("RecordError", "RECORD_FAILED", message).into()
}

/// A random id (UUID version 4).
fn fresh_id() -> Result<String, GateError> {
    let mut bits = [0_u8; 16];
    getrandom::fill(&mut bits)
        .map_err(|error| ToolError::new(format!("no randomness for the id of an approval: {error}")))?;
    bits[6] = (bits[6] & 0x0f) | 0x40;
    bits[8] = (bits[8] & 0x3f) | 0x80;
    let hex = hex(&bits);
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')).collect()
}
