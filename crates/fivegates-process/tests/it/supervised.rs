//! With a supervisor nothing leaves the tree: not by a session, not by a double fork, not by the death of anybody in between.

use std::future::pending;
use std::time::Duration;

use crate::common::{
    LONG, bash, children, embedder, eventually, exists, is_embedded, is_live, open_descriptors, run, spec,
    stdout,
};
use fivegates_process::{Certainty, Finished, Program, RunError, Runner, Signal, Spec};

const SHORT: Duration = Duration::from_millis(300);
/// Starts five grandchildren in sessions of their own with redirected streams, and prints their ids once they are there.
const FIVE_ESCAPE: &str = r#"
    for n in 1 2 3 4 5; do
        setsid bash -c 'trap "" TERM HUP; echo $$ > "$DIR/'$n'.new"; mv "$DIR/'$n'.new" "$DIR/'$n'"; exec sleep 1000' \
            </dev/null >/dev/null 2>&1 &
    done
    for n in 1 2 3 4 5; do while [ ! -e "$DIR/$n" ]; do sleep 0.02; done; cat "$DIR/$n"; done"#;

fn supervised() -> Runner {
    Runner::with_helper(env!("CARGO_BIN_EXE_fivegates-supervise")).unwrap()
}

async fn supervise(spec: Spec) -> Finished {
    supervised().run(spec, pending()).await.unwrap()
}

fn ids(finished: &Finished) -> Vec<u32> {
    stdout(finished).split_whitespace().map(|id| id.parse().unwrap()).collect()
}

fn check_gone(finished: &Finished, ids: &[u32]) {
    assert_eq!(finished.certainty, Certainty::TreeGone);
    let live: Vec<_> = ids.iter().filter(|id| is_live(**id)).collect();
    assert!(live.is_empty(), "{live:?} live");
}

#[tokio::test]
async fn the_outcome_is_that_of_the_program() {
    for (script, exit_code, signal) in [
        ("true", Some(0), None),
        ("exit 125", Some(125), None),
        ("kill -SEGV $$", None, Some(11)),
        ("exec >&- 2>&-; sleep 0.1; exit 4", Some(4), None),
    ] {
        let finished = supervise(bash(script)).await;
        assert_eq!((finished.exit_code, finished.signal), (exit_code, signal.map(Signal::new)), "{script}");
        assert_eq!(
            (finished.certainty, finished.survivors_killed),
            (Certainty::TreeGone, Some(0)),
            "{script}"
        );
    }
    let finished = supervise(bash("cat; pwd; env; echo err >&2").stdin("in\n").env_remove("PWD")).await;
    assert!(stdout(&finished).starts_with("in\n/\n"), "{}", stdout(&finished));
    assert_eq!(finished.stderr.bytes, b"err\n");
    assert!(!finished.stdout.held && !finished.stderr.held);
}

