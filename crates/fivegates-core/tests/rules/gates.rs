//! Gates 1 and 2, and who is asked between them.

use std::time::Duration;

use fivegates_core::decision::{ApprovalOutcome, DenialKind};
use fivegates_core::gates::{Guard, PreExecute, PreNext};
use fivegates_core::ids::ComponentId;
use fivegates_core::ports::{ApprovalRequest, Approver};

use super::*;

/// Answers in one way and writes down the request.
struct Answers(ComponentId, ApprovalOutcome, Log);

impl Approver for Answers {
    fn id(&self) -> &ComponentId {
        &self.0
    }
    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        let ApprovalRequest { call, agent, reason, by, cancel } = request;
        let by = by.map_or("nobody", ComponentId::as_str);
        let (id, name, cancelled) = (call.id(), call.name(), cancel.is_cancelled());
        let same = Some(*agent) == call.agent();
        self.2.add(format!("{id} {name} {same} {} {by} {cancelled}", reason.unwrap_or("-")));
        Reply::ready(self.1)
    }
}

fn saying_pre(log: &Log, word: &'static str) -> impl PreExecute + 'static {
    let log = log.clone();
    pre_fn(move |_| {
        log.add(word);
        None
    })
}

fn saying_guard(log: &Log, word: &'static str, denies: bool) -> impl Guard + 'static {
    let log = log.clone();
    guard_fn(move |_| {
        log.add(word);
        denies.then(|| Denial::new(word))
    })
}

#[tokio::test]
async fn r081_prepending_goes_outside() {
    let world = world();
    world.registry.pre_execute(Listen::as_id("a"), saying_pre(&world.log, "first")).keep();
    world.registry.pre_execute(Listen::as_id("b"), saying_pre(&world.log, "second")).keep();
    world.registry.pre_execute(Listen::as_id("c").outermost(), saying_pre(&world.log, "prepended")).keep();
    world.call("t").await;
    assert_eq!(world.log.take(), ["prepended", "first", "second", "body t"]);
}

#[tokio::test]
async fn r087_an_unknown_tool_is_shown_to_gates_1_and_2() {
    let world = world();
    world.registry.pre_execute(Listen::as_id("p"), saying_pre(&world.log, "pre")).keep();
    world.registry.guard(Listen::as_id("g"), saying_guard(&world.log, "guard", false)).keep();
    assert_eq!(world.call("none").await.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(world.log.take(), ["pre", "guard"]);
}

#[tokio::test(start_paused = true)]
async fn r088_a_listener_that_takes_its_time_is_awaited() {
    struct Slow;
    impl PreExecute for Slow {
        fn decide<'a>(&'a self, call: &'a Call, _: PreNext<'a>) -> Reply<'a, PreDecision> {
            Reply::future(async {
                tokio::select! {
                    () = call.cancel().cancelled() => Ok(PreDecision::deny("was told to stop")),
                    () = tokio::time::sleep(Duration::from_secs(30)) => Ok(PreDecision::deny("thought about it")),
                }
            })
        }
    }
    let world = world();
    world.registry.pre_execute(Listen::as_id("slow"), Slow).keep();
    assert_eq!(message(&world.call("t").await), "thought about it");
    let (outcome, ()) = tokio::join!(world.call("t"), async {
        tokio::task::yield_now().await;
        world.source.fire(CancelReason::User);
    });
    assert_eq!(message(&outcome), "was told to stop");
}

#[tokio::test]
async fn r091_an_agentless_call_is_not_asked_about() {
    let world = world();
    world
        .registry
        .pre_execute(Listen::as_id("rule"), pre_fn(|_| Some(PreDecision::ask_because("why"))))
        .keep();
    let asked = Log::default();
    let approver = Answers("person".into(), ApprovalOutcome::AllowedOnce, asked.clone());
    let pipeline = Pipeline::builder(world.registry.clone()).approver(Arc::new(approver)).build();
    let outcome = pipeline.execute(world.request("t")).await;
    let text = "tool \"t\" requires approval, but the call has no agent to route it through";
    assert_eq!(message(&outcome), text);
    assert_eq!(outcome.failure().unwrap().denial().unwrap().kind(), DenialKind::NoAgent);
    assert!(asked.take().is_empty() && world.log.take().is_empty());
}

#[tokio::test]
async fn r096_the_request_says_who_asks_why_and_for_which_call() {
    let world = world();
    let ask = pre_fn(|_| Some(PreDecision::ask_because("looks risky")));
    world.registry.pre_execute(Listen::as_id("rule"), ask).keep();
    let asked = Log::default();
    let approver = Answers("person".into(), ApprovalOutcome::Rejected, asked.clone());
    let pipeline = Pipeline::builder(world.registry.clone()).approver(Arc::new(approver)).build();
    let outcome = pipeline.execute(world.request("t").with_agent(world.agent.id())).await;
    assert_eq!(asked.take(), ["c1 t true looks risky rule false"]);
    assert_eq!(message(&outcome), "the user rejected tool \"t\"");
}

#[tokio::test]
async fn l03_every_refusal_names_kind_code_and_component() {
    for (answer, kind, code) in [
        (ApprovalOutcome::Rejected, "approval_rejected", "APPROVAL_REJECTED"),
        (ApprovalOutcome::Cancelled, "approval_cancelled", "APPROVAL_CANCELLED"),
        (ApprovalOutcome::Unavailable, "approval_unavailable", "APPROVAL_UNAVAILABLE"),
    ] {
        let world = world();
        world.registry.pre_execute(Listen::as_id("rule"), pre_fn(|_| Some(PreDecision::ask()))).keep();
        let approver = Arc::new(Answers("person".into(), answer, Log::default()));
        let pipeline = Pipeline::builder(world.registry.clone()).approver(approver).build();
        let outcome = pipeline.execute(world.request("t").with_agent(world.agent.id())).await;
        let denial = outcome.failure().unwrap().denial().unwrap();
        assert_eq!((denial.kind().as_str(), denial.code()), (kind, code));
        assert_eq!(denial.by().unwrap().as_str(), "person");
        assert_eq!(outcome.code(), None, "the model is told no code");
    }
    let world = world();
    let own = |denial: Denial| pre_fn(move |_| Some(PreDecision::Deny(denial.clone())));
    for (denial, kind, code) in [
        (Denial::new("n"), "policy", "POLICY_DENIED"),
        (Denial::new("n").from_hook(), "hook", "HOOK_DENIED"),
        (Denial::new("n").from_hook().with_code("HOOK_UNAVAILABLE"), "hook", "HOOK_UNAVAILABLE"),
        (Denial::new("n").from_budget(), "budget", "BUDGET_EXHAUSTED"),
    ] {
        let _mounted = world.registry.pre_execute(Listen::as_id("rule"), own(denial));
        let outcome = world.call("t").await;
        let denial = outcome.failure().unwrap().denial().unwrap();
        assert_eq!((denial.kind().as_str(), denial.code()), (kind, code));
        assert_eq!(denial.by().unwrap().as_str(), "rule");
    }
    let _guard = world.registry.guard(Listen::as_id("g"), saying_guard(&world.log, "no", true));
    let outcome = world.call("t").await;
    let denial = outcome.failure().unwrap().denial().unwrap();
    assert_eq!((denial.kind().as_str(), denial.code(), denial.reason()), ("guard", "GUARD_DENIED", "no"));
}

#[tokio::test]
async fn r105_nested_calls_meet_guards_of_their_own() {
    let world = world();
    let (pipeline, log) = (world.pipeline(), world.log.clone());
    let outer = tool("outer", move |invocation| {
        let (pipeline, log) = (pipeline.clone(), log.clone());
        async move {
            let inner = invocation.nested("c2", "t", Arguments::Text("{}".into()));
            let outcome = pipeline.execute(inner).await;
            log.add(message(&outcome));
            Ok(Json::Null)
        }
    });
    world.registry.register(None, outer).unwrap().keep();
    let guard = guard_fn(|call| (call.name().as_str() == "t").then(|| Denial::new("not this one")));
    world.registry.guard(Listen::as_id("g").in_scope(world.agent.id()), guard).keep();
    assert!(!world.call("outer").await.is_error());
    assert_eq!(world.log.take(), ["not this one"], "the inner body never ran");
}

#[tokio::test]
async fn r106_a_guard_added_during_evaluation_waits_for_the_next_call() {
    let world = world();
    let (registry, log) = (world.registry.clone(), world.log.clone());
    let adds = guard_fn(move |_| {
        registry.guard(Listen::as_id("late"), saying_guard(&log, "late", true)).keep();
        None
    });
    let first = world.registry.guard(Listen::as_id("adds"), adds);
    assert!(!world.call("t").await.is_error());
    assert_eq!(world.log.take(), ["body t"]);
    first.dispose();
    assert_eq!(message(&world.call("t").await), "late");
}

#[tokio::test]
async fn r106_a_guard_removed_during_evaluation_is_still_asked() {
    let world = world();
    let held: Arc<Mutex<Option<fivegates_core::registry::Registration>>> = Arc::default();
    let removes = Arc::clone(&held);
    let first = guard_fn(move |_| {
        drop(removes.lock().unwrap().take());
        None
    });
    world.registry.guard(Listen::as_id("removes"), first).keep();
    let second = world.registry.guard(Listen::as_id("second"), saying_guard(&world.log, "second", true));
    *held.lock().unwrap() = Some(second);
    assert_eq!(message(&world.call("t").await), "second");
    assert!(!world.call("t").await.is_error());
}

#[tokio::test]
async fn r107_a_guards_denial_outranks_cancellation() {
    let world = world();
    let source = world.source.clone();
    let guard = guard_fn(move |_| {
        source.fire(CancelReason::User);
        Some(Denial::new("no"))
    });
    let mounted = world.registry.guard(Listen::as_id("g"), guard);
    assert_eq!(message(&world.call("t").await), "no");
    mounted.dispose();
    assert_eq!(world.call("t").await.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert!(world.log.take().is_empty());
}

#[tokio::test]
async fn r046_tagged_listeners_never_hear_siblings_ancestors_or_agentless_calls() {
    let world = world();
    let outer = world.registry.scope("outer", None);
    let inner = world.registry.scope("inner", Some(&outer));
    let id = |name: &str, scope: &Scope| Listen::as_id(name).in_scope(scope.id());
    world.registry.pre_execute(id("o", &outer), saying_pre(&world.log, "outer")).keep();
    world.registry.pre_execute(id("i", &inner), saying_pre(&world.log, "inner")).keep();
    world.registry.pre_execute(Listen::as_id("all"), saying_pre(&world.log, "all")).keep();
    let pipeline = world.pipeline();
    let mut heard = Vec::new();
    for agent in [Some(&outer), Some(&inner), Some(&world.agent), None] {
        let request = world.request("t");
        let request = agent.map_or(request.clone(), |agent| request.with_agent(agent.id()));
        pipeline.execute(request).await;
        heard.push(world.log.take().join(" "));
    }
    assert_eq!(heard, ["outer all body t", "outer inner all body t", "all body t", "all body t"]);
}

#[tokio::test]
async fn l07_a_deny_that_nobody_may_lift_is_a_guard() {
    let world = world();
    world.registry.guard(Listen::as_id("managed"), saying_guard(&world.log, "never", true)).keep();
    world.registry.pre_execute(Listen::as_id("inner"), pre_fn(|_| Some(PreDecision::deny("no")))).keep();
    let allows = pre_fn(|_| Some(PreDecision::allow()));
    world.registry.pre_execute(Listen::as_id("outer").outermost(), allows).keep();
    assert_eq!(message(&world.call("t").await), "never", "gate 1 lifted its own deny, not the guard's");
}
