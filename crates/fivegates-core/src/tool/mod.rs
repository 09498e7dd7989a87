//! Tools: written typed, stored erased.
//!
//! A tool has three faces. The **model** face (name, description, parameters) is all that is ever sent to a model
//! . The **execution** face is what the pipeline runs. The **presentation** face says how a call is shown to people.

mod typed;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use crate::call::{Call, Invocation};
use crate::content::{Block, Content};
use crate::error::ToolError;
use crate::gates::contain;
use crate::ids::ToolName;
use crate::json::{self, Json};
use crate::outcome::Ending;
use crate::schema::{Schema, SchemaError};

pub use typed::Tool;

/// What a call would do (L-64). What is not known is taken to be the worst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effects {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// Doing it twice is like doing it once.
    pub idempotent: bool,
    /// Reaches beyond this machine and workspace.
    pub open_world: bool,
}

impl Effects {
    /// Nothing is known.
    pub const UNKNOWN: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };
    /// Reads within the workspace or machine.
    pub const READ_ONLY: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
}

/// How a body can fail.
#[derive(Debug, Clone)]
pub enum BodyError {
    /// The tool failed.
    Failed(ToolError),
    /// The tool returned a value that is no lossless JSON.
    NotLossless,
}

impl<E: Into<ToolError>> From<E> for BodyError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// How a projection of the value (renderer or metadata) can fail.
#[derive(Debug, Clone)]
pub enum ProjectionError {
    /// It failed with this message.
    Failed(String),
    /// It returned what is no lossless JSON.
    NotLossless,
}

/// A body's future.
pub type BodyFuture = Pin<Box<dyn Future<Output = Result<Json, BodyError>> + Send>>;

type BodyFn = dyn Fn(Invocation) -> BodyFuture + Send + Sync;
type RenderFn = dyn Fn(&Json, &Json) -> Result<Vec<Block>, ProjectionError> + Send + Sync;
type MetaFn = dyn Fn(&Json, &Json) -> Result<Option<Json>, ProjectionError> + Send + Sync;
type FinalizeFn = dyn Fn(&Call, &Ending) -> Result<Option<Content>, ToolError> + Send + Sync;
type EffectsFn = dyn Fn(&Json) -> Effects + Send + Sync;
type ParallelFn = dyn Fn(&Json) -> bool + Send + Sync;
type CardFn = dyn Fn(&Json) -> Option<CallCard> + Send + Sync;

/// How a call is shown to people: pure, safe to repeat, and nothing when the arguments are malformed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallCard {
    /// One line.
    Generic {
        /// What the call does, in the tool's words.
        title: String,
    },
    /// A command for a shell.
    Terminal {
        /// What it is for, as the model said.
        title: String,
        /// The command, exactly.
        command: String,
        /// Where it runs, when that was asked for.
        cwd: Option<String>,
    },
    /// A change of a file.
    Diff {
        /// What the call does.
        title: String,
        /// The file.
        path: String,
        /// The text that goes; none for a new file or a whole replacement.
        old: Option<String>,
        /// The text that comes.
        new: String,
    },
}

/// Whether the registry checks arguments against the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Validation {
    /// Arguments are checked inside the body stage, after all gates.
    Checked,
    /// Arguments pass unchecked: a foreign tool checks its own.
    Raw,
}

/// A tool in erased form.
#[derive(Clone)]
pub struct Definition {
    name: ToolName,
    description: Arc<str>,
    parameters: Parameters,
    output: Schema,
    timeout_ms: Option<u64>,
    body: Arc<BodyFn>,
    render: Option<Arc<RenderFn>>,
    meta: Option<Arc<MetaFn>>,
    finalize: Option<Arc<FinalizeFn>>,
    effects: Option<Arc<EffectsFn>>,
    parallel: Option<Arc<ParallelFn>>,
    card: Option<Arc<CardFn>>,
    digest: Arc<OnceLock<[u8; 32]>>,
}

/// The parameters: compiled when they are checked, as they came when the tool is raw.
#[derive(Clone)]
enum Parameters {
    Checked(Schema),
    Raw(Json),
}

/// What a model is sent of a tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolSchema {
    /// The name to call it by.
    pub name: ToolName,
    /// What it does.
    pub description: Arc<str>,
    /// JSON Schema of its arguments.
    pub parameters: Json,
}

