//! The open ways: what the other files do is refused for what they do, not for how they are written.
use fivegates_core::call::{Arguments, Call, CallRequest, Invocation};
use fivegates_core::cancel::CancelSource;
use fivegates_core::content::text_content;
use fivegates_core::decision::{Denial, PostDecision, PreDecision};
use fivegates_core::gates::{Guard, Reply, guard_fn, pre_fn};
use fivegates_core::json::Json;
use fivegates_core::pipeline::Pipeline;
use fivegates_core::registry::Registry;
use fivegates_core::tool::{BodyError, Definition};

struct Refuses;

impl Guard for Refuses {
    fn check<'a>(&'a self, _call: &'a Call) -> Reply<'a, Option<Denial>> {
        Reply::ready(Some(Denial::new("no")))
    }
}

fn open() -> Json {
    Json::object([("type", Json::from("object"))])
}

async fn body(pipeline: Pipeline, invocation: Invocation) -> Result<Json, BodyError> {
    let inner = invocation.nested("n", "inner", Arguments::Value(open()));
    Ok(Json::from(pipeline.execute(inner).await.is_error()))
}

async fn called(pipeline: &Pipeline) {
    let (_source, cancel) = CancelSource::new();
    let request = CallRequest::new("c", "t", Arguments::Value(open()), cancel);
    let outcome = pipeline.execute(request).await;
    let _ = (outcome.ending(), outcome.ending());
}

fn main() {
    let pipeline = Pipeline::builder(Registry::new()).build();
    let _ = guard_fn(|_| None);
    let _ = pre_fn(|_| Some(PreDecision::allow()));
    let _ = PostDecision::replace_content(text_content("c"));
    let _ = PostDecision::replace_value(Json::Null);
    let _ = Refuses;
    let calls = pipeline.clone();
    let _ = Definition::new("t", "", &open(), &Json::object::<&str>([]), move |invocation| {
        body(calls.clone(), invocation)
    });
    let _ = called(&pipeline);
}
