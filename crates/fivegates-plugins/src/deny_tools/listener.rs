//! The guard.

use fivegates_core::call::Call;
use fivegates_core::decision::Denial;
use fivegates_core::gates::{Guard, Reply};

use super::policy::GuardRule;

pub(super) struct DenyTool {
    tool: String,
    denial: Denial,
}

impl DenyTool {
    pub(super) fn new(rule: GuardRule) -> Self {
        let denial = Denial::new(rule.reason);
        let denial = match rule.code {
            Some(code) => denial.with_code(code),
            None => denial,
        };
        Self { tool: rule.tool, denial }
    }
}

impl Guard for DenyTool {
    fn check<'a>(&'a self, call: &'a Call) -> Reply<'a, Option<Denial>> {
        let refused = call.name().as_str() == self.tool;
        Reply::ready(refused.then(|| self.denial.clone()))
    }
}
