//! A guard refuses or abstains; there is no allow in its answer.
use fivegates_core::call::Call;
use fivegates_core::decision::{Denial, PreDecision};
use fivegates_core::gates::{Guard, Reply, guard_fn};

struct Allows;

impl Guard for Allows {
    fn check<'a>(&'a self, _call: &'a Call) -> Reply<'a, Option<Denial>> {
        Reply::ready(PreDecision::allow())
    }
}

fn main() {
    let _ = guard_fn(|_| Some(PreDecision::allow()));
}
