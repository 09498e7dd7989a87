//! A replacement replaces content or value, never both.
use fivegates_core::content::text_content;
use fivegates_core::decision::{PostAction, Replace};
use fivegates_core::json::Json;

fn main() {
    let _ = PostAction::Accept(Some(Replace::Content(text_content("c"))), Some(Replace::Value(Json::Null)));
    let _ = Replace::Content { content: text_content("c"), value: Json::Null };
    let _ = Replace::Content(text_content("c"), Json::Null);
}
