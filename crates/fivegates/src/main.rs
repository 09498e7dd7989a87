//! The `fivegates` program.

#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "the commands are not there yet"))]
mod approvals;
#[expect(dead_code, unused_imports, reason = "the commands are not there yet")]
mod config;
#[cfg_attr(not(test), expect(dead_code, reason = "the command line is not there yet"))]
mod error;
#[cfg_attr(not(test), expect(dead_code, reason = "the reports are not there yet"))]
mod escape;

fn main() {
    // Named here until the commands use them.
    let _ = [error::Kind::Failed, error::Kind::Usage].map(error::Kind::status);
}
