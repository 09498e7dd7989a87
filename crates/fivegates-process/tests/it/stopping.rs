//! Deadlines, cancellations and survivors: a call ends when it says, and nothing of its group outlives it.

use std::future::{pending, ready};
use std::time::{Duration, Instant};

use crate::common::{LONG, bash, eventually, is_live, run, spec, stdout};
use fivegates_process::{Certainty, Finished, Runner, Signal, Spec};

const SHORT: Duration = Duration::from_millis(300);

fn pids(finished: &Finished) -> Vec<u32> {
    stdout(finished).split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Cancels once the program has written something.
async fn abort_when_ready(spec: Spec) -> Finished {
    let (seen, shown) = tokio::sync::oneshot::channel();
    let mut seen = Some(seen);
    let observe = |_, _: &[u8]| {
        seen.take().map(|seen| seen.send(()));
    };
    let cancel = async { shown.await.unwrap() };
    Runner::new().unwrap().run_observed(spec, cancel, observe).await.unwrap()
}

#[tokio::test]
async fn a_deadline_ends_it_with_term() {
    let finished = run(bash("exec sleep 1000").timeout(SHORT)).await;
    assert_eq!((finished.exit_code, finished.signal), (None, Some(Signal::new(15))));
    assert_eq!((finished.timed_out, finished.aborted, finished.killed), (true, false, false));
    assert_eq!(finished.certainty, Certainty::GroupGone);
    assert!(finished.wall_time >= SHORT && finished.wall_time < LONG);
}

#[tokio::test]
async fn a_deadline_is_told_even_if_the_program_then_exits_with_zero() {
    let finished =
        run(bash("trap 'exit 0' TERM; while :; do sleep 0.05; done").timeout(SHORT).grace(LONG)).await;
    assert_eq!((finished.exit_code, finished.timed_out, finished.killed), (Some(0), true, false));
    assert!(!finished.is_success());
}

#[tokio::test]
async fn a_tree_that_ignores_term_is_killed() {
    let script = r#"trap "" TERM; sleep 1000 & echo $$ $!; wait"#;
    let finished = abort_when_ready(bash(script).grace(SHORT)).await;
    assert_eq!((finished.aborted, finished.timed_out, finished.killed), (true, false, true));
    assert_eq!((finished.signal, finished.certainty), (Some(Signal::new(9)), Certainty::GroupGone));
    assert!(finished.wall_time >= SHORT);
    assert!(pids(&finished).iter().all(|pid| !is_live(*pid)), "somebody lives");
}

#[tokio::test]
async fn the_rest_of_the_group_gets_the_grace_too() {
    // The leader dies of TERM at once; its child takes a moment to tidy up, which the closed streams do not cut short.
    let dir = tempfile::tempdir().unwrap();
    let tidied = dir.path().join("tidied");
    let script = r#"
        (trap 'sleep 0.3; echo yes > "$OUT"; exit' TERM; exec >"$OUT.log" 2>&1; echo > "$OUT.ready"; while :; do sleep 0.05; done) &
        while [ ! -e "$OUT.ready" ]; do sleep 0.05; done
        echo ready; wait"#;
    let finished = abort_when_ready(bash(script).env("OUT", &tidied).grace(LONG)).await;
    assert_eq!((finished.signal, finished.killed), (Some(Signal::new(15)), false));
    assert_eq!(finished.certainty, Certainty::GroupGone);
    assert_eq!(std::fs::read_to_string(tidied).unwrap(), "yes\n");
}

#[tokio::test]
async fn a_member_that_ignores_term_is_killed_after_its_leader() {
    let script = r#"(trap "" TERM; echo $BASHPID; exec sleep 1000) & wait"#;
    let finished = abort_when_ready(bash(script).grace(SHORT)).await;
    assert_eq!((finished.signal, finished.killed), (Some(Signal::new(15)), true));
    assert_eq!(finished.certainty, Certainty::GroupGone);
    assert!(!is_live(pids(&finished)[0]));
}

#[tokio::test]
async fn background_members_die_with_their_leader() {
    for redirect in ["", ">/dev/null 2>&1"] {
        let finished = run(bash(&format!("sleep 1000 {redirect} & echo $!"))).await;
        assert_eq!((finished.exit_code, finished.killed), (Some(0), false));
        assert_eq!(finished.certainty, Certainty::GroupGone);
        assert!(finished.wall_time < LONG && !finished.stdout.held);
        assert!(!is_live(pids(&finished)[0]), "sleep {redirect} lives");
    }
}

#[tokio::test]
async fn a_helper_gets_a_moment_to_finish_the_output() {
    let finished = run(bash("echo hi > >(sleep 0.2; cat)").drain(LONG)).await;
    assert_eq!((stdout(&finished), finished.exit_code), ("hi\n", Some(0)));
}

#[tokio::test]
async fn a_descendant_in_its_own_session_cannot_pin_the_call() {
    let finished = run(bash("setsid sleep 60 & echo hi; echo $! >&2")).await;
    assert_eq!((stdout(&finished), finished.exit_code), ("hi\n", Some(0)));
    assert!(finished.wall_time < Duration::from_secs(15), "took {:?}", finished.wall_time);
    // `setsid` may have been killed before it left the group; if it was not, that is told.
    let escaped = is_live(str::from_utf8(&finished.stderr.bytes).unwrap().trim().parse().unwrap());
    assert_eq!(finished.certainty == Certainty::SurvivorsPossible, escaped);
    assert_eq!(finished.stdout.held, escaped);
}

#[tokio::test]
async fn an_escaped_writer_is_left_behind_and_told() {
    // The handshake: the leader goes on only when its child is in its own session.
    let script = r#"setsid bash -c 'echo $$ >&2; kill -USR1 '$$'; exec timeout 20 yes' & trap 'exit 0' USR1; wait; wait"#;
    let finished = run(bash(script).output_bytes_max(100)).await;
    assert_eq!((finished.exit_code, finished.certainty), (Some(0), Certainty::SurvivorsPossible));
    assert!(finished.stdout.held && finished.wall_time < Duration::from_secs(15));
    let escaped: i32 = str::from_utf8(&finished.stderr.bytes).unwrap().trim().parse().unwrap();
    // Its stream is closed now, so that it ends by SIGPIPE.
    eventually("the writer has ended", || !is_live(escaped.unsigned_abs())).await;
}

#[tokio::test]
async fn a_flood_of_output_delays_no_deadline() {
    for flavour in ["yes", "yes >&2", "yes & yes >&2"] {
        let finished = run(bash(flavour).timeout(Duration::from_secs(1)).grace(SHORT)).await;
        assert!(finished.timed_out, "{flavour}");
        assert!(finished.wall_time < Duration::from_secs(15), "{flavour}: {:?}", finished.wall_time);
        assert!(finished.stdout.total_bytes + finished.stderr.total_bytes > 1_000_000, "{flavour}");
        assert!(finished.stdout.bytes.len() <= 64_000 && finished.stderr.bytes.len() <= 64_000);
        assert_eq!(finished.certainty, Certainty::GroupGone, "{flavour}");
    }
}

#[tokio::test]
async fn a_flood_of_output_delays_no_cancellation() {
    let finished = abort_when_ready(bash("yes")).await;
    assert_eq!((finished.aborted, finished.timed_out), (true, false));
}

#[tokio::test]
async fn a_stopped_program_is_stopped_too() {
    let finished = run(bash("kill -STOP $$").timeout(SHORT).grace(SHORT)).await;
    assert_eq!((finished.timed_out, finished.killed, finished.signal), (true, true, Some(Signal::new(9))));
}

#[tokio::test]
async fn no_deadline_means_the_cancellation_alone() {
    let finished = abort_when_ready(bash("echo; exec sleep 1000").timeout(None)).await;
    assert!(finished.aborted && !finished.timed_out);
}

#[tokio::test]
async fn cancelled_beforehand_nothing_starts() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let error =
        Runner::new().unwrap().run(bash("> \"$MARK\"").env("MARK", &mark), ready(())).await.unwrap_err();
    assert_eq!(error.code(), "ABORTED_BEFORE_SPAWN");
    assert!(!mark.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_during_the_start_is_one_or_the_other() {
    let runner = Runner::new().unwrap();
    for round in 0..60u32 {
        let delay = Duration::from_micros(u64::from(round) * 100);
        let begun = Instant::now();
        match runner.run(bash("exec sleep 1000"), tokio::time::sleep(delay)).await {
            Ok(finished) => assert!(finished.aborted && finished.certainty == Certainty::GroupGone),
            Err(error) => assert_eq!(error.code(), "ABORTED_BEFORE_SPAWN"),
        }
        assert!(begun.elapsed() < LONG);
    }
}

#[tokio::test]
async fn more_programs_than_the_queue_holds_all_run() {
    let runner = Runner::new().unwrap();
    let runs: Vec<_> = (0..100)
        .map(|n| {
            let runner = runner.clone();
            tokio::spawn(async move { runner.run(spec("echo").arg(n.to_string()), pending()).await })
        })
        .collect();
    for (n, run) in runs.into_iter().enumerate() {
        assert_eq!(stdout(&run.await.unwrap().unwrap()), format!("{n}\n"));
    }
}

/// A program in a frozen control group acts on no signal, as one that is stuck in the system does.
#[tokio::test]
async fn a_stuck_program_is_answered_for_and_reaped_later() {
    let cgroup =
        std::path::PathBuf::from(format!("/sys/fs/cgroup/freezer/fivegates-test-{}", std::process::id()));
    if std::fs::create_dir(&cgroup).is_err() {
        println!("skipped: no freezer control group that this user may use");
        return;
    }
    let state = cgroup.join("freezer.state");
    let (frozen, cancelled) = tokio::sync::oneshot::channel();
    let mut frozen = Some(frozen);
    let observe = |_, _: &[u8]| {
        std::fs::write(&state, "FROZEN").unwrap();
        frozen.take().map(|frozen| frozen.send(()));
    };
    let script = bash(r#"echo $$ > "$CGROUP/cgroup.procs"; echo $$; while :; do sleep 0.01; done"#);
    let script = script.env("CGROUP", &cgroup).grace(SHORT);
    let cancel = async { cancelled.await.unwrap() };
    let runner = Runner::new().unwrap();
    let finished = runner.run_observed(script, cancel, observe).await.unwrap();
    let pid = pids(&finished)[0];
    let stuck = is_live(pid);
    std::fs::write(&state, "THAWED").unwrap();
    eventually("it was reaped", || !crate::common::exists(pid)).await;
    eventually("the control group is empty", || std::fs::remove_dir(&cgroup).is_ok()).await;
    assert!(stuck, "the freezer held it");
    assert_eq!((finished.exit_code, finished.signal), (None, None));
    assert_eq!((finished.aborted, finished.killed), (true, true));
    assert_eq!(finished.certainty, Certainty::Unconfirmed);
    assert!(finished.wall_time < LONG);
}
