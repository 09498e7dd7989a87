//! Whatever is read, written or run: what a model reads of it is bounded.

use crate::common::{Session, code_of, command, content, file, quoted, read_of, swap};

/// The most memory that this process ever held.
pub(crate) fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn ten_megabytes_are_cut_by_every_tool() {
    let session = Session::new();
    let big: String = (0..10 << 16).map(|line| format!("{line:015}\n")).collect();
    session.put("big", &big);
    let long_path = "x/".repeat(5 << 20);
    let wide = session.call("read", &file("big", &[])).await;
    assert_eq!(code_of(&wide), "ok");
    let calls = [
        ("bash", command("cat big; cat big >&2"), "ok"),
        (
            "bash",
            format!(r#"{{"command":"true","description":"d","workdir":{}}}"#, quoted(&long_path)),
            "INVALID_ARGS",
        ),
        ("bash", command(&format!("true {long_path}")), "ARGUMENT_LIST_TOO_LONG"),
        ("read", file("big", &[]), "ok"),
        ("read", file(&long_path, &[]), "INVALID_ARGS"),
        ("write", content("new", &big), "ok"),
        ("write", content(&long_path, "x"), "INVALID_ARGS"),
        ("edit", swap("big", &big[..5 << 20], &big[5 << 20..]), "ok"),
        ("edit", swap("big", &big[1..1 << 20], "x"), "FS_EDIT_NOT_FOUND"),
        ("edit", swap(&long_path, "x", "y"), "INVALID_ARGS"),
    ];
    for (tool, arguments, code) in calls {
        let outcome = session.call(tool, &arguments).await;
        let text = read_of(&outcome);
        assert_eq!(code_of(&outcome), code, "{tool}: {}", &text[..text.len().min(200)]);
        assert!(text.len() < 150_000, "{tool} says {} bytes", text.len());
        let meta_bytes = outcome.meta().map_or(0, |meta| fivegates_core::json::compact(meta).len());
        assert!(meta_bytes < 150_000, "{tool} keeps {meta_bytes} bytes of metadata");
    }
}

#[tokio::test]
async fn nesting_is_no_danger() {
    let session = Session::new();
    session.put("f", "a");
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let outcome = session.call("read", &file("f", &[&format!("\"extra\":{nested}")])).await;
    assert!(["ok", "INVALID_ARGS"].contains(&code_of(&outcome)), "{}", read_of(&outcome));
    let outcome = session.call("read", &format!(r#"{{"file_path":{nested}}}"#)).await;
    assert_eq!(code_of(&outcome), "INVALID_ARGS");
    assert!(read_of(&outcome).len() < 1_000);
    let outcome = session.call("bash", &nested).await;
    assert_eq!(code_of(&outcome), "INVALID_ARGS");
}

#[tokio::test]
async fn arguments_that_are_not_known_pass() {
    let session = Session::new();
    session.put("f", "a");
    let outcome = session.call("read", &file("f", &["\"sandbox_permissions\":\"all\""])).await;
    assert_eq!(code_of(&outcome), "ok");
}
