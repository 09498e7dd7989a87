//! `write` on real files.

use std::os::unix::fs::{PermissionsExt, symlink};

use fivegates_core::json::{Json, compact};

use crate::common::{Session, code_of, content, file, swap};

fn done(path: &str, what: &str) -> String {
    format!("<path>$W/{path}</path>\n<type>file</type>\n<content>\n{what}\n</content>")
}

const UNSEEN: &str =
    "Error: cannot overwrite existing \"$W/f\" without reading it first — read the file, then retry";
const STALE: &str =
    "Error: cannot write \"$W/f\": file changed since it was read — re-read the file, then retry";
const GONE: &str = "Error: cannot write \"$W/f\": file no longer exists — re-read the file, then retry";

#[tokio::test]
async fn a_new_file_is_private_and_its_directories_are_made() {
    let session = Session::new();
    session.check("write", &content("a/b/f", "x"), "ok", &done("a/b/f", "Created file")).await;
    assert_eq!((session.get("a/b/f").as_str(), session.mode("a/b/f")), ("x", 0o600));
    // Those who write a file know what is in it.
    session.check("write", &content("a/b/f", "é\r\n\0"), "ok", &done("a/b/f", "Updated file")).await;
    assert_eq!(session.get("a/b/f"), "é\r\n\0");
    assert_eq!(std::fs::read_dir(session.path("a/b")).unwrap().count(), 1);
    session.check("write", &content("a/b/f", ""), "ok", &done("a/b/f", "Updated file")).await;
    assert_eq!(session.get("a/b/f"), "");
}

#[tokio::test]
async fn what_exists_is_replaced_only_as_it_was_read() {
    let session = Session::new();
    session.put("f", "old");
    session.check("write", &content("f", "new"), "FS_NOT_OBSERVED", UNSEEN).await;
    session.call("read", &file("f", &[])).await;
    session.put("f", "theirs");
    session.check("write", &content("f", "new"), "FS_STALE_VERSION", STALE).await;
    assert_eq!(session.get("f"), "theirs");
    session.call("read", &file("./f", &[])).await;
    session.check("write", &content("f", "new"), "ok", &done("f", "Updated file")).await;
    assert_eq!(session.get("f"), "new");
}

#[tokio::test]
async fn a_file_that_was_deleted_is_created_again_only_when_that_was_seen() {
    let session = Session::new();
    let path = session.put("f", "old");
    session.call("read", &file("f", &[])).await;
    std::fs::remove_file(&path).unwrap();
    session.check("write", &content("f", "new"), "FS_STALE_VERSION", GONE).await;
    session.check("read", &file("f", &[]), "FS_NOT_FOUND", "Error: cannot read \"$W/f\": no such file").await;
    // Somebody is faster: what they made is not touched.
    session.put("f", "theirs");
    session.check("write", &content("f", "new"), "FS_NOT_OBSERVED", UNSEEN).await;
    assert_eq!(session.get("f"), "theirs");
    std::fs::remove_file(&path).unwrap();
    session.check("write", &content("f", "new"), "ok", &done("f", "Created file")).await;
}

#[tokio::test]
async fn another_agents_reading_gives_no_right() {
    let session = Session::new();
    session.put("f", "old");
    let other = session.registry.scope("other", None);
    let read = session.request("read", &file("f", &[])).with_agent(other.id());
    assert_eq!(code_of(&session.pipeline.execute(read).await), "ok");
    session.check("write", &content("f", "new"), "FS_NOT_OBSERVED", UNSEEN).await;

    // Without an agent nothing is remembered: such calls can only create.
    for (tool, arguments) in [("read", file("f", &[])), ("write", content("g", "x"))] {
        assert_eq!(code_of(&session.pipeline.execute(session.request(tool, &arguments)).await), "ok");
    }
    for (tool, arguments) in [
        ("write", content("f", "new")),
        ("write", content("g", "new")),
        ("edit", swap("g", "x", "y")),
        ("edit", swap("nope", "x", "y")),
    ] {
        let outcome = session.pipeline.execute(session.request(tool, &arguments)).await;
        assert_eq!(code_of(&outcome), "FS_NOT_OBSERVED", "{tool} {arguments}");
    }
    assert_eq!((session.get("f"), session.get("g")), ("old".into(), "x".into()));
}

#[tokio::test]
async fn permissions_stay() {
    let session = Session::new();
    for mode in [0o755, 0o640, 0o4711] {
        let path = session.put("f", "old");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        session.call("read", &file("f", &[])).await;
        session.check("write", &content("f", "new"), "ok", &done("f", "Updated file")).await;
        // As for a plain write, the set-user-ID bit does not outlive the content that it was given for.
        assert_eq!(session.mode("f"), mode & 0o1777);
    }
}

