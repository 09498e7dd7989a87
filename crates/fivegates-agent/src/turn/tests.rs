use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;

use fivegates_core::cancel::CancelSource;
use fivegates_core::json::{Json, compact};
use fivegates_core::registry::{Mode, Registry, SdkRenderer};
use fivegates_core::tool::{BodyError, Definition};
use fivegates_session::journal::{MemoryJournal, member, types};

use super::*;
use crate::provider::scripted::ScriptedProvider;

/// Declares tools by their names.
struct Names;

impl SdkRenderer for Names {
    fn language(&self) -> &str {
        "python"
    }

    fn render(&self, tools: &[Definition]) -> String {
        tools.iter().map(|tool| tool.name().to_string()).collect()
    }
}

struct Setup {
    agent: Agent,
    journal: Arc<MemoryJournal>,
    told: Arc<Mutex<Vec<String>>>,
    source: CancelSource,
    cancel: Cancel,
    _scope: fivegates_core::registry::Scope,
}

fn setup(script: &str) -> Setup {
    let registry = Registry::new();
    let scope = registry.scope("agent", None);
    let (source, cancel) = CancelSource::new();
    let stop = source.clone();
    let open = fivegates_core::json::parse(r#"{"type":"object"}"#).unwrap();
    let echo = Definition::new("echo", "Echoes.", &open, &Json::object::<&str>([]), move |invocation| {
        let stop = stop.clone();
        async move {
            match invocation.arguments().get("do").and_then(Json::as_str) {
                Some("conclude") => invocation.conclude_turn(),
                Some("defer") => invocation.defer_context(Context::text("echo", "by the way")),
                Some("cancel") => stop.fire(CancelReason::User),
                _ => {}
            }
            Ok::<_, BodyError>(Json::from("echoed"))
        }
    });
    registry.register(None, echo.unwrap()).unwrap().keep();
    let journal = Arc::new(MemoryJournal::new());
    let provider = Arc::new(ScriptedProvider::parse(script.as_bytes(), Path::new("script.json")).unwrap());
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let watcher: Watcher = {
        let told = Arc::clone(&told);
        Arc::new(move |event| told.lock().unwrap().push(format!("{event:?}")))
    };
    let pipeline = Pipeline::builder(registry).build();
    let config = AgentConfig { steps_max: 4, parallel_max: NonZeroUsize::MIN, ..AgentConfig::default() };
    let record = Arc::clone(&journal) as Arc<dyn Journal>;
    let agent = Agent::new(config, provider, pipeline, record, scope.id(), watcher);
    Setup { agent, journal, told, source, cancel, _scope: scope }
}

impl Setup {
    fn log(&self) -> Vec<String> {
        let line = |entry: &Entry| match entry.event_type {
            types::TOOL_CALL => format!("call {}", entry.call_id.as_deref().unwrap_or("")),
            types::TOOL_RESULT => {
                let code = member(&entry.data, &["error", "code"]).and_then(Json::as_str).unwrap_or("ok");
                format!("result {} {code}", entry.call_id.as_deref().unwrap_or(""))
            }
            types::TURN_END => format!("end {}", compact(member(&entry.data, &["reason"]).unwrap())),
            other => other.to_owned(),
        };
        let kept = |entry: &&Entry| !matches!(entry.event_type, types::TOOL_DECISION | types::TOOL_INTENT);
        self.journal.entries().iter().filter(kept).map(line).collect()
    }
}

#[tokio::test]
async fn calls_lead_to_results_and_to_the_next_request() {
    let mut setup = setup(
        r#"{"turns":[{"text":"look","calls":[{"id":"a","name":"echo","arguments":{"do":"defer"}}]},{"text":"done"}]}"#,
    );
    let end = setup.agent.run_turn("go", &setup.cancel).await;
    assert_eq!(end, TurnEnd::Completed { text: "done".into() });
    let expected = [
        "turn/start",
        "step/start",
        "user/message",
        "assistant/message",
        "call a",
        "result a ok",
        "step/end",
        "step/start",
        "user/message",
        "assistant/message",
        "step/end",
        "end {\"kind\":\"completed\"}",
    ];
    assert_eq!(setup.log(), expected);
    assert!(setup.told.lock().unwrap().iter().any(|told| told.starts_with("Result")));
    let history = format!("{:?}", setup.agent.history);
    assert!(history.contains("Tool { call_id: \"a\", content: \"echoed\" }, User { text: \"by the way\" }"));
}

#[tokio::test]
async fn a_conclusion_ends_the_turn() {
    let mut setup =
        setup(r#"{"turns":[{"text":"t","calls":[{"id":"a","name":"echo","arguments":{"do":"conclude"}}]}]}"#);
    assert_eq!(setup.agent.run_turn("go", &setup.cancel).await, TurnEnd::Completed { text: "t".into() });
}

#[tokio::test]
async fn cancelling_closes_every_call_and_the_turn() {
    let mut setup = setup(
        r#"{"turns":[{"calls":[{"id":"a","name":"echo","arguments":{"do":"cancel"}},{"id":"b","name":"echo"}]}]}"#,
    );
    assert_eq!(setup.agent.run_turn("go", &setup.cancel).await, TurnEnd::Aborted(CancelReason::User));
    let log = setup.log();
    let expected = [
        "call a",
        "result a ABORTED",
        "call b",
        "result b ABORTED_BEFORE_DISPATCH",
        "step/end",
        "end {\"kind\":\"aborted\",\"reason\":\"user\"}",
    ];
    assert_eq!(log[4..], expected);
    assert!(setup.source.is_fired());
}

#[tokio::test]
async fn a_cut_answer_runs_no_calls() {
    let mut setup =
        setup(r#"{"turns":[{"text":"cut","calls":[{"id":"a","name":"echo"}],"finish":"max-tokens"}]}"#);
    assert_eq!(setup.agent.run_turn("go", &setup.cancel).await, TurnEnd::MaxTokens { text: "cut".into() });
    assert!(!setup.log().iter().any(|line| line.starts_with("call")));
}

#[tokio::test]
async fn a_failing_provider_and_endless_steps_end_the_turn() {
    let mut empty = setup(r#"{"turns":[{"text":"once"}]}"#);
    empty.agent.run_turn("go", &empty.cancel).await;
    let end = empty.agent.run_turn("again", &empty.cancel).await;
    assert!(matches!(&end, TurnEnd::Error(failure) if failure.code == "SCRIPT_EXHAUSTED"), "{end:?}");
    let call = r#"{"calls":[{"id":"a","name":"echo"}]}"#;
    let mut endless = setup(&format!("{{\"turns\":[{call},{call},{call},{call},{call}]}}"));
    let end = endless.agent.run_turn("go", &endless.cancel).await;
    assert!(matches!(&end, TurnEnd::Error(failure) if failure.code == "STEP_LIMIT"), "{end:?}");
}

#[tokio::test]
async fn tools_that_cannot_be_assembled_end_the_turn_before_the_model_is_asked() {
    let mut setup = setup(r#"{"turns":[{"text":"made up"}]}"#);
    setup.agent.pipeline.registry().set_default_mode(Mode::Code);
    let end = setup.agent.run_turn("go", &setup.cancel).await;
    let message = "tools mode \"code\" needs a code runtime, and none is mounted".to_owned();
    assert_eq!(end, TurnEnd::Error(Failure { code: "TOOLS_FAILED".into(), message }));
    let log = setup.log();
    assert!(
        log.contains(&"step/end".to_owned()) && !log.contains(&"assistant/message".to_owned()),
        "{log:?}"
    );
    setup.agent.pipeline.registry().set_default_mode(Mode::Native);
    let end = setup.agent.run_turn("again", &setup.cancel).await;
    assert_eq!(end, TurnEnd::Completed { text: "made up".into() });
}

#[tokio::test]
async fn what_goes_with_the_tools_follows_the_system_prompt() {
    let mut setup = setup(r#"{"turns":[{"text":"t"}]}"#);
    let registry = setup.agent.pipeline.registry().clone();
    let system = |agent: &Agent| agent.system(&registry.prompt_sections(Some(agent.scope)).unwrap());
    assert_eq!(system(&setup.agent), None);
    let open = Json::object([("type", Json::from("object"))]);
    let run_code = Definition::new("run_code", "", &open, &Json::object::<&str>([]), |_| async {
        Ok::<_, BodyError>(Json::Null)
    });
    let _transport = registry.mount_transport(run_code.unwrap(), "python").unwrap();
    let _renderer = registry.mount_sdk_renderer(Arc::new(Names)).unwrap();
    registry.set_default_mode(Mode::Both);
    assert_eq!(system(&setup.agent).as_deref(), Some("echo"), "nothing is said of code only");
    setup.agent.config.system = Some("You are.".to_owned());
    registry.set_default_mode(Mode::Code);
    let text = system(&setup.agent).unwrap();
    assert!(text.starts_with("You are.\n\n") && text.ends_with("\n\necho"), "{text}");
}

#[tokio::test]
async fn contexts_follow_all_results_of_the_batch_in_model_order() {
    let call =
        |id: &str, what: &str| format!(r#"{{"id":"{id}","name":"echo","arguments":{{"do":"{what}"}}}}"#);
    let calls = [call("a", "defer"), call("b", ""), call("c", "defer")].join(",");
    let mut setup = setup(&format!(r#"{{"turns":[{{"calls":[{calls}]}},{{"text":"done"}}]}}"#));
    setup.agent.run_turn("go", &setup.cancel).await;
    let kind = |message: &Message| match message {
        Message::User { text } => format!("user {text}"),
        Message::Tool { call_id, .. } => format!("tool {call_id}"),
        _ => "assistant".to_owned(),
    };
    let history: Vec<_> = setup.agent.history.iter().map(kind).collect();
    let expected = [
        "user go",
        "assistant",
        "tool a",
        "tool b",
        "tool c",
        "user by the way",
        "user by the way",
        "assistant",
    ];
    assert_eq!(history, expected);
}

#[tokio::test]
async fn contexts_of_an_aborted_turn_wait_for_the_next() {
    let mut setup = setup(
        r#"{"turns":[{"calls":[{"id":"a","name":"echo","arguments":{"do":"defer"}},{"id":"b","name":"echo","arguments":{"do":"cancel"}}]},{"text":"done"}]}"#,
    );
    assert_eq!(setup.agent.run_turn("go", &setup.cancel).await, TurnEnd::Aborted(CancelReason::User));
    let said = |setup: &Setup| format!("{:?}", setup.agent.history).matches("by the way").count();
    assert_eq!((said(&setup), setup.agent.pending.len()), (0, 1));
    let (_source, cancel) = CancelSource::new();
    setup.agent.run_turn("again", &cancel).await;
    let history = format!("{:?}", setup.agent.history);
    let place = |text: &str| history.find(text).unwrap();
    assert!(place("by the way") < place("again"), "{history}");
}

/// Says a little, is interrupted, and never ends.
struct Interrupted(CancelSource);

impl Provider for Interrupted {
    fn name(&self) -> &'static str {
        "interrupted"
    }

    fn turn<'a>(
        &'a self,
        _: &'a ModelRequest,
        deltas: &'a mut crate::provider::DeltaSink<'_>,
    ) -> crate::provider::BoxFuture<'a, Result<ModelTurn, ProviderError>> {
        Box::pin(async move {
            deltas(Delta::Text("I was about to"));
            self.0.fire(CancelReason::User);
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn an_interrupted_answer_is_kept_without_calls() {
    let mut setup = setup(r#"{"turns":[{"text":"t"}]}"#);
    setup.agent.provider = Arc::new(Interrupted(setup.source.clone()));
    assert_eq!(setup.agent.run_turn("go", &setup.cancel).await, TurnEnd::Aborted(CancelReason::User));
    let entries = setup.journal.entries();
    let answer = entries.iter().find(|entry| entry.event_type == types::ASSISTANT_MESSAGE).unwrap();
    let text = compact(&answer.data);
    assert!(text.contains("I was about to") && text.contains(r#""interrupted":true"#), "{text}");
    assert!(!setup.log().iter().any(|line| line.starts_with("call")));
}

#[tokio::test]
async fn the_canonical_value_is_not_recorded() {
    let mut setup = setup(r#"{"turns":[{"calls":[{"id":"a","name":"hides"}]},{"text":"done"}]}"#);
    let open = Json::object([("type", Json::from("object"))]);
    let hides = Definition::new("hides", "", &open, &Json::object::<&str>([]), |_| async {
        Ok::<_, BodyError>(Json::from("canonical"))
    });
    let hides = hides.unwrap().with_render(|_, _| Ok(vec![fivegates_core::content::Block::text("shown")]));
    setup.agent.pipeline.registry().register(None, hides).unwrap().keep();
    setup.agent.run_turn("go", &setup.cancel).await;
    let record: String = setup.journal.entries().iter().map(|entry| compact(&entry.data)).collect();
    assert!(record.contains("shown") && !record.contains("canonical"), "{record}");
}
