//! The tools on real files and real programs, through a real pipeline that allows everything.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests; the lints see only the test functions")]

mod common;

mod bash;
mod edit;
mod hostile;
mod limits;
mod read;
mod registering;
mod together;
mod write;
