//! The program `fivegates-conformance`: what it prints, and what it exits with.

use std::path::{Path, PathBuf};
use std::process::Command;

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn run(files: &[&Path]) -> (Option<i32>, String, String) {
    #[expect(clippy::disallowed_methods, reason = "the program under test is run as users run it")]
    let output = Command::new(env!("CARGO_BIN_EXE_fivegates-conformance")).args(files).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn handed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance").join(name)
}

#[test]
fn success_ends_with_the_sum() {
    let (code, out, err) = run(&[&handed("scenarios.jsonl"), &handed("random.jsonl")]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let last = "conformance: 629 passed, 0 failed, 29 pending, 24 unrepresentable";
    assert_eq!(out.lines().last(), Some(last));
    assert!(out.contains("\nguard       10 passed, 0 failed"), "{out}");
}

#[test]
fn a_failure_is_one_line_and_exit_code_one() {
    let line = std::fs::read_to_string(handed("random.jsonl")).unwrap();
    let line = line.lines().next().unwrap().replace(r#""message":"ask 1""#, r#""message":"ask 2""#);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{line}\nno json\n")).unwrap();
    let (code, out, _) = run(&[file.path()]);
    assert_eq!(code, Some(1));
    assert!(out.starts_with("FAIL RND-0001 result.message: expected \"ask 2\" got \"ask 1\"\n"), "{out}");
    assert_eq!(out.lines().last(), Some("conformance: 0 passed, 2 failed, 0 pending, 0 unrepresentable"));
}

#[test]
fn usage_and_unreadable_input_are_exit_code_two() {
    let (code, out, err) = run(&[]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert_eq!(err, "usage: fivegates-conformance FILE...\n");
    let (code, _, err) = run(&[Path::new("no/such/file.jsonl")]);
    assert_eq!(code, Some(2));
    assert!(err.starts_with("cannot read `no/such/file.jsonl`: "), "{err}");
}
