//! Who and what appears in the demonstration.

use std::time::Duration;

use fivegates_core::call::Call;
use fivegates_core::decision::{ApprovalOutcome, Denial};
use fivegates_core::gates::Reply;
use fivegates_core::ids::ComponentId;
use fivegates_core::json::{self, Json};
use fivegates_core::ports::{ApprovalRequest, Approver};
use fivegates_core::schema::SchemaError;
use fivegates_core::tool::{BodyError, Definition, Effects};

pub(super) const NOTES: &str = "Milk, eggs, a new door.\n";

pub(super) const TASK: &str = "Tidy up this directory.";

pub(super) const INTRODUCTION: &str = "\
A scripted model made six calls in a throw-away workspace, with permission mode
`ask`. A stagehand answered in the place of a person at the terminal. This is
what became of each call on its way through the five gates.

";

/// One call for each way a call can go.
pub(super) const SCRIPT: &str = r#"{"turns": [
 {"text": "I look first.",
  "calls": [{"id": "demo-allowed", "name": "read", "arguments": {"file_path": "notes.txt"}}]},
 {"text": "I make a list.",
  "calls": [{"id": "demo-asked", "name": "bash",
             "arguments": {"command": "ls -l && wc -w notes.txt", "description": "List the directory"}}]},
 {"text": "I write a summary, and clear the rest.",
  "calls": [{"id": "demo-rejected", "name": "write", "arguments": {"file_path": "summary.txt", "content": "Doors.\n"}},
            {"id": "demo-guarded", "name": "bash",
             "arguments": {"command": "ls; rm -rf .", "description": "Clear the directory"}}]},
 {"text": "I look something up, and edit what I have not read.",
  "calls": [{"id": "demo-timeout", "name": "slow_lookup", "arguments": {"term": "door"}},
            {"id": "demo-failed", "name": "read", "arguments": {"file_path": "missing.txt"}}]},
 {"text": "I read the notes. One call was refused by you, one by a guard, one took too long and one failed."}
]}"#;

/// Answers asks as the script of the demonstration wants it: commands yes, writes no.
pub(super) struct Stagehand(ComponentId);

impl Stagehand {
    pub(super) fn new() -> Self {
        Self(ComponentId::new("demo/stagehand"))
    }
}

impl Approver for Stagehand {
    fn id(&self) -> &ComponentId {
        &self.0
    }

    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        let yes = request.call.name().as_str() == "bash";
        Reply::ready(if yes { ApprovalOutcome::AllowedOnce } else { ApprovalOutcome::Rejected })
    }
}

/// Refuses commands that delete recursively, whoever allowed them.
pub(super) fn no_recursive_delete(call: &Call) -> Option<Denial> {
    let command = call.arguments()?.get("command")?.as_str()?;
    let refused = call.name().as_str() == "bash" && command.contains("rm -rf");
    refused.then(|| Denial::new("recursive deletion is never allowed here").with_code("NO_RECURSIVE_DELETE"))
}

/// A tool that takes longer than it may.
pub(super) fn slow_lookup() -> Result<Definition, SchemaError> {
    let parameters = Json::object([
        ("type", Json::from("object")),
        ("properties", Json::object([("term", Json::object([("type", Json::from("string"))]))])),
        ("required", Json::array([Json::from("term")])),
    ]);
    let output = Json::object([("type", Json::from("string"))]);
    let tool = Definition::new(
        "slow_lookup",
        "Looks a term up, slowly.",
        &parameters,
        &output,
        |invocation| async move {
            let term = invocation.arguments().get("term").map(json::compact).unwrap_or_default();
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(60)) => Ok::<_, BodyError>(Json::from(format!("{term}: found"))),
                () = invocation.cancel().cancelled() => Err("stopped looking".into()),
            }
        },
    )?;
    Ok(tool.with_timeout_ms(300).with_effects(|_| Effects::READ_ONLY))
}
