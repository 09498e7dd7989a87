//! A record in a folder of its own, a pipeline that writes it, and events made by hand.

use std::sync::Arc;
use std::time::Duration;

use fivegates_core::call::{Arguments, Call, CallRequest};
use fivegates_core::cancel::{Cancel, CancelSource};
use fivegates_core::content::text_content;
use fivegates_core::decision::{ApprovalOutcome, Denial, PostDecision, PreDecision};
use fivegates_core::error::ToolError;
use fivegates_core::gates::{Reply, guard_fn, post_fn, pre_fn};
use fivegates_core::ids::ComponentId;
use fivegates_core::json::{self, Json};
use fivegates_core::pipeline::Pipeline;
use fivegates_core::ports::{ApprovalRequest, Approver};
use fivegates_core::registry::{Listen, Registry};
use fivegates_core::scheduler::Scheduler;
use fivegates_core::tool::{BodyError, Definition, Effects};
use fivegates_session::journal::{Entry, Journal, Position, SessionJournal};
use fivegates_session::{Appender, NewEvent, NewSession, OpenOptions, Reader, SessionId, Store};
use tempfile::TempDir;

use crate::report::collect::{APPROVAL_ASKED, APPROVAL_DECIDED};

/// When the sessions of tests begin: 2023-11-14T22:13:20Z.
pub(super) const BEGAN_MS: i64 = 1_700_000_000_000;

pub(super) struct Place {
    folder: TempDir,
    pub(super) store: Store,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("record.sqlite"), &OpenOptions::default()).unwrap();
        Self { folder, store }
    }

    pub(super) fn reader(&self) -> Reader {
        self.store.reader().unwrap()
    }

    /// Begins session `number`; later numbers are newer.
    pub(super) fn begin(&self, number: u8) -> Appender {
        let session = NewSession {
            id: session_id(number),
            created_at_ms: BEGAN_MS,
            kind: "exec".into(),
            cwd: Some("/home/me/project".into()),
            meta: r#"{"permission":"ask"}"#.into(),
        };
        self.store.begin(session).unwrap()
    }

    /// Changes the file behind the store's back.
    pub(super) fn tamper(&self, sql: &str) {
        rusqlite::Connection::open(self.folder.path().join("record.sqlite"))
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    }
}

pub(super) fn session_id(number: u8) -> SessionId {
    SessionId::from_parts(1_700_000_000_000, [number, 0, 0, 0, 0, 0, 0, 0, 0, 0])
}

/// Appends events `(type, call id, data)`, one millisecond apart.
pub(super) async fn append(appender: &Appender, events: &[(&str, Option<&str>, &str)]) {
    for (at, (event_type, call_id, data)) in events.iter().enumerate() {
        let event = NewEvent {
            event_type: (*event_type).into(),
            time_ms: BEGAN_MS + 1 + i64::try_from(at).unwrap(),
            call_id: call_id.map(Into::into),
            data: (*data).into(),
        };
        appender.append(event).await.unwrap();
    }
}

/// Tools that work, write, fail and wait; a policy that asks about `write`, a guard against `rm`, and a review that
/// blocks what says `secret`.
fn registry() -> Registry {
    let registry = Registry::new();
    let input = json::parse(r#"{"type":"object"}"#).unwrap();
    let any = Json::object::<&str>([]);
    for name in ["echo", "write", "fail"] {
        let tool = Definition::new(name, "", &input, &any, move |invocation| async move {
            match name {
                "fail" => Err(BodyError::from(ToolError::coded("DiskError", "DISK_FULL", "no space left"))),
                _ => Ok(invocation.arguments().get("text").cloned().unwrap_or(Json::Null)),
            }
        });
        let effects = if name == "echo" { Effects::READ_ONLY } else { Effects::UNKNOWN };
        registry.register(None, tool.unwrap().with_effects(move |_| effects)).unwrap().keep();
    }
    let policy = pre_fn(|call: &Call| {
        let asks = call.name().as_str() == "write";
        asks.then(|| PreDecision::ask_because("`write` changes files"))
    });
    registry.pre_execute(Listen::as_id("permission"), policy).keep();
    let guard = guard_fn(|call: &Call| {
        let arguments = call.arguments().map(json::compact).unwrap_or_default();
        arguments.contains("rm -rf").then(|| Denial::new("`rm -rf` is never run").with_code("NO_RM"))
    });
    registry.guard(Listen::as_id("no-rm"), guard).keep();
    let review = post_fn(|call: &Call, ending| {
        let blocks = call.name().as_str() == "fail" && ending.is_error();
        blocks.then(|| PostDecision::block(text_content("the disk is none of your business")))
    });
    registry.post_execute(Listen::as_id("discretion"), review).keep();
    registry
}

/// Answers every ask with what it was made with, and records question and answer.
struct Terminal {
    id: ComponentId,
    answer: ApprovalOutcome,
    journal: Arc<SessionJournal>,
}

impl Approver for Terminal {
    fn id(&self) -> &ComponentId {
        &self.id
    }

    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        Reply::future(async move {
            let asked = Json::object([
                ("id", Json::from("a1")),
                ("toolName", Json::from(request.call.name().as_str())),
                ("callId", Json::from(request.call.id().as_str())),
                ("reason", Json::from(request.reason.map(str::to_owned))),
            ]);
            let call_id = Some(Arc::from(request.call.id().as_str()));
            let asked = Entry { event_type: APPROVAL_ASKED, call_id, data: asked };
            // The answer names the question alone.
            let decided = Entry::new(
                APPROVAL_DECIDED,
                Json::object([
                    ("id", Json::from("a1")),
                    ("outcome", Json::from(self.answer.as_str())),
                    ("by", Json::from("terminal")),
                ]),
            );
            for entry in [asked, decided] {
                self.journal.append(entry).await.map_err(|error| ToolError::new(error.to_string()))?;
            }
            Ok(self.answer)
        })
    }
}

/// Runs calls `(id, tool, arguments)` in a new session, as turn 1, step 1.
pub(super) async fn run(place: &Place, answer: ApprovalOutcome, calls: &[(&str, &str, &str)]) -> SessionId {
    let appender = place.begin(1);
    let session = appender.session();
    let journal = Arc::new(SessionJournal::new(appender));
    journal.set_position(Some(Position { turn: 1, step: 1 }));
    let terminal = Terminal { id: "terminal".into(), answer, journal: Arc::clone(&journal) };
    let registry = registry();
    let agent = registry.scope("agent", None);
    let pipeline = Pipeline::builder(registry).approver(Arc::new(terminal)).build();
    let scheduler = Scheduler::new(pipeline, journal);
    let (_source, cancel): (CancelSource, Cancel) = CancelSource::new();
    let calls = calls.iter().map(|(id, name, arguments)| {
        CallRequest::new(*id, *name, Arguments::Text((*arguments).into()), cancel.clone())
            .with_agent(agent.id())
    });
    let report = scheduler.run(calls.collect(), &cancel).await;
    assert_eq!(report.failure, None);
    assert_eq!(scheduler.pipeline().drained(Duration::from_secs(1)).await, 0);
    session
}
