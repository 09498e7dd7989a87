//! Whatever an extension does, the call ends as the rules say (L-16, L-59, L-65, invariant 3).
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::{Arc, Mutex};

use fivegates_core::decision::{ApprovalOutcome, Redaction, Replace};
use fivegates_core::gates::{
    Answer, Around, Guard, Next, Observer, PostExecute, PostNext, PreExecute, PreNext, Reply,
};
use fivegates_core::ids::ComponentId;
use fivegates_core::outcome::{Ending, Outcome};
use fivegates_core::pipeline::Waits;
use fivegates_core::ports::{ApprovalRequest, Approver, Egress};
use fivegates_core::prelude::*;
use fivegates_core::tool::BodyError;

/// How an extension misbehaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Error,
    PanicAtOnce,
    PanicLater,
    Silence,
}

const FAULTS: [Fault; 4] = [Fault::Error, Fault::PanicAtOnce, Fault::PanicLater, Fault::Silence];

impl Fault {
    fn reply<'a, T: Send + 'a>(self) -> Reply<'a, T> {
        match self {
            Self::Error => Reply::error(ToolError::coded("Broken", "BROKEN", "broke")),
            Self::PanicAtOnce => panic!("boom"),
            Self::PanicLater => Reply::future(async {
                tokio::task::yield_now().await;
                panic!("boom")
            }),
            Self::Silence => Reply::future(std::future::pending()),
        }
    }
}

struct Faulty(Fault, ComponentId);

