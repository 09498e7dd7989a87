//! The supervisor as a program of its own, for embedders that cannot call `child_main` first in their own `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fivegates_process::child_main();
    // Executed by hand, not by a runner.
    ExitCode::from(125)
}
