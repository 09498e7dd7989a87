//! The listener of gate 1.

use fivegates_core::call::Call;
use fivegates_core::decision::PreDecision;
use fivegates_core::gates::{PreExecute, PreNext, Reply};
use fivegates_core::verdict::stricter;

use super::policy::Mode;

pub(super) struct Permission {
    pub(super) mode: Mode,
}

impl PreExecute for Permission {
    /// Asks the listeners further in first, so that their objections stand with their own words.
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> Reply<'a, PreDecision> {
        next.run().map(|inner| stricter(inner, self.mode.decide(call)))
    }
}