impl PreExecute for Faulty {
    fn decide<'a>(&'a self, _: &'a Call, _: PreNext<'a>) -> Reply<'a, PreDecision> {
        self.0.reply()
    }
}
impl Guard for Faulty {
    fn check<'a>(&'a self, _: &'a Call) -> Reply<'a, Option<Denial>> {
        self.0.reply()
    }
}
impl Around for Faulty {
    fn run<'a>(&'a self, _: &'a Call, _: Next<'a>) -> Reply<'a, Answer> {
        self.0.reply()
    }
}
impl PostExecute for Faulty {
    fn review<'a>(&'a self, _: &'a Call, _: &'a Ending, _: PostNext<'a>) -> Reply<'a, PostDecision> {
        self.0.reply()
    }
}
impl Approver for Faulty {
    fn id(&self) -> &ComponentId {
        &self.1
    }
    fn request<'a>(&'a self, _: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        self.0.reply()
    }
}
impl Observer for Faulty {
    fn observe(&self, _: &Call, _: &Outcome) -> Result<(), ToolError> {
        match self.0 {
            Fault::PanicAtOnce => panic!("boom"),
            _ => Err("broke".into()),
        }
    }
}
impl Egress for Faulty {
    fn id(&self) -> &ComponentId {
        &self.1
    }
    fn text(&self, _: &str) -> Result<Option<String>, ToolError> {
        match self.0 {
            Fault::PanicAtOnce => panic!("boom"),
            _ => Err("broke".into()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Pre,
    Approver,
    Guard,
    Around,
    Post,
}

struct World {
    registry: Registry,
    ran: Arc<Mutex<u32>>,
    warnings: Arc<Mutex<Vec<String>>>,
    met: Arc<Mutex<Vec<fivegates_core::call::Met>>>,
    scope: fivegates_core::registry::Scope,
}

fn world() -> World {
    let registry = Registry::new();
    let ran: Arc<Mutex<u32>> = Arc::default();
    let open = Json::object([("type", Json::from("object"))]);
    let count = Arc::clone(&ran);
    let body = move |invocation: Invocation| {
        *count.lock().unwrap() += 1;
        async move {
            invocation.defer_context(fivegates_core::content::Context::text("t", "deferred"));
            Ok::<_, BodyError>(Json::from("secret value"))
        }
    };
    let tool = Definition::new("t", "", &open, &Json::object::<&str>([]), body).unwrap();
    registry.register(None, tool).unwrap().keep();
    let scope = registry.scope("agent", None);
    let met: Arc<Mutex<Vec<_>>> = Arc::default();
    let kept = Arc::clone(&met);
    let observer = observer_fn(move |call, _| {
        *kept.lock().unwrap() = call.met();
        Ok(())
    });
    registry.observe(Listen::as_id("met"), observer).keep();
    World { registry, ran, warnings: Arc::default(), met, scope }
}

impl World {
    async fn call(
        &self,
        build: impl FnOnce(fivegates_core::pipeline::PipelineBuilder) -> fivegates_core::pipeline::PipelineBuilder,
    ) -> Outcome {
        let waits = Waits {
            pre_execute_ms: Some(50),
            approval_ms: Some(60),
            guard_ms: Some(70),
            post_execute_ms: Some(80),
        };
        let warnings = Arc::clone(&self.warnings);
        let builder = Pipeline::builder(self.registry.clone())
            .waits(waits)
            .on_warning(move |text| warnings.lock().unwrap().push(text.to_owned()));
        let pipeline = build(builder).build();
        let (_source, cancel) = CancelSource::new();
        let request = CallRequest::new("c", "t", Arguments::Text("{}".into()), cancel);
        pipeline.execute(request.with_agent(self.scope.id())).await
    }
}

/// Gives the message, the code, and the denial's kind and component.
fn told(outcome: &Outcome) -> String {
    let failure = outcome.failure().unwrap();
    let denial = failure
        .denial()
        .map(|denial| format!("{} by {}", denial.kind(), denial.by().map_or("nobody", ComponentId::as_str)));
    format!(
        "{} [{}] {}",
        failure.error().message(),
        outcome.code().unwrap_or("-"),
        denial.unwrap_or_default()
    )
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_cannot_decide_denies_and_is_named() {
    // Place, what it is called, how long it is given, whether the body ran before.
    let places = [
        (Place::Pre, "tools/pre-execute listener", 50, 0),
        (Place::Approver, "approver", 60, 0),
        (Place::Guard, "guard", 70, 0),
        (Place::Around, "tools/execute listener", 0, 0),
        (Place::Post, "tools/post-execute listener", 80, 1),
    ];
    for (place, what, wait_ms, runs) in places {
        for fault in FAULTS {
            if (place, fault) == (Place::Around, Fault::Silence) {
                // A wrapper may take as long as the tool does; the deadline policy bounds it.
                continue;
            }
            let world = world();
            let id = Listen::as_id("faulty");
            let registry = &world.registry;
            let faulty = || Faulty(fault, ComponentId::new("faulty"));
            let _mounted = match place {
                Place::Pre => registry.pre_execute(id, faulty()),
                Place::Approver => registry.pre_execute(id, pre_fn(|_| Some(PreDecision::ask()))),
                Place::Guard => registry.guard(id, faulty()),
                Place::Around => registry.around(id, faulty()),
                Place::Post => registry.post_execute(id, faulty()),
            };
            let outcome = world.call(|builder| builder.approver(Arc::new(faulty()))).await;
            let message = match fault {
                Fault::Error => "broke [BROKEN] ".to_owned(),
                Fault::Silence => format!("{what} \"faulty\" did not answer within {wait_ms}ms [-] "),
                _ => format!("{what} \"faulty\" panicked: boom [-] "),
            };
            let kind = match fault {
                Fault::Error => "gate_error",
                Fault::Silence => "gate_timeout",
                _ => "gate_panic",
            };
            let is_gate = matches!(place, Place::Pre | Place::Approver | Place::Guard);
            let denial = if is_gate { format!("{kind} by faulty") } else { String::new() };
            assert_eq!(told(&outcome), format!("{message}{denial}"), "{place:?} {fault:?}");
            assert_eq!(*world.ran.lock().unwrap(), runs, "{place:?} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_observers_failure_is_a_warning() {
    for fault in [Fault::Error, Fault::PanicAtOnce] {
        let world = world();
        let _faulty = world.registry.observe(Listen::as_id("o"), Faulty(fault, "o".into()));
        let seen: Arc<Mutex<u32>> = Arc::default();
        let count = Arc::clone(&seen);
        let _next = world.registry.observe(
            Listen::as_id("next"),
            observer_fn(move |_, _| {
                *count.lock().unwrap() += 1;
                Ok(())
            }),
        );
        let outcome = world.call(|builder| builder).await;
        assert!(!outcome.is_error());
        assert_eq!(*seen.lock().unwrap(), 1);
        let warning = world.warnings.lock().unwrap().remove(0);
        assert!(warning.starts_with("tool \"t\" (c): tools/result observer failed: "), "{warning}");
    }
}

#[tokio::test]
async fn a_filter_that_fails_lets_nothing_out() {
    for fault in [Fault::Error, Fault::PanicAtOnce] {
        let world = world();
        let outcome = world.call(|builder| builder.egress(Arc::new(Faulty(fault, "filter".into())))).await;
        assert_eq!(outcome.code(), Some("EGRESS_FAILED"));
        assert!(!format!("{outcome:?}").contains("secret"), "{outcome:?}");
        assert!(outcome.contexts().is_empty());
    }
}

/// Hides one word.
struct Hides(ComponentId);

impl Egress for Hides {
    fn id(&self) -> &ComponentId {
        &self.0
    }
    fn text(&self, text: &str) -> Result<Option<String>, ToolError> {
        Ok(text.contains("secret").then(|| text.replace("secret", "****")))
    }
}

#[tokio::test]
async fn a_filter_reaches_everything_that_leaves() {
    let world = world();
    let listener = post_fn(|_, _| {
        let value = Json::object([("secret key", Json::array([Json::from("a secret"), Json::from(1)]))]);
        Some(PostDecision::replace_value(value))
    });
    let mounted = world.registry.post_execute(Listen::as_id("v"), listener);
    let hides = || Arc::new(Hides("hides".into()));
    let outcome = world.call(|builder| builder.egress(hides())).await;
    let success = outcome.success().unwrap();
    assert_eq!(success.value().to_string(), r#"{"**** key":["a ****",1]}"#);
    assert_eq!(flatten(success.content()), r#"{"**** key":["a ****",1]}"#);
    drop(mounted);
    let guard = guard_fn(|_| Some(Denial::new("the secret is out")));
    let _guard = world.registry.guard(Listen::as_id("g"), guard);
    let outcome = world.call(|builder| builder.egress(hides())).await;
    let failure = outcome.failure().unwrap();
    assert_eq!(failure.error().message(), "the **** is out");
    assert_eq!(flatten(failure.content()), "Error: the **** is out");
    let denial = failure.denial().unwrap();
    assert_eq!((denial.kind().as_str(), denial.reason()), ("guard", "the **** is out"));
    let reasons: Vec<_> = world.met.lock().unwrap().iter().filter_map(|met| met.reason.clone()).collect();
    assert_eq!(reasons, [Arc::from("the **** is out")]);
}

#[tokio::test]
async fn a_redaction_replaces_value_content_and_message_together() {
    let redaction =
        || Redaction { value: Json::Null, content: Arc::from([Block::text("gone")]), message: "gone".into() };
    for fails in [false, true] {
        let world = world();
        let _redacts = world
            .registry
            .post_execute(Listen::as_id("r"), post_fn(move |_, _| Some(PostDecision::redact(redaction()))));
        let guard = guard_fn(move |_| fails.then(|| Denial::new("the secret is out")));
        let _guard = world.registry.guard(Listen::as_id("g"), guard);
        let outcome = world.call(|builder| builder).await;
        assert_eq!(flatten(outcome.content()), "gone");
        match outcome.ending() {
            Ending::Success(success) => assert_eq!(success.value(), &Json::Null),
            Ending::Failure(failure) => assert_eq!(failure.error().message(), "gone"),
        }
        assert_eq!(outcome.is_error(), fails);
    }
    // The other replacements hold one thing each.
    let _one_thing: [Replace; 2] = [Replace::Content(Arc::from([])), Replace::Value(Json::Null)];
}

#[tokio::test]
async fn a_tool_that_misbehaves_fails_its_own_call_only() {
    let open = || Json::object([("type", Json::from("object"))]);
    let any = Json::object::<&str>([]);
    let body = |_: Invocation| async { Ok::<_, BodyError>(Json::from(1)) };
    let define = || Definition::new("t", "", &open(), &any, body).unwrap();
    let panicking = |_: Invocation| -> std::future::Ready<Result<Json, BodyError>> { panic!("boom") };
    let later = |_: Invocation| async {
        tokio::task::yield_now().await;
        if true {
            panic!("boom");
        }
        Ok::<_, BodyError>(Json::Null)
    };
    let cases: [(Definition, &str); 6] = [
        (Definition::new("t", "", &open(), &any, panicking).unwrap(), "tool \"t\" panicked: boom [-] "),
        (Definition::new("t", "", &open(), &any, later).unwrap(), "tool \"t\" panicked: boom [-] "),
        (
            define().with_render(|_, _| panic!("boom")),
            "tool \"t\" returned invalid output: output.render failed: boom [INVALID_TOOL_OUTPUT] ",
        ),
        (
            define().with_meta(|_, _| panic!("boom")),
            "tool \"t\" returned invalid output: output.presentationMeta failed: boom [INVALID_TOOL_OUTPUT] ",
        ),
        (define().with_finalizer(|_, _| panic!("boom")), "finalizer of tool \"t\" panicked: boom [-] "),
        (
            define().with_effects(|_| panic!("boom")).with_parallel(|_| panic!("boom")).with_finalizer(
                |call, _| {
                    let worst = call.effects() == Effects::UNKNOWN;
                    Err(ToolError::new(format!("the worst is assumed: {worst}")))
                },
            ),
            "the worst is assumed: true [-] ",
        ),
    ];
    for (definition, expected) in cases {
        let registry = Registry::new();
        registry.register(None, definition).unwrap().keep();
        assert!(!registry.is_parallel(None, &"t".into(), Some(&open())));
        let pipeline = Pipeline::builder(registry).build();
        let (_source, cancel) = CancelSource::new();
        let outcome =
            pipeline.execute(CallRequest::new("c", "t", Arguments::Text("{}".into()), cancel)).await;
        assert_eq!(told(&outcome), expected);
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn panics_in_drops_are_contained_too() {
    let world = world();
    let _payload = world.registry.guard(Listen::as_id("payload"), guard_fn(|_| std::panic::panic_any(Bomb)));
    let outcome = world.call(|builder| builder).await;
    assert_eq!(told(&outcome), "guard \"payload\" panicked: no message [-] gate_panic by payload");

    struct HoldsABomb;
    impl Guard for HoldsABomb {
        fn check<'a>(&'a self, _: &'a Call) -> Reply<'a, Option<Denial>> {
            let bomb = Bomb;
            Reply::future(async move {
                let _bomb = bomb;
                std::future::pending().await
            })
        }
    }
    let world = self::world();
    let _bomb = world.registry.guard(Listen::as_id("bomb"), HoldsABomb);
    let outcome = world.call(|builder| builder).await;
    assert_eq!(told(&outcome), "guard \"bomb\" did not answer within 70ms [-] gate_timeout by bomb");
}

#[tokio::test]
async fn a_call_whose_scope_is_gone_is_denied() {
    let world = world();
    let child = world.registry.scope("child", Some(&world.scope));
    let (_source, cancel) = CancelSource::new();
    let request =
        || CallRequest::new("c", "t", Arguments::Text("{}".into()), cancel.clone()).with_agent(child.id());
    let pipeline = Pipeline::builder(world.registry.clone()).build();
    assert!(!pipeline.execute(request()).await.is_error());
    let (registry, ran) = (world.registry, world.ran);
    // The scope around it goes while a listener thinks; its guards would be lost.
    let scope = Mutex::new(Some(world.scope));
    let drops = pre_fn(move |_| {
        drop(scope.lock().unwrap().take());
        None
    });
    let _drops = registry.pre_execute(Listen::as_id("drops"), drops);
    for _ in 0..2 {
        let outcome = pipeline.execute(request()).await;
        let message = "the agent of this call is gone, and with it the guards that the call would meet";
        assert_eq!(outcome.failure().unwrap().error().message(), message);
    }
    assert_eq!(*ran.lock().unwrap(), 1);
    assert!(registry.visible(Some(child.id())).is_empty());
}

#[test]
fn what_is_removed_may_own_registrations() {
    let registry = Registry::new();
    let inner = Mutex::new(Some(registry.guard(Listen::as_id("inner"), guard_fn(|_| None))));
    let owner = pre_fn(move |_| {
        let _owned = &inner;
        None
    });
    let outer = registry.pre_execute(Listen::as_id("outer"), owner);
    drop(outer);
    assert!(registry.mounted_ids().iter().all(|(_, ids)| ids.is_empty()));
}
