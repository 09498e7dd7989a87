//! What the tests of the runner share: short scripts, handshakes and looks at `/proc`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fivegates_process::{Finished, Program, RunError, Runner, Spec};

/// Far beyond what anything here takes, also on a loaded machine; far below what a hanging call would.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn spec(program: &str) -> Spec {
    Spec::new(Program::new(program).unwrap(), "/").timeout(LONG)
}

pub(crate) fn bash(script: &str) -> Spec {
    spec("bash").args(["-c", script])
}

pub(crate) async fn run(spec: Spec) -> Finished {
    try_run(spec).await.unwrap()
}

pub(crate) async fn try_run(spec: Spec) -> Result<Finished, RunError> {
    Runner::new().unwrap().run(spec, std::future::pending()).await
}

pub(crate) fn stdout(finished: &Finished) -> &str {
    str::from_utf8(&finished.stdout.bytes).unwrap()
}

/// Whether the process exists and is not a zombie.
pub(crate) fn is_live(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

pub(crate) fn exists(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// The children of this process, zombies included.
pub(crate) fn children() -> Vec<u32> {
    let pids =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, parent)| parent == std::process::id())).collect()
}

pub(crate) fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Polls a fact that must come true.
pub(crate) async fn eventually(what: &str, fact: impl Fn() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < LONG, "never came true: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Set for a test that is the part of an embedder; it does nothing when it is run by itself.
const PART: &str = "RUN_THE_PART_OF_THE_EMBEDDER";

/// Tells whether the test that asks runs as the part of an embedder.
pub(crate) fn is_embedded() -> bool {
    std::env::var_os(PART).is_some()
}

/// This test binary as a program: an embedder that runs one test, named with its module.
pub(crate) fn embedder(test: &str) -> Spec {
    let exe = std::env::current_exe().unwrap();
    spec(exe.to_str().unwrap()).args(["--exact", "--nocapture", test]).env(PART, "1")
}
