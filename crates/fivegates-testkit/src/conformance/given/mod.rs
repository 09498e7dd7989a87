//! What a scenario mounts, read into types.

pub mod listen;
pub mod tool;

use std::collections::BTreeSet;

use fivegates_core::content::{Block, Content, text_content};
use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::error::ToolError;
use fivegates_core::json::Json;
use fivegates_core::registry::{Mode, Restriction};

use super::fields::{self, Fields, Stop, word};
use super::host;
use listen::{Act, AroundAct, GuardSpec, Listener, PostAct, PreAct, ResultAct};
use tool::ToolSpec;

/// All that is mounted before the first call.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The deployment's default presentation.
    pub mode: Mode,
    /// Scopes, in order.
    pub scopes: Vec<ScopeSpec>,
    /// Tools, in order.
    pub tools: Vec<ToolSpec>,
    /// Listeners of gate 1.
    pub pre: Vec<Listener<Act<PreAct>>>,
    /// Listeners of gate 3.
    pub around: Vec<Listener<Act<AroundAct>>>,
    /// Listeners of gate 4.
    pub post: Vec<Listener<Act<PostAct>>>,
    /// Observers.
    pub result: Vec<Listener<ResultAct>>,
    /// Guards.
    pub guards: Vec<GuardSpec>,
    /// Who answers asks; none is no service.
    pub approval: Option<Approval>,
    /// Labels at which the caller's cancellation fires.
    pub cancel_at: BTreeSet<String>,
    /// Plugins asked for.
    pub plugins: Plugins,
    /// Calls that may overlap.
    pub max_parallel: Option<u64>,
    /// Labels name the call, and overlap is counted.
    pub trace_calls: bool,
    /// Identities are written down.
    pub trace_identity: bool,
    /// A runtime for programs is there.
    pub code_runtime: bool,
}

/// One scope.
#[derive(Clone, Debug)]
pub struct ScopeSpec {
    /// Its name, which is also the agent's.
    pub name: String,
    /// The scope around it.
    pub parent: Option<String>,
    /// Its presentation.
    pub mode: Option<Mode>,
    /// Its restrictions.
    pub restrict: Vec<Restriction>,
}

/// Plugins that a scenario asks for.
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    /// The deadline policy.
    pub timeout: bool,
    /// The durable-flush policy.
    pub checkpoint: Option<Checkpoint>,
    /// The repeat reminder.
    pub repeat: Option<Repeat>,
}

/// The durable-flush policy with a scripted flush.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// What the flush fails with.
    pub throw: Option<ToolError>,
}

/// The repeat reminder's settings; absent ones are its defaults.
#[derive(Clone, Debug, Default)]
pub struct Repeat {
    /// Counts at which it speaks.
    pub thresholds: Option<Vec<u64>>,
    /// The only tools it tracks.
    pub include: Option<Vec<String>>,
    /// Tools it does not track.
    pub exclude: Vec<String>,
}

/// A scripted approver.
#[derive(Clone, Debug)]
pub enum Approval {
    /// Answers at once.
    Answer(ApprovalOutcome),
    /// Answers something that is no outcome.
    Rogue(String),
    /// Fails.
    Throw(ToolError),
    /// Waits for the caller's cancellation and says `cancelled`.
    WaitCancel,
}

impl Given {
    /// Reads what is mounted.
    ///
    /// # Errors
    /// A member that is missing, malformed, not known or without a form here.
    pub fn read(value: &Json) -> Result<Self, Stop> {
        let mut fields = Fields::of("given", value)?;
        let mut given = Self {
            mode: fields.get("mode").map_or(Ok(Mode::Native), |value| mode("given.mode", value))?,
            scopes: fields.each("scopes", scope)?,
            tools: fields.each("tools", ToolSpec::read)?,
            guards: fields.each("guards", GuardSpec::read)?,
            approval: fields.get("approval").map(approval).transpose()?,
            cancel_at: fields.get("cancel_at").map_or(Ok(BTreeSet::new()), cancel_at)?,
            plugins: fields.get("plugins").map_or(Ok(Plugins::default()), plugins)?,
            max_parallel: fields
                .get("max_parallel")
                .map(|value| fields::count("given.max_parallel", value))
                .transpose()?,
            trace_calls: fields.flag("trace_calls")?,
            trace_identity: fields.flag("trace_identity")?,
            code_runtime: fields.flag("code_runtime")?,
            ..Self::default()
        };
        if let Some(listeners) = fields.get("listeners") {
            given.read_listeners(listeners)?;
        }
        fields.done()?;
        Ok(given)
    }

    fn read_listeners(&mut self, value: &Json) -> Result<(), Stop> {
        let mut fields = Fields::of("given.listeners", value)?;
        self.pre = fields.each("pre", listen::pre)?;
        self.around = fields.each("around", listen::around)?;
        self.post = fields.each("post", listen::post)?;
        self.result = fields.each("result", listen::result)?;
        fields.done()
    }
}

/// Reads a presentation mode.
///
/// # Errors
/// It is none.
pub fn mode(at: &str, value: &Json) -> Result<Mode, Stop> {
    match value.as_str() {
        Some("native") => Ok(Mode::Native),
        Some("code") => Ok(Mode::Code),
        Some("both") => Ok(Mode::Both),
        _ => Err(Stop::malformed(at, "native, code or both")),
    }
}

fn scope(at: &str, value: &Json) -> Result<ScopeSpec, Stop> {
    let mut fields = Fields::of(at, value)?;
    let scope = ScopeSpec {
        name: fields.text("name")?.to_owned(),
        parent: fields.text_if("parent")?.map(str::to_owned),
        mode: fields.get("mode").map(|value| mode(&fields.at("mode"), value)).transpose()?,
        restrict: fields.each("restrict", restriction)?,
    };
    fields.done()?;
    Ok(scope)
}

