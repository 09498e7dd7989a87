//! What a tool, a listener or the pipeline itself failed with.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::json::Json;

/// A failure as the model sees it: a message, and an identity when it has one (R-143 … R-145).
///
/// The identity is a pair of name and code, such as `ToolTimeoutError` and `TOOL_TIMEOUT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolError {
    message: Arc<str>,
    identity: Option<ErrorIdentity>,
}

/// The identity of a coded failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorIdentity {
    /// Name of the kind of error, such as `ToolTimeoutError`.
    pub name: Cow<'static, str>,
    /// Stable code, such as `TOOL_TIMEOUT`.
    pub code: Cow<'static, str>,
}

impl ToolError {
    /// Makes a failure without an identity.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self { message: message.into(), identity: None }
    }

    /// Makes a failure with a name and a code.
    pub fn coded(
        name: impl Into<Cow<'static, str>>,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<Arc<str>>,
    ) -> Self {
        let identity = ErrorIdentity { name: name.into(), code: code.into() };
        Self { message: message.into(), identity: Some(identity) }
    }

    /// Makes a failure of any value that was thrown: the string `message` of an object, else the value's text.
    pub fn thrown(value: &Json) -> Self {
        match value.get("message").and_then(Json::as_str).or(value.as_str()) {
            Some(text) => Self::new(text),
            None => Self::new(crate::json::compact(value)),
        }
    }

    /// The message, without any prefix.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The identity, when it has one.
    pub fn identity(&self) -> Option<&ErrorIdentity> {
        self.identity.as_ref()
    }

    /// The code, when it has one.
    pub fn code(&self) -> Option<&str> {
        self.identity.as_ref().map(|identity| &*identity.code)
    }

    /// The name, when it has one.
    pub fn name(&self) -> Option<&str> {
        self.identity.as_ref().map(|identity| &*identity.name)
    }

    pub(crate) fn shared_message(&self) -> &Arc<str> {
        &self.message
    }

    /// Replaces the message and keeps the identity.
    #[must_use]
    pub fn with_message(self, message: impl Into<Arc<str>>) -> Self {
        Self { message: message.into(), ..self }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

impl From<crate::json::ObjectError> for ToolError {
    fn from(error: crate::json::ObjectError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

/// The failures that the pipeline itself makes (R-110 and the table of spec §12).
pub(crate) mod own {
    use super::ToolError;
    use crate::ids::{CallId, ToolName};

    pub(crate) fn unknown_tool(name: &ToolName) -> ToolError {
        ToolError::coded("ToolNotFoundError", "UNKNOWN_TOOL", format!("unknown tool \"{name}\""))
    }

    pub(crate) fn collapsed(name: &ToolName) -> ToolError {
        let message = format!(
            "unknown tool \"{name}\": only `run_code` is callable directly — call `{name}` from inside a `run_code` program instead"
        );
        ToolError::coded("ToolNotFoundError", "UNKNOWN_TOOL", message)
    }

    pub(crate) fn invalid_args(violations: &str) -> ToolError {
        ToolError::coded("ToolArgsError", "INVALID_ARGS", format!("invalid arguments: {violations}"))
    }

    pub(crate) fn invalid_output(name: &ToolName, violations: &str) -> ToolError {
        let message = format!("tool \"{name}\" returned invalid output: {violations}");
        ToolError::coded("ToolOutputError", "INVALID_TOOL_OUTPUT", message)
    }

    pub(crate) fn aborted() -> ToolError {
        ToolError::coded("AbortError", "ABORTED", "tool call aborted")
    }

    pub(crate) fn aborted_before_dispatch() -> ToolError {
        ToolError::coded("AbortError", "ABORTED_BEFORE_DISPATCH", "tool call aborted before dispatch")
    }

    pub(crate) fn duplicate_call_id(id: &CallId) -> ToolError {
        let message = format!("duplicate tool call id \"{id}\" in one model message");
        ToolError::coded("DuplicateCallIdError", "DUPLICATE_CALL_ID", message)
    }

    pub(crate) fn arguments_not_lossless() -> ToolError {
        ToolError::new("tool execution arguments must be losslessly JSON-serializable")
    }

    pub(crate) fn unnamed() -> ToolError {
        let message = "a call needs an id and the name of a tool, and one of them is empty";
        ToolError::coded("ToolCallError", "INVALID_CALL", message)
    }

    pub(crate) fn unrecorded_result(cause: &str) -> ToolError {
        let message =
            format!("the result could not be recorded, so it is withheld; the tool may have run: {cause}");
        ToolError::coded("RecordError", "RECORD_FAILED", message)
    }

    pub(crate) fn record_failed(what: &str, cause: &str) -> ToolError {
        let message = format!("the {what} could not be recorded, so the call did not run: {cause}");
        ToolError::coded("RecordError", "RECORD_FAILED", message)
    }
}
