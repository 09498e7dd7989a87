//! What an approval covers (L-06): one execution of exactly what was shown, and its idempotent attempts.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use fivegates_core::decision::{ApprovalOutcome, DenialKind};
use fivegates_core::gates::{Answer, Around, Next, Reply};
use fivegates_core::ids::ComponentId;
use fivegates_core::outcome::Outcome;
use fivegates_core::ports::{ApprovalRequest, Approver};
use fivegates_core::prelude::*;
use fivegates_core::tool::{BodyError, Effects};

type Asked = Mutex<Vec<([u8; 32], Json)>>;

/// Says yes to everything, writes down what it was shown, and may do something before it answers.
struct Yes {
    id: ComponentId,
    shown: Arc<Asked>,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl Approver for Yes {
    fn id(&self) -> &ComponentId {
        &self.id
    }
    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        let arguments = request.call.arguments().unwrap().clone();
        self.shown.lock().unwrap().push((request.call.digest(), arguments));
        (self.meanwhile)();
        Reply::ready(ApprovalOutcome::AllowedOnce)
    }
}

/// Runs the rest until it succeeds, three times at most.
struct Retry;

impl Around for Retry {
    fn run<'a>(&'a self, _: &'a Call, mut next: Next<'a>) -> Reply<'a, Answer> {
        Reply::future(async move {
            let mut attempt = next.run().await?;
            for _ in 1..3 {
                if !attempt.ending().is_error() {
                    break;
                }
                attempt = next.run().await?;
            }
            Ok(attempt.into())
        })
    }
}

struct World {
    registry: Registry,
    ran: Arc<AtomicU32>,
    shown: Arc<Asked>,
    scope: fivegates_core::registry::Scope,
}

/// A tool `t` whose body fails until its third run, and a rule that asks about every call.
fn world(effects: Effects) -> World {
    let registry = Registry::new();
    let ran: Arc<AtomicU32> = Arc::default();
    let open = Json::object([("type", Json::from("object"))]);
    let count = Arc::clone(&ran);
    let body = move |_| {
        let run = count.fetch_add(1, Ordering::SeqCst) + 1;
        async move { if run < 3 { Err(BodyError::from("not yet")) } else { Ok(Json::from("done")) } }
    };
    let tool = Definition::new("t", "", &open, &Json::object::<&str>([]), body).unwrap();
    registry.register(None, tool.with_effects(move |_| effects)).unwrap().keep();
    registry.pre_execute(Listen::as_id("rule"), pre_fn(|_| Some(PreDecision::ask()))).keep();
    let scope = registry.scope("agent", None);
    World { registry, ran, shown: Arc::default(), scope }
}

impl World {
    fn approver(&self, meanwhile: impl Fn() + Send + Sync + 'static) -> Arc<Yes> {
        let (id, shown) = (ComponentId::new("person"), Arc::clone(&self.shown));
        Arc::new(Yes { id, shown, meanwhile: Box::new(meanwhile) })
    }

    async fn call(&self, pipeline: &Pipeline, arguments: &str) -> Outcome {
        let (_source, cancel) = CancelSource::new();
        let request = CallRequest::new("c1", "t", Arguments::Text(arguments.into()), cancel);
        pipeline.execute(request.with_agent(self.scope.id())).await
    }

    fn runs(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }
}

fn denied(outcome: &Outcome) -> (DenialKind, &str, &str) {
    let denial = outcome.failure().and_then(|failure| failure.denial()).unwrap();
    (denial.kind(), denial.code(), denial.by().unwrap().as_str())
}

const MISMATCH: (DenialKind, &str, &str) = (DenialKind::DigestMismatch, "DIGEST_MISMATCH", "person");

#[tokio::test]
async fn a_policy_that_changes_while_somebody_is_asked_voids_the_grant() {
    let world = world(Effects::READ_ONLY);
    let reviewed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&reviewed);
    let post = post_fn(move |_, _| {
        seen.store(true, Ordering::SeqCst);
        None
    });
    world.registry.post_execute(Listen::as_id("post"), post).keep();
    let policy = Arc::new(AtomicU8::new(1));
    let (read, change) = (Arc::clone(&policy), Arc::clone(&policy));
    let approver = world.approver(move || change.store(2, Ordering::SeqCst));
    let builder = Pipeline::builder(world.registry.clone()).approver(approver);
    let pipeline = builder.sandbox_policy(move || [read.load(Ordering::SeqCst); 32]).build();
    let outcome = world.call(&pipeline, "{}").await;
    assert_eq!(denied(&outcome), MISMATCH);
    assert_eq!(
        outcome.failure().unwrap().error().message(),
        "tool \"t\" did not run: what is about to run is not what was approved"
    );
    assert_eq!(world.runs(), 0);
    assert!(!reviewed.load(Ordering::SeqCst), "such a denial is final");
}

