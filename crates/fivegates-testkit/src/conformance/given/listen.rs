//! Listeners and guards as they are written.

use fivegates_core::content::Content;
use fivegates_core::error::ToolError;
use fivegates_core::json::Json;

use super::{content, error};
use crate::conformance::fields::{self, Fields, Stop, word};

/// A listener: where it hears, and what it does.
#[derive(Clone, Debug)]
pub struct Listener<A> {
    /// Its id.
    pub id: String,
    /// The only tool it acts for; for others it is transparent.
    pub tool: Option<String>,
    /// The scope it is tagged with.
    pub scope: Option<String>,
    /// Goes outside those that are there.
    pub prepend: bool,
    /// What it does.
    pub act: A,
}

/// What a chain listener does around its decision.
#[derive(Clone, Debug)]
pub struct Act<D> {
    /// What it decides.
    pub decides: D,
    /// Contexts it adds.
    pub contexts: Vec<String>,
    /// The tool it unregisters first.
    pub unregister: Option<String>,
}

/// A decision of gate 1.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Refuse.
    Deny(String),
    /// Ask, for this reason.
    Ask(Option<String>),
}

/// What a listener of gate 1 does.
#[derive(Clone, Debug)]
pub enum PreAct {
    /// Delegates.
    Next,
    /// Decides.
    Decide(Verdict),
    /// Fails.
    Throw(ToolError),
    /// Delegates and decides all the same.
    NextThen(Verdict),
}

/// What a wrapper does.
#[derive(Clone, Debug)]
pub enum AroundAct {
    /// Delegates.
    Next,
    /// Answers with a value.
    Value {
        /// The value.
        value: Json,
        /// Contexts of the answer.
        contexts: Vec<String>,
    },
    /// Answers with a failure.
    Failure {
        /// The error.
        error: ToolError,
        /// What the model reads.
        content: Option<Content>,
        /// Presentation metadata.
        meta: Option<Json>,
        /// Contexts of the answer.
        contexts: Vec<String>,
    },
    /// Fails.
    Throw(ToolError),
    /// Delegates and fails.
    NextThenThrow(ToolError),
    /// Delegates twice.
    NextTwice,
    /// Delegates under a signal of its own.
    ReplaceSignal {
        /// The signal has fired already.
        fired: bool,
    },
}

/// What a listener of gate 4 does.
#[derive(Clone, Debug)]
pub enum PostAct {
    /// Delegates.
    Next,
    /// Accepts, with what it replaces.
    Accept {
        /// Replacement content.
        content: Option<Content>,
        /// Replacement value.
        value: Option<Json>,
    },
    /// Blocks.
    Block(Content),
    /// Delegates and blocks.
    NextThenBlock(Content),
    /// Fails.
    Throw(ToolError),
}

/// What an observer does.
#[derive(Clone, Debug)]
pub enum ResultAct {
    /// Looks on.
    Ok,
    /// Fails.
    Fail(ToolError),
}

/// A guard.
#[derive(Clone, Debug)]
pub struct GuardSpec {
    /// Its id.
    pub id: String,
    /// The scope whose layer it is in.
    pub scope: Option<String>,
    /// What it does.
    pub act: GuardAct,
}

/// What a guard does.
#[derive(Clone, Debug)]
pub enum GuardAct {
    /// Abstains.
    Abstain,
    /// Refuses.
    Deny(String),
    /// Fails.
    Throw(ToolError),
    /// Mounts another guard and abstains.
    AddGuard(Box<GuardSpec>),
}

fn listener<'a, A>(
    at: &str,
    value: &'a Json,
    read: impl FnOnce(&str, &mut Fields<'a>) -> Result<A, Stop>,
) -> Result<Listener<A>, Stop> {
    let mut fields = Fields::of(at, value)?;
    let listener = Listener {
        id: fields.text("id")?.to_owned(),
        tool: fields.text_if("tool")?.map(str::to_owned),
        scope: fields.text_if("scope")?.map(str::to_owned),
        prepend: fields.flag("prepend")?,
        act: read(&fields.at("do"), &mut fields)?,
    };
    fields.done()?;
    Ok(listener)
}

/// Reads a listener of gate 1.
///
/// # Errors
/// It is malformed.
pub fn pre(at: &str, value: &Json) -> Result<Listener<Act<PreAct>>, Stop> {
    listener(at, value, |at, fields| {
        let decides = match word(at, fields.need("do")?)? {
            ("next", None) => PreAct::Next,
            ("throw", Some(thrown)) => PreAct::Throw(error(at, thrown)?),
            ("next_then", Some(then)) => {
                let (word, value) = word(at, then)?;
                PreAct::NextThen(verdict(at, word, value)?)
            }
            (word, value) => PreAct::Decide(verdict(at, word, value)?),
        };
        Ok(Act { decides, contexts: Vec::new(), unregister: None })
    })
}

fn unregister(fields: &mut Fields<'_>) -> Result<Option<String>, Stop> {
    Ok(fields.text_if("unregister")?.map(str::to_owned))
}

fn verdict(at: &str, word: &str, value: Option<&Json>) -> Result<Verdict, Stop> {
    match (word, value) {
        ("allow", Some(Json::Bool(true))) => Ok(Verdict::Allow),
        ("deny", Some(Json::String(reason))) => Ok(Verdict::Deny(reason.to_string())),
        ("ask", Some(Json::String(reason))) => Ok(Verdict::Ask(Some(reason.to_string()))),
        ("ask", Some(Json::Null)) => Ok(Verdict::Ask(None)),
        _ => Err(Stop::unknown(at, word)),
    }
}

