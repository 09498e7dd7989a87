//! Scripted guards.

use std::sync::Arc;

use fivegates_core::call::Call;
use fivegates_core::decision::Denial;
use fivegates_core::error::ToolError;
use fivegates_core::gates::{Guard, Reply};

use crate::conformance::given::listen::{GuardAct, GuardSpec};
use crate::conformance::trace::Sealed;
use crate::conformance::world::Stage;

/// Refuses or abstains as the scenario says.
pub struct Scripted {
    stage: Arc<Stage>,
    spec: GuardSpec,
}

impl Scripted {
    /// Makes a guard.
    pub fn new(stage: &Arc<Stage>, spec: GuardSpec) -> Self {
        Self { stage: Arc::clone(stage), spec }
    }
}

impl Guard for Scripted {
    fn check<'a>(&'a self, call: &'a Call) -> Reply<'a, Option<Denial>> {
        self.stage.trace.see_call(&format!("guard:{}", self.spec.id), call, Sealed::No);
        match &self.spec.act {
            GuardAct::Abstain => Reply::ready(None),
            GuardAct::Deny(reason) => Reply::ready(Some(Denial::new(reason.as_str()))),
            GuardAct::Throw(error) => Reply::error(error.clone()),
            GuardAct::AddGuard(guard) => match self.stage.mount_guard(guard) {
                Ok(registration) => {
                    self.stage.keep(registration);
                    Reply::ready(None)
                }
                Err(stop) => Reply::error(ToolError::new(stop.to_string())),
            },
        }
    }
}
