//! Stage three: gate 3 and the body.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use super::project::{not_lossless, project};
use super::{Inner, Road, Settled};
use crate::call::{Call, Invocation, Met, Permitted, Stage};
use crate::cancel::{Cancel, CancelReason, CancelSource};
use crate::decision::{Denial, DenialKind};
use crate::error::{ToolError, own};
use crate::gates::{
    Answer, AnswerKind, AroundChain, Attempt, BodyRunner, GateError, Listeners, Reply, contain, discard,
    panic_text,
};
use crate::ids::ComponentId;
use crate::json::Json;
use crate::outcome::{Ending, Failure};
use crate::registry::{Registered, Registry};
use crate::tool::{BodyError, BodyFuture, Definition};

/// Runs the around chain and, inside it, the body.
pub(super) async fn dispatch(pipeline: &Inner, permitted: Permitted) -> Settled {
    let call = permitted.call.clone();
    let bodies = Arc::new(Bodies {
        permitted: Arc::new(permitted),
        registry: pipeline.registry.clone(),
        left: Mutex::default(),
    });
    let list = pipeline.registry.around_list();
    let listeners = Listeners::new(list, Arc::clone(call.scopes()));
    let chain = AroundChain { listeners, body: Box::new(Runner(Arc::clone(&bodies))) };
    let answer = chain.start(&call).await;
    // A wrapper may have dropped what it ran; a started body is never abandoned (invariant 5, L-60).
    bodies.drain().await;
    call.state().attempt = 0;
    settle(call, answer)
}

fn settle(call: Call, answer: Result<Attempt, GateError>) -> Settled {
    let Attempt { ending, road, .. } = match answer {
        Ok(attempt) => attempt,
        Err(failure) => {
            note(&call, Stage::Execute, failure.by.as_ref(), "failed", &failure.error);
            // Gate 4 does not see a wrapper's failure; what was deferred is kept (L-02).
            return Settled { call, ending: Ending::failed(failure.error), road: Road::Final };
        }
    };
    // K7.
    let ending = unless_cancelled(&call, ending);
    Settled { call, ending, road }
}

/// Replaces a success by the cancellation of the caller; never a failure (R-111, K7, K8).
pub(super) fn unless_cancelled(call: &Call, ending: Ending) -> Ending {
    if ending.is_error() || !call.cancel().is_cancelled() {
        return ending;
    }
    let invoked = call.state().invoked;
    let error = if invoked { own::aborted() } else { own::aborted_before_dispatch() };
    note(call, Stage::Execute, None, "aborted", &error);
    Ending::failed(error)
}

fn note(call: &Call, stage: Stage, by: Option<&ComponentId>, verdict: &'static str, error: &ToolError) {
    call.note_met(Met {
        stage,
        by: by.cloned(),
        verdict,
        code: error.identity().map(|identity| identity.code.clone()),
        reason: Some(Arc::clone(error.shared_message())),
    });
}

/// What the bodies of one call share: one for each attempt, one after another.
struct Bodies {
    permitted: Arc<Permitted>,
    registry: Registry,
    /// Bodies whose wrapper dropped them before their end.
    left: Mutex<Vec<Running>>,
}

struct Runner(Arc<Bodies>);

impl BodyRunner for Runner {
    fn body<'a>(&'a self, signal: Cancel) -> Reply<'a, Attempt> {
        let bodies = &self.0;
        if bodies.has_left() {
            // Attempts are sequential: an earlier one that was dropped comes to its end first (L-01).
            return Reply::future(async move {
                bodies.drain().await;
                match bodies.start(signal) {
                    Start::Ended(attempt) => Ok(attempt),
                    Start::Running(slot) => Ok(slot.await),
                }
            });
        }
        match bodies.start(signal) {
            Start::Ended(attempt) => Reply::ready(attempt),
            Start::Running(slot) => Reply::future(async move { Ok(slot.await) }),
        }
    }

    fn restart(&self, level: usize) {
        let mut state = self.0.permitted.call.state();
        state.deferred.clear();
        state.concludes_turn = false;
        state.wrapped.retain(|(at, _)| *at < level);
    }

    fn answered(&self, level: usize, by: &ComponentId, answer: Answer) -> Attempt {
        let call = &self.0.permitted.call;
        call.state().wrapped.extend(answer.contexts.into_iter().map(|context| (level, context)));
        let authored = |value| {
            let (ending, road) = authored(call, by, value);
            Attempt { token: call.token(), ending, road }
        };
        let kept = |ending| Attempt { token: call.token(), ending, road: Road::Full };
        match answer.kind {
            AnswerKind::Attempt(attempt) if attempt.token == call.token() => attempt,
            // A result of another execution is checked like any value.
            AnswerKind::Attempt(foreign) => match foreign.ending {
                Ending::Success(success) => authored(success.value),
                failure => kept(failure),
            },
            AnswerKind::Value(value) => authored(value),
            AnswerKind::Failure(failure) => {
                note(call, Stage::Execute, Some(by), "answered", failure.error());
                kept(Ending::Failure(failure))
            }
        }
    }
}

