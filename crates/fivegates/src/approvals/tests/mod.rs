mod page;
mod recorded;
mod terminal;

use std::sync::Arc;

use fivegates_core::call::{Arguments, CallRequest};
use fivegates_core::cancel::{Cancel, CancelSource};
use fivegates_core::decision::PreDecision;
use fivegates_core::gates::pre_fn;
use fivegates_core::json::{Json, parse};
use fivegates_core::outcome::Outcome;
use fivegates_core::pipeline::Pipeline;
use fivegates_core::ports::Approver;
use fivegates_core::registry::{Listen, Registry, Scope};
use fivegates_core::tool::{BodyError, CallCard, Definition};

use super::*;

/// A pipeline in which every call is asked about, with a `bash` that runs nothing and says `ran`.
struct Asking {
    pipeline: Pipeline,
    scope: Scope,
}

impl Asking {
    fn new(approver: Arc<dyn Approver>) -> Self {
        let registry = Registry::new();
        let scope = registry.scope("agent", None);
        let open = parse(r#"{"type":"object"}"#).unwrap();
        let any = Json::object::<&str>([]);
        let bash = Definition::new("bash", "Runs.", &open, &any, |_| async {
            Ok::<_, BodyError>(Json::from("ran"))
        });
        let text = |arguments: &Json, key: &str| arguments.get(key).and_then(Json::as_str).map(str::to_owned);
        let bash = bash.unwrap().with_card(move |arguments| {
            Some(CallCard::Terminal {
                title: text(arguments, "description").unwrap_or_default(),
                command: text(arguments, "command")?,
                cwd: None,
            })
        });
        registry.register(None, bash).unwrap().keep();
        let ask = pre_fn(|_| Some(PreDecision::ask_because("it may change things")));
        registry.pre_execute(Listen::as_id("permission"), ask).keep();
        Self { pipeline: Pipeline::builder(registry).approver(approver).build(), scope }
    }

    async fn call(&self, id: &str, arguments: &str, cancel: &Cancel) -> Outcome {
        let request = CallRequest::new(id, "bash", Arguments::Text(arguments.into()), cancel.clone());
        self.pipeline.execute(request.with_agent(self.scope.id())).await
    }
}

/// How a call ended: `ran`, or the code of its denial or error.
fn end(outcome: &Outcome) -> &str {
    match outcome.failure() {
        None => "ran",
        Some(failure) => {
            failure.denial().map_or_else(|| outcome.code().unwrap_or("failed"), |denial| denial.code())
        }
    }
}

fn arguments(command: &str) -> String {
    let members = [("command", Json::from(command)), ("description", Json::from("say hi"))];
    fivegates_core::json::compact(&Json::object(members))
}

fn never() -> (CancelSource, Cancel) {
    CancelSource::new()
}
