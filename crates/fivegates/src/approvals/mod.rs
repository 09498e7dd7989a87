//! temp
use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::gates::Reply;
use fivegates_core::ids::ComponentId;
use fivegates_core::ports::*;
use fivegates_session::journal::Journal;
use std::sync::Arc;
pub(crate) const TERMINAL_ID: &str = "terminal";
pub(crate) struct Nobody(ComponentId);
impl Approver for Nobody {
    fn id(&self) -> &ComponentId {
        &self.0
    }
    fn request<'a>(&'a self, _: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        Reply::ready(ApprovalOutcome::Unavailable)
    }
}
pub(crate) fn terminal_or_nobody() -> Arc<dyn Approver> {
    Arc::new(Nobody("nobody".into()))
}
pub(crate) struct Recorded(Arc<dyn Approver>);
impl Recorded {
    pub(crate) fn new(a: Arc<dyn Approver>, _j: Arc<dyn Journal>) -> Self {
        Self(a)
    }
}
impl Approver for Recorded {
    fn id(&self) -> &ComponentId {
        self.0.id()
    }
    fn request<'a>(&'a self, r: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        self.0.request(r)
    }
}