/// Reads a wrapper.
///
/// # Errors
/// It is malformed.
pub fn around(at: &str, value: &Json) -> Result<Listener<Act<AroundAct>>, Stop> {
    listener(at, value, |at, fields| {
        let decides = match word(at, fields.need("do")?)? {
            ("next", None) => AroundAct::Next,
            ("short_circuit", Some(value)) => short_circuit(at, value)?,
            ("short_circuit_error", Some(value)) => short_circuit_error(at, value)?,
            ("throw", Some(thrown)) => AroundAct::Throw(error(at, thrown)?),
            ("next_then_throw", Some(thrown)) => AroundAct::NextThenThrow(error(at, thrown)?),
            ("next_twice", Some(Json::Bool(true))) => AroundAct::NextTwice,
            ("replace_signal", Some(value)) => {
                let mut fields = Fields::of(&format!("{at}.replace_signal"), value)?;
                let fired = match fields.text_if("abort")? {
                    None => false,
                    Some("before") => true,
                    Some(other) => return Err(Stop::unknown(&fields.at("abort"), other)),
                };
                fields.done()?;
                AroundAct::ReplaceSignal { fired }
            }
            (word, _) => return Err(Stop::unknown(at, word)),
        };
        let contexts = fields.each("add_contexts", fields::text)?;
        Ok(Act { decides, contexts, unregister: unregister(fields)? })
    })
}

fn short_circuit(at: &str, value: &Json) -> Result<AroundAct, Stop> {
    let mut fields = Fields::of(&format!("{at}.short_circuit"), value)?;
    let act = AroundAct::Value {
        value: fields.need("value")?.clone(),
        contexts: fields.each("contexts", fields::text)?,
    };
    // A wrapper's answer with a value has no place for these: the tool's own contract makes them.
    for authored in ["content", "meta", "conclude_turn"] {
        fields.get(authored);
    }
    fields.done()?;
    Ok(act)
}

fn short_circuit_error(at: &str, value: &Json) -> Result<AroundAct, Stop> {
    let mut fields = Fields::of(&format!("{at}.short_circuit_error"), value)?;
    let message = fields.text("message")?;
    let (name, code) = (fields.text_if("name")?, fields.text_if("code")?);
    let error = match code {
        Some(code) => ToolError::coded(name.unwrap_or("Error").to_owned(), code.to_owned(), message),
        None => ToolError::new(message),
    };
    let act = AroundAct::Failure {
        error,
        content: fields.get("content").map(|value| content(&fields.at("content"), value)).transpose()?,
        meta: fields.get("meta").cloned(),
        contexts: fields.each("contexts", fields::text)?,
    };
    fields.done()?;
    Ok(act)
}

/// Reads a listener of gate 4.
///
/// # Errors
/// It is malformed.
pub fn post(at: &str, value: &Json) -> Result<Listener<Act<PostAct>>, Stop> {
    listener(at, value, |at, fields| {
        let decides = match word(at, fields.need("do")?)? {
            ("next", None) => PostAct::Next,
            ("accept", Some(value)) => {
                let mut fields = Fields::of(&format!("{at}.accept"), value)?;
                let replaced = fields.get("content");
                let replaced = replaced.map(|value| content(&fields.at("content"), value)).transpose()?;
                let act = PostAct::Accept { content: replaced, value: fields.get("value").cloned() };
                fields.done()?;
                act
            }
            ("block", Some(feedback)) => PostAct::Block(content(at, feedback)?),
            ("next_then_block", Some(feedback)) => PostAct::NextThenBlock(content(at, feedback)?),
            ("throw", Some(thrown)) => PostAct::Throw(error(at, thrown)?),
            (word, _) => return Err(Stop::unknown(at, word)),
        };
        let contexts = fields.each("contexts", fields::text)?;
        Ok(Act { decides, contexts, unregister: unregister(fields)? })
    })
}

/// Reads an observer. An observer here is not asynchronous, so that a rejection is a failure like any other.
///
/// # Errors
/// It is malformed.
pub fn result(at: &str, value: &Json) -> Result<Listener<ResultAct>, Stop> {
    listener(at, value, |at, fields| match word(at, fields.need("do")?)? {
        ("ok", None) => Ok(ResultAct::Ok),
        ("throw" | "reject", Some(thrown)) => Ok(ResultAct::Fail(error(at, thrown)?)),
        (word, _) => Err(Stop::unknown(at, word)),
    })
}

impl GuardSpec {
    /// Reads a guard.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(at: &str, value: &Json) -> Result<Self, Stop> {
        let mut fields = Fields::of(at, value)?;
        let place = fields.at("do");
        let act = match word(&place, fields.need("do")?)? {
            ("abstain", None) => GuardAct::Abstain,
            ("deny", Some(Json::String(reason))) => GuardAct::Deny(reason.to_string()),
            ("throw", Some(thrown)) => GuardAct::Throw(error(&place, thrown)?),
            ("add_guard", Some(guard)) => {
                GuardAct::AddGuard(Box::new(Self::read(&format!("{place}.add_guard"), guard)?))
            }
            (word, _) => return Err(Stop::unknown(&place, word)),
        };
        let guard = Self {
            id: fields.text("id")?.to_owned(),
            scope: fields.text_if("scope")?.map(str::to_owned),
            act,
        };
        fields.done()?;
        Ok(guard)
    }
}
