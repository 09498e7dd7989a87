//! Every command as a person or a script runs it: the built program, its exit statuses, its output and its record.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not take for tests"
)]

mod program;
mod support;

mod demo;
mod exec;
mod looking;
mod run_scripted;
mod run_served;

mod bad_input;
mod configuration;
mod hostile;
mod record;
mod signals;

mod conformance;
