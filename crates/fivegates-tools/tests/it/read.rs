//! `read` on real files.

use fivegates_core::json::{Json, compact};

use crate::common::{Session, code_of, file, is_alone, read_of, value_of};

/// Content, further arguments, and what stands between `<content>` and `</content>`.
const WINDOWS: &[(&str, &[&str], &str)] = &[
    ("", &[], "\n(End of file - total 0 lines)"),
    ("", &["\"offset\":1"], "\n(End of file - total 0 lines)"),
    ("a\nb", &[], "1: a\n2: b\n\n(End of file - total 2 lines)"),
    ("a\r\nb\r\n", &[], "1: a\n2: b\n\n(End of file - total 2 lines)"),
    (
        "a\nb\nc\nd\n",
        &["\"offset\":2", "\"limit\":2"],
        "2: b\n3: c\n\n(Showing lines 2-3 of 4. Use offset=4 to continue.)",
    ),
    ("a\nb\nc\nd\n", &["\"offset\":3", "\"limit\":2"], "3: c\n4: d\n\n(End of file - total 4 lines)"),
    ("a\n", &["\"offset\":1.0", "\"limit\":2000"], "1: a\n\n(End of file - total 1 lines)"),
    ("é\u{feff}😀\n", &[], "1: é\u{feff}😀\n\n(End of file - total 1 lines)"),
];

#[tokio::test]
async fn lines_come_numbered_with_a_footer() {
    let session = Session::new();
    for (content, more, inner) in WINDOWS {
        session.put("f", content);
        let text = format!("<path>$W/f</path>\n<type>file</type>\n<content>\n{inner}\n</content>");
        session.check("read", &file("f", more), "ok", &text).await;
    }
}

/// Path, further arguments, code and text.
const REFUSED: &[(&str, &[&str], &str, &str)] = &[
    ("", &[], "INVALID_ARGS", "Error: file_path must be a non-empty string"),
    ("a\0b", &[], "INVALID_ARGS", "Error: file_path must not contain a NUL character"),
    ("f", &["\"limit\":2001"], "INVALID_ARGS", "Error: limit must be less than or equal to 2000"),
    ("f", &["\"limit\":0"], "INVALID_ARGS", "Error: limit must be a positive integer"),
    ("f", &["\"offset\":0"], "INVALID_ARGS", "Error: offset must be a positive integer"),
    ("f", &["\"offset\":-9007199254740993"], "INVALID_ARGS", "Error: offset must be a positive integer"),
    ("f", &["\"offset\":1.5"], "INVALID_ARGS", "Error: invalid arguments: \"offset\" must be an integer"),
    ("f", &["\"offset\":4"], "INVALID_ARGS", "Error: offset 4 is out of range for \"$W/f\" (3 lines)"),
    (
        "./x/../f",
        &["\"offset\":9007199254740993"],
        "INVALID_ARGS",
        "Error: offset 9007199254740993 is out of range for \"$W/x/../f\" (3 lines)",
    ),
    (
        "empty",
        &["\"offset\":2"],
        "INVALID_ARGS",
        "Error: offset 2 is out of range for \"$W/empty\" (0 lines)",
    ),
    ("nope", &[], "FS_NOT_FOUND", "Error: cannot read \"$W/nope\": no such file"),
    ("nope/deep/x", &[], "FS_NOT_FOUND", "Error: cannot read \"$W/nope/deep/x\": no such file"),
    ("f/x", &[], "FS_NOT_DIRECTORY", "Error: cannot read \"$W/f/x\": a part of the path is not a directory"),
    ("x", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"$W/x\": not a regular file"),
    (".", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"$W\": not a regular file"),
    ("/", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"/\": not a regular file"),
    ("/dev/zero", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"/dev/zero\": not a regular file"),
    ("/dev/tty", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"/dev/tty\": not a regular file"),
    ("fifo", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"$W/fifo\": not a regular file"),
    ("to_fifo", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"$W/to_fifo\": not a regular file"),
    ("socket", &[], "FS_NOT_REGULAR_FILE", "Error: cannot read \"$W/socket\": not a regular file"),
    ("binary", &[], "FS_NOT_TEXT", "Error: cannot read \"$W/binary\": binary file"),
    ("latin1", &[], "FS_NOT_TEXT", "Error: cannot read \"$W/latin1\": invalid UTF-8 text"),
    ("cut", &[], "FS_NOT_TEXT", "Error: cannot read \"$W/cut\": invalid UTF-8 text"),
];

