//! The program and the library give the same results for the same calls (L-45).

use std::path::Path;
use std::sync::Arc;

use fivegates_core::call::{Arguments, CallRequest};
use fivegates_core::cancel::CancelSource;
use fivegates_core::content::Block;
use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::gates::Reply;
use fivegates_core::ids::ComponentId;
use fivegates_core::json::{Json, compact};
use fivegates_core::pipeline::Pipeline;
use fivegates_core::ports::{ApprovalRequest, Approver};
use fivegates_core::registry::Registry;
use fivegates_plugins::{deadline, permission};
use fivegates_process::Runner;
use fivegates_tools::ToolsConfig;
use serde_json::{Value, json};

use crate::support::Place;

/// Calls, in order: an id, a tool, and the raw text of the arguments.
const CALLS: &[(&str, &str, &str)] = &[
    ("k1", "read", r#"{"file_path":"notes.txt"}"#),
    ("k2", "read", r#"{"file_path":"gone.txt"}"#),
    ("k3", "read", r#"{"file_path":3}"#),
    ("k4", "read", r#"{"file_path":"notes.txt","#),
    ("k5", "nope", r#"{}"#),
    ("k6", "write", r#"{"file_path":"w.txt","content":"é\n"}"#),
    ("k7", "edit", r#"{"file_path":"notes.txt","old_string":"one","new_string":"1"}"#),
    ("k8", "edit", r#"{"file_path":"notes.txt","old_string":"none","new_string":"1"}"#),
    ("k9", "bash", r#"{"command":"echo out; echo err >&2; exit 3","description":"both"}"#),
    ("k10", "bash", r#"{"command":"sleep 30","description":"too long","timeoutMs":50}"#),
    ("k11", "read", "[[[["),
];

/// Answers as the program does without a terminal.
struct Nobody(ComponentId);

impl Approver for Nobody {
    fn id(&self) -> &ComponentId {
        &self.0
    }

    fn request<'a>(&'a self, _: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        Reply::ready(ApprovalOutcome::Unavailable)
    }
}

fn prepare(folder: &Path) {
    std::fs::write(folder.join("notes.txt"), "one\ntwo\n").unwrap();
}

/// What the library makes of the calls.
async fn library(folder: &Path, mode: permission::Mode) -> Vec<Value> {
    let registry = Registry::new();
    let mut mounted =
        fivegates_tools::register(&registry, None, ToolsConfig::new(folder), Runner::new().unwrap()).unwrap();
    mounted.extend(permission::mount(&registry, permission::Config { mode }));
    mounted.extend(deadline::mount(&registry, deadline::Config::default()).unwrap());
    let scope = registry.scope("exec", None);
    let pipeline = Pipeline::builder(registry.clone()).approver(Arc::new(Nobody("nobody".into()))).build();
    let (_source, cancel) = CancelSource::new();
    let mut results = Vec::new();
    for (id, name, arguments) in CALLS {
        let arguments = Arguments::Text(Arc::from(*arguments));
        let request = CallRequest::new(*id, *name, arguments, cancel.clone()).with_agent(scope.id());
        let outcome = pipeline.execute(request).await;
        let denial = outcome.failure().and_then(|failure| failure.denial());
        let content = Json::array(outcome.content().iter().map(Block::to_json));
        results.push(json!({
            "id": id,
            "name": name,
            "outcome": if outcome.is_error() { "error" } else { "success" },
            "code": outcome.code(),
            "content": serde_json::from_str::<Value>(&compact(&content)).unwrap(),
            "denialCode": denial.map(|denial| denial.code().to_string()),
        }));
    }
    assert_eq!(pipeline.drained(std::time::Duration::from_secs(5)).await, 0);
    results
}

/// What the program makes of the same calls.
fn program(place: &Place, mode: &str) -> Vec<Value> {
    let lines: Vec<String> = CALLS
        .iter()
        .map(|(id, name, arguments)| json!({"id": id, "name": name, "arguments": arguments}).to_string())
        .collect();
    let lines = place.exec(mode, &lines).status(0).json_lines();
    let fields = |line: &Value| {
        json!({
            "id": line["id"], "name": line["name"], "outcome": line["outcome"], "code": line["code"],
            "content": line["content"], "denialCode": line["denial"]["code"],
        })
    };
    lines.iter().map(fields).collect()
}

async fn check(name: &str, mode: permission::Mode) {
    let place = Place::new();
    prepare(&place.work());
    let of_program = program(&place, name);
    let files = crate::support::tree(&place.work());
    // The same folder, so that paths in results are the same, as it was before.
    std::fs::remove_dir_all(place.work()).unwrap();
    std::fs::create_dir(place.work()).unwrap();
    prepare(&place.work());
    let of_library = library(&place.work(), mode).await;
    assert_eq!(of_program.len(), of_library.len());
    for (of_program, of_library) in of_program.iter().zip(&of_library) {
        assert_eq!(of_program, of_library);
    }
    assert_eq!(crate::support::tree(&place.work()), files);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_gives_what_the_library_gives() {
    check("allow", permission::Mode::Allow).await;
    check("read-only", permission::Mode::ReadOnly).await;
    check("ask", permission::Mode::Ask).await;
}
