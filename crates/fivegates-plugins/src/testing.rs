//! A real pipeline with fake neighbours, for the plugins' tests.

use std::future::Future;
use std::sync::{Arc, Mutex};

use fivegates_core::call::{Arguments, CallRequest, Invocation};
use fivegates_core::cancel::{Cancel, CancelSource};
use fivegates_core::content::flatten;
use fivegates_core::gates::{Answer, Around, Next, Reply};
use fivegates_core::ids::ScopeId;
use fivegates_core::json::{self, Json};
use fivegates_core::outcome::Outcome;
use fivegates_core::pipeline::Pipeline;
use fivegates_core::registry::{Listen, Registry, Scope};
use fivegates_core::tool::{BodyError, Definition};

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn push(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A registry, a pipeline over it, an agent and a log.
pub(crate) struct Bench {
    pub(crate) registry: Registry,
    pub(crate) pipeline: Pipeline,
    pub(crate) agent: Scope,
    pub(crate) log: Log,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let registry = Registry::new();
        let pipeline = Pipeline::builder(registry.clone()).build();
        let agent = registry.scope("agent", None);
        Self { registry, pipeline, agent, log: Log::default() }
    }

    /// Registers a tool; its body is logged when it starts.
    pub(crate) fn tool<F, R>(&self, name: &'static str, body: F) -> &Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Json, BodyError>> + Send + 'static,
    {
        self.add(self.define(name, body))
    }

    pub(crate) fn define<F, R>(&self, name: &'static str, body: F) -> Definition
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Json, BodyError>> + Send + 'static,
    {
        let open = json::parse(r#"{"type":"object"}"#).unwrap();
        let log = self.log.clone();
        let body = move |invocation| {
            log.push(format!("body:{name}"));
            body(invocation)
        };
        Definition::new(name, "", &open, &Json::object::<&str>([]), body).unwrap()
    }

    pub(crate) fn add(&self, definition: Definition) -> &Self {
        self.registry.register(None, definition).unwrap().keep();
        self
    }

    /// Makes a call of the agent without arguments.
    pub(crate) async fn call(&self, name: &str) -> Outcome {
        self.call_with(name, "{}").await
    }

    pub(crate) async fn call_with(&self, name: &str, arguments: &str) -> Outcome {
        self.pipeline.execute(self.request(name, arguments, CancelSource::new().1)).await
    }

    pub(crate) fn request(&self, name: &str, arguments: &str, cancel: Cancel) -> CallRequest<'static> {
        request(Some(self.agent.id()), name, arguments, cancel)
    }

    /// Mounts a wrapper made of a function, inside those that are there.
    pub(crate) fn around<F>(&self, id: &'static str, wrapper: F)
    where
        F: for<'a> Fn(Next<'a>) -> Reply<'a, Answer> + Send + Sync + 'static,
    {
        self.registry.around(Listen::as_id(id), Wrapper(wrapper)).keep();
    }
}

pub(crate) fn request(
    agent: Option<ScopeId>,
    name: &str,
    arguments: &str,
    cancel: Cancel,
) -> CallRequest<'static> {
    let request = CallRequest::new("c1", name, Arguments::Text(arguments.into()), cancel);
    match agent {
        Some(agent) => request.with_agent(agent),
        None => request,
    }
}

struct Wrapper<F>(F);

impl<F: for<'a> Fn(Next<'a>) -> Reply<'a, Answer> + Send + Sync> Around for Wrapper<F> {
    fn run<'a>(&'a self, _call: &'a fivegates_core::call::Call, next: Next<'a>) -> Reply<'a, Answer> {
        (self.0)(next)
    }
}

/// Shows a result in one line: its code when it has one, then what the model reads, then its contexts.
pub(crate) fn show(outcome: &Outcome) -> String {
    let mut shown = String::new();
    if outcome.is_error() {
        shown.push_str(&format!("[{}] ", outcome.code().unwrap_or("-")));
    }
    shown.push_str(&flatten(outcome.content()));
    for context in outcome.contexts() {
        shown.push_str(&format!(" +{}", flatten(&context.content)));
    }
    shown
}
