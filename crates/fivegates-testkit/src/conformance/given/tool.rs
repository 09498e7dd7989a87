//! Tools as they are written: schemas, faces, and bodies as lists of actions.

use fivegates_core::content::{Block, Content};
use fivegates_core::error::ToolError;
use fivegates_core::json::Json;
use fivegates_core::tool::Validation;

use super::{content, error};
use crate::conformance::fields::{self, Fields, Stop, word};
use crate::conformance::host::Host;

/// A tool.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// The scope it is registered in.
    pub scope: Option<String>,
    /// What it does, in words.
    pub description: String,
    /// Schema of the arguments.
    pub parameters: Json,
    /// Schema of the value.
    pub output: Json,
    /// Whether arguments are checked.
    pub validation: Validation,
    /// How a value is rendered; none is the default.
    pub render: Option<Render>,
    /// How metadata is made.
    pub meta: Option<Meta>,
    /// What the body does.
    pub body: Vec<Action>,
    /// What it does for certain call ids.
    pub bodies: Vec<(String, Vec<Action>)>,
    /// How it is classified.
    pub parallel: Option<Parallel>,
    /// Its deadline.
    pub timeout_ms: Option<u64>,
    /// Its last word.
    pub finalize: Option<Finalize>,
}

/// A renderer.
#[derive(Clone, Debug)]
pub enum Render {
    /// The default after a prefix.
    Prefix(String),
    /// Always these blocks.
    Blocks(Vec<Block>),
    /// Fails.
    Throw(String),
    /// Puts a host value into the list.
    Host(Host),
}

/// A metadata projector.
#[derive(Clone, Debug)]
pub enum Meta {
    /// `{"v": value}`.
    WrapValue,
    /// Fails.
    Throw(String),
    /// Returns a host value.
    Host(Host),
}

/// A finalizer.
#[derive(Clone, Debug)]
pub enum Finalize {
    /// Keeps the content.
    Keep,
    /// Adds a text block.
    Append(String),
    /// Replaces the content.
    Content(Content),
    /// Fails.
    Throw(ToolError),
}

/// A classifier's answer.
#[derive(Clone, Debug)]
pub enum Parallel {
    /// This value, whatever the arguments.
    Answer(Json),
    /// The argument of this name.
    Argument(String),
    /// Fails.
    Throw,
}

/// One thing that a body does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Ends with this value.
    Return(Json),
    /// Ends with the arguments.
    ReturnArgs,
    /// Ends with one argument.
    ReturnArg(String),
    /// Ends with a host value.
    ReturnHost(Host),
    /// Ends with the value of the nested call.
    ReturnNested,
    /// Fails.
    Throw(ToolError),
    /// Sleeps.
    SleepMs(u64),
    /// Queues a message.
    DeferContext(String),
    /// Asks for the turn to end.
    ConcludeTurn,
    /// Waits for the signal that the body was given.
    WaitAbort,
    /// Fires the caller's cancellation.
    Cancel,
    /// Fires the signal that a wrapper installed.
    AbortWrapper(String),
    /// Unregisters a tool.
    Unregister(String),
    /// Waits for a gate.
    WaitGate(String),
    /// Opens a gate.
    OpenGate(String),
    /// Makes a nested call.
    Nested(Nested),
}

/// A nested call.
#[derive(Clone, Debug)]
pub struct Nested {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Json,
    /// Queues the call's contexts as its own.
    pub forward_contexts: bool,
}

impl ToolSpec {
    /// Reads a tool.
    ///
    /// # Errors
    /// It is malformed, or has no form here.
    pub fn read(at: &str, value: &Json) -> Result<Self, Stop> {
        let mut fields = Fields::of(at, value)?;
        let name = fields.text("name")?.to_owned();
        let tool = Self::read_rest(name, &mut fields)?;
        fields.done()?;
        Ok(tool)
    }

    /// Reads all but the name.
    ///
    /// # Errors
    /// It is malformed, or has no form here.
    pub fn read_rest(name: String, fields: &mut Fields<'_>) -> Result<Self, Stop> {
        let open =
            || Json::object([("type", Json::from("object")), ("properties", Json::object::<&str>([]))]);
        let output = match fields.get("output") {
            Some(Json::Null) => {
                return Err(Stop::Unrepresentable("a tool without an output contract".to_owned()));
            }
            other => other.cloned().unwrap_or_else(|| Json::object::<&str>([])),
        };
        let validate = fields.get("validate_args").is_none() || fields.flag("validate_args")?;
        Ok(Self {
            name,
            scope: fields.text_if("scope")?.map(str::to_owned),
            description: fields.text_if("description")?.unwrap_or_default().to_owned(),
            parameters: fields.get("parameters").cloned().unwrap_or_else(open),
            output,
            validation: if validate { Validation::Checked } else { Validation::Raw },
            render: fields.get("render").map(|value| render(&fields.at("render"), value)).transpose()?,
            meta: fields.get("meta").map(|value| meta(&fields.at("meta"), value)).transpose()?,
            body: fields.each("body", action)?,
            bodies: bodies(fields)?,
            parallel: fields
                .get("parallel")
                .map(|value| parallel(&fields.at("parallel"), value))
                .transpose()?,
            timeout_ms: fields
                .get("timeout_ms")
                .map(|value| timeout(&fields.at("timeout_ms"), value))
                .transpose()?,
            finalize: fields
                .get("finalize")
                .map(|value| finalize(&fields.at("finalize"), value))
                .transpose()?,
        })
    }