#[tokio::test]
async fn what_cannot_be_read_is_refused_without_waiting() {
    let session = Session::new();
    for (name, content) in [("f", "a\nb\nc"), ("empty", ""), ("binary", "a\0b"), ("x/y", "")] {
        session.put(name, content);
    }
    session.put("latin1", b"caf\xe9\n");
    session.put("cut", b"caf\xc3");
    crate::hostile::make_fifo(&session.path("fifo"));
    std::os::unix::fs::symlink("fifo", session.path("to_fifo")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(session.path("socket")).unwrap();
    for (path, more, code, text) in REFUSED {
        session.check("read", &file(path, more), code, text).await;
    }
}

#[tokio::test]
async fn long_lines_and_many_bytes_are_cut() {
    let session = Session::new();
    let line = "é".repeat(3_000);
    session.put("wide", format!("{line}\n").repeat(100));
    let outcome = session.call("read", &file("wide", &[])).await;
    let text = read_of(&outcome);
    let shown = format!("1: {}... (line truncated to 2000 chars)\n", "é".repeat(2_000));
    let head = "<content>\n";
    assert_eq!(&text[text.find(head).unwrap() + head.len()..][..shown.len()], shown);
    // 4036 bytes a line, and a line end between: twelve fit in 51,200 bytes.
    let footer = "\n\n(Output capped. Showing lines 1-12. Use offset=13 to continue.)\n</content>";
    assert!(text.ends_with(footer), "{}", &text[text.len() - 100..]);
    let value = value_of(&outcome);
    assert_eq!(value.get("totalLines").map(compact).as_deref(), Some("100"));
    assert_eq!(value.get("cutLines").map(compact).as_deref(), Some("12"));

    session.put("long", "x\n".repeat(2_001));
    let outcome = session.call("read", &file("long", &[])).await;
    let footer = "2000: x\n\n(Showing lines 1-2000 of 2001. Use offset=2001 to continue.)\n</content>";
    assert!(read_of(&outcome).ends_with(footer));
}

#[tokio::test]
async fn a_window_of_a_huge_file_takes_little_memory() {
    if !is_alone("read::a_window_of_a_huge_file_takes_little_memory").await {
        return;
    }
    let session = Session::new();
    let path = session.path("huge");
    let mut out = std::fs::File::create(&path).unwrap();
    let block = "0123456789abcde\n".repeat(65_536);
    for _ in 0..128 {
        std::io::Write::write_all(&mut out, block.as_bytes()).unwrap();
    }
    // One line of 32 MiB at the end.
    std::io::Write::write_all(&mut out, &vec![b'x'; 32 << 20]).unwrap();
    let before = crate::limits::peak_bytes();
    let outcome = session.call("read", &file("huge", &["\"offset\":8388608", "\"limit\":2"])).await;
    let grown = crate::limits::peak_bytes() - before;
    assert!(grown < 16 << 20, "grew by {grown} bytes");
    let text = read_of(&outcome);
    let cut = format!("8388609: {}... (line truncated to 2000 chars)\n", "x".repeat(2_000));
    let tail = format!("8388608: 0123456789abcde\n{cut}\n(End of file - total 8388609 lines)\n</content>");
    assert!(text.ends_with(&tail));
}

#[tokio::test]
async fn a_file_beyond_the_scan_limit_has_no_total() {
    let session = Session::with(|config| config.fs.scan_bytes_max = 64 << 10);
    session.put("big", "x\n".repeat(200_000));
    let outcome = session.call("read", &file("big", &["\"limit\":1"])).await;
    let tail = "1: x\n\n(Output capped. Showing lines 1-1. Use offset=2 to continue.)\n</content>";
    assert!(read_of(&outcome).ends_with(tail));
    let text = "Error: cannot read \"$W/big\": more than 65536 bytes; use bash for a file of this size";
    session.check("read", &file("big", &["\"offset\":190000"]), "FS_TOO_LARGE", text).await;
}

#[tokio::test]
async fn files_of_the_system_have_no_size_and_are_read() {
    let session = Session::new();
    let outcome = session.call("read", &file("/proc/self/status", &[])).await;
    assert_eq!(code_of(&outcome), "ok");
    assert!(read_of(&outcome).contains("\n1: Name:"));
}

#[tokio::test]
async fn a_read_through_a_link_reads_where_it_leads() {
    let session = Session::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("f"), "out\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), session.path("link")).unwrap();
    let outcome = session.call("read", &file("link/f", &[])).await;
    assert!(read_of(&outcome).starts_with(&format!("<path>{}/link/f</path>", session.dir.path().display())));
    assert!(read_of(&outcome).contains("1: out"));
    std::os::unix::fs::symlink("nowhere", session.path("dangling")).unwrap();
    let text = "Error: cannot read \"$W/dangling\": no such file";
    session.check("read", &file("dangling", &[]), "FS_NOT_FOUND", text).await;
}

#[tokio::test]
async fn a_protected_file_is_protected() {
    use std::os::unix::fs::PermissionsExt;
    let session = Session::new();
    let path = session.put("secret", "s");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    let outcome = session.call("read", &file("secret", &[])).await;
    // The system's administrator is bound by no permissions; for all others the text is fixed.
    if rustix::process::geteuid().is_root() {
        assert_eq!(code_of(&outcome), "ok");
    } else {
        let text = "Error: cannot read \"$W/secret\": permission denied";
        session.compare(&outcome, "FS_PERMISSION_DENIED", text);
    }
}

#[tokio::test]
async fn a_result_card_gets_the_window() {
    let session = Session::new();
    session.put("f", "a\nb\n");
    let outcome = session.call("read", &file("f", &["\"offset\":2"])).await;
    let meta = outcome.meta().unwrap();
    assert_eq!(meta.get("lines").map(compact).as_deref(), Some("[\"b\"]"));
    assert_eq!(meta.get("kind").and_then(Json::as_str), Some("read"));
    assert_eq!(meta.get("totalLines").map(compact).as_deref(), Some("2"));
}