/// A wrapper's value goes through the tool's own contract. What fails there was never a result of the body stage,
/// so gate 4 does not see it; nor does it see a value for a name that was unknown at entry (R-127, L-21).
fn authored(call: &Call, by: &ComponentId, value: Json) -> (Ending, Road) {
    let projected = match call.definition() {
        Some(definition) => project(call, definition, value),
        None => Err(own::unknown_tool(call.name())),
    };
    match projected {
        Ok(success) => {
            call.note(Stage::Execute, Some(by), "answered");
            (Ending::Success(success), Road::Full)
        }
        Err(error) => {
            note(call, Stage::Execute, Some(by), "answered", &error);
            (Ending::failed(error), Road::Final)
        }
    }
}

impl Bodies {
    fn has_left(&self) -> bool {
        !self.left.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Polls every dropped body to its end.
    async fn drain(&self) {
        loop {
            let next = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if next.is_none() {
                return;
            }
            let mut draining = Draining { bodies: self, running: next };
            if let Some(running) = &mut draining.running {
                // Its result is nobody's; that it settled is what counts.
                running.await;
            }
            draining.running = None;
        }
    }

    /// Compares what is about to run with what was approved, directly before it runs. A grant covers one execution and, of
    /// a call that is idempotent, its further attempts (L-06).
    fn covered(&self, definition: &Definition) -> Result<(), Denial> {
        let Permitted { call, grant: Some(grant), .. } = &*self.permitted else {
            return Ok(());
        };
        let name = definition.name();
        if call.digest_now() != grant.digest {
            let reason =
                format!("tool \"{name}\" did not run: what is about to run is not what was approved");
            return Err(Denial::of(DenialKind::DigestMismatch, &grant.by, reason));
        }
        let again = call.state().invoked;
        if again && !call.effects().idempotent {
            let reason = format!(
                "tool \"{name}\" did not run again: the approval was for one attempt, and the call is not idempotent"
            );
            let denial = Denial::of(DenialKind::ApprovalUnavailable, &grant.by, reason);
            return Err(denial.with_code("GRANT_USED"));
        }
        Ok(())
    }

    /// Starts one attempt, or ends it before the body is invoked.
    fn start(self: &Arc<Self>, signal: Cancel) -> Start {
        let call = &self.permitted.call;
        let refused = |error: ToolError| {
            note(call, Stage::Body, None, "not run", &error);
            Start::Ended(Attempt { token: call.token(), ending: Ending::failed(error), road: Road::Full })
        };
        // K5; it comes before the lookup, so that an unknown tool does not hide the cancellation.
        if signal.is_cancelled() {
            return refused(own::aborted_before_dispatch());
        }
        let still = self.registry.resolve(call.scopes(), call.name());
        let captured = match (call.registered(), still) {
            (Some(captured), Some(now)) if Arc::ptr_eq(captured, &now) => captured,
            _ => return refused(own::unknown_tool(call.name())),
        };
        let definition = &captured.definition;
        // Arguments of typed tools are checked here, after all gates.
        let arguments = call.arguments().unwrap_or(&Json::Null);
        let violations = definition.argument_violations(arguments);
        if !violations.is_empty() {
            return refused(own::invalid_args(&violations.join("; ")));
        }
        if let Err(denial) = self.covered(definition) {
            return denied(call, denial);
        }
        let attempt = {
            let mut state = call.state();
            state.invoked = true;
            state.attempt += 1;
            state.attempt
        };
        let (dropped, dropped_signal) = CancelSource::new();
        let signal = signal.fuse(&dropped_signal);
        let invocation = Invocation::new(Arc::clone(&self.permitted), signal.clone(), attempt);
        let body = catch_unwind(AssertUnwindSafe(|| definition.start(invocation))).unwrap_or_else(|cause| {
            let error = panicked(definition, cause);
            Box::pin(async move { Err(error.into()) })
        });
        let running =
            Running { call: call.clone(), registered: Arc::clone(captured), signal, body: Some(body) };
        Start::Running(Slot { bodies: Arc::clone(self), running: Some(running), dropped })
    }
}

/// Ends an attempt whose body the grant does not cover; nobody reviews that (as for a gate that failed).
fn denied(call: &Call, denial: Denial) -> Start {
    call.note_met(Met {
        stage: Stage::Body,
        by: denial.by().cloned(),
        verdict: "denied",
        code: Some(denial.code().to_owned().into()),
        reason: Some(Arc::clone(denial.shared_reason())),
    });
    let error = ToolError::new(Arc::clone(denial.shared_reason()));
    let ending = Ending::Failure(Failure::new(error).with_denial(Arc::new(denial)));
    Start::Ended(Attempt { token: call.token(), ending, road: Road::Final })
}

fn panicked(definition: &Definition, cause: Box<dyn std::any::Any + Send>) -> ToolError {
    let error = ToolError::new(format!("tool \"{}\" panicked: {}", definition.name(), panic_text(&*cause)));
    discard(cause);
    error
}

/// A body on its way, owning all it needs, so that it can be polled by whoever is left.
struct Running {
    call: Call,
    registered: Arc<Registered>,
    signal: Cancel,
    body: Option<BodyFuture>,
}

impl Running {
    /// Normalises what the body returned; contexts close here (R-140, K6).
    fn finish(&self, returned: Result<Json, BodyError>) -> Ending {
        let concludes_turn = std::mem::take(&mut self.call.state().concludes_turn);
        let projected = match returned {
            Ok(value) => project(&self.call, &self.registered.definition, value),
            Err(BodyError::NotLossless) => Err(not_lossless(&self.registered.definition)),
            Err(BodyError::Failed(error)) => Err(error),
        };
        match projected {
            Ok(_) if self.signal.is_cancelled() => {
                let error = own::aborted();
                note(&self.call, Stage::Body, None, "aborted", &error);
                Ending::failed(error)
            }
            Ok(success) => {
                self.call.note(Stage::Body, None, "ran");
                Ending::Success(crate::outcome::Success { concludes_turn, ..success })
            }
            Err(error) => {
                note(&self.call, Stage::Body, None, "failed", &error);
                Ending::Failure(Failure::new(error))
            }
        }
    }
}

impl Future for Running {
    type Output = Ending;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ending> {
        let Some(body) = &mut self.body else {
            return Poll::Pending;
        };
        let polled = match catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(cx))) {
            Ok(polled) => polled,
            Err(cause) => Poll::Ready(Err(panicked(&self.registered.definition, cause).into())),
        };
        polled.map(|returned| {
            let ending = self.finish(returned);
            // Dropping foreign state is foreign code too.
            let body = self.body.take();
            let _ = contain(|| drop(body));
            ending
        })
    }
}

/// A dropped body that is being polled to its end; whoever waits for it may be dropped as well.
struct Draining<'a> {
    bodies: &'a Bodies,
    running: Option<Running>,
}

impl Drop for Draining<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.bodies.left.lock().unwrap_or_else(PoisonError::into_inner).push(running);
        }
    }
}

/// What came of starting an attempt.
enum Start {
    /// It ended before the body was invoked.
    Ended(Attempt),
    /// The body is on its way.
    Running(Slot),
}

/// A running body in the hands of the chain. Dropping it fires the body's signal and leaves the body to be drained.
struct Slot {
    bodies: Arc<Bodies>,
    running: Option<Running>,
    dropped: CancelSource,
}

impl Future for Slot {
    type Output = Attempt;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(running) = &mut self.running else {
            return Poll::Pending;
        };
        let token = running.call.token();
        Pin::new(running).poll(cx).map(|ending| {
            self.running = None;
            Attempt { token, ending, road: Road::Full }
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.dropped.fire(CancelReason::Disposed);
            self.bodies.left.lock().unwrap_or_else(PoisonError::into_inner).push(running);
        }
    }
}
