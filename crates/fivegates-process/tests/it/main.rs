//! The runner on real programs, one module per promise.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests; the lints see only the test functions")]

mod common;
mod confined;
mod isolation;
mod leaks;
mod outcome;
mod refusals;
mod stopping;
mod supervised;
