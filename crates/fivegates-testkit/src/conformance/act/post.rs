//! Scripted listeners of gate 4.

use std::sync::Arc;

use fivegates_core::call::Call;
use fivegates_core::content::Content;
use fivegates_core::decision::{PostDecision, RawPostDecision};
use fivegates_core::gates::{GateError, PostExecute, PostNext, Reply};
use fivegates_core::outcome::Ending;

use super::{context, passes_by};
use crate::conformance::given::listen::{Act, Listener, PostAct};
use crate::conformance::trace::Sealed;
use crate::conformance::world::Stage;

/// Reviews as the scenario says.
pub struct Scripted {
    stage: Arc<Stage>,
    spec: Listener<Act<PostAct>>,
}

impl Scripted {
    /// Makes a listener.
    pub fn new(stage: &Arc<Stage>, spec: Listener<Act<PostAct>>) -> Self {
        Self { stage: Arc::clone(stage), spec }
    }

    async fn delegate(&self, next: PostNext<'_>) -> Result<PostDecision, GateError> {
        let inner = next.run().await?;
        match &self.spec.act.decides {
            PostAct::NextThenBlock(feedback) => Ok(self.block(feedback)),
            _ => {
                let contexts = self.spec.act.contexts.iter().rev();
                Ok(contexts.fold(inner, |inner, text| inner.prepend_context(context(text))))
            }
        }
    }

    fn block(&self, feedback: &Content) -> PostDecision {
        self.raw(RawPostDecision { block: Some(feedback.clone()), ..RawPostDecision::default() })
    }

    /// Decides from outside, where more can be said than a decision can hold.
    fn raw(&self, raw: RawPostDecision) -> PostDecision {
        let contexts = self.spec.act.contexts.iter().map(|text| context(text)).collect();
        RawPostDecision { contexts, ..raw }.decide()
    }
}

impl PostExecute for Scripted {
    fn review<'a>(
        &'a self,
        call: &'a Call,
        _ending: &'a Ending,
        next: PostNext<'a>,
    ) -> Reply<'a, PostDecision> {
        let (spec, trace) = (&self.spec, &self.stage.trace);
        if passes_by(spec.tool.as_deref(), call) {
            return next.run();
        }
        let label = format!("post:{}", spec.id);
        trace.see_call(&label, call, Sealed::No);
        if let Some(tool) = &spec.act.unregister {
            drop(self.stage.take_tool(tool));
        }
        Reply::ready(match &spec.act.decides {
            PostAct::Next if spec.act.contexts.is_empty() => return next.run(),
            PostAct::Next | PostAct::NextThenBlock(_) => return Reply::future(self.delegate(next)),
            PostAct::Accept { content, value } => self.raw(RawPostDecision {
                content: content.clone(),
                value: value.clone(),
                ..RawPostDecision::default()
            }),
            PostAct::Block(feedback) => self.block(feedback),
            PostAct::Throw(error) => return Reply::error(error.clone()),
        })
    }
}
