//! The guards of a file: tools that are refused by name.

use super::origin::Origin;

/// Bytes of a tool's name.
const TOOL_BYTES_MAX: usize = 256;
/// Bytes of a reason.
const REASON_BYTES_MAX: usize = 4_096;
/// Bytes of a code.
const CODE_BYTES_MAX: usize = 64;
/// Guards of one file.
pub(super) const GUARDS_MAX: usize = 1_000;

/// Refuses one tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GuardRule {
    /// The rule's id in the record: whose file, and the how-manieth guard of it. No two rules share one.
    pub(crate) id: String,
    /// The tool's exact name. It need not exist.
    pub(crate) tool: String,
    /// What the model is told.
    pub(crate) reason: String,
    /// Machine-readable code of the denial.
    pub(crate) code: Option<String>,
    /// The file.
    pub(crate) origin: Origin,
}

/// The id of the n-th guard of a file, counted from 1.
pub(super) fn id(origin: &Origin, number: usize) -> String {
    format!("guard/{}/{number}", origin.word())
}

/// Tells what is wrong with the text of a guard's key, in words that follow the key.
pub(super) fn fault(key: &str, text: &str) -> Option<String> {
    let (bytes_max, takes_any) = match key {
        "tool" => (TOOL_BYTES_MAX, false),
        "reason" => (REASON_BYTES_MAX, true),
        _ => (CODE_BYTES_MAX, false),
    };
    if text.trim().is_empty() {
        return Some("is empty".to_owned());
    }
    if text.len() > bytes_max {
        return Some(format!("is longer than {bytes_max} bytes"));
    }
    if !takes_any && text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Some("has a space or control character in it".to_owned());
    }
    let in_capitals = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if key == "code" && !text.chars().all(in_capitals) {
        return Some("is not made of capitals, digits and `_`".to_owned());
    }
    None
}
