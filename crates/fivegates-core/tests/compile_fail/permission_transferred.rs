//! A permission cannot be moved to another call.
use fivegates_core::call::{Call, Permitted};

fn transfer(permitted: Permitted, call: Call) -> Permitted {
    Permitted { call, ..permitted }
}

fn main() {}