#[tokio::test]
async fn what_cannot_start_is_told_as_without_a_supervisor() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let no_dir = Spec::new(Program::new("true").unwrap(), "/no/such/dir");
    for (spec, code) in [
        (bash("").arg("x".repeat(1_000_000)), "ARGUMENT_LIST_TOO_LONG"),
        (bash("").args(vec!["x".repeat(100_000); 200]), "ARGUMENT_LIST_TOO_LONG"),
        (spec(script.to_str().unwrap()), "PROGRAM_NOT_EXECUTABLE"),
        (spec("no-such-program-x"), "PROGRAM_NOT_FOUND"),
        (no_dir, "BAD_WORKDIR"),
    ] {
        let error = supervised().run(spec, pending()).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

#[tokio::test]
async fn a_helper_that_is_none_is_refused_and_nothing_runs() {
    assert_eq!(Runner::with_helper("relative").unwrap_err().code(), "HELPER_FAILED");
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    for helper in ["/no/such/helper", "/bin/true", "/tmp"] {
        let spec = bash(": > \"$MARK\"").env("MARK", &mark);
        let error = Runner::with_helper(helper).unwrap().run(spec, pending()).await.unwrap_err();
        assert!(matches!(error, RunError::HelperFailed { .. }), "{helper}: {error}");
    }
    assert!(!mark.exists());
}

#[tokio::test]
async fn grandchildren_in_their_own_sessions_are_killed() {
    let dir = tempfile::tempdir().unwrap();
    let finished = supervise(bash(FIVE_ESCAPE).env("DIR", dir.path())).await;
    let ids = ids(&finished);
    assert_eq!((ids.len(), finished.exit_code, finished.survivors_killed), (5, Some(0), Some(5)));
    check_gone(&finished, &ids);
}

#[tokio::test]
async fn without_a_supervisor_they_escape() {
    // The counter-proof: were they not there, the test above would show nothing.
    let dir = tempfile::tempdir().unwrap();
    let finished = run(bash(FIVE_ESCAPE).env("DIR", dir.path())).await;
    let ids = ids(&finished);
    let live = ids.iter().filter(|id| is_live(**id)).count();
    for id in ids {
        let pid = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    assert_eq!((live, finished.survivors_killed), (5, None));
}

#[tokio::test]
async fn a_deadline_reaches_who_left_the_group() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!("trap '' TERM; {FIVE_ESCAPE}; while :; do sleep 1000; done");
    let spec = bash(&script).env("DIR", dir.path()).timeout(Duration::from_secs(2)).grace(SHORT);
    let finished = supervise(spec).await;
    assert_eq!((finished.timed_out, finished.killed), (true, true));
    assert_eq!(finished.signal, Some(Signal::new(9)));
    assert_eq!(ids(&finished).len(), 5);
    check_gone(&finished, &ids(&finished));
}

#[tokio::test]
async fn a_tree_that_obeys_term_is_not_killed() {
    // Also who has left the group is asked first.
    let script =
        r#"setsid bash -c 'trap "echo bye; exit" TERM; echo ready; while :; do sleep 0.02; done' & wait"#;
    let (seen, shown) = tokio::sync::oneshot::channel();
    let mut seen = Some(seen);
    let observe = |_, _: &[u8]| {
        seen.take().map(|seen| seen.send(()));
    };
    let cancel = async { shown.await.unwrap() };
    let finished = supervised().run_observed(bash(script).grace(LONG), cancel, observe).await.unwrap();
    assert_eq!((stdout(&finished), finished.killed), ("ready\nbye\n", false));
    assert_eq!((finished.signal, finished.survivors_killed), (Some(Signal::new(15)), Some(0)));
    check_gone(&finished, &[]);
}

#[tokio::test]
async fn daemons_are_killed() {
    // Twice forked, in a session of its own, its parents gone, no stream of ours.
    let script = r#"
        (setsid bash -c '(trap "" TERM; echo $BASHPID; exec sleep 1000 </dev/null >/dev/null 2>&1) & exit' &)
        sleep 0.5"#;
    let finished = supervise(bash(script)).await;
    let ids = ids(&finished);
    assert_eq!((ids.len(), finished.survivors_killed), (1, Some(1)));
    check_gone(&finished, &ids);
}

#[tokio::test]
async fn a_storm_of_forks_is_survived() {
    // Each starts another and ends, in four lines, at most 400 times each; then the storm is over by itself.
    let script = r#"
        storm() { [ "$1" -le 0 ] || setsid bash -c "$(declare -f storm); storm $(($1 - 1))" </dev/null >/dev/null 2>&1 & }
        for line in 1 2 3 4; do storm 400; done; echo ready"#;
    let finished = supervise(bash(script)).await;
    assert_eq!(finished.exit_code, Some(0), "{}", finished.stderr.text().text);
    check_gone(&finished, &[]);
}

#[tokio::test]
async fn a_killed_supervisor_takes_the_program_with_it() {
    // The input comes once the start was told.
    let spec = bash("echo $$; read -r; kill -KILL $PPID; exec sleep 1000").stdin("go\n");
    let finished = supervise(spec).await;
    assert!(
        matches!(finished.certainty, Certainty::Unconfirmed | Certainty::SurvivorsPossible),
        "{:?}",
        finished.certainty
    );
    assert!(finished.wall_time < Duration::from_secs(15) && finished.survivors_killed.is_none());
    let program = ids(&finished)[0];
    eventually("the program has ended", || !is_live(program)).await;
}

#[tokio::test]
async fn a_stopped_supervisor_is_woken() {
    let script =
        bash("echo $$; read -r; kill -STOP $PPID; exec sleep 1000").stdin("go\n").timeout(SHORT).grace(SHORT);
    let finished = supervise(script).await;
    assert!(finished.timed_out);
    check_gone(&finished, &ids(&finished));
}

#[tokio::test]
async fn a_killed_host_takes_the_tree_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let finished = run(embedder("supervised::is_killed_while_a_tree_runs").env("DIR", dir.path())).await;
    assert_eq!(finished.signal.map(|signal| signal.number()), Some(9), "{}", stdout(&finished));
    let id =
        |n: u32| std::fs::read_to_string(dir.path().join(n.to_string())).unwrap().trim().parse().unwrap();
    for id in (1..=5).map(id) {
        eventually("the tree of the killed embedder has ended", || !is_live(id)).await;
    }
}

