//! The `fivegates` program.

mod error;

fn main() {
    // Named here until the commands use them.
    let _ = [error::Kind::Failed, error::Kind::Usage].map(error::Kind::status);
}