impl Definition {
    /// Defines a tool by its schemas and its body. The body is given the invocation and returns its canonical value.
    ///
    /// # Errors
    /// A schema outside the subset.
    pub fn new<F, R>(
        name: impl Into<ToolName>,
        description: impl Into<Arc<str>>,
        parameters: &Json,
        output: &Json,
        body: F,
    ) -> Result<Self, SchemaError>
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Json, BodyError>> + Send + 'static,
    {
        let parameters = Schema::compile_parameters(parameters)?;
        let output = Schema::compile(output)?;
        let body: Arc<BodyFn> = Arc::new(move |invocation| Box::pin(body(invocation)));
        Ok(Self::compiled(name.into(), description.into(), Parameters::Checked(parameters), output, body))
    }

    fn compiled(
        name: ToolName,
        description: Arc<str>,
        parameters: Parameters,
        output: Schema,
        body: Arc<BodyFn>,
    ) -> Self {
        Self {
            name,
            description,
            parameters,
            output,
            timeout_ms: None,
            body,
            render: None,
            meta: None,
            finalize: None,
            effects: None,
            parallel: None,
            card: None,
            digest: Arc::default(),
        }
    }

    /// Lets arguments pass unchecked: the tool is foreign and checks its own.
    #[must_use]
    pub fn raw(mut self) -> Self {
        if let Parameters::Checked(schema) = &self.parameters {
            self.parameters = Parameters::Raw(schema.source().clone());
        }
        self
    }

    /// Declares a deadline in milliseconds, for the deadline policy.
    #[must_use]
    pub fn with_timeout_ms(self, timeout_ms: u64) -> Self {
        Self { timeout_ms: Some(timeout_ms), ..self }
    }

    /// Sets the renderer: from arguments and value to what the model reads. Without one a string is shown as it
    /// is and any other value as compact JSON.
    #[must_use]
    pub fn with_render(
        self,
        render: impl Fn(&Json, &Json) -> Result<Vec<Block>, ProjectionError> + Send + Sync + 'static,
    ) -> Self {
        Self { render: Some(Arc::new(render)), ..self }
    }

    /// Sets the projection to presentation metadata, from arguments and value.
    #[must_use]
    pub fn with_meta(
        self,
        meta: impl Fn(&Json, &Json) -> Result<Option<Json>, ProjectionError> + Send + Sync + 'static,
    ) -> Self {
        Self { meta: Some(Arc::new(meta)), ..self }
    }

    /// Sets the finalizer, gate 5: it may replace what the model reads, for every outcome (R-180 … R-184).
    #[must_use]
    pub fn with_finalizer(
        self,
        finalize: impl Fn(&Call, &Ending) -> Result<Option<Content>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { finalize: Some(Arc::new(finalize)), ..self }
    }

    /// Declares what a call does. Without it the worst is assumed (L-64).
    #[must_use]
    pub fn with_effects(self, effects: impl Fn(&Json) -> Effects + Send + Sync + 'static) -> Self {
        Self { effects: Some(Arc::new(effects)), ..self }
    }

    /// Declares for which arguments calls may overlap with others. Without it every call runs alone.
    #[must_use]
    pub fn with_parallel(self, parallel: impl Fn(&Json) -> bool + Send + Sync + 'static) -> Self {
        Self { parallel: Some(Arc::new(parallel)), ..self }
    }

    /// Sets how a call is shown to people.
    #[must_use]
    pub fn with_card(self, card: impl Fn(&Json) -> Option<CallCard> + Send + Sync + 'static) -> Self {
        Self { card: Some(Arc::new(card)), ..self }
    }

    // ---- model face ----

    /// The tool's name.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What a model is sent.
    pub fn schema(&self) -> ToolSchema {
        let parameters = match &self.parameters {
            Parameters::Checked(schema) => schema.source().clone(),
            Parameters::Raw(schema) => schema.clone(),
        };
        ToolSchema { name: self.name.clone(), description: Arc::clone(&self.description), parameters }
    }

    // ---- execution face ----

    /// The schema of the canonical value; it stays on the host, except that programs are told of it.
    pub fn output_schema(&self) -> &Json {
        self.output.source()
    }

