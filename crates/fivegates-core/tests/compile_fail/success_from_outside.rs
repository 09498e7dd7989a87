//! Only the tool's own contract makes a success.
use fivegates_core::content::Content;
use fivegates_core::json::Json;
use fivegates_core::outcome::{Ending, Success};

fn succeed(value: Json, content: Content) -> Ending {
    Ending::Success(Success { value, content, meta: None, concludes_turn: true })
}

fn main() {}
