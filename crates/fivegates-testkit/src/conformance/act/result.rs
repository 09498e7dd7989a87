//! Scripted observers.

use std::sync::Arc;

use fivegates_core::call::Call;
use fivegates_core::error::ToolError;
use fivegates_core::gates::Observer;
use fivegates_core::outcome::Outcome;

use super::passes_by;
use crate::conformance::given::listen::{Listener, ResultAct};
use crate::conformance::trace::Sealed;
use crate::conformance::world::Stage;

/// Looks on or fails as the scenario says.
pub struct Scripted {
    stage: Arc<Stage>,
    spec: Listener<ResultAct>,
}

impl Scripted {
    /// Makes an observer.
    pub fn new(stage: &Arc<Stage>, spec: Listener<ResultAct>) -> Self {
        Self { stage: Arc::clone(stage), spec }
    }
}

impl Observer for Scripted {
    fn observe(&self, call: &Call, _outcome: &Outcome) -> Result<(), ToolError> {
        if passes_by(self.spec.tool.as_deref(), call) {
            return Ok(());
        }
        self.stage.trace.see_call(&format!("result:{}", self.spec.id), call, Sealed::Yes);
        match &self.spec.act {
            ResultAct::Ok => Ok(()),
            ResultAct::Fail(error) => Err(error.clone()),
        }
    }
}
