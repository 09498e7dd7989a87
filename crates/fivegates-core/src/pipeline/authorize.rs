//! Stage two: gates 1 and 2. The only place that makes a [`Permitted`].

use std::sync::Arc;

use super::wait::within;
use super::{Inner, Prepared, Road, Settled};
use crate::call::{Call, Grant, Met, Permitted, Seal, Stage};
use crate::decision::{Allowance, ApprovalOutcome, Denial, DenialKind, PreDecision, Question};
use crate::error::{ToolError, own};
use crate::gates::{GateError, GateErrorKind, Owner, PreChain, Reply};
use crate::ids::ComponentId;
use crate::outcome::{Ending, Failure};
use crate::ports::{ApprovalRequest, Approver};

/// Why a call does not get through.
enum Stop {
    /// Refused: gate 4 still sees it.
    Refused(Denial),
    /// Cancelled: gate 4 still sees it (K3, K4).
    Aborted,
    /// A gate failed: final.
    Broken { stage: Stage, failure: GateError },
}

/// Asks gate 1, a human where it says so, and gate 2.
pub(super) async fn authorize(pipeline: &Inner, call: Call) -> Prepared {
    let decided = match pre_execute(pipeline, &call).await {
        Ok(PreDecision::Allow(allowance)) => {
            note_allowed(&call, &allowance);
            Ok(None)
        }
        Ok(PreDecision::Deny(denial)) => {
            note_denied(&call, Stage::PreExecute, &denial);
            Err(Stop::Refused(denial))
        }
        Ok(PreDecision::Ask(question)) => approval(pipeline, &call, &question).await,
        Err(stop) => Err(stop),
    };
    let permitted = match decided {
        Ok(grant) => guards(pipeline, &call).await.map(|()| grant),
        Err(stop) => Err(stop),
    };
    match permitted {
        // K4: only a call that is still allowed can be cancelled here; a denial outranks it.
        Ok(_) if call.cancel().is_cancelled() => Prepared::Settled(stop(call, Stop::Aborted)),
        Ok(grant) => Prepared::Permitted(Permitted { call, grant, _seal: Seal::new() }),
        Err(reason) => Prepared::Settled(stop(call, reason)),
    }
}

fn stop(call: Call, reason: Stop) -> Settled {
    let (failure, road) = match reason {
        Stop::Refused(denial) => {
            let error = ToolError::new(Arc::clone(denial.shared_reason()));
            (Failure::new(error).with_denial(Arc::new(denial)), Road::Full)
        }
        Stop::Aborted => {
            let error = own::aborted_before_dispatch();
            call.note_met(Met {
                stage: Stage::Guards,
                by: None,
                verdict: "aborted",
                code: error.identity().map(|identity| identity.code.clone()),
                reason: call.cancel().reason().map(|reason| Arc::from(reason.to_string())),
            });
            (Failure::new(error), Road::Full)
        }
        Stop::Broken { stage, failure } => {
            let unnamed = ComponentId::new(stage.as_str());
            let by = failure.by.as_ref().unwrap_or(&unnamed);
            let denial = Denial::of(failure.kind.denial(), by, Arc::clone(failure.error.shared_message()));
            note_denied(&call, stage, &denial);
            (Failure::new(failure.error).with_denial(Arc::new(denial)), Road::Final)
        }
    };
    Settled { call, ending: Ending::Failure(failure), road }
}

async fn pre_execute(pipeline: &Inner, call: &Call) -> Result<PreDecision, Stop> {
    let chain = PreChain::new(pipeline.registry.pre_list(), Arc::clone(call.scopes()));
    let answer = match chain.start(call).into_ready() {
        Ok(ready) => Ok(ready),
        Err(reply) => within(pipeline.waits.pre_execute_ms, reply).await,
    };
    let broken = |failure| Stop::Broken { stage: Stage::PreExecute, failure };
    match answer {
        Ok(decision) => decision.map_err(broken),
        Err(after_ms) => {
            let unnamed = ComponentId::new(Stage::PreExecute.as_str());
            let id = chain.last_entered().unwrap_or(&unnamed);
            Err(broken(Owner { what: PreChain::WHAT, id }.timed_out(after_ms)))
        }
    }
}

