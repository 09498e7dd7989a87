//! What the core needs from outside: somebody to ask, something that records, something that filters what leaves.

use std::future::Future;
use std::pin::Pin;

use crate::call::{Call, Met};
use crate::cancel::Cancel;
use crate::decision::ApprovalOutcome;
use crate::gates::Reply;
use crate::ids::{CallId, ComponentId, ScopeId, ToolName};
use crate::outcome::Outcome;

/// A future that a port returns.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers asks (R-090 … R-098).
pub trait Approver: Send + Sync {
    /// The approver's id, for the record.
    fn id(&self) -> &ComponentId;

    /// Asks whether this call may run. A failure is final and denies.
    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome>;
}

/// What an approver is given: the frozen call, and who wants it asked for what reason (L-06).
#[derive(Debug)]
pub struct ApprovalRequest<'a> {
    /// The call; its arguments are exactly those that will run.
    pub call: &'a Call,
    /// The agent through which it is routed.
    pub agent: ScopeId,
    /// Why somebody is asked.
    pub reason: Option<&'a str>,
    /// The component that wants somebody asked.
    pub by: Option<&'a ComponentId>,
    /// The caller's cancellation.
    pub cancel: &'a Cancel,
}

/// Makes the durable record (L-62). The scheduler calls it, so that every entrance is recorded in one place.
///
/// Each method returns once the entry is as durable as it is going to be.
pub trait Record: Send + Sync {
    /// Records `tool/call` before any gate runs. A call that cannot be recorded does not run.
    fn call<'a>(&'a self, entry: &'a CallEntry<'a>) -> PortFuture<'a, Result<(), RecordError>>;

    /// Records what gates 1 and 2 decided.
    fn decision<'a>(
        &'a self,
        call: &'a Call,
        verdict: GateVerdict,
        met: &'a [Met],
    ) -> PortFuture<'a, Result<(), RecordError>>;

    /// Records that a body with effects is about to run. A call whose intent cannot be recorded does not run.
    fn intent<'a>(&'a self, call: &'a Call) -> PortFuture<'a, Result<(), RecordError>>;

    /// Records `tool/result` before anybody but observers sees it.
    fn outcome<'a>(&'a self, entry: &'a OutcomeEntry<'a>) -> PortFuture<'a, Result<(), RecordError>>;
}

/// Whether a call may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GateVerdict {
    /// Gates 1 and 2 let it through.
    Permitted,
    /// It ended before a body could run.
    Refused,
}

/// One `tool/call`.
#[derive(Debug)]
pub struct CallEntry<'a> {
    /// The call's id.
    pub id: &'a CallId,
    /// The tool's name.
    pub name: &'a ToolName,
    /// The arguments as the model wrote them, byte for byte.
    pub arguments: &'a str,
    /// The call that this one is nested in.
    pub parent: Option<&'a CallId>,
    /// The outermost call.
    pub root: &'a CallId,
}

/// One `tool/result`.
#[derive(Debug)]
pub struct OutcomeEntry<'a> {
    /// The call's id.
    pub id: &'a CallId,
    /// The tool's name.
    pub name: &'a ToolName,
    /// The result.
    pub outcome: &'a Outcome,
    /// What the call met, in order.
    pub met: &'a [Met],
    /// Milliseconds from admission to publication.
    pub duration_ms: u64,
}

/// The record could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordError(pub String);

/// Filters what leaves (L-63). Redaction lives here.
///
/// It is applied to content, value, message, metadata and contexts of each result after the finalizer, and by those who
/// write records, cards and live output.
pub trait Egress: Send + Sync {
    /// The filter's id, for the record.
    fn id(&self) -> &ComponentId;

    /// Returns the text that may leave in place of this one, or nothing when it may leave as it is.
    ///
    /// # Errors
    /// The filter failed; nothing of the text leaves.
    fn text(&self, text: &str) -> Result<Option<String>, crate::error::ToolError>;
}
