//! A call on its way: what was asked for, what it became, and what it has met.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::cancel::Cancel;
use crate::content::Context;
use crate::error::{ToolError, own};
use crate::gates::contain;
use crate::ids::{CallId, ComponentId, ExecutionToken, ScopeId, ToolName};
use crate::json::{self, Json};
use crate::registry::Registered;
use crate::tool::{Definition, Effects};

/// The arguments of a request.
#[derive(Clone, Debug)]
pub enum Arguments {
    /// The raw text that a model produced. It is parsed strictly; an empty text is `{}` (R-211, L-61).
    Text(Arc<str>),
    /// A value from code.
    Value(Json),
    /// A value from code that is no lossless JSON.
    NotLossless,
}

impl Arguments {
    /// Makes arguments of a typed value.
    pub fn of<T: serde::Serialize + ?Sized>(value: &T) -> Self {
        json::to_json(value).map_or(Self::NotLossless, Self::Value)
    }

    /// The text for the record: a model's own, byte for byte.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Value(value) => Cow::Owned(json::compact(value)),
            Self::NotLossless => Cow::Borrowed(""),
        }
    }
}

/// Asks for one call.
#[derive(Clone, Debug)]
pub struct CallRequest<'p> {
    pub(crate) inner: Request,
    parent: PhantomData<&'p ()>,
}

/// What a request holds, free of the parent's lifetime.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: CallId,
    pub(crate) name: ToolName,
    pub(crate) arguments: Arguments,
    pub(crate) agent: Option<ScopeId>,
    pub(crate) cancel: Cancel,
    pub(crate) parent: Option<Parent>,
    /// The arguments as they were read, when somebody has read them already.
    pub(crate) read: Option<Result<Json, ToolError>>,
    /// Why the call must not run, when that is known before it is admitted.
    pub(crate) refusal: Option<ToolError>,
}

/// The execution that a nested call belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    pub(crate) token: ExecutionToken,
    pub(crate) id: CallId,
    pub(crate) root: CallId,
}

impl CallRequest<'static> {
    /// Asks for a top-level call without an agent.
    pub fn new(
        id: impl Into<CallId>,
        name: impl Into<ToolName>,
        arguments: Arguments,
        cancel: Cancel,
    ) -> Self {
        let inner = Request {
            id: id.into(),
            name: name.into(),
            arguments,
            agent: None,
            cancel,
            parent: None,
            read: None,
            refusal: None,
        };
        Self { inner, parent: PhantomData }
    }

    /// Says which agent asks.
    #[must_use]
    pub fn with_agent(mut self, agent: ScopeId) -> Self {
        self.inner.agent = Some(agent);
        self
    }
}

impl CallRequest<'_> {
    /// Marks the call as a repetition of an id in one input: it is answered with `DUPLICATE_CALL_ID` and never runs (L-09).
    #[must_use]
    pub fn as_duplicate(mut self) -> Self {
        self.inner.refusal = Some(own::duplicate_call_id(&self.inner.id));
        self
    }

    /// The call's id.
    pub fn id(&self) -> &CallId {
        &self.inner.id
    }

    /// The tool's name.
    pub fn name(&self) -> &ToolName {
        &self.inner.name
    }

    /// The arguments as they came.
    pub fn arguments(&self) -> &Arguments {
        &self.inner.arguments
    }
}

/// A call that was admitted: identity and arguments are fixed, and everybody sees the same.
///
/// It is cheap to clone. Only the pipeline makes one.
#[derive(Clone)]
pub struct Call(Arc<Inner>);

struct Inner {
    token: ExecutionToken,
    id: CallId,
    name: ToolName,
    root: Option<CallId>,
    parent: Option<Parent>,
    agent: Option<ScopeId>,
    scopes: Arc<[ScopeId]>,
    arguments: Option<Json>,
    registered: Option<Arc<Registered>>,
    cancel: Cancel,
    sandbox: Option<SandboxPolicy>,
    digest: OnceLock<[u8; 32]>,
    state: Mutex<State>,
}

/// Reads the digest of the policy under which bodies run at this moment.
pub type SandboxPolicy = Arc<dyn Fn() -> [u8; 32] + Send + Sync>;

/// How often a sandbox policy could not be read.
static UNREADABLE: AtomicU64 = AtomicU64::new(0);

/// Entries that a call with one listener at each stage leaves.
const TRACE_ROOM: usize = 8;