/// Maps an ask (R-090 … R-098). A yes is a grant for this call as it is now.
async fn approval(pipeline: &Inner, call: &Call, question: &Question) -> Result<Option<Grant>, Stop> {
    call.note_met(Met {
        stage: Stage::PreExecute,
        by: question.by().cloned(),
        verdict: "asked",
        code: None,
        reason: question.reason().map(Arc::from),
    });
    let name = call.name();
    let Some((approver_id, approver)) = &pipeline.approver else {
        let reason = question
            .reason()
            .map_or_else(|| format!("tool \"{name}\" requires approval (not yet supported)"), str::to_owned);
        return Err(unapproved(call, question.by(), DenialKind::ApprovalUnsupported, reason));
    };
    let Some(agent) = call.agent() else {
        let reason =
            format!("tool \"{name}\" requires approval, but the call has no agent to route it through");
        return Err(unapproved(call, question.by(), DenialKind::NoAgent, reason));
    };
    // Nobody is asked about a call that can only fail; it goes on and fails at its body (L-05).
    if can_only_fail(call) {
        call.note(Stage::Approval, None, "not asked: the call can only fail");
        return Ok(None);
    }
    let request =
        ApprovalRequest { call, agent, reason: question.reason(), by: question.by(), cancel: call.cancel() };
    // Taken before anybody is asked: what is approved is what was shown (L-06).
    let digest = call.digest();
    let outcome = ask(pipeline, (approver_id, approver), &request).await?;
    let by = Some(approver_id);
    match outcome {
        ApprovalOutcome::AllowedOnce => {
            call.note(Stage::Approval, by, outcome.as_str());
            Ok(Some(Grant { digest, by: approver_id.clone() }))
        }
        ApprovalOutcome::Rejected => Err(unapproved(
            call,
            by,
            DenialKind::ApprovalRejected,
            format!("the user rejected tool \"{name}\""),
        )),
        // K3.
        ApprovalOutcome::Cancelled if call.cancel().is_cancelled() => {
            call.note(Stage::Approval, by, outcome.as_str());
            Err(Stop::Aborted)
        }
        ApprovalOutcome::Cancelled => {
            let reason = format!("approval for tool \"{name}\" was cancelled");
            Err(unapproved(call, by, DenialKind::ApprovalCancelled, reason))
        }
        ApprovalOutcome::Unavailable => {
            let reason = format!("tool \"{name}\" requires approval, but no approval channel is available");
            Err(unapproved(call, by, DenialKind::ApprovalUnavailable, reason))
        }
    }
}

async fn ask(
    pipeline: &Inner,
    (id, approver): (&ComponentId, &Arc<dyn Approver>),
    request: &ApprovalRequest<'_>,
) -> Result<ApprovalOutcome, Stop> {
    let owner = Owner { what: "approver", id };
    let reply = Reply::of(owner, |outcome, _| outcome, || approver.request(request));
    let broken = |failure| Stop::Broken { stage: Stage::Approval, failure };
    match within(pipeline.waits.approval_ms, reply).await {
        Ok(outcome) => outcome.map_err(broken),
        Err(after_ms) => Err(broken(owner.timed_out(after_ms))),
    }
}

fn unapproved(call: &Call, by: Option<&ComponentId>, kind: DenialKind, reason: String) -> Stop {
    let unnamed = ComponentId::new(Stage::Approval.as_str());
    let denial = Denial::of(kind, by.unwrap_or(&unnamed), reason);
    note_denied(call, Stage::Approval, &denial);
    Stop::Refused(denial)
}

/// Tells whether the body stage is certain to refuse: the name is unknown, or checked arguments are invalid.
fn can_only_fail(call: &Call) -> bool {
    match (call.definition(), call.arguments()) {
        (Some(definition), Some(arguments)) => !definition.argument_violations(arguments).is_empty(),
        _ => true,
    }
}

/// Gate 2: the guards as they are now, global first, nearest scope last; the first denial stands (R-100 … R-107, L-08).
async fn guards(pipeline: &Inner, call: &Call) -> Result<(), Stop> {
    let Some(lists) = pipeline.registry.guard_lists(call.scopes()) else {
        let error =
            ToolError::new("the agent of this call is gone, and with it the guards that the call would meet");
        return Err(Stop::Broken { stage: Stage::Guards, failure: error.into() });
    };
    let mut asked = 0_usize;
    for mounted in lists.iter().flat_map(|list| list.iter()) {
        asked += 1;
        let owner = Owner { what: "guard", id: &mounted.id };
        let reply = Reply::of(owner, |denial, _| denial, || mounted.listener.check(call));
        let answer = match reply.into_ready() {
            Ok(ready) => Ok(ready),
            Err(reply) => within(pipeline.waits.guard_ms, reply).await,
        };
        match answer {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(denial))) => {
                let denial = denial.stamp(DenialKind::Guard, &mounted.id);
                note_denied(call, Stage::Guards, &denial);
                return Err(Stop::Refused(denial));
            }
            Ok(Err(failure)) => return Err(Stop::Broken { stage: Stage::Guards, failure }),
            Err(after_ms) => {
                return Err(Stop::Broken { stage: Stage::Guards, failure: owner.timed_out(after_ms) });
            }
        }
    }
    call.note(Stage::Guards, None, if asked == 0 { "none mounted" } else { "passed" });
    Ok(())
}

fn note_allowed(call: &Call, allowance: &Allowance) {
    call.note_met(Met {
        stage: Stage::PreExecute,
        by: allowance.by().cloned(),
        verdict: "allowed",
        code: None,
        reason: allowance.reason().map(Arc::from),
    });
}

fn note_denied(call: &Call, stage: Stage, denial: &Denial) {
    let verdict = match denial.kind() {
        DenialKind::GateError => "failed",
        DenialKind::GatePanic => "panicked",
        DenialKind::GateTimeout => "timed out",
        _ => "denied",
    };
    call.note_met(Met {
        stage,
        by: denial.by().cloned(),
        verdict,
        code: Some(denial.code().to_owned().into()),
        reason: Some(Arc::clone(denial.shared_reason())),
    });
}

// The kinds of failure of a gate are closed; this keeps the mapping above in step with them.
const _: fn(GateErrorKind) -> DenialKind = GateErrorKind::denial;
