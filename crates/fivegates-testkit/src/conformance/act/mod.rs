//! The scripted parts: real listeners, guards, tools and approvers that do what a scenario says.

pub mod approval;
pub mod around;
pub mod guard;
pub mod post;
pub mod pre;
pub mod result;
pub mod tool;

use fivegates_core::call::Call;
use fivegates_core::content::Context;

/// Makes a context of a text.
fn context(text: &str) -> Context {
    Context::text("scenario", text)
}

/// Tells whether a listener is transparent for a call.
fn passes_by(tool: Option<&str>, call: &Call) -> bool {
    tool.is_some_and(|tool| tool != call.name().as_str())
}