/// The part of the embedder in a_killed_host_takes_the_tree_with_it.
#[tokio::test]
async fn is_killed_while_a_tree_runs() {
    if !is_embedded() {
        return;
    }
    let dir = std::env::var_os("DIR").unwrap();
    let mut lines = 0;
    let observe = |_, chunk: &[u8]| {
        lines += chunk.iter().filter(|byte| **byte == b'\n').count();
        if lines == 5 {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
    };
    let script = format!("{FIVE_ESCAPE}; exec sleep 1000");
    supervised().run_observed(bash(&script).env("DIR", dir), pending(), observe).await.unwrap();
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let spec = embedder("supervised::leaves_nothing_behind").timeout(LONG * 3);
    let finished = run(spec).await;
    assert_eq!(finished.exit_code, Some(0), "{}", finished.stderr.text().text);
    assert!(stdout(&finished).contains("1 passed"), "{}", stdout(&finished));
}

/// The process of its own of nothing_is_left_behind.
#[tokio::test]
async fn leaves_nothing_behind() {
    if !is_embedded() {
        return;
    }
    let runner = supervised();
    runner.run(spec("true"), pending()).await.unwrap();
    let descriptors = open_descriptors();
    let tick = Duration::from_millis(20);
    for round in 0..50u64 {
        let finished =
            runner.run(bash("cat; setsid sleep 1000 &").stdin("in").drain(tick), pending()).await.unwrap();
        assert_eq!((finished.exit_code, finished.certainty), (Some(0), Certainty::TreeGone));
        let slow = bash("trap '' TERM; setsid sleep 1000 & while :; do sleep 1000; done").grace(tick);
        let finished = runner.run(slow.clone().timeout(tick), pending()).await.unwrap();
        assert_eq!((finished.timed_out, finished.certainty), (true, Certainty::TreeGone));
        let finished = runner.run(slow, tokio::time::sleep(tick)).await;
        assert!(finished.is_err() || finished.unwrap().aborted);
        let dropped = runner.run(bash("setsid sleep 1000 & exec sleep 1000"), pending());
        let _ = tokio::time::timeout(Duration::from_millis(round), dropped).await;
    }
    eventually("no child is left", || children().is_empty()).await;
    eventually("no descriptor is left", || open_descriptors() <= descriptors).await;
}

#[tokio::test]
async fn a_dropped_run_takes_the_tree_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (seen, mut shown) = tokio::sync::mpsc::unbounded_channel();
    let observe = |_, chunk: &[u8]| seen.send(chunk.to_vec()).unwrap();
    let runner = supervised();
    let script = bash(&format!("{FIVE_ESCAPE}; exec sleep 1000")).env("DIR", dir.path());
    let five = async {
        let mut all = Vec::new();
        while all.iter().filter(|byte| **byte == b'\n').count() < 5 {
            all.extend(shown.recv().await.unwrap());
        }
        all
    };
    let all = tokio::select! {
        _ = runner.run_observed(script, pending(), observe) => panic!("it ended by itself"),
        all = five => all,
    };
    for id in str::from_utf8(&all).unwrap().split_whitespace() {
        let id = id.parse().unwrap();
        eventually("the dropped tree has ended", || !exists(id)).await;
    }
}