/// Reads a restriction.
///
/// # Errors
/// It is malformed.
pub fn restriction(at: &str, value: &Json) -> Result<Restriction, Stop> {
    let mut fields = Fields::of(at, value)?;
    let mut names = |key| -> Result<_, Stop> {
        Ok(fields.each(key, fields::text)?.iter().map(|name| name.as_str().into()).collect::<BTreeSet<_>>())
    };
    let (allow, deny) = (names("allow")?, names("deny")?);
    // An allow list that is there and empty lets nothing through; one that is absent lets all.
    let allow = fields.get("allow").map(|_| allow);
    fields.done()?;
    Ok(Restriction { allow, deny })
}

fn approval(value: &Json) -> Result<Approval, Stop> {
    let at = "given.approval";
    match word(at, value)? {
        ("answer", Some(Json::String(answer))) => Ok(match &**answer {
            "allowed-once" => Approval::Answer(ApprovalOutcome::AllowedOnce),
            "rejected" => Approval::Answer(ApprovalOutcome::Rejected),
            "cancelled" => Approval::Answer(ApprovalOutcome::Cancelled),
            "unavailable" => Approval::Answer(ApprovalOutcome::Unavailable),
            rogue => Approval::Rogue(rogue.to_owned()),
        }),
        ("answer", Some(Json::Null)) => Ok(Approval::Rogue("null".to_owned())),
        ("throw", Some(thrown)) => Ok(Approval::Throw(error(&format!("{at}.throw"), thrown)?)),
        ("wait_cancel", Some(Json::Bool(true))) => Ok(Approval::WaitCancel),
        (other, _) => Err(Stop::unknown(at, other)),
    }
}

fn cancel_at(value: &Json) -> Result<BTreeSet<String>, Stop> {
    let at = "given.cancel_at";
    let labels = match value {
        Json::String(label) => vec![label.to_string()],
        _ => {
            let items = value.as_array().ok_or_else(|| Stop::malformed(at, "a label or a list of labels"))?;
            items.iter().map(|item| fields::text(at, item)).collect::<Result<_, _>>()?
        }
    };
    const ALONE: [&str; 3] = ["start", "approval", "flush"];
    const NAMED: [&str; 8] = ["pre", "guard", "around", "body", "render", "post", "finalize", "result"];
    for label in &labels {
        let known = match label.split_once(':') {
            None => ALONE.contains(&label.as_str()),
            Some((stage, name)) => NAMED.contains(&stage) && !name.is_empty(),
        };
        if !known {
            return Err(Stop::unknown(at, label));
        }
    }
    Ok(labels.into_iter().collect())
}

fn plugins(value: &Json) -> Result<Plugins, Stop> {
    let mut fields = Fields::of("given.plugins", value)?;
    let plugins = Plugins {
        timeout: fields.flag("timeout")?,
        checkpoint: fields.get("checkpoint").map(checkpoint).transpose()?,
        repeat: match fields.get("repeat") {
            None | Some(Json::Bool(false)) => None,
            Some(Json::Bool(true)) => Some(Repeat::default()),
            Some(settings) => Some(repeat(settings)?),
        },
    };
    fields.done()?;
    Ok(plugins)
}

fn checkpoint(value: &Json) -> Result<Checkpoint, Stop> {
    let mut fields = Fields::of("given.plugins.checkpoint", value)?;
    let throw = fields.get("throw").map(|thrown| error(&fields.at("throw"), thrown)).transpose()?;
    fields.done()?;
    Ok(Checkpoint { throw })
}

fn repeat(value: &Json) -> Result<Repeat, Stop> {
    let mut fields = Fields::of("given.plugins.repeat", value)?;
    let (thresholds, include) =
        (fields.each("thresholds", fields::count)?, fields.each("include", fields::text)?);
    let repeat = Repeat {
        thresholds: fields.get("thresholds").map(|_| thresholds),
        include: fields.get("include").map(|_| include),
        exclude: fields.each("exclude", fields::text)?,
    };
    fields.done()?;
    Ok(repeat)
}

/// Reads something thrown: a text, or an object that is a coded error exactly when it has a code.
///
/// # Errors
/// It is malformed, or nothing here can be thrown like it.
pub fn error(at: &str, value: &Json) -> Result<ToolError, Stop> {
    if value.as_str().is_some() {
        return Ok(ToolError::thrown(value));
    }
    let mut fields = Fields::of(at, value)?;
    if let Some(kind) = fields.get("host") {
        let name = fields::text(&fields.at("host"), kind)?;
        fields.done()?;
        if let Some(text) = host::thrown(&name) {
            return Ok(ToolError::thrown(&Json::String(text)));
        }
        host::Host::read(at, kind)?;
        return Err(Stop::Unrepresentable(format!("thrown host value `{name}`")));
    }
    let message = fields.text("message")?;
    let (name, code) = (fields.text_if("name")?, fields.text_if("code")?);
    fields.done()?;
    Ok(match code {
        Some(code) => ToolError::coded(name.unwrap_or("Error").to_owned(), code.to_owned(), message),
        None => ToolError::new(message),
    })
}

/// Reads content: a text, or a list of texts and blocks.
///
/// # Errors
/// It is neither.
pub fn content(at: &str, value: &Json) -> Result<Content, Stop> {
    match value {
        Json::String(text) => Ok(text_content(text.clone())),
        _ => {
            let items = value.as_array().ok_or_else(|| Stop::malformed(at, "a text or a list of blocks"))?;
            let blocks = items.iter().map(Block::from_json).collect::<Result<Vec<_>, _>>();
            blocks.map(Content::from).map_err(|_| Stop::malformed(at, "a text or a list of blocks"))
        }
    }
}
