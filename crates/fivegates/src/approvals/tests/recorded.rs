//! The pair of events, and that there is no grant without it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fivegates_core::call::{Call, Met};
use fivegates_core::cancel::CancelReason;
use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::error::ToolError;
use fivegates_core::gates::Reply;
use fivegates_core::ids::ComponentId;
use fivegates_core::pipeline::Waits;
use fivegates_core::ports::{
    ApprovalRequest, CallEntry, GateVerdict, OutcomeEntry, PortFuture, Record, RecordError,
};
use fivegates_session::journal::{Entry, Journal, MemoryJournal, Position};

use super::*;

/// Does as it was told, and counts how often it was asked.
struct Puppet {
    id: ComponentId,
    act: Act,
    asked: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Answer(ApprovalOutcome),
    Fail,
    PanicAtOnce,
    PanicLater,
    Hang,
}

impl Puppet {
    fn new(act: Act) -> Arc<Self> {
        Arc::new(Self { id: ComponentId::new("puppet"), act, asked: AtomicUsize::new(0) })
    }
}

impl Approver for Puppet {
    fn id(&self) -> &ComponentId {
        &self.id
    }

    fn request<'a>(&'a self, _request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match self.act {
            Act::Answer(outcome) => Reply::ready(outcome),
            Act::Fail => Reply::error(ToolError::new("broken")),
            Act::PanicAtOnce => panic!("at once"),
            Act::PanicLater => Reply::future(async {
                tokio::task::yield_now().await;
                panic!("later")
            }),
            Act::Hang => Reply::future(std::future::pending()),
        }
    }
}

/// Keeps events until it is full.
#[derive(Default)]
struct Narrow {
    kept: MemoryJournal,
    room: Mutex<usize>,
}

impl Journal for Narrow {
    fn append(&self, entry: Entry) -> PortFuture<'_, Result<i64, RecordError>> {
        let mut room = self.room.lock().unwrap();
        if *room == 0 {
            return Box::pin(async { Err(RecordError("no space left".to_owned())) });
        }
        *room -= 1;
        self.kept.append(entry)
    }

    fn set_position(&self, _: Option<Position>) {}
}

impl Record for Narrow {
    fn call<'a>(&'a self, entry: &'a CallEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        self.kept.call(entry)
    }

    fn decision<'a>(
        &'a self,
        call: &'a Call,
        verdict: GateVerdict,
        met: &'a [Met],
    ) -> PortFuture<'a, Result<(), RecordError>> {
        self.kept.decision(call, verdict, met)
    }

    fn intent<'a>(&'a self, call: &'a Call) -> PortFuture<'a, Result<(), RecordError>> {
        self.kept.intent(call)
    }

    fn outcome<'a>(&'a self, entry: &'a OutcomeEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        self.kept.outcome(entry)
    }
}

struct Setup {
    asking: Asking,
    puppet: Arc<Puppet>,
    journal: Arc<Narrow>,
}

fn setup(act: Act, policy: ApprovalPolicy, room: usize) -> Setup {
    let puppet = Puppet::new(act);
    let journal = Arc::new(Narrow { kept: MemoryJournal::new(), room: Mutex::new(room) });
    let inner = Arc::clone(&puppet) as Arc<dyn Approver>;
    let recorded = Recorded::new(inner, Arc::clone(&journal) as Arc<dyn Journal>).with_policy(policy);
    Setup { asking: Asking::new(Arc::new(recorded)), puppet, journal }
}

impl Setup {
    async fn call(&self) -> Outcome {
        let (_source, cancel) = never();
        self.asking.call("c1", &arguments("echo hi"), &cancel).await
    }

    /// The pair without its ids, after checking that they are one id and nobody else's.
    fn pair(&self) -> Vec<String> {
        let entries = self.journal.kept.entries();
        let text = |entry: &Entry, key: &str| entry.data.get(key).and_then(Json::as_str).unwrap().to_owned();
        let ids: Vec<String> = entries.iter().map(|entry| text(entry, "id")).collect();
        assert!(
            ids.windows(2).all(|pair| pair[0] == pair[1]) && ids.iter().all(|id| id.len() == 36),
            "{ids:?}"
        );
        assert!(entries.iter().all(|entry| entry.call_id.as_deref() == Some("c1")));
        let said = |entry: &Entry| match entry.event_type {
            "approval/asked" => {
                assert_eq!(text(entry, "digest").len(), 64);
                let parts = ["toolName", "callId", "reason", "by"].map(|key| text(entry, key));
                format!("asked: {}", parts.join(", "))
            }
            "approval/decided" => format!("{} by {}", text(entry, "outcome"), text(entry, "by")),
            other => panic!("{other}"),
        };
        entries.iter().map(said).collect()
    }
}

