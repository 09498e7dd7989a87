use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fivegates_core::call::{Arguments, Invocation};
use fivegates_core::cancel::{CancelReason, CancelSource};
use fivegates_core::error::ToolError;
use fivegates_core::gates::{Answer, Reply, guard_fn, observer_fn, post_fn};
use fivegates_core::json::Json;
use fivegates_core::ports::PortFuture;
use tokio::time::{Instant, sleep};

use super::*;
use crate::testing::{Bench, Log, request, show};

const ABORTED: &str = "[ABORTED_BEFORE_DISPATCH] Error: tool call aborted before dispatch";

/// What a fake flush does.
#[derive(Clone)]
enum Does {
    Succeed,
    Fail,
    Panic,
    Cancel(CancelSource),
    Take(u64),
}

struct Fake {
    log: Log,
    does: Does,
    done: AtomicU32,
}

impl Flush for Fake {
    fn flush(&self) -> PortFuture<'_, Result<(), ToolError>> {
        self.log.push("flush");
        Box::pin(async {
            match &self.does {
                Does::Succeed => {}
                Does::Fail => return Err(ToolError::coded("StoreError", "DISK_FULL", "disk full")),
                Does::Panic => panic!("disk on fire"),
                Does::Cancel(source) => source.fire(CancelReason::User),
                Does::Take(ms) => sleep(Duration::from_millis(*ms)).await,
            }
            self.done.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    }
}

/// A bench with the plugin, the tool `echo`, and a post listener that is logged.
fn bench(does: Does) -> (Bench, Arc<Fake>) {
    let bench = Bench::new();
    let fake = Arc::new(Fake { log: bench.log.clone(), does, done: AtomicU32::new(0) });
    let flush = Arc::clone(&fake) as Arc<dyn Flush>;
    mount(&bench.registry, Config::default(), flush).unwrap().into_iter().for_each(Registration::keep);
    bench.tool("echo", |_| async { Ok(Json::from("hi")) });
    let log = bench.log.clone();
    let post = post_fn(move |_, _| {
        log.push("post");
        None
    });
    bench.registry.post_execute(Listen::as_id("q"), post).keep();
    (bench, fake)
}

#[tokio::test(start_paused = true)]
async fn a_body_is_preceded_by_a_flush_that_is_done() {
    let (bench, fake) = bench(Does::Take(100));
    let seen = Arc::clone(&fake);
    let body = move |_| {
        let done = seen.done.load(Ordering::SeqCst);
        async move { Ok(Json::from(u64::from(done))) }
    };
    bench.tool("done", body);
    assert_eq!(show(&bench.call("done").await), "1");
    assert_eq!(bench.log.take(), ["flush", "body:done", "post"]);
}

#[tokio::test]
async fn nested_and_agentless_calls_do_not_flush() {
    let (bench, _) = bench(Does::Succeed);
    let pipeline = bench.pipeline.clone();
    bench.tool("outer", move |invocation: Invocation| {
        let pipeline = pipeline.clone();
        async move {
            let inner = invocation.nested("n1", "echo", Arguments::Text("{}".into()));
            Ok(Json::from(show(&pipeline.execute(inner).await)))
        }
    });
    assert_eq!(show(&bench.call("outer").await), "hi");
    assert_eq!(bench.log.take(), ["flush", "body:outer", "body:echo", "post", "post"]);
    let agentless = request(None, "echo", "{}", CancelSource::new().1);
    assert_eq!(show(&bench.pipeline.execute(agentless).await), "hi");
    assert_eq!(bench.log.take(), ["body:echo", "post"]);
}

#[tokio::test]
async fn denied_calls_do_not_flush_and_unknown_tools_do() {
    let (bench, _) = bench(Does::Succeed);
    assert_eq!(show(&bench.call("nope").await), "[UNKNOWN_TOOL] Error: unknown tool \"nope\"");
    assert_eq!(bench.log.take(), ["flush", "post"]);
    let no = guard_fn(|_| Some(fivegates_core::decision::Denial::new("no")));
    let _guard = bench.registry.guard(Listen::as_id("g"), no);
    assert_eq!(show(&bench.call("echo").await), "[-] Error: no");
    assert_eq!(bench.log.take(), ["post"]);
}

#[tokio::test]
async fn a_failed_flush_stops_the_effect_and_skips_post_execute() {
    let (bench, _) = bench(Does::Fail);
    assert_eq!(show(&bench.call("echo").await), "[DISK_FULL] Error: disk full");
    assert_eq!(bench.log.take(), ["flush"]);
}

#[tokio::test]
async fn a_flush_that_panics_stops_the_effect() {
    let (bench, _) = bench(Does::Panic);
    let expected = "[-] Error: tools/execute listener \"checkpoint\" panicked: disk on fire";
    assert_eq!(show(&bench.call("echo").await), expected);
    assert_eq!(bench.log.take(), ["flush"]);
}

#[tokio::test]
async fn an_abort_during_the_flush_ends_before_the_body() {
    let (source, cancel) = CancelSource::new();
    let (bench, _) = bench(Does::Cancel(source));
    let outcome = bench.pipeline.execute(bench.request("echo", "{}", cancel)).await;
    assert_eq!(show(&outcome), ABORTED);
    assert_eq!(bench.log.take(), ["flush", "post"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_does_not_wait_for_the_flush() {
    let (bench, _) = bench(Does::Take(20_000));
    let (source, cancel) = CancelSource::new();
    let start = Instant::now();
    let call = bench.pipeline.execute(bench.request("echo", "{}", cancel));
    let (outcome, ()) = tokio::join!(call, async {
        sleep(Duration::from_millis(10)).await;
        source.fire(CancelReason::User);
    });
    assert_eq!(show(&outcome), ABORTED);
    assert_eq!(start.elapsed(), Duration::from_millis(10));
    assert_eq!(bench.log.take(), ["flush", "post"]);
}

#[tokio::test(start_paused = true)]
async fn a_flush_that_never_ends_is_a_failed_one() {
    let (bench, fake) = bench(Does::Take(u64::MAX >> 20));
    let start = Instant::now();
    assert_eq!(
        show(&bench.call("echo").await),
        "[CHECKPOINT_TIMEOUT] Error: the record was not made durable within 30000ms, so tool \"echo\" did not run; \
         try again later"
    );
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    assert_eq!(bench.log.take(), ["flush"]);
    assert_eq!(fake.done.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_runs_no_body_after_its_flush() {
    let (bench, _) = bench(Does::Take(50));
    let log = bench.log.clone();
    let seen = observer_fn(move |_, outcome| {
        log.push(show(outcome));
        Ok(())
    });
    let _observer = bench.registry.observe(Listen::as_id("o"), seen);
    let call = bench.pipeline.execute(bench.request("echo", "{}", CancelSource::new().1));
    assert!(tokio::time::timeout(Duration::from_millis(10), call).await.is_err());
    assert_eq!(bench.pipeline.drained(Duration::from_secs(1)).await, 0);
    assert_eq!(bench.log.take(), ["flush", "post", ABORTED]);
}

#[tokio::test]
async fn inside_a_retry_each_attempt_is_preceded_by_a_flush() {
    let bench = Bench::new();
    bench.around("retry", |mut next| {
        Reply::future(async move {
            next.run().await?;
            next.run().await.map(Answer::from)
        })
    });
    let fake = Fake { log: bench.log.clone(), does: Does::Succeed, done: AtomicU32::new(0) };
    let _mounted = mount(&bench.registry, Config::default(), Arc::new(fake)).unwrap();
    bench.tool("echo", |_| async { Ok(Json::from("hi")) });
    assert_eq!(show(&bench.call("echo").await), "hi");
    assert_eq!(bench.log.take(), ["flush", "body:echo", "flush", "body:echo"]);
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let (bench, fake) = bench(Does::Succeed);
    let error = mount(&bench.registry, Config { flush_ms_max: 0 }, fake).unwrap_err();
    assert_eq!(error.to_string(), "`flush_ms_max` is 0 ms, so no flush could ever finish; give at least 1");
    let read: Config = serde_json::from_str("{}").unwrap();
    assert_eq!(read, Config::default());
    assert!(serde_json::from_str::<Config>(r#"{"flush_ms":1}"#).is_err());
}
