//! Members of payloads, of which none can be counted on.

use fivegates_core::json::Json;
use fivegates_session::Seq;

/// The member's text, when it is one.
pub(crate) fn text(data: &Json, key: &str) -> Option<String> {
    data.get(key)?.as_str().map(str::to_owned)
}

/// The member's number, when it is one that counts.
pub(crate) fn number(data: &Json, key: &str) -> Option<u64> {
    data.get(key)?.as_number()?.as_u64()
}

/// The member's truth value, when it is one.
pub(crate) fn flag(data: &Json, key: &str) -> Option<bool> {
    data.get(key)?.as_bool()
}

/// A place in a session, when the value is one.
pub(crate) fn seq_of(value: &Json) -> Option<Seq> {
    Seq::new(value.as_number()?.as_i64()?)
}