/// What changes while a call is on its way.
#[derive(Default)]
pub(crate) struct State {
    /// Number of the attempt that may still queue contexts; even when none is running.
    pub(crate) attempt: u32,
    pub(crate) deferred: Vec<Context>,
    /// Contexts of wrappers that returned, with their level.
    pub(crate) wrapped: Vec<(usize, Context)>,
    pub(crate) reviewed: Vec<Context>,
    pub(crate) concludes_turn: bool,
    pub(crate) invoked: bool,
    pub(crate) trace: Vec<Met>,
}

/// A stage as it is named in the record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// Arguments, tool, token.
    Admit,
    /// Gate 1.
    PreExecute,
    /// The human or machine that was asked.
    Approval,
    /// Gate 2.
    Guards,
    /// Gate 3.
    Execute,
    /// The tool itself.
    Body,
    /// Gate 4.
    PostExecute,
    /// Gate 5.
    Finalize,
    /// What leaves is filtered.
    Egress,
    /// The result is frozen and shown to observers.
    Result,
}

impl Stage {
    /// The stage's name in results and in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::PreExecute => "tools/pre-execute",
            Self::Approval => "approval",
            Self::Guards => "guards",
            Self::Execute => "tools/execute",
            Self::Body => "body",
            Self::PostExecute => "tools/post-execute",
            Self::Finalize => "finalizeContent",
            Self::Egress => "egress",
            Self::Result => "tools/result",
        }
    }
}

/// One thing that a call met: the stage, who acted there, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Met {
    /// Where.
    pub stage: Stage,
    /// The component that decided; none when the stage itself did.
    pub by: Option<ComponentId>,
    /// What came of it, in one word: `passed`, `allowed`, `asked`, `denied`, `ran`, `failed`, `replaced`, …
    pub verdict: &'static str,
    /// The code of the result after it.
    pub code: Option<Cow<'static, str>>,
    /// Why, in the component's words.
    pub reason: Option<Arc<str>>,
}

impl Call {
    pub(crate) fn new(
        request: Request,
        token: ExecutionToken,
        scopes: Arc<[ScopeId]>,
        registered: Option<Arc<Registered>>,
        arguments: Option<Json>,
        sandbox: Option<SandboxPolicy>,
    ) -> Self {
        let root = request.parent.as_ref().map(|parent| parent.root.clone());
        Self(Arc::new(Inner {
            token,
            root,
            id: request.id,
            name: request.name,
            parent: request.parent,
            agent: request.agent,
            scopes,
            arguments,
            registered,
            cancel: request.cancel,
            sandbox,
            digest: OnceLock::new(),
            state: Mutex::new(State { trace: Vec::with_capacity(TRACE_ROOM), ..State::default() }),
        }))
    }

    /// The call's id.
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// The tool's name, as it was asked for.
    pub fn name(&self) -> &ToolName {
        &self.0.name
    }

    /// The id of the outermost call; its own for a top-level call.
    pub fn root(&self) -> &CallId {
        self.0.root.as_ref().unwrap_or(&self.0.id)
    }

    /// The token of this execution.
    pub fn token(&self) -> ExecutionToken {
        self.0.token
    }

    /// The token of the execution that this call is nested in.
    pub fn parent(&self) -> Option<ExecutionToken> {
        self.0.parent.as_ref().map(|parent| parent.token)
    }

    /// The id of the call that this call is nested in.
    pub fn parent_id(&self) -> Option<&CallId> {
        self.0.parent.as_ref().map(|parent| &parent.id)
    }

    /// The agent's scope.
    pub fn agent(&self) -> Option<ScopeId> {
        self.0.agent
    }

    /// The agent's scope and those around it, nearest first.
    pub(crate) fn scopes(&self) -> &Arc<[ScopeId]> {
        &self.0.scopes
    }

    /// The frozen arguments; none when they were refused.
    pub fn arguments(&self) -> Option<&Json> {
        self.0.arguments.as_ref()
    }

    /// The tool's definition as it was when the call came in; none for a name that was unknown then (L-21).
    pub fn definition(&self) -> Option<&Definition> {
        self.0.registered.as_ref().map(|registered| &registered.definition)
    }

    pub(crate) fn registered(&self) -> Option<&Arc<Registered>> {
        self.0.registered.as_ref()
    }

    /// What the tool says these arguments would do; the worst for an unknown tool (L-64).
    pub fn effects(&self) -> Effects {
        match (self.definition(), self.arguments()) {
            (Some(definition), Some(arguments)) => definition.effects(arguments),
            _ => Effects::UNKNOWN,
        }
    }

    /// The caller's cancellation; it also fires when the caller drops the call.
    pub fn cancel(&self) -> &Cancel {
        &self.0.cancel
    }

