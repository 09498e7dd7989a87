//! What a program does is told as data.

use crate::common::{bash, run, spec, stdout};
use fivegates_process::{Certainty, Signal, Stream};

async fn check_exit(script: &str, exit_code: Option<i32>, signal: Option<i32>) {
    let finished = run(bash(script)).await;
    assert_eq!((finished.exit_code, finished.signal), (exit_code, signal.map(Signal::new)), "{script}");
    assert_eq!((finished.timed_out, finished.aborted, finished.killed), (false, false, false), "{script}");
    assert_eq!(finished.certainty, Certainty::GroupGone, "{script}");
}

#[tokio::test]
async fn exits_and_signals_are_told_apart() {
    check_exit("true", Some(0), None).await;
    check_exit("exit 3", Some(3), None).await;
    check_exit("exit 255", Some(255), None).await;
    check_exit("kill -TERM $$", None, Some(15)).await;
    check_exit("kill -KILL $$", None, Some(9)).await;
    check_exit("kill -SEGV $$", None, Some(11)).await;
}

#[tokio::test]
async fn the_streams_are_kept_apart() {
    let finished = run(bash("echo out; echo err >&2")).await;
    assert_eq!(finished.stdout.bytes, b"out\n");
    assert_eq!(finished.stderr.bytes, b"err\n");
    assert!(!finished.stdout.held && !finished.stderr.held);
}

#[tokio::test]
async fn arguments_are_never_parsed_by_a_shell() {
    let finished = run(spec("printf").args(["%s|", "a b", "$HOME", "*", ";id", "", "'\"\\"])).await;
    assert_eq!(stdout(&finished), "a b|$HOME|*|;id||'\"\\|");
}

#[tokio::test]
async fn a_relative_program_counts_from_the_working_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/pwd", dir.path().join("here")).unwrap();
    let spec = fivegates_process::Spec::new(fivegates_process::Program::new("./here").unwrap(), dir.path())
        .arg("-P");
    assert_eq!(stdout(&run(spec).await).trim_end(), dir.path().canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn a_closed_stdout_is_no_fault() {
    let finished = run(bash("exec >&- 2>&-; sleep 0.1; exit 4")).await;
    assert_eq!((finished.exit_code, finished.certainty), (Some(4), Certainty::GroupGone));
}

async fn check_truncated(output_bytes_max: usize, expected: &[u8], truncated: bool) {
    let finished = run(bash("printf 0123456789; printf abc >&2").output_bytes_max(output_bytes_max)).await;
    assert_eq!((finished.stdout.bytes.as_slice(), finished.stdout.truncated), (expected, truncated));
    assert_eq!(finished.stdout.total_bytes, 10);
    assert_eq!(finished.stderr.truncated, output_bytes_max < 3, "the limit is for each stream");
}

#[tokio::test]
async fn the_last_bytes_are_kept_and_exactly_the_limit_is_not_truncated() {
    check_truncated(11, b"0123456789", false).await;
    check_truncated(10, b"0123456789", false).await;
    check_truncated(9, b"123456789", true).await;
    check_truncated(1, b"9", true).await;
    check_truncated(0, b"", true).await;
}

#[tokio::test]
async fn text_is_cut_between_characters_for_any_limit() {
    let runner = fivegates_process::Runner::new().unwrap();
    for bytes_max in 1..=64 {
        let spec = spec("printf").arg("é".repeat(50)).output_bytes_max(bytes_max);
        let finished = runner.run(spec, std::future::pending()).await.unwrap();
        let text = finished.stdout.text();
        assert_eq!(text.text, "é".repeat(bytes_max / 2), "limit {bytes_max}");
        assert_eq!(text.omitted_bytes, 100 - (bytes_max as u64 / 2) * 2);
        assert!(!text.invalid_utf8);
    }
}

#[tokio::test]
async fn invalid_utf8_is_kept_as_bytes_and_flagged_as_text() {
    let finished = run(bash(r"printf 'a\xffb'")).await;
    assert_eq!(finished.stdout.bytes, b"a\xffb");
    let text = finished.stdout.text();
    assert_eq!((text.text.as_str(), text.invalid_utf8), ("a\u{fffd}b", true));
}

#[tokio::test]
async fn long_output_passes_through_in_bounded_memory() {
    let before = resident_kb_max();
    let finished = run(bash("head -c 64M /dev/zero; printf END").output_bytes_max(10)).await;
    assert_eq!(finished.stdout.bytes, b"\0\0\0\0\0\0\0END");
    assert_eq!(finished.stdout.total_bytes, 64 * 1024 * 1024 + 3);
    let grown = resident_kb_max() - before;
    assert!(grown < 32 * 1024, "grew by {grown} KiB");
}

fn resident_kb_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn input_is_written_and_closed() {
    let input: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    let finished = run(spec("cat").stdin(input.clone()).output_bytes_max(input.len())).await;
    assert!(finished.stdout.bytes == input, "what went in came out");
    assert_eq!(run(spec("cat").stdin("")).await.exit_code, Some(0));
}

#[tokio::test]
async fn without_input_it_reads_from_dev_null() {
    let finished = run(bash("readlink /proc/self/fd/0; cat")).await;
    assert_eq!(stdout(&finished), "/dev/null\n");
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    let finished = run(bash("exec <&-; echo done").stdin(vec![b'x'; 1_000_000])).await;
    assert_eq!((stdout(&finished), finished.exit_code), ("done\n", Some(0)));
}

#[tokio::test]
async fn output_is_shown_while_the_program_runs() {
    let (seen, shown) = tokio::sync::oneshot::channel();
    let mut seen = Some(seen);
    let mut all = Vec::new();
    let observe = |stream, chunk: &[u8]| {
        assert_eq!(stream, Stream::Stdout);
        all.extend_from_slice(chunk);
        if let Some(seen) = seen.take() {
            seen.send(()).unwrap();
        }
    };
    // It never ends by itself: only the sight of its first line ends it.
    let cancel = async { shown.await.unwrap() };
    let runner = fivegates_process::Runner::new().unwrap();
    let finished = runner.run_observed(bash("echo ready; exec sleep 1000"), cancel, observe).await.unwrap();
    assert!(finished.aborted);
    assert_eq!(all, b"ready\n");
}
