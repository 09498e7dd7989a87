//! The listener of gate 4.

use std::sync::Arc;

use fivegates_core::call::Call;
use fivegates_core::content::Context;
use fivegates_core::decision::PostDecision;
use fivegates_core::gates::{PostExecute, PostNext, Reply};
use fivegates_core::outcome::Ending;

use super::chains::{Chains, identity};
use super::policy::Policy;

#[derive(Debug)]
pub(super) struct RepeatReminder {
    pub(super) policy: Policy,
    pub(super) chains: Arc<Chains>,
}

impl PostExecute for RepeatReminder {
    /// Counts whatever the ending: a denied call that is made again is a repetition too.
    fn review<'a>(
        &'a self,
        call: &'a Call,
        _ending: &'a Ending,
        next: PostNext<'a>,
    ) -> Reply<'a, PostDecision> {
        match self.reminder(call) {
            // Before the contexts of the inner decision, whatever that is.
            Some(context) => next.run().map(|decision| decision.prepend_context(context)),
            None => next.run(),
        }
    }
}

impl RepeatReminder {
    fn reminder(&self, call: &Call) -> Option<Context> {
        let agent = call.agent()?;
        if !self.policy.tracks(call.name().as_str()) {
            return None;
        }
        let count = self.chains.count(agent, identity(call));
        let kind = self.policy.due(count)?;
        Some(kind.context(call, count, self.policy.preview_chars()))
    }
}
