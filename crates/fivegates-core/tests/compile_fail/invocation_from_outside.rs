//! Not even with a permission at hand can an invocation be put together.
use std::sync::Arc;

use fivegates_core::call::{Invocation, Permitted};
use fivegates_core::cancel::Cancel;

fn invoke(permitted: Arc<Permitted>, signal: Cancel) -> Invocation {
    Invocation { permitted, signal, attempt: 1 }
}

fn main() {}
