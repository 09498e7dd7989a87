use std::sync::Mutex;

use super::*;
use crate::call::{Arguments, Call};
use crate::cancel::CancelReason;
use crate::json::Json;
use crate::ports::{CallEntry, GateVerdict, OutcomeEntry, PortFuture};
use crate::registry::Registry;
use crate::tool::{BodyError, Definition, Effects};

/// Writes down what is recorded; fails from a given entry on.
#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    fails_at: Option<&'static str>,
}

impl Notes {
    fn add(&self, line: String) -> PortFuture<'_, Result<(), RecordError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if self.fails_at == Some(line.as_str()) {
                return Err(RecordError("disk full".to_owned()));
            }
            self.lines.lock().unwrap().push(line);
            Ok(())
        })
    }
}

impl Record for Notes {
    fn call<'a>(&'a self, entry: &'a CallEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        self.add(format!("call {}", entry.id))
    }
    fn decision<'a>(
        &'a self,
        _: &'a Call,
        _: GateVerdict,
        _: &'a [Met],
    ) -> PortFuture<'a, Result<(), RecordError>> {
        Box::pin(async { Ok(()) })
    }
    fn intent<'a>(&'a self, call: &'a Call) -> PortFuture<'a, Result<(), RecordError>> {
        self.add(format!("intent {}", call.id()))
    }
    fn outcome<'a>(&'a self, entry: &'a OutcomeEntry<'a>) -> PortFuture<'a, Result<(), RecordError>> {
        self.add(format!("result {} {}", entry.id, entry.outcome.code().unwrap_or("ok")))
    }
}

