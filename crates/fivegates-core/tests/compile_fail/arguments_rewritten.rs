//! A decision of gate 1 has no place for arguments.
use fivegates_core::decision::{Allowance, PreDecision};
use fivegates_core::json::Json;

fn rewrite() -> PreDecision {
    PreDecision::Allow(Allowance { arguments: Json::Null, ..Allowance::default() })
}

fn main() {}
