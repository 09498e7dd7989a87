//! The `fivegates` program.

#[expect(dead_code, reason = "the command line is not there yet")]
mod error;

mod escape;

#[cfg_attr(not(test), expect(dead_code, reason = "the command line is not there yet"))]
mod report;

mod commands {
    #![cfg_attr(not(test), expect(dead_code, reason = "the command line is not there yet"))]
    pub(crate) mod log;
    pub(crate) mod why;
}

fn main() {
    // Named here until the commands use them.
    let _ = [error::Kind::Failed, error::Kind::Usage].map(error::Kind::status);
}
