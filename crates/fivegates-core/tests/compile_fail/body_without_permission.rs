//! A body runs only with an invocation, and an invocation comes only from the pipeline.
use std::sync::Arc;

use fivegates_core::call::{Invocation, Permitted};
use fivegates_core::cancel::Cancel;
use fivegates_core::tool::Definition;

fn run(definition: &Definition, permitted: Arc<Permitted>, signal: Cancel, invocation: Invocation) {
    let _ = definition.start(invocation);
    let _ = Invocation::new(permitted, signal, 1);
}

fn main() {}
