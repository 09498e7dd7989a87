//! A published outcome stays as it is.
use fivegates_core::outcome::{Ending, Outcome};

fn change(outcome: &mut Outcome, ending: Ending) {
    *outcome.ending() = ending;
}

fn main() {}
