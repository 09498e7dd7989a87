//! Dropping is cancellation, at whatever point it happens (L-60, invariant 5).
#![expect(clippy::unwrap_used, reason = "tests")]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use fivegates_core::call::Stage;
use fivegates_core::gates::{Answer, Around, Guard, Next, PostExecute, PostNext, PreExecute, PreNext, Reply};
use fivegates_core::outcome::Ending;
use fivegates_core::prelude::*;
use fivegates_core::tool::BodyError;

/// What a call did, counted.
#[derive(Default)]
struct Counts {
    bodies_started: AtomicUsize,
    bodies_ended: AtomicUsize,
    published: Mutex<Vec<String>>,
}

async fn several_awaits() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// Awaits, then delegates: one for each gate.
struct Slow;

impl PreExecute for Slow {
    fn decide<'a>(&'a self, _: &'a Call, next: PreNext<'a>) -> Reply<'a, PreDecision> {
        Reply::future(async move {
            several_awaits().await;
            let decision = next.run().await?;
            several_awaits().await;
            Ok(decision)
        })
    }
}

impl Guard for Slow {
    fn check<'a>(&'a self, _: &'a Call) -> Reply<'a, Option<Denial>> {
        Reply::future(async {
            several_awaits().await;
            Ok(None)
        })
    }
}

impl Around for Slow {
    fn run<'a>(&'a self, _: &'a Call, mut next: Next<'a>) -> Reply<'a, Answer> {
        Reply::future(async move {
            several_awaits().await;
            let attempt = next.run().await?;
            several_awaits().await;
            Ok(attempt.into())
        })
    }
}

impl PostExecute for Slow {
    fn review<'a>(&'a self, _: &'a Call, _: &'a Ending, next: PostNext<'a>) -> Reply<'a, PostDecision> {
        Reply::future(async move {
            several_awaits().await;
            next.run().await
        })
    }
}

fn pipeline(counts: &Arc<Counts>) -> Pipeline {
    let registry = Registry::new();
    let open = Json::object([("type", Json::from("object"))]);
    let body = {
        let counts = Arc::clone(counts);
        move |_| {
            let counts = Arc::clone(&counts);
            async move {
                counts.bodies_started.fetch_add(1, Ordering::SeqCst);
                several_awaits().await;
                counts.bodies_ended.fetch_add(1, Ordering::SeqCst);
                Ok::<_, BodyError>(Json::from("done"))
            }
        }
    };
    let tool = Definition::new("t", "", &open, &Json::object::<&str>([]), body).unwrap();
    registry.register(None, tool).unwrap().keep();
    registry.pre_execute(Listen::as_id("slow"), Slow).keep();
    registry.guard(Listen::as_id("slow"), Slow).keep();
    registry.around(Listen::as_id("slow"), Slow).keep();
    registry.post_execute(Listen::as_id("slow"), Slow).keep();
    let seen = Arc::clone(counts);
    let observer = observer_fn(move |_, outcome| {
        seen.published.lock().unwrap().push(outcome.code().unwrap_or("ok").to_owned());
        Ok(())
    });
    registry.observe(Listen::as_id("seen"), observer).keep();
    Pipeline::builder(registry).build()
}

/// Polls a call this often, drops it, and lets the rest come to its end.
async fn drop_after(polls: usize) -> (Arc<Counts>, bool) {
    let counts = Arc::new(Counts::default());
    let pipeline = pipeline(&counts);
    let (_source, cancel) = CancelSource::new();
    let request = CallRequest::new("c", "t", Arguments::Text("{}".into()), cancel);
    let finished = {
        let mut call = pin!(pipeline.execute(request));
        let mut finished = false;
        for _ in 0..polls {
            finished = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await;
            if finished {
                break;
            }
        }
        finished
    };
    assert_eq!(pipeline.drained(Duration::from_secs(10)).await, 0);
    (counts, finished)
}

#[tokio::test]
async fn a_call_dropped_at_any_await_is_published_once_and_its_body_ends() {
    let mut codes = Vec::new();
    let mut polls = 1;
    loop {
        let (counts, finished) = drop_after(polls).await;
        let started = counts.bodies_started.load(Ordering::SeqCst);
        assert_eq!(started, counts.bodies_ended.load(Ordering::SeqCst), "after {polls} polls");
        let published = counts.published.lock().unwrap().clone();
        assert_eq!(published.len(), 1, "after {polls} polls");
        let expected = match (finished, started) {
            (true, _) => "ok",
            (false, 0) => "ABORTED_BEFORE_DISPATCH",
            (false, _) => "ABORTED",
        };
        assert_eq!(published[0], expected, "after {polls} polls");
        codes.extend(published);
        if finished {
            break;
        }
        polls += 1;
    }
    codes.dedup();
    assert_eq!(codes, ["ABORTED_BEFORE_DISPATCH", "ABORTED", "ok"]);
    assert!(polls > 15, "every await was tried: {polls}");
}

