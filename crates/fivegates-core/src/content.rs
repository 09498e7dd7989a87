//! What a model reads, and what is queued for its next input.

use std::sync::Arc;

use crate::json::Json;

/// One block of content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// Text.
    Text(Arc<str>),
    /// Any other block: an object with a string member `type`, such as `image`.
    Other(Json),
}

impl Block {
    /// Makes a text block.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// The block as JSON, `{"type":"text","text":…}` for text.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => {
                Json::object([("type", Json::from("text")), ("text", Json::String(Arc::clone(text)))])
            }
            Self::Other(block) => block.clone(),
        }
    }

    /// Reads a block from JSON: a string is text, an object is a block by its `type`.
    ///
    /// # Errors
    /// The value itself when it is neither.
    pub fn from_json(value: &Json) -> Result<Self, Json> {
        match value {
            Json::String(text) => Ok(Self::Text(Arc::clone(text))),
            Json::Object(object) => match object.get("type").and_then(Json::as_str) {
                Some("text") => match object.get("text") {
                    Some(Json::String(text)) => Ok(Self::Text(Arc::clone(text))),
                    _ => Err(value.clone()),
                },
                Some(_) => Ok(Self::Other(value.clone())),
                None => Err(value.clone()),
            },
            _ => Err(value.clone()),
        }
    }

    /// The text of a text block; `[<type> content]` for any other.
    pub fn as_text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Text(text) => (&**text).into(),
            Self::Other(block) => {
                let kind = block.get("type").and_then(Json::as_str).unwrap_or("unknown");
                format!("[{kind} content]").into()
            }
        }
    }
}

/// An immutable list of blocks.
pub type Content = Arc<[Block]>;

/// Makes content of one text block.
pub fn text_content(text: impl Into<Arc<str>>) -> Content {
    Arc::from([Block::text(text)])
}

/// Joins the text of all blocks by line breaks.
pub fn flatten(content: &[Block]) -> String {
    content.iter().map(Block::as_text).collect::<Vec<_>>().join("\n")
}

/// A message that a tool or a listener queues for the model's next input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Context {
    /// Who queued it.
    pub source: Arc<str>,
    /// What the model will read, as a user message.
    pub content: Content,
}

impl Context {
    /// Makes a context of one text block.
    pub fn text(source: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { source: source.into(), content: text_content(text) }
    }
}
