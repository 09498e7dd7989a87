//! Only publication makes an outcome.
use fivegates_core::outcome::{Ending, Outcome};

fn make(ending: Ending) -> Outcome {
    Outcome::publish(ending, Vec::new())
}

fn main() {}