    /// The digest of tool name, definition, arguments, scope and sandbox policy in canonical form, computed on first use
    /// (L-06).
    pub fn digest(&self) -> [u8; 32] {
        *self.0.digest.get_or_init(|| self.digest_now())
    }

    /// The same digest of what would run now, computed anew from all of its parts.
    pub(crate) fn digest_now(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("fivegates 2026 call digest v2");
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(self.name().as_str().as_bytes());
        part(&self.definition().map_or([0; 32], Definition::digest_now));
        part(self.arguments().map(json::canonical).unwrap_or_default().as_bytes());
        part(&self.agent().map_or(0, |scope| scope.0).to_le_bytes());
        match self.0.sandbox.as_ref().map(|policy| contain(|| policy())) {
            None => part(&[]),
            Some(Ok(policy)) => part(&policy),
            // A policy that cannot be read is unlike every other, this one read again included.
            Some(Err(_)) => part(&UNREADABLE.fetch_add(1, Ordering::Relaxed).to_le_bytes()),
        }
        *hasher.finalize().as_bytes()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under this lock.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything the call has met so far, in order.
    pub fn met(&self) -> Vec<Met> {
        self.state().trace.clone()
    }

    pub(crate) fn note(&self, stage: Stage, by: Option<&ComponentId>, verdict: &'static str) {
        self.state().trace.push(Met { stage, by: by.cloned(), verdict, code: None, reason: None });
    }

    pub(crate) fn note_met(&self, met: Met) {
        self.state().trace.push(met);
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("id", self.id()).field("name", self.name()).finish_non_exhaustive()
    }
}

/// A call that may run: only `authorize` makes one, and a body cannot run without (invariant 1).
#[derive(Debug)]
pub struct Permitted {
    pub(crate) call: Call,
    /// What somebody who was asked said yes to; none when nobody was asked.
    pub(crate) grant: Option<Grant>,
    /// Keeps the type from being made anywhere else, by any spelling.
    pub(crate) _seal: Seal,
}

/// A yes to exactly one call, as it was when somebody was asked (L-06).
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) digest: [u8; 32],
    pub(crate) by: ComponentId,
}

/// Proof that `authorize` ran; its field is private to this module's crate.
#[derive(Debug)]
pub(crate) struct Seal(());

impl Seal {
    /// For `authorize` alone.
    pub(crate) fn new() -> Self {
        Self(())
    }
}

impl Permitted {
    /// The call.
    pub fn call(&self) -> &Call {
        &self.call
    }
}

/// One run of a permitted call's body: what the tool is given beside its arguments.
#[derive(Clone, Debug)]
pub struct Invocation {
    permitted: Arc<Permitted>,
    signal: Cancel,
    attempt: u32,
}

impl Invocation {
    pub(crate) fn new(permitted: Arc<Permitted>, signal: Cancel, attempt: u32) -> Self {
        Self { permitted, signal, attempt }
    }

    /// The call.
    pub fn call(&self) -> &Call {
        &self.permitted.call
    }

    /// The frozen arguments.
    pub fn arguments(&self) -> &Json {
        // Admission without arguments never reaches a body.
        self.call().arguments().unwrap_or(&Json::Null)
    }

    /// Fires when the body should stop: the caller's cancellation or a wrapper's, such as a deadline.
    pub fn cancel(&self) -> &Cancel {
        &self.signal
    }

    /// Queues a message for the model's next input. Ignored once the body has settled.
    pub fn defer_context(&self, context: Context) {
        let mut state = self.call().state();
        if state.attempt == self.attempt {
            state.deferred.push(context);
        }
    }

    /// Asks for the turn to end after this batch; honoured on success only.
    pub fn conclude_turn(&self) {
        let mut state = self.call().state();
        if state.attempt == self.attempt {
            state.concludes_turn = true;
        }
    }

    /// Asks for a nested call: same agent, root and signal; it crosses every gate itself (R-022 … R-025).
    ///
    /// The request borrows this invocation, so it cannot outlive the body.
    pub fn nested(
        &self,
        id: impl Into<CallId>,
        name: impl Into<ToolName>,
        arguments: Arguments,
    ) -> CallRequest<'_> {
        let call = self.call();
        let parent = Parent { token: call.token(), id: call.id().clone(), root: call.root().clone() };
        let inner = Request {
            id: id.into(),
            name: name.into(),
            arguments,
            agent: call.agent(),
            cancel: self.signal.clone(),
            parent: Some(parent),
            read: None,
            refusal: None,
        };
        CallRequest { inner, parent: PhantomData }
    }
}
