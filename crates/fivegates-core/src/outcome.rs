//! How a call ended.

use std::sync::Arc;

use crate::content::{Content, Context, text_content};
use crate::decision::Denial;
use crate::error::ToolError;
use crate::json::Json;

/// A call's success: the canonical value, what the model reads of it, and private metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Success {
    pub(crate) value: Json,
    pub(crate) content: Content,
    pub(crate) meta: Option<Json>,
    pub(crate) concludes_turn: bool,
}

impl Success {
    /// The canonical value; it stays on the host and never reaches a model.
    pub fn value(&self) -> &Json {
        &self.value
    }

    /// What the model reads.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Presentation metadata; only top-level calls have it.
    pub fn meta(&self) -> Option<&Json> {
        self.meta.as_ref()
    }

    /// Tells whether the tool asked for the turn to end after this batch.
    pub fn concludes_turn(&self) -> bool {
        self.concludes_turn
    }
}

/// A call's failure. It can be made by anyone: a wrapper answers with one, for example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    error: ToolError,
    content: Content,
    meta: Option<Json>,
    denial: Option<Arc<Denial>>,
}

impl Failure {
    /// Makes a failure whose content is `Error: <message>`.
    pub fn new(error: ToolError) -> Self {
        let content = text_content(format!("Error: {}", error.message()));
        Self { error, content, meta: None, denial: None }
    }

    /// Replaces what the model reads.
    #[must_use]
    pub fn with_content(self, content: Content) -> Self {
        Self { content, ..self }
    }

    /// Adds presentation metadata.
    #[must_use]
    pub fn with_meta(self, meta: Json) -> Self {
        Self { meta: Some(meta), ..self }
    }

    pub(crate) fn with_denial(self, denial: Arc<Denial>) -> Self {
        Self { denial: Some(denial), ..self }
    }

    /// The error: message and identity.
    pub fn error(&self) -> &ToolError {
        &self.error
    }

    /// What the model reads.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Presentation metadata.
    pub fn meta(&self) -> Option<&Json> {
        self.meta.as_ref()
    }

    /// Who refused the call and why, when it was refused rather than failed (L-03).
    pub fn denial(&self) -> Option<&Denial> {
        self.denial.as_deref()
    }

    pub(crate) fn shared_denial(&self) -> Option<Arc<Denial>> {
        self.denial.clone()
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self::new(error)
    }
}

/// Success or failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The tool's value passed its output contract.
    Success(Success),
    /// Anything else.
    Failure(Failure),
}

impl Ending {
    pub(crate) fn failed(error: ToolError) -> Self {
        Self::Failure(Failure::new(error))
    }

    /// What the model reads.
    pub fn content(&self) -> &Content {
        match self {
            Self::Success(success) => &success.content,
            Self::Failure(failure) => &failure.content,
        }
    }

    pub(crate) fn with_content(self, content: Content) -> Self {
        match self {
            Self::Success(success) => Self::Success(Success { content, ..success }),
            Self::Failure(failure) => Self::Failure(failure.with_content(content)),
        }
    }

    /// Presentation metadata.
    pub fn meta(&self) -> Option<&Json> {
        match self {
            Self::Success(success) => success.meta(),
            Self::Failure(failure) => failure.meta(),
        }
    }

    /// The success, when it is one.
    pub fn success(&self) -> Option<&Success> {
        if let Self::Success(success) = self { Some(success) } else { None }
    }

    /// The failure, when it is one.
    pub fn failure(&self) -> Option<&Failure> {
        if let Self::Failure(failure) = self { Some(failure) } else { None }
    }

    /// Tells whether it is a failure.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Failure(_))
    }

    /// The code of the failure, when there is one that has a code.
    pub fn code(&self) -> Option<&str> {
        self.failure().and_then(|failure| failure.error.code())
    }
}

/// The published, frozen result of a call. Only `publish` makes one (R-012, R-190, L-12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome(Arc<Published>);

#[derive(Debug, PartialEq, Eq)]
struct Published {
    ending: Ending,
    contexts: Vec<Context>,
}

impl Outcome {
    pub(crate) fn publish(ending: Ending, contexts: Vec<Context>) -> Self {
        Self(Arc::new(Published { ending, contexts }))
    }

    /// Success or failure.
    pub fn ending(&self) -> &Ending {
        &self.0.ending
    }

    /// Messages queued for the model's next input: deferred by the body, then by wrappers, then by post-execute.
    pub fn contexts(&self) -> &[Context] {
        &self.0.contexts
    }
}

impl std::ops::Deref for Outcome {
    type Target = Ending;

    fn deref(&self) -> &Ending {
        &self.0.ending
    }
}
