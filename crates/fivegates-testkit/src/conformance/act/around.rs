//! Scripted wrappers.

use std::sync::Arc;

use fivegates_core::call::Call;
use fivegates_core::cancel::{CancelReason, CancelSource};
use fivegates_core::gates::{Answer, Around, GateError, Next, Reply};
use fivegates_core::outcome::Failure;

use super::{context, passes_by};
use crate::conformance::given::listen::{Act, AroundAct, Listener};
use crate::conformance::trace::Sealed;
use crate::conformance::world::Stage;

/// Delegates or answers as the scenario says.
pub struct Scripted {
    stage: Arc<Stage>,
    spec: Listener<Act<AroundAct>>,
}

impl Scripted {
    /// Makes a wrapper.
    pub fn new(stage: &Arc<Stage>, spec: Listener<Act<AroundAct>>) -> Self {
        Self { stage: Arc::clone(stage), spec }
    }

    async fn delegate(&self, mut next: Next<'_>) -> Result<Answer, GateError> {
        if let AroundAct::ReplaceSignal { fired } = &self.spec.act.decides {
            let (source, signal) = CancelSource::new();
            if *fired {
                source.fire(CancelReason::Other("wrapper".into()));
            }
            self.stage.install(&self.spec.id, source);
            next.add_signal(&signal);
        }
        if let AroundAct::NextTwice = &self.spec.act.decides {
            next.run().await?;
        }
        let attempt = next.run().await?;
        self.stage.trace.reach(&format!("around:{}:after", self.spec.id));
        match &self.spec.act.decides {
            AroundAct::NextThenThrow(error) => Err(error.clone().into()),
            _ => Ok(self.with_contexts(Answer::from(attempt), &[])),
        }
    }

    /// Answers itself.
    fn answer(&self, answer: Answer, own: &[String]) -> Reply<'_, Answer> {
        self.stage.trace.reach(&format!("around:{}:after", self.spec.id));
        Reply::ready(self.with_contexts(answer, own))
    }

    /// Adds the contexts of the answer itself and then those that the wrapper appends.
    fn with_contexts(&self, answer: Answer, own: &[String]) -> Answer {
        let all = own.iter().chain(&self.spec.act.contexts);
        all.fold(answer, |answer, text| answer.with_context(context(text)))
    }
}

impl Around for Scripted {
    fn run<'a>(&'a self, call: &'a Call, next: Next<'a>) -> Reply<'a, Answer> {
        let (spec, trace) = (&self.spec, &self.stage.trace);
        if passes_by(spec.tool.as_deref(), call) {
            return next.pass();
        }
        let label = format!("around:{}", spec.id);
        trace.see_call(&label, call, Sealed::No);
        if let Some(tool) = &spec.act.unregister {
            drop(self.stage.take_tool(tool));
        }
        match &spec.act.decides {
            AroundAct::Next
                if spec.act.contexts.is_empty() && !trace.listens_for(&format!("{label}:after")) =>
            {
                next.pass()
            }
            AroundAct::Next
            | AroundAct::NextTwice
            | AroundAct::NextThenThrow(_)
            | AroundAct::ReplaceSignal { .. } => Reply::future(self.delegate(next)),
            AroundAct::Value { value, contexts } => self.answer(Answer::value(value.clone()), contexts),
            AroundAct::Failure { error, content, meta, contexts } => {
                let mut failure = Failure::new(error.clone());
                if let Some(content) = content {
                    failure = failure.with_content(content.clone());
                }
                if let Some(meta) = meta {
                    failure = failure.with_meta(meta.clone());
                }
                self.answer(Answer::failure(failure), contexts)
            }
            AroundAct::Throw(error) => Reply::error(error.clone()),
        }
    }
}