#[tokio::test]
async fn a_policy_that_stays_keeps_the_grant() {
    let world = world(Effects::READ_ONLY);
    world.registry.around(Listen::as_id("retry"), Retry).keep();
    let builder = Pipeline::builder(world.registry.clone()).approver(world.approver(|| {}));
    let pipeline = builder.sandbox_policy(|| [7; 32]).build();
    assert!(!world.call(&pipeline, "{}").await.is_error());
    assert_eq!(world.runs(), 3);
}

#[tokio::test]
async fn the_grant_is_compared_before_each_attempt() {
    let world = world(Effects::READ_ONLY);
    world.registry.around(Listen::as_id("retry"), Retry).keep();
    let builder = Pipeline::builder(world.registry.clone()).approver(world.approver(|| {}));
    let ran = Arc::clone(&world.ran);
    // The policy changes once the body has run for the first time.
    let pipeline = builder.sandbox_policy(move || [u8::from(ran.load(Ordering::SeqCst) > 0); 32]).build();
    assert_eq!(denied(&world.call(&pipeline, "{}").await), MISMATCH);
    assert_eq!(world.runs(), 1);
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_is_not_the_one_that_was_approved() {
    let world = world(Effects::READ_ONLY);
    let builder = Pipeline::builder(world.registry.clone()).approver(world.approver(|| {}));
    let pipeline = builder.sandbox_policy(|| panic!("unreadable")).build();
    assert_eq!(denied(&world.call(&pipeline, "{}").await), MISMATCH);
    assert_eq!(world.runs(), 0);
}

#[tokio::test]
async fn a_grant_covers_further_attempts_of_idempotent_calls_only() {
    let again = Effects { idempotent: true, ..Effects::UNKNOWN };
    for (effects, runs) in [(again, 3), (Effects::UNKNOWN, 1)] {
        let world = world(effects);
        world.registry.around(Listen::as_id("retry"), Retry).keep();
        let builder = Pipeline::builder(world.registry.clone()).approver(world.approver(|| {}));
        let outcome = world.call(&builder.build(), "{}").await;
        assert_eq!(world.runs(), runs);
        assert_eq!(world.shown.lock().unwrap().len(), 1, "somebody is asked once");
        if runs == 1 {
            assert_eq!(denied(&outcome), (DenialKind::ApprovalUnavailable, "GRANT_USED", "person"));
        } else {
            assert!(!outcome.is_error());
        }
    }
}

#[tokio::test]
async fn without_an_approval_attempts_are_free() {
    let world = world(Effects::UNKNOWN);
    world.registry.around(Listen::as_id("retry"), Retry).keep();
    let allow = pre_fn(|_| Some(PreDecision::allow()));
    world.registry.pre_execute(Listen::as_id("allow").outermost(), allow).keep();
    let outcome = world.call(&Pipeline::builder(world.registry.clone()).build(), "{}").await;
    assert!(!outcome.is_error());
    assert_eq!(world.runs(), 3);
}

#[tokio::test]
async fn an_approval_covers_no_other_call() {
    let world = world(Effects::UNKNOWN);
    let pipeline = Pipeline::builder(world.registry.clone()).approver(world.approver(|| {})).build();
    for arguments in [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1.0}"#, r#"{"a":1,"b":3}"#] {
        world.call(&pipeline, arguments).await;
    }
    let shown = world.shown.lock().unwrap();
    assert_eq!(shown.len(), 3, "each call is asked about");
    assert_eq!(shown[0].0, shown[1].0, "the digest is of the canonical form");
    assert_ne!(shown[0].0, shown[2].0);
    assert_eq!(shown[2].1.get("b"), Some(&Json::from(3)), "the approver is shown the arguments");
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_can_only_fail() {
    let world = world(Effects::UNKNOWN);
    let pipeline = Pipeline::builder(world.registry.clone()).approver(world.approver(|| {})).build();
    let (_source, cancel) = CancelSource::new();
    let unknown = CallRequest::new("c", "none", Arguments::Text("{}".into()), cancel);
    let unknown = pipeline.execute(unknown.with_agent(world.scope.id())).await;
    assert_eq!(unknown.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(world.call(&pipeline, "[]").await.code(), Some("INVALID_ARGS"));
    assert!(world.shown.lock().unwrap().is_empty());
}
