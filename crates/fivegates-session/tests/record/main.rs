//! The record as its users meet it: through the public API, on real files.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails")]

mod append;
mod crash;
mod open;
mod read;
mod support;
mod verify;
