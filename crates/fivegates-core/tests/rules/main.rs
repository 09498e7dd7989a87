//! Rules of the specification that no scenario shows, one test a rule or two. docs/rules.md says which test holds which.
#![expect(clippy::unwrap_used, reason = "tests")]

mod arguments;
mod bodies;
mod gates;
mod reviews;
mod tools;

use std::sync::{Arc, Mutex};

use fivegates_core::call::Met;
use fivegates_core::gates::{Answer, Around, Next, Reply};
use fivegates_core::outcome::Outcome;
use fivegates_core::prelude::*;
use fivegates_core::registry::Scope;
use fivegates_core::tool::BodyError;

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A wrapper made of a function that may answer in the rest's stead.
struct AroundFn<F>(F);

impl<F> Around for AroundFn<F>
where
    F: for<'a> Fn(&'a Call, Next<'a>) -> Reply<'a, Answer> + Send + Sync,
{
    fn run<'a>(&'a self, call: &'a Call, next: Next<'a>) -> Reply<'a, Answer> {
        (self.0)(call, next)
    }
}

/// Makes a wrapper of a function.
fn around<F>(run: F) -> impl Around + 'static
where
    F: for<'a> Fn(&'a Call, Next<'a>) -> Reply<'a, Answer> + Send + Sync + 'static,
{
    AroundFn(run)
}

fn open() -> Json {
    Json::object([("type", Json::from("object"))])
}

/// A tool that takes any object and returns what its body does.
fn tool<F, R>(name: &str, body: F) -> Definition
where
    F: Fn(Invocation) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Json, BodyError>> + Send + 'static,
{
    Definition::new(name, "", &open(), &Json::object::<&str>([]), body).unwrap()
}

/// A tool that says so when it runs, and returns `ran`.
fn saying(name: &'static str, log: &Log) -> Definition {
    let log = log.clone();
    tool(name, move |_| {
        log.add(format!("body {name}"));
        async { Ok(Json::from("ran")) }
    })
}

/// Published results, each with what its call met.
type Seen = Arc<Mutex<Vec<(Outcome, Vec<Met>)>>>;

/// A registry with the tool `t`, which says so when it runs, and one agent.
struct World {
    registry: Registry,
    agent: Scope,
    log: Log,
    source: CancelSource,
    cancel: Cancel,
}

fn world() -> World {
    let (registry, log) = (Registry::new(), Log::default());
    registry.register(None, saying("t", &log)).unwrap().keep();
    let agent = registry.scope("agent", None);
    let (source, cancel) = CancelSource::new();
    World { registry, agent, log, source, cancel }
}

impl World {
    fn pipeline(&self) -> Pipeline {
        Pipeline::builder(self.registry.clone()).build()
    }

    fn request(&self, name: &str) -> CallRequest<'static> {
        CallRequest::new("c1", name, Arguments::Text("{}".into()), self.cancel.clone())
    }

    /// Calls for the agent.
    async fn call(&self, name: &str) -> Outcome {
        self.pipeline().execute(self.request(name).with_agent(self.agent.id())).await
    }

    /// Notes every result with what its call met.
    fn observe(&self) -> Seen {
        let seen = Seen::default();
        let kept = Arc::clone(&seen);
        let observer = observer_fn(move |call, outcome| {
            kept.lock().unwrap().push((outcome.clone(), call.met()));
            Ok(())
        });
        self.registry.observe(Listen::as_id("observer"), observer).keep();
        seen
    }
}

/// The message of a failure.
fn message(outcome: &Outcome) -> &str {
    outcome.failure().map_or("(no failure)", |failure| failure.error().message())
}

fn texts(outcome: &Outcome) -> Vec<String> {
    outcome.contexts().iter().map(|context| flatten(&context.content)).collect()
}