const ASKED: &str = "asked: bash, c1, it may change things, permission";

#[tokio::test]
async fn every_answer_leaves_one_pair() {
    use Act::{Answer, Fail, PanicAtOnce, PanicLater};
    use ApprovalOutcome::{AllowedOnce, Cancelled, Rejected, Unavailable};
    let check = async |act, policy, ended: &str, decided: &str, asked| {
        let setup = setup(act, policy, 9);
        assert_eq!(end(&setup.call().await), ended, "{act:?}");
        assert_eq!(setup.pair(), [ASKED, decided], "{act:?}");
        assert_eq!(setup.puppet.asked.load(Ordering::SeqCst), asked, "{act:?}");
    };
    let ask = ApprovalPolicy::Ask;
    check(Answer(AllowedOnce), ask, "ran", "allowed-once by puppet", 1).await;
    check(Answer(Rejected), ask, "APPROVAL_REJECTED", "rejected by puppet", 1).await;
    check(Answer(Cancelled), ask, "APPROVAL_CANCELLED", "cancelled by puppet", 1).await;
    check(Answer(Unavailable), ask, "APPROVAL_UNAVAILABLE", "unavailable by puppet", 1).await;
    // Who fails was no use.
    for act in [Fail, PanicAtOnce, PanicLater] {
        check(act, ask, "APPROVAL_UNAVAILABLE", "unavailable by puppet", 1).await;
    }
    // Nobody is asked.
    let never = ApprovalPolicy::Never;
    check(Answer(AllowedOnce), never, "APPROVAL_REJECTED", "rejected by approval-policy", 0).await;
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_granted() {
    for (room, asked, kept) in [(0, 0, 0), (1, 1, 1)] {
        let setup = setup(Act::Answer(ApprovalOutcome::AllowedOnce), ApprovalPolicy::Ask, room);
        let outcome = setup.call().await;
        let failure = outcome.failure().unwrap();
        assert_eq!((end(&outcome), failure.error().code()), ("GATE_ERROR", Some("RECORD_FAILED")));
        let text = "the approval could not be recorded, so it does not count: no space left";
        assert_eq!(failure.error().message(), text);
        assert_eq!(setup.puppet.asked.load(Ordering::SeqCst), asked, "room for {room}");
        assert_eq!(setup.pair().len(), kept);
    }
}

#[tokio::test]
async fn a_cancelled_call_is_recorded_as_cancelled_at_once() {
    let setup = setup(Act::Hang, ApprovalPolicy::Ask, 9);
    let (source, cancel) = CancelSource::new();
    let arguments = arguments("echo hi");
    let call = setup.asking.call("c1", &arguments, &cancel);
    let stop = async {
        while setup.puppet.asked.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        source.fire(CancelReason::User);
    };
    let (outcome, ()) = tokio::join!(call, stop);
    assert_eq!(end(&outcome), "ABORTED_BEFORE_DISPATCH");
    assert_eq!(setup.pair(), [ASKED, "cancelled by caller"]);
}

#[tokio::test(start_paused = true)]
async fn an_ask_whose_time_is_up_leaves_its_pair_too() {
    let mut setup = setup(Act::Hang, ApprovalPolicy::Ask, 9);
    let registry = setup.asking.pipeline.registry().clone();
    let recorded = Recorded::new(
        Arc::clone(&setup.puppet) as Arc<dyn Approver>,
        Arc::clone(&setup.journal) as Arc<dyn Journal>,
    );
    let waits = Waits { approval_ms: Some(1_000), ..Waits::default() };
    setup.asking.pipeline = Pipeline::builder(registry).approver(Arc::new(recorded)).waits(waits).build();
    assert_eq!(end(&setup.call().await), "GATE_TIMEOUT");
    // The pair is completed by a task of its own.
    while setup.pair().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(setup.pair(), [ASKED, "cancelled by pipeline"]);
}

#[tokio::test]
async fn without_a_terminal_the_answer_comes_at_once() {
    let asking = Asking::new(Arc::new(Unavailable::new()));
    let (_source, cancel) = never();
    let outcome = asking.call("c1", &arguments("echo hi"), &cancel).await;
    assert_eq!(end(&outcome), "APPROVAL_UNAVAILABLE");
}
