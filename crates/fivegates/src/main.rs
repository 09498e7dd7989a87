//! The `fivegates` program.

#[expect(dead_code, unused_imports, reason = "the commands use it")]
mod config;
mod error;
#[expect(dead_code, reason = "the commands use it")]
mod escape;

fn main() {
    // Named here until the commands use them.
    let _ = [error::Kind::Failed, error::Kind::Usage].map(error::Kind::status);
}
