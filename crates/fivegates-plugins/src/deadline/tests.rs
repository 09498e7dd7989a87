use std::time::Duration;

use fivegates_core::call::{Arguments, Invocation};
use fivegates_core::cancel::{CancelReason, CancelSource};
use fivegates_core::content::Context;
use fivegates_core::error::ToolError;
use fivegates_core::gates::{Answer, Reply, observer_fn, post_fn};
use fivegates_core::json::Json;
use fivegates_core::registry::Listen;
use fivegates_core::tool::BodyError;
use tokio::time::{Instant, sleep};

use super::*;
use crate::testing::{Bench, show};

const TIMED_OUT: &str = "[TOOL_TIMEOUT] Error: tool call timed out after 20ms";

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A bench with the plugin as it is by default.
fn bench() -> Bench {
    let bench = Bench::new();
    mounted(&bench, Config::default());
    bench
}

fn mounted(bench: &Bench, config: Config) {
    mount(&bench.registry, config).unwrap().into_iter().for_each(Registration::keep);
}

fn done(text: &str) -> Result<Json, BodyError> {
    Ok(Json::from(text))
}

/// Waits for the signal and says why it fired.
async fn until_cancelled(invocation: Invocation) -> Result<Json, BodyError> {
    invocation.cancel().cancelled().await;
    done("stopped")
}