    /// The declared deadline in milliseconds.
    pub fn timeout_ms(&self) -> Option<u64> {
        self.timeout_ms
    }

    /// Whether arguments are checked.
    pub fn validation(&self) -> Validation {
        if matches!(self.parameters, Parameters::Checked(_)) { Validation::Checked } else { Validation::Raw }
    }

    /// What a call with these arguments would do; a panic in the tool's answer counts as the worst.
    pub fn effects(&self, arguments: &Json) -> Effects {
        let Some(effects) = &self.effects else {
            return Effects::UNKNOWN;
        };
        contain(|| effects(arguments)).unwrap_or(Effects::UNKNOWN)
    }

    /// Tells whether a call with these arguments may overlap with others; doubt means no (R-210, H4).
    pub fn can_parallel(&self, arguments: &Json) -> bool {
        self.parallel.as_ref().is_some_and(|parallel| contain(|| parallel(arguments)).unwrap_or(false))
    }

    /// Returns how the arguments violate the parameters; nothing for a raw tool.
    pub fn argument_violations(&self, arguments: &Json) -> Vec<String> {
        match &self.parameters {
            Parameters::Checked(schema) => schema.argument_violations(arguments),
            Parameters::Raw(_) => Vec::new(),
        }
    }

    /// A digest of all that a model is told and of the output contract; it changes when the definition does (L-06).
    pub fn digest(&self) -> &[u8; 32] {
        self.digest.get_or_init(|| self.digest_now())
    }

    /// The same digest, computed anew.
    pub(crate) fn digest_now(&self) -> [u8; 32] {
        let parts = Json::object([
            ("name", Json::from(self.name.as_str())),
            ("description", Json::from(Arc::clone(&self.description))),
            ("parameters", self.schema().parameters),
            ("output", self.output.source().clone()),
        ]);
        *blake3::hash(json::canonical(&parts).as_bytes()).as_bytes()
    }

    pub(crate) fn start(&self, invocation: Invocation) -> BodyFuture {
        (self.body)(invocation)
    }

    pub(crate) fn output_violations(&self, value: &Json) -> Vec<String> {
        self.output.violations(value, "value")
    }

    pub(crate) fn render(&self, arguments: &Json, value: &Json) -> Result<Vec<Block>, ProjectionError> {
        match &self.render {
            Some(render) => contain(|| render(arguments, value)).map_err(ProjectionError::Failed)?,
            None => Ok(plain(value)),
        }
    }

    pub(crate) fn meta(&self, arguments: &Json, value: &Json) -> Result<Option<Json>, ProjectionError> {
        let Some(meta) = &self.meta else {
            return Ok(None);
        };
        contain(|| meta(arguments, value)).map_err(ProjectionError::Failed)?
    }

    pub(crate) fn finalize(
        &self,
        call: &Call,
        ending: &Ending,
    ) -> Option<Result<Option<Content>, ToolError>> {
        let finalize = self.finalize.as_ref()?;
        let contained = contain(|| finalize(call, ending));
        Some(contained.unwrap_or_else(|text| {
            Err(ToolError::new(format!("finalizer of tool \"{}\" panicked: {text}", self.name)))
        }))
    }

    // ---- presentation face ----

    /// How a call with these arguments is shown to people; nothing when they do not fit.
    pub fn card(&self, arguments: &Json) -> Option<CallCard> {
        let card = self.card.as_ref()?;
        contain(|| card(arguments)).ok().flatten()
    }
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Definition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How a value is shown when the tool does not say: a string as it is, all else as compact JSON.
fn plain(value: &Json) -> Vec<Block> {
    vec![match value {
        Json::String(text) => Block::Text(Arc::clone(text)),
        other => Block::text(json::compact(other)),
    }]
}

/// Wraps a body's failure for a typed conversion.
fn invalid_args(error: &json::JsonConvertError) -> ToolError {
    crate::error::own::invalid_args(&error.to_string())
}

/// Makes a cheap copy of a name that is known when the program is written.
pub(crate) fn name_of(name: Cow<'static, str>) -> ToolName {
    match name {
        Cow::Borrowed(text) => ToolName::new(text),
        Cow::Owned(text) => ToolName::new(text),
    }
}
