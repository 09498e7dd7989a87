//! From a value to what is shown of it: the tool's output contract (R-140 … R-146).

use std::sync::Arc;

use crate::call::Call;
use crate::content::Content;
use crate::error::{ToolError, own};
use crate::json::Json;
use crate::outcome::Success;
use crate::tool::{Definition, ProjectionError};

/// Checks a value against the tool's output schema and projects it to content and metadata.
///
/// # Errors
/// `INVALID_TOOL_OUTPUT` with what was violated.
pub(super) fn project(call: &Call, definition: &Definition, value: Json) -> Result<Success, ToolError> {
    let invalid = |violations: &str| own::invalid_output(definition.name(), violations);
    let violations = definition.output_violations(&value);
    if !violations.is_empty() {
        return Err(invalid(&violations.join("; ")));
    }
    let arguments = call.arguments().unwrap_or(&Json::Null);
    let content: Content = match definition.render(arguments, &value) {
        Ok(blocks) => Arc::from(blocks),
        Err(error) => return Err(invalid(&told("output.render", &error))),
    };
    // Metadata is for the presentation of top-level calls only.
    let meta = if call.parent().is_some() { Ok(None) } else { definition.meta(arguments, &value) };
    match meta {
        Ok(meta) => Ok(Success { value, content, meta, concludes_turn: false }),
        Err(error) => Err(invalid(&told("output.presentationMeta", &error))),
    }
}

/// The text for a body's value that is no lossless JSON.
pub(super) fn not_lossless(definition: &Definition) -> ToolError {
    own::invalid_output(definition.name(), "value is not lossless JSON")
}

fn told(what: &str, error: &ProjectionError) -> String {
    match error {
        ProjectionError::Failed(message) => format!("{what} failed: {message}"),
        ProjectionError::NotLossless => format!("{what} returned non-lossless JSON"),
    }
}
