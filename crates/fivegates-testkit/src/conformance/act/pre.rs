//! Scripted listeners of gate 1.

use std::sync::Arc;

use fivegates_core::call::Call;
use fivegates_core::decision::PreDecision;
use fivegates_core::gates::{PreExecute, PreNext, Reply};

use super::passes_by;
use crate::conformance::given::listen::{Act, Listener, PreAct, Verdict};
use crate::conformance::trace::Sealed;
use crate::conformance::world::Stage;

/// Decides or delegates as the scenario says.
pub struct Scripted {
    stage: Arc<Stage>,
    spec: Listener<Act<PreAct>>,
}

impl Scripted {
    /// Makes a listener.
    pub fn new(stage: &Arc<Stage>, spec: Listener<Act<PreAct>>) -> Self {
        Self { stage: Arc::clone(stage), spec }
    }
}

impl PreExecute for Scripted {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> Reply<'a, PreDecision> {
        let (spec, trace) = (&self.spec, &self.stage.trace);
        if passes_by(spec.tool.as_deref(), call) {
            return next.run();
        }
        let label = format!("pre:{}", spec.id);
        trace.see_call(&label, call, Sealed::No);
        let after = format!("{label}:after");
        match &spec.act.decides {
            PreAct::Next if !trace.listens_for(&after) => next.run(),
            PreAct::Next => Reply::future(async move {
                let decision = next.run().await?;
                trace.reach(&after);
                Ok(decision)
            }),
            PreAct::NextThen(verdict) => Reply::future(async move {
                next.run().await?;
                trace.reach(&after);
                Ok(decision(verdict))
            }),
            PreAct::Decide(verdict) => {
                trace.reach(&after);
                Reply::ready(decision(verdict))
            }
            PreAct::Throw(error) => Reply::error(error.clone()),
        }
    }
}

fn decision(verdict: &Verdict) -> PreDecision {
    match verdict {
        Verdict::Allow => PreDecision::allow(),
        Verdict::Deny(reason) => PreDecision::deny(reason.as_str()),
        Verdict::Ask(None) => PreDecision::ask(),
        Verdict::Ask(Some(reason)) => PreDecision::ask_because(reason.as_str()),
    }
}
