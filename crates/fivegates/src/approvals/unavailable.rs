//! Nobody to ask.

use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::gates::Reply;
use fivegates_core::ids::ComponentId;
use fivegates_core::ports::{ApprovalRequest, Approver};

/// Answers every ask at once: nobody could be asked, so the call is denied.
pub(crate) struct Unavailable {
    id: ComponentId,
}

impl Unavailable {
    /// Makes the approver of a program without a terminal.
    pub(crate) fn new() -> Self {
        Self { id: ComponentId::new("nobody") }
    }
}

impl Approver for Unavailable {
    fn id(&self) -> &ComponentId {
        &self.id
    }

    fn request<'a>(&'a self, _request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        Reply::ready(ApprovalOutcome::Unavailable)
    }
}