#[tokio::test]
async fn a_call_that_was_never_polled_does_nothing() {
    let (counts, _) = drop_after(0).await;
    assert!(counts.published.lock().unwrap().is_empty());
}

/// Drops what it runs after a while and answers itself, as a time limit around `next.run()` does.
struct GivesUp;

impl Around for GivesUp {
    fn run<'a>(&'a self, _: &'a Call, mut next: Next<'a>) -> Reply<'a, Answer> {
        Reply::future(async move {
            match tokio::time::timeout(Duration::from_millis(5), next.run()).await {
                Ok(attempt) => Ok(attempt?.into()),
                Err(_) => Ok(Answer::failure(ToolError::coded("Gave", "GAVE_UP", "gave up"))),
            }
        })
    }
}

/// A tool that stops when it is told to, and takes its time about it.
fn stubborn(log: &Arc<Mutex<Vec<&'static str>>>) -> Definition {
    let open = Json::object([("type", Json::from("object"))]);
    let log = Arc::clone(log);
    Definition::new("t", "", &open, &Json::object::<&str>([]), move |invocation| {
        let log = Arc::clone(&log);
        async move {
            log.lock().unwrap().push("started");
            invocation.cancel().cancelled().await;
            log.lock().unwrap().push("told to stop");
            tokio::time::sleep(Duration::from_secs(1)).await;
            log.lock().unwrap().push("ended");
            Ok::<_, BodyError>(Json::Null)
        }
    })
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_wrapper_that_drops_its_next_does_not_abandon_the_body() {
    let log: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let registry = Registry::new();
    registry.register(None, stubborn(&log)).unwrap().keep();
    registry.around(Listen::as_id("gives-up"), GivesUp).keep();
    let pipeline = Pipeline::builder(registry).build();
    let (_source, cancel) = CancelSource::new();
    let start = tokio::time::Instant::now();
    let outcome = pipeline.execute(CallRequest::new("c", "t", Arguments::Text("".into()), cancel)).await;
    assert_eq!(outcome.code(), Some("GAVE_UP"));
    assert_eq!(start.elapsed(), Duration::from_millis(1_005));
    assert_eq!(*log.lock().unwrap(), ["started", "told to stop", "ended"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_waits_for_the_one_that_was_dropped() {
    struct TriesTwice;
    impl Around for TriesTwice {
        fn run<'a>(&'a self, _: &'a Call, mut next: Next<'a>) -> Reply<'a, Answer> {
            Reply::future(async move {
                for _ in 0..2 {
                    let _ = tokio::time::timeout(Duration::from_millis(5), next.run()).await;
                }
                Ok(Answer::failure(ToolError::new("twice")))
            })
        }
    }
    let log: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let registry = Registry::new();
    registry.register(None, stubborn(&log)).unwrap().keep();
    registry.around(Listen::as_id("twice"), TriesTwice).keep();
    let pipeline = Pipeline::builder(registry).build();
    let (_source, cancel) = CancelSource::new();
    let outcome = pipeline.execute(CallRequest::new("c", "t", Arguments::Text("".into()), cancel)).await;
    assert_eq!(outcome.failure().unwrap().error().message(), "twice");
    // The second run was dropped while it waited for the first body, so only one body ever started.
    assert_eq!(*log.lock().unwrap(), ["started", "told to stop", "ended"]);
}

#[test]
fn a_call_dropped_outside_a_runtime_is_drained_by_its_pipelines() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let counts = Arc::new(Counts::default());
    let pipeline = runtime.block_on(async { pipeline(&counts) });
    let (_source, cancel) = CancelSource::new();
    let mut call =
        Box::pin(pipeline.execute(CallRequest::new("c", "t", Arguments::Text("{}".into()), cancel)));
    runtime.block_on(poll_fn(|cx| {
        assert!(call.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    }));
    drop(call);
    assert_eq!(runtime.block_on(pipeline.drained(Duration::from_secs(10))), 0);
    assert_eq!(*counts.published.lock().unwrap(), ["ABORTED_BEFORE_DISPATCH"]);
}

#[tokio::test]
async fn stages_are_met_in_the_order_of_the_road() {
    let counts = Arc::new(Counts::default());
    let pipeline = pipeline(&counts);
    let met: Arc<Mutex<Vec<Stage>>> = Arc::default();
    let kept = Arc::clone(&met);
    let observer = observer_fn(move |call, _| {
        kept.lock().unwrap().extend(call.met().iter().map(|met| met.stage));
        Ok(())
    });
    pipeline.registry().observe(Listen::as_id("met"), observer).keep();
    let (_source, cancel) = CancelSource::new();
    pipeline.execute(CallRequest::new("c", "t", Arguments::Text("{}".into()), cancel)).await;
    let road =
        [Stage::Admit, Stage::PreExecute, Stage::Guards, Stage::Body, Stage::PostExecute, Stage::Result];
    assert_eq!(*met.lock().unwrap(), road);
}