#[tokio::test]
async fn links_are_written_through_only_within_the_workspace() {
    let session = Session::new();
    let outside = tempfile::tempdir().unwrap();
    let out = std::fs::canonicalize(outside.path()).unwrap();
    std::fs::write(out.join("there"), "theirs").unwrap();
    session.put("real", "old");
    for (target, link) in [
        ("real".into(), "inner"),
        ("sub/new".into(), "inner_new"),
        (out.join("there"), "out"),
        (out.join("new"), "out_new"),
        (out.clone(), "out_dir"),
    ] {
        symlink(target, session.path(link)).unwrap();
    }
    session.call("read", &file("inner", &[])).await;
    session.check("write", &content("inner", "new"), "ok", &done("inner", "Updated file")).await;
    assert_eq!(session.get("real"), "new");
    assert!(session.path("inner").is_symlink());
    session.check("write", &content("inner_new", "x"), "ok", &done("inner_new", "Created file")).await;
    assert_eq!(session.get("sub/new"), "x");

    session.call("read", &file("out", &[])).await;
    for (path, leads) in [("out", "there"), ("out_new", "new"), ("out_dir/a/b", "a/b")] {
        let leads = out.join(leads).display().to_string();
        let text = format!(
            "\"$W/{path}\": a symbolic link leads out of the workspace to \"{leads}\"; name that file itself if it is meant"
        );
        let (write, edit) = (content(path, "x"), swap(path, "theirs", "x"));
        session.check("write", &write, "FS_SANDBOX_DENIED", &format!("Error: cannot write {text}")).await;
        session.check("edit", &edit, "FS_SANDBOX_DENIED", &format!("Error: cannot edit {text}")).await;
    }
    assert_eq!(std::fs::read_to_string(out.join("there")).unwrap(), "theirs");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
    // Named itself, it is what the gates were shown.
    let direct = content(out.join("new"), "x");
    assert_eq!(code_of(&session.call("write", &direct).await), "ok");
}

/// Path, code and text.
const REFUSED: &[(&str, &str, &str)] = &[
    ("", "INVALID_ARGS", "Error: file_path must be a non-empty string"),
    (".", "FS_NOT_REGULAR_FILE", "Error: cannot write \"$W\": not a regular file"),
    ("dir", "FS_NOT_REGULAR_FILE", "Error: cannot write \"$W/dir\": not a regular file"),
    ("/", "FS_NOT_REGULAR_FILE", "Error: cannot write \"/\": not a regular file"),
    ("fifo", "FS_NOT_REGULAR_FILE", "Error: cannot write \"$W/fifo\": not a regular file"),
    ("/dev/null", "FS_NOT_REGULAR_FILE", "Error: cannot write \"/dev/null\": not a regular file"),
    (
        "plain/x",
        "FS_NOT_DIRECTORY",
        "Error: cannot write \"$W/plain/x\": a part of the path is not a directory",
    ),
    ("nope/../x", "FS_NOT_FOUND", "Error: cannot write \"$W/nope/../x\": no such file"),
    (
        "big",
        "FS_TOO_LARGE",
        "Error: cannot write \"$W/big\": more than 10 bytes; use bash for a file of this size",
    ),
];

#[tokio::test]
async fn what_cannot_be_written_is_refused() {
    let session = Session::with(|config| config.fs.text_bytes_max = 10);
    session.put("dir/x", "");
    session.put("plain", "");
    crate::hostile::make_fifo(&session.path("fifo"));
    for (path, code, text) in REFUSED {
        let text_of_file = if *path == "big" { "12345678901" } else { "x" };
        session.check("write", &content(path, text_of_file), code, text).await;
    }
    let long = content("x".repeat(5_000), "x");
    let text = "Error: file_path must not be longer than 4095 bytes";
    session.check("write", &long, "INVALID_ARGS", text).await;
}

#[tokio::test]
async fn a_place_that_takes_no_files_is_told() {
    let session = Session::new();
    let outcome = session.call("write", &content("/sys/fivegates-test", "x")).await;
    let text = "Error: cannot write \"/sys/fivegates-test\": permission denied";
    session.compare(&outcome, "FS_PERMISSION_DENIED", text);
}

#[tokio::test]
async fn a_result_card_gets_the_change() {
    let session = Session::new();
    session.put("f", "a\nb\nc\n");
    session.call("read", &file("f", &[])).await;
    let outcome = session.call("write", &content("f", "a\nx\nc\n")).await;
    let meta = outcome.meta().unwrap();
    assert_eq!(meta.get("kind").and_then(Json::as_str), Some("diff"));
    let expected = r#"[{"oldStart":1,"newStart":1,"lines":[" a","-b","+x"," c"]}]"#;
    assert_eq!(meta.get("hunks").map(compact).as_deref(), Some(expected));
    // What goes may be anything.
    session.put("f", b"\xff\0");
    assert_eq!(code_of(&session.call("read", &file("f", &[])).await), "FS_NOT_TEXT");
}