/// A registry with `safe` (overlaps, waits as many milliseconds as its argument says) and `alone`.
fn registry() -> Registry {
    let registry = Registry::new();
    let open = crate::json::parse(r#"{"type":"object"}"#).unwrap();
    let any = Json::object::<&str>([]);
    for name in ["safe", "alone"] {
        let tool = Definition::new(name, "", &open, &any, |invocation| async move {
            let wait = invocation.arguments().get("ms").and_then(Json::as_number).and_then(|n| n.as_u64());
            let sleep = tokio::time::sleep(std::time::Duration::from_millis(wait.unwrap_or(0)));
            tokio::select! {
                () = sleep => Ok::<_, BodyError>(Json::from("done")),
                () = invocation.cancel().cancelled() => Err("stopped".into()),
            }
        });
        let tool = tool.unwrap().with_parallel(move |_| name == "safe").with_effects(|_| Effects::READ_ONLY);
        registry.register(None, tool).unwrap().keep();
    }
    registry
}

struct Setup {
    scheduler: Scheduler,
    notes: Arc<Notes>,
    source: CancelSource,
    cancel: Cancel,
}

fn setup(fails_at: Option<&'static str>) -> Setup {
    let notes = Arc::new(Notes { fails_at, ..Notes::default() });
    let pipeline = Pipeline::builder(registry()).build();
    let scheduler = Scheduler::new(pipeline, Arc::clone(&notes) as Arc<dyn Record>);
    let (source, cancel) = CancelSource::new();
    Setup { scheduler, notes, source, cancel }
}

impl Setup {
    fn calls(&self, calls: &[(&str, &str, u64)]) -> Vec<CallRequest<'static>> {
        let request = |(id, name, ms): &(&str, &str, u64)| {
            let arguments = Arguments::Text(format!("{{\"ms\":{ms}}}").into());
            CallRequest::new(*id, *name, arguments, self.cancel.clone())
        };
        calls.iter().map(request).collect()
    }

    fn check(&self, expected: &[&str]) {
        assert_eq!(*self.notes.lines.lock().unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn safe_calls_overlap_and_commit_in_order() {
    let setup = setup(None);
    let start = tokio::time::Instant::now();
    let calls = setup.calls(&[("a", "safe", 30), ("b", "safe", 10), ("c", "safe", 20)]);
    let report = setup.scheduler.run(calls, &setup.cancel).await;
    assert_eq!(start.elapsed().as_millis(), 30);
    setup.check(&["call a", "call b", "call c", "result a ok", "result b ok", "result c ok"]);
    assert!(report.failure.is_none() && !report.aborted);
    let ids: Vec<_> = report.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_cap_alternates_starts_with_commits() {
    let setup = setup(None);
    let scheduler = setup.scheduler.clone().with_parallel_max(NonZeroUsize::new(2).unwrap());
    let calls = setup.calls(&[("a", "safe", 10), ("b", "safe", 10), ("c", "safe", 10)]);
    scheduler.run(calls, &setup.cancel).await;
    setup.check(&["call a", "call b", "result a ok", "call c", "result b ok", "result c ok"]);
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_call_is_a_barrier() {
    let setup = setup(None);
    let calls = setup.calls(&[("a", "safe", 10), ("b", "alone", 10), ("c", "safe", 10), ("d", "alone", 0)]);
    setup.scheduler.run(calls, &setup.cancel).await;
    setup.check(&[
        "call a",
        "result a ok",
        "call b",
        "result b ok",
        "call c",
        "result c ok",
        "call d",
        "result d ok",
    ]);
}

#[tokio::test(start_paused = true)]
async fn cancelling_drains_and_closes_every_call() {
    let setup = setup(None);
    let calls = setup.calls(&[("a", "safe", 50), ("b", "alone", 10), ("b", "alone", 10), ("c", "safe", 0)]);
    let batch = setup.scheduler.run(calls, &setup.cancel);
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        setup.source.fire(CancelReason::User);
    };
    let (report, ()) = tokio::join!(batch, stop);
    setup.check(&[
        "call a",
        "result a ok",
        "call b",
        "result b ABORTED_BEFORE_DISPATCH",
        "call b",
        "result b DUPLICATE_CALL_ID",
        "call c",
        "result c ABORTED_BEFORE_DISPATCH",
    ]);
    assert!(report.aborted);
    assert_eq!(report.calls[0].outcome.failure().unwrap().error().message(), "stopped");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_id_never_runs() {
    let setup = setup(None);
    let calls = setup.calls(&[("a", "safe", 0), ("a", "safe", 0), ("b", "safe", 0)]);
    let report = setup.scheduler.run(calls, &setup.cancel).await;
    let failure = report.calls[1].outcome.failure().unwrap();
    assert_eq!(failure.error().message(), "duplicate tool call id \"a\" in one model message");
    assert!(!report.calls[0].outcome.is_error() && !report.calls[2].outcome.is_error());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_does_not_run() {
    let setup = setup(Some("call b"));
    let calls = setup.calls(&[("a", "safe", 10), ("b", "safe", 0), ("c", "safe", 0)]);
    let report = setup.scheduler.run(calls, &setup.cancel).await;
    setup.check(&["call a", "result a ok"]);
    assert_eq!(report.failure, Some(RecordError("disk full".to_owned())));
    let codes: Vec<_> = report.calls.iter().map(|call| call.outcome.code()).collect();
    assert_eq!(codes, [None, Some("RECORD_FAILED"), Some("RECORD_FAILED")]);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_not_on_record_is_withheld() {
    let setup = setup(Some("result a ok"));
    let calls = setup.calls(&[("a", "safe", 0), ("b", "alone", 0)]);
    let report = setup.scheduler.run(calls, &setup.cancel).await;
    setup.check(&["call a"]);
    assert_eq!(report.failure, Some(RecordError("disk full".to_owned())));
    let told: Vec<_> =
        report.calls.iter().map(|call| (call.outcome.code(), call.outcome.is_error())).collect();
    assert_eq!(told, [(Some("RECORD_FAILED"), true); 2]);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_name_is_refused() {
    let setup = setup(None);
    let calls = setup.calls(&[("", "safe", 0), ("a", "", 0)]);
    let report = setup.scheduler.run(calls, &setup.cancel).await;
    let codes: Vec<_> = report.calls.iter().map(|call| call.outcome.code()).collect();
    assert_eq!(codes, [Some("INVALID_CALL"); 2]);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_batch_cancels_and_still_records() {
    let setup = setup(None);
    let calls = setup.calls(&[("a", "safe", 1_000), ("b", "alone", 0)]);
    let batch = setup.scheduler.run(calls, &setup.cancel);
    let timed = tokio::time::timeout(std::time::Duration::from_millis(5), batch).await;
    assert!(timed.is_err());
    assert_eq!(setup.scheduler.pipeline().drained(std::time::Duration::from_secs(9)).await, 0);
    setup.check(&["call a", "result a ok", "call b", "result b ABORTED_BEFORE_DISPATCH"]);
}

#[tokio::test(start_paused = true)]
async fn an_intent_that_cannot_be_recorded_does_not_run() {
    for (fails_at, expected) in [(None, "ran"), (Some("intent a"), "RECORD_FAILED")] {
        let setup = setup(fails_at);
        let open = crate::json::parse(r#"{"type":"object"}"#).unwrap();
        let acts = Definition::new("acts", "", &open, &Json::object::<&str>([]), |_| async {
            Ok::<_, BodyError>(Json::from("ran"))
        });
        setup.scheduler.pipeline().registry().register(None, acts.unwrap()).unwrap().keep();
        let report = setup.scheduler.run(setup.calls(&[("a", "acts", 0)]), &setup.cancel).await;
        let outcome = &report.calls[0].outcome;
        let ended = outcome.success().and_then(|success| success.value().as_str()).or(outcome.code());
        assert_eq!(ended, Some(expected));
        assert_eq!(report.failure.is_some(), fails_at.is_some());
        let intent = ["call a", "intent a", "result a ok"];
        setup.check(if fails_at.is_none() { &intent } else { &["call a", "result a RECORD_FAILED"] });
    }
}
