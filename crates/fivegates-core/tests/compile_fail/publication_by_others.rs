//! Nobody else publishes.
use fivegates_core::pipeline::publish::publish;

fn main() {}
