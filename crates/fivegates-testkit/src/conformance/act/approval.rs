//! The scripted approver.

use std::sync::Arc;

use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::error::ToolError;
use fivegates_core::gates::Reply;
use fivegates_core::ids::ComponentId;
use fivegates_core::ports::{ApprovalRequest, Approver};

use crate::conformance::given::Approval;
use crate::conformance::world::Stage;

/// Answers as the scenario says.
pub struct Scripted {
    stage: Arc<Stage>,
    id: ComponentId,
    approval: Approval,
}

impl Scripted {
    /// Makes an approver.
    pub fn new(stage: &Arc<Stage>, approval: Approval) -> Self {
        Self { stage: Arc::clone(stage), id: ComponentId::new("approval"), approval }
    }
}

impl Approver for Scripted {
    fn id(&self) -> &ComponentId {
        &self.id
    }

    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        self.stage.trace.see("approval");
        match &self.approval {
            Approval::Answer(outcome) => Reply::ready(*outcome),
            // A channel that is told something else has no outcome to give.
            Approval::Rogue(word) => {
                Reply::error(ToolError::new(format!("`{word}` is not an approval outcome")))
            }
            Approval::Throw(error) => Reply::error(error.clone()),
            Approval::WaitCancel => Reply::future(async move {
                request.cancel.cancelled().await;
                Ok(ApprovalOutcome::Cancelled)
            }),
        }
    }
}
