//! Nothing is left behind: no process, no zombie, no descriptor, however a run ends. It counts for a whole process, so
//! it runs in one of its own.

use std::future::pending;
use std::time::Duration;

use crate::common::{
    LONG, bash, children, embedder, eventually, exists, is_embedded, is_live, open_descriptors, run, spec,
    stdout,
};
use fivegates_process::{Runner, Spec};
use tokio::sync::mpsc;

/// Runs until the first output, which is the id of a process of the tree, and then drops the run.
async fn drop_when_ready(runner: &Runner, spec: Spec) -> Vec<u32> {
    let (seen, mut shown) = mpsc::unbounded_channel();
    let observe = |_, chunk: &[u8]| seen.send(chunk.to_vec()).unwrap();
    tokio::select! {
        _ = runner.run_observed(spec, pending(), observe) => panic!("it ended by itself"),
        ids = shown.recv() => parse(&ids.unwrap()),
    }
}

fn parse(ids: &[u8]) -> Vec<u32> {
    str::from_utf8(ids).unwrap().split_whitespace().map(|id| id.parse().unwrap()).collect()
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let finished = run(embedder("leaks::leaves_nothing_behind").timeout(LONG * 4)).await;
    assert_eq!(finished.exit_code, Some(0), "{}", finished.stderr.text().text);
    assert!(stdout(&finished).contains("1 passed"), "{}", stdout(&finished));
}

/// The process of its own of nothing_is_left_behind.
#[tokio::test]
async fn leaves_nothing_behind() {
    if !is_embedded() {
        return;
    }
    let runner = Runner::new().unwrap();
    runner.run(spec("true"), pending()).await.unwrap();
    let descriptors = open_descriptors();

    many_quick_runs(&runner).await;
    failures_to_start(&runner).await;
    stopped_runs(&runner).await;
    a_dropped_run(&runner).await;
    dropped_during_the_start(&runner).await;
    eventually("no child is left", || children().is_empty()).await;
    eventually("no descriptor is left", || open_descriptors() <= descriptors).await;

    std::thread::spawn(a_runtime_that_is_shut_down).join().unwrap();
    drop(runner);
    eventually("no child is left after the runtime", || children().is_empty()).await;
    eventually("no descriptor is left after the runtime", || open_descriptors() <= descriptors).await;
}

async fn many_quick_runs(runner: &Runner) {
    for _ in 0..200 {
        let finished = runner.run(bash("cat; echo x >&2").stdin("in"), pending()).await.unwrap();
        assert!(finished.is_success());
    }
    assert_eq!(children(), [], "each was reaped before its answer");
}

async fn failures_to_start(runner: &Runner) {
    for spec in [spec("no-such-program-x"), spec("true").arg("x".repeat(1_000_000))] {
        runner.run(spec, pending()).await.unwrap_err();
    }
    assert_eq!(children(), []);
}

async fn stopped_runs(runner: &Runner) {
    let timeout = Duration::from_millis(20);
    for script in
        ["exec sleep 1000", "trap '' TERM; sleep 1000; sleep 1000", "sleep 1000 & setsid sleep 2 & wait"]
    {
        let finished = runner.run(bash(script).timeout(timeout).grace(timeout), pending()).await.unwrap();
        assert!(finished.timed_out);
    }
    assert_eq!(children(), []);
}

async fn a_dropped_run(runner: &Runner) {
    let ids = drop_when_ready(runner, bash("trap '' TERM; sleep 1000 & echo $$ $!; wait")).await;
    assert_eq!(ids.len(), 2);
    eventually("the leader was reaped", || !exists(ids[0])).await;
    eventually("the rest of the group was killed", || !is_live(ids[1])).await;
}

async fn dropped_during_the_start(runner: &Runner) {
    for round in 0..100u64 {
        let run = runner.run(bash("exec sleep 1000"), pending());
        let _ = tokio::time::timeout(Duration::from_micros(round * 50), run).await;
    }
}

fn a_runtime_that_is_shut_down() {
    let runner = Runner::new().unwrap();
    let (seen, mut shown) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(async move {
        let observe = |_, chunk: &[u8]| seen.send(chunk.to_vec()).unwrap();
        runner.run_observed(bash("trap '' TERM; sleep 1000 & echo $$ $!; wait"), pending(), observe).await
    });
    let ids = parse(&shown.blocking_recv().unwrap());
    assert!(is_live(ids[0]) && is_live(ids[1]));
    drop(runtime);
    let checker = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    checker.block_on(eventually("the tree is gone", || !exists(ids[0]) && !is_live(ids[1])));
}