    /// What the body does for a call id.
    pub fn body_for(&self, id: &str) -> &[Action] {
        let own = self.bodies.iter().find(|(call, _)| call == id);
        own.map_or(&self.body, |(_, actions)| actions)
    }
}

fn bodies(fields: &mut Fields<'_>) -> Result<Vec<(String, Vec<Action>)>, Stop> {
    let at = fields.at("bodies");
    let Some(bodies) = fields.get("bodies") else {
        return Ok(Vec::new());
    };
    let bodies = bodies.as_object().ok_or_else(|| Stop::malformed(&at, "an object"))?.entries().iter();
    bodies
        .map(|(call, actions)| {
            let at = format!("{at}.{call}");
            let actions = actions.as_array().ok_or_else(|| Stop::malformed(&at, "an array"))?.iter();
            let actions = actions.map(|value| action(&at, value)).collect::<Result<_, _>>()?;
            Ok((call.to_string(), actions))
        })
        .collect()
}

fn render(at: &str, value: &Json) -> Result<Render, Stop> {
    match word(at, value)? {
        ("prefix", Some(Json::String(prefix))) => Ok(Render::Prefix(prefix.to_string())),
        ("blocks", Some(blocks)) => Ok(Render::Blocks(content(at, blocks)?.to_vec())),
        ("throw", Some(thrown)) => Ok(Render::Throw(error(at, thrown)?.message().to_owned())),
        ("host", Some(kind)) => Ok(Render::Host(Host::read(at, kind)?)),
        (word, _) => Err(Stop::unknown(at, word)),
    }
}

fn meta(at: &str, value: &Json) -> Result<Meta, Stop> {
    match word(at, value)? {
        ("wrap_value", None) => Ok(Meta::WrapValue),
        ("throw", Some(thrown)) => Ok(Meta::Throw(error(at, thrown)?.message().to_owned())),
        ("host", Some(kind)) => Ok(Meta::Host(Host::read(at, kind)?)),
        (word, _) => Err(Stop::unknown(at, word)),
    }
}

fn finalize(at: &str, value: &Json) -> Result<Finalize, Stop> {
    match word(at, value)? {
        ("keep", None) => Ok(Finalize::Keep),
        ("append", Some(Json::String(text))) => Ok(Finalize::Append(text.to_string())),
        ("content", Some(replaced)) => Ok(Finalize::Content(content(at, replaced)?)),
        ("throw", Some(thrown)) => Ok(Finalize::Throw(error(at, thrown)?)),
        (word, _) => Err(Stop::unknown(at, word)),
    }
}

fn parallel(at: &str, value: &Json) -> Result<Parallel, Stop> {
    match value {
        Json::Bool(_) => Ok(Parallel::Answer(value.clone())),
        _ => match word(at, value)? {
            ("throw", None) => Ok(Parallel::Throw),
            ("truthy", None) => Ok(Parallel::Answer(Json::from(1))),
            ("arg", Some(Json::String(name))) => Ok(Parallel::Argument(name.to_string())),
            (word, _) => Err(Stop::unknown(at, word)),
        },
    }
}

/// Reads a deadline. The registry's is unsigned, so that what is not positive reaches it as zero.
fn timeout(at: &str, value: &Json) -> Result<u64, Stop> {
    let number = value.as_number().ok_or_else(|| Stop::malformed(at, "a number of milliseconds"))?;
    match number.as_u64() {
        Some(whole) => Ok(whole),
        None if number.to_f64() <= 0.0 => Ok(0),
        None => Err(Stop::Unrepresentable(format!("a deadline of {number} ms"))),
    }
}

fn action(at: &str, value: &Json) -> Result<Action, Stop> {
    let place = at;
    let (word, value) = word(place, value)?;
    let value = value.ok_or_else(|| Stop::unknown(place, word))?;
    let at = format!("{place}.{word}");
    Ok(match (word, value) {
        ("return", value) => Action::Return(value.clone()),
        ("return_args", Json::Bool(true)) => Action::ReturnArgs,
        ("return_arg", value) => Action::ReturnArg(fields::text(&at, value)?),
        ("return_host", kind) => Action::ReturnHost(Host::read(&at, kind)?),
        ("return_nested", Json::Bool(true)) => Action::ReturnNested,
        ("throw", thrown) => Action::Throw(error(&at, thrown)?),
        ("sleep_ms", value) => Action::SleepMs(fields::count(&at, value)?),
        ("defer_context", value) => Action::DeferContext(fields::text(&at, value)?),
        ("conclude_turn", Json::Bool(true)) => Action::ConcludeTurn,
        ("wait_abort", Json::Bool(true)) => Action::WaitAbort,
        ("cancel", Json::Bool(true)) => Action::Cancel,
        ("abort_wrapper", value) => Action::AbortWrapper(fields::text(&at, value)?),
        ("unregister", value) => Action::Unregister(fields::text(&at, value)?),
        ("wait_gate", value) => Action::WaitGate(fields::text(&at, value)?),
        ("open_gate", value) => Action::OpenGate(fields::text(&at, value)?),
        ("nested", value) => Action::Nested(nested(&at, value)?),
        _ => return Err(Stop::unknown(place, word)),
    })
}

fn nested(at: &str, value: &Json) -> Result<Nested, Stop> {
    let mut fields = Fields::of(at, value)?;
    let nested = Nested {
        id: fields.text("id")?.to_owned(),
        name: fields.text("name")?.to_owned(),
        arguments: fields.need("arguments")?.clone(),
        forward_contexts: fields.flag("forward_contexts")?,
    };
    fields.done()?;
    Ok(nested)
}