#[tokio::test(start_paused = true)]
async fn a_body_that_listens_is_stopped_at_its_deadline() {
    let bench = bench();
    let log = bench.log.clone();
    let body = move |invocation: Invocation| {
        let log = log.clone();
        async move {
            invocation.cancel().cancelled().await;
            log.push(format!("why:{}", invocation.cancel().reason().unwrap()));
            done("stopped")
        }
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    let log = bench.log.clone();
    let seen = post_fn(move |_, ending| {
        log.push(format!("post:{}", ending.code().unwrap()));
        None
    });
    let _post = bench.registry.post_execute(Listen::as_id("q"), seen);
    let log = bench.log.clone();
    let author = observer_fn(move |call, _| {
        let met = call.met().into_iter().find(|met| met.verdict == "answered").unwrap();
        log.push(format!("by:{} {}", met.by.unwrap(), met.code.unwrap()));
        Ok(())
    });
    let _observer = bench.registry.observe(Listen::as_id("o"), author);
    let start = Instant::now();
    let outcome = bench.call("echo").await;
    assert_eq!(show(&outcome), TIMED_OUT);
    assert_eq!(outcome.failure().unwrap().error().name(), Some("ToolTimeoutError"));
    assert_eq!(start.elapsed(), ms(20));
    let expected = ["body:echo", "why:deadline of 20 ms", "post:TOOL_TIMEOUT", "by:deadline TOOL_TIMEOUT"];
    assert_eq!(bench.log.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_in_time_keeps_its_result() {
    let bench = bench();
    let slow = bench.define("slow", |_| async {
        sleep(ms(19)).await;
        done("hi")
    });
    let fails = bench.define("fails", |_| async {
        sleep(ms(19)).await;
        Err(ToolError::coded("OwnError", "OWN", "own").into())
    });
    bench.add(slow.with_timeout_ms(20)).add(fails.with_timeout_ms(20));
    assert_eq!(show(&bench.call("slow").await), "hi");
    assert_eq!(show(&bench.call("fails").await), "[OWN] Error: own");
}

#[tokio::test(start_paused = true)]
async fn what_settles_at_its_deadline_is_late() {
    let bench = bench();
    let body = |_| async {
        sleep(ms(20)).await;
        done("hi")
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    assert_eq!(show(&bench.call("echo").await), TIMED_OUT);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_listen_is_awaited_and_then_late() {
    let bench = bench();
    let body = |_| async {
        sleep(ms(60)).await;
        done("late")
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    let start = Instant::now();
    assert_eq!(show(&bench.call("echo").await), TIMED_OUT);
    assert_eq!(start.elapsed(), ms(60));
}

#[tokio::test(start_paused = true)]
async fn whoever_cancels_first_decides() {
    // The caller at 10 or 30 ms, the deadline at 20, the body settles at 40 whatever happens.
    for (caller_ms, expected) in [(10, "[ABORTED] Error: tool call aborted"), (30, TIMED_OUT)] {
        let bench = bench();
        let (source, cancel) = CancelSource::new();
        let body = move |_| {
            let source = source.clone();
            async move {
                sleep(ms(caller_ms)).await;
                source.fire(CancelReason::User);
                sleep(ms(40 - caller_ms)).await;
                done("x")
            }
        };
        bench.add(bench.define("echo", body).with_timeout_ms(20));
        let outcome = bench.pipeline.execute(bench.request("echo", "{}", cancel)).await;
        assert_eq!(show(&outcome), expected, "caller at {caller_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn another_wrappers_signal_that_fired_first_decides_too() {
    let bench = Bench::new();
    bench.around("other", |mut next| {
        let (source, signal) = CancelSource::new();
        next.add_signal(&signal);
        Reply::future(async move {
            let (attempt, ()) = tokio::join!(next.run(), async {
                sleep(ms(10)).await;
                source.fire(CancelReason::Other("other".into()));
            });
            attempt.map(Answer::from)
        })
    });
    mounted(&bench, Config::default());
    let body = |_| async {
        sleep(ms(40)).await;
        done("x")
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    assert_eq!(show(&bench.call("echo").await), "[ABORTED] Error: tool call aborted");
}

#[tokio::test(start_paused = true)]
async fn deferred_contexts_survive() {
    let bench = bench();
    let body = |invocation: Invocation| async move {
        invocation.defer_context(Context::text("test", "d"));
        until_cancelled(invocation).await
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    assert_eq!(show(&bench.call("echo").await), format!("{TIMED_OUT} +d"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_its_own_failure_before_the_deadline_and_late_after_it() {
    for (panic_ms, expected) in [(10, "[-] Error: tool \"echo\" panicked: boom"), (30, TIMED_OUT)] {
        let bench = bench();
        let body = move |_| async move {
            sleep(ms(panic_ms)).await;
            panic!("boom")
        };
        bench.add(bench.define("echo", body).with_timeout_ms(20));
        assert_eq!(show(&bench.call("echo").await), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_a_wrapper_further_in_stands() {
    let bench = bench();
    bench.around("broken", |mut next| {
        Reply::future(async move {
            next.run().await?;
            Err(ToolError::new("wrapper failed").into())
        })
    });
    bench.add(bench.define("echo", until_cancelled).with_timeout_ms(20));
    assert_eq!(show(&bench.call("echo").await), "[-] Error: wrapper failed");
}

#[tokio::test(start_paused = true)]
async fn deadlines_come_from_the_tool_the_default_and_the_maximum() {
    let none = (None, None);
    let cases = [
        (none, None, "slow"),
        (none, Some(u64::MAX), "slow"),
        ((None, Some(50)), None, "slow"),
        ((None, Some(50)), Some(80), "timed out after 50ms"),
        ((Some(30), None), None, "timed out after 30ms"),
        ((Some(30), None), Some(10), "timed out after 10ms"),
        ((Some(30), None), Some(60), "timed out after 60ms"),
        ((Some(30), Some(40)), Some(60), "timed out after 40ms"),
    ];
    for ((default_ms, max_ms), declared, expected) in cases {
        let bench = Bench::new();
        mounted(&bench, Config { default_ms, max_ms });
        let slow = bench.define("slow", |_| async {
            sleep(ms(1_000)).await;
            done("slow")
        });
        bench.add(match declared {
            Some(timeout_ms) => slow.with_timeout_ms(timeout_ms),
            None => slow,
        });
        let shown = show(&bench.call("slow").await);
        assert!(shown.ends_with(expected), "{default_ms:?} {max_ms:?} {declared:?}: {shown}");
        assert_eq!(show(&bench.call("nope").await), "[UNKNOWN_TOOL] Error: unknown tool \"nope\"");
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_plugin_nothing_is_timed() {
    let bench = Bench::new();
    let body = |_| async {
        sleep(ms(30)).await;
        done("hi")
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    let mounted = mount(&bench.registry, Config::default()).unwrap();
    assert_eq!(show(&bench.call("echo").await), TIMED_OUT);
    drop(mounted);
    assert_eq!(show(&bench.call("echo").await), "hi");
}

/// Runs the rest up to three times while it fails.
fn mount_retry(bench: &Bench) {
    bench.around("retry", |mut next| {
        Reply::future(async move {
            for _ in 0..2 {
                let attempt = next.run().await?;
                if !attempt.ending().is_error() {
                    return Ok(attempt.into());
                }
            }
            next.run().await.map(Answer::from)
        })
    });
}

/// Waits 15 ms and fails, three times; then it would succeed.
fn flaky(bench: &Bench, timeout_ms: u64) {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let body = move |_| {
        let tries = tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move {
            sleep(ms(15)).await;
            if tries < 2 { Err(ToolError::new("again").into()) } else { done("third") }
        }
    };
    bench.add(bench.define("flaky", body).with_timeout_ms(timeout_ms));
}

#[tokio::test(start_paused = true)]
async fn inside_a_retry_each_attempt_has_the_whole_deadline() {
    let bench = Bench::new();
    mount_retry(&bench);
    mounted(&bench, Config::default());
    flaky(&bench, 20);
    assert_eq!(show(&bench.call("flaky").await), "third");
    let late = bench.define("late", until_cancelled).with_timeout_ms(20);
    bench.add(late);
    let start = Instant::now();
    assert_eq!(show(&bench.call("late").await), TIMED_OUT);
    assert_eq!(start.elapsed(), ms(60));
}

#[tokio::test(start_paused = true)]
async fn outside_a_retry_all_attempts_share_the_deadline() {
    let bench = bench();
    mount_retry(&bench);
    flaky(&bench, 20);
    let start = Instant::now();
    assert_eq!(show(&bench.call("flaky").await), TIMED_OUT);
    // The second attempt is awaited; the third is not started under a signal that has fired.
    assert_eq!(start.elapsed(), ms(30));
    assert_eq!(bench.log.take(), ["body:flaky", "body:flaky"]);
}

#[tokio::test(start_paused = true)]
async fn nested_calls_have_deadlines_of_their_own_and_stop_with_the_outer_one() {
    for (outer_ms, inner_ms, expected, inner) in [
        (50, 20, "inner said no", "[TOOL_TIMEOUT] Error: tool call timed out after 20ms"),
        (20, 50, TIMED_OUT, "[ABORTED] Error: tool call aborted"),
    ] {
        let bench = bench();
        bench.add(bench.define("inner", until_cancelled).with_timeout_ms(inner_ms));
        let (pipeline, log) = (bench.pipeline.clone(), bench.log.clone());
        let outer = bench.define("outer", move |invocation: Invocation| {
            let (pipeline, log) = (pipeline.clone(), log.clone());
            async move {
                let request = invocation.nested("n1", "inner", Arguments::Text("{}".into()));
                log.push(show(&pipeline.execute(request).await));
                done("inner said no")
            }
        });
        bench.add(outer.with_timeout_ms(outer_ms));
        assert_eq!(show(&bench.call("outer").await), expected);
        assert_eq!(bench.log.take(), ["body:outer", "body:inner", inner]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_not_late() {
    let bench = bench();
    // Settles at 60 ms, long after the drop at 10 and the deadline at 20.
    let body = |_| async {
        sleep(ms(60)).await;
        done("x")
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    let log = bench.log.clone();
    let seen = observer_fn(move |_, outcome| {
        log.push(show(outcome));
        Ok(())
    });
    let _observer = bench.registry.observe(Listen::as_id("o"), seen);
    let call = bench.pipeline.execute(bench.request("echo", "{}", CancelSource::new().1));
    assert!(tokio::time::timeout(ms(10), call).await.is_err());
    assert_eq!(bench.pipeline.drained(ms(1_000)).await, 0);
    assert_eq!(bench.log.take(), ["body:echo", "[ABORTED] Error: tool call aborted"]);
}

#[tokio::test(start_paused = true)]
async fn a_wrapper_around_it_may_drop_it() {
    let bench = Bench::new();
    bench.around("impatient", |mut next| {
        Reply::future(async move {
            match tokio::time::timeout(ms(5), next.run()).await {
                Ok(attempt) => attempt.map(Answer::from),
                Err(_) => Ok(Answer::failure(ToolError::new("impatient"))),
            }
        })
    });
    mounted(&bench, Config::default());
    let log = bench.log.clone();
    let body = move |invocation: Invocation| {
        let log = log.clone();
        async move {
            invocation.cancel().cancelled().await;
            log.push(format!("why:{}", invocation.cancel().reason().unwrap()));
            done("x")
        }
    };
    bench.add(bench.define("echo", body).with_timeout_ms(20));
    let start = Instant::now();
    assert_eq!(show(&bench.call("echo").await), "[-] Error: impatient");
    assert_eq!(bench.log.take(), ["body:echo", "why:disposed"]);
    assert_eq!(start.elapsed(), ms(5));
}

/// A runtime without a clock panics when a timer is armed, which shows whether one was.
#[test]
fn a_body_that_is_ready_costs_no_timer() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let bench = bench();
        bench.add(bench.define("ready", |_| async { done("hi") }).with_timeout_ms(20));
        let pending = |_| async {
            tokio::task::yield_now().await;
            done("hi")
        };
        bench.add(bench.define("pending", pending).with_timeout_ms(20));
        assert_eq!(show(&bench.call("ready").await), "hi");
        assert!(show(&bench.call("pending").await).contains("\"deadline\" panicked"));
    });
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let refused = |default_ms, max_ms| {
        let registry = Registry::new();
        mount(&registry, Config { default_ms, max_ms }).unwrap_err().to_string()
    };
    assert!(refused(Some(0), None).starts_with("`default_ms` is 0 ms"));
    assert!(refused(None, Some(0)).starts_with("`max_ms` is 0 ms"));
    assert!(refused(Some(2), Some(1)).contains("(2) is longer than `max_ms` (1)"));
    let unknown = serde_json::from_str::<Config>(r#"{"default":1}"#).unwrap_err().to_string();
    assert!(unknown.contains("unknown field `default`"), "{unknown}");
    let read: Config = serde_json::from_str(r#"{"default_ms":1}"#).unwrap();
    assert_eq!(read, Config { default_ms: Some(1), max_ms: None });
}
