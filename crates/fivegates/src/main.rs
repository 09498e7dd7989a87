//! The `fivegates` program.
fn main() {}
