//! Records that cannot be used, disks that are full, and output that nobody reads.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::support::{Place, bash, call};

/// Everything that opens a record says why it cannot, runs nothing, and leaves the file as it was.
fn check_unusable(place: &Place, record: &Path, says: &str) {
    let flag = format!("--record={}", record.display());
    let before = fs::read(record).ok();
    place.file("t.json", r#"{"turns": [{"text": "hi"}]}"#);
    for arguments in [
        &["log", &flag][..],
        &["log", "01", &flag],
        &["why", "c1", &flag],
        &["exec", "--permission=allow", &flag],
        &["run", "x", "--model=scripted:t.json", &flag],
        &["demo", &flag],
    ] {
        let done = place.start(arguments).stdin(bash("c1", "touch made") + "\n").done();
        assert_eq!((done.status, done.stdout.as_str()), (3, ""), "{arguments:?}: {}", done.stderr);
        let expected =
            if fs::metadata(record).is_err() && matches!(arguments[0], "log" | "why") { "" } else { says };
        assert!(
            done.stderr.contains("fivegates: error: ") && done.stderr.contains(expected),
            "{}",
            done.stderr
        );
    }
    assert!(!place.work().join("made").exists());
    assert_eq!(fs::read(record).ok(), before);
}

#[test]
fn what_is_no_record_is_refused_and_left_alone() {
    let place = Place::new();
    check_unusable(&place, &place.file("text.txt", "just some text\n".repeat(100)), "not an SQLite file");
    check_unusable(&place, &place.file("empty", ""), "is an empty file");
    check_unusable(&place, &place.file("short", "x"), "is not a record");
    let foreign = place.root().join("foreign.sqlite");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
        .unwrap();
    check_unusable(&place, &foreign, "of another program");
    let mut cut = fs::read(&foreign).unwrap();
    cut.truncate(700);
    check_unusable(&place, &place.file("cut.sqlite", cut), "");
    check_unusable(&place, place.root(), "is a folder, not a file");
    check_unusable(&place, Path::new("/proc/none/record.sqlite"), "cannot make the folder");
    check_unusable(&place, &place.file("f", "x").join("below"), "Not a directory");
}

#[test]
fn a_record_that_may_not_be_read_is_refused() {
    let place = Place::new();
    place.exec("allow", &[bash("c1", "true")]).status(0);
    let record = place.record();
    fs::set_permissions(&record, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&record).is_ok() {
        println!("skipped: this user may read every file");
        return;
    }
    check_unusable(&place, &record, "cannot open the record");
}

#[test]
fn a_home_that_is_not_there_is_an_error_and_not_a_guess() {
    let place = Place::new();
    let start = place.script(r#"unset HOME XDG_STATE_HOME; exec "$0" log"#, &[]);
    let done = start.done().status(3);
    assert!(done.stderr.contains("HOME"), "{}", done.stderr);
}

#[test]
fn a_damaged_record_is_told_and_the_rest_is_shown() {
    let place = Place::new();
    place.exec("allow", &[bash("c1", "true"), bash("c2", "true")]).status(0);
    let connection = rusqlite::Connection::open(place.record()).unwrap();
    connection
        .execute_batch(
            "UPDATE event SET data = CAST(x'ff' AS TEXT) WHERE call_id = 'c1' AND type = 'tool/result';",
        )
        .unwrap();
    drop(connection);
    let session =
        place.done(&["log", "--json"]).status(0).json_lines()[0]["session"].as_str().unwrap().to_owned();
    let done = place.done(&["log", &session]).status(1);
    assert!(done.stdout.contains("damaged: ") && done.stdout.contains("c2"), "{}", done.stdout);
    place.done(&["why", "c2"]).status(0);
    place.done(&["why", "c1"]).status(1);
}

/// Many calls, none of which may run once the record cannot be written.
fn many() -> String {
    let lines = (0..2_000).map(|n| bash(&format!("n{n}"), &format!("echo {n} >> ran")) + "\n");
    lines.collect()
}

#[test]
fn a_full_disk_ends_the_work_and_leaves_a_record() {
    for trap in ["trap '' XFSZ; ", ""] {
        let place = Place::new();
        // Blocks of 1 KiB. The limit is that of one file, which to the program is the disk being full.
        let script = format!("{trap}ulimit -f 160; exec \"$0\" exec --permission allow");
        let done = place.script(&script, &[]).stdin(many()).done().status(3);
        assert!(done.stderr.contains("error: the record cannot be written"), "{}", done.stderr);
        assert!(done.stderr.contains("free some space"), "{}", done.stderr);
        let lines = done.json_lines();
        assert!((2..2_000).contains(&lines.len()), "{}", lines.len());
        place.record_is_readable();
        // Nothing ran that is not on record.
        let ran = fs::read_to_string(place.work().join("ran")).unwrap();
        for number in ran.lines() {
            place.done(&["why", &format!("n{number}")]).status(0);
        }
        // What is told as a success is one on record.
        for line in lines.iter().filter(|line| line["outcome"] == "success") {
            let why = place.done(&["why", line["id"].as_str().unwrap()]).status(0);
            assert!(why.stdout.contains(" succeeded"), "{}", why.stdout);
        }
        // With room again it goes on.
        place.exec("allow", &[bash("later", "true")]).status(0);
        place.record_is_readable();
    }
}

#[test]
fn output_that_nobody_reads_ends_the_work() {
    let place = Place::new();
    let script = r#"{ "$0" exec --permission allow; echo "status $?" >&2; } | head -n 1"#;
    let done = place.script(script, &[]).stdin(many()).done();
    assert_eq!(done.stdout.lines().count(), 1);
    assert!(
        done.stderr.contains("standard output cannot be written") && done.stderr.contains("status 1\n"),
        "{}",
        done.stderr
    );
    let ran = fs::read_to_string(place.work().join("ran")).unwrap().lines().count();
    assert!(ran < 1_000, "{ran} calls ran although nobody read of them");
    let sessions = place.record_is_readable();
    // For those that only show something it is how a reader says that it has enough.
    for command in ["log", &format!("log {}", sessions[0]), "tools", "man", "completions bash", "config"] {
        let script = format!("{{ \"$0\" {command}; echo \"status $?\" >&2; }} | true");
        assert_eq!(place.script(&script, &[]).done().stderr, "status 0\n", "{command}");
        let full = place.script(&format!("\"$0\" {command} > /dev/full"), &[]).done().status(1);
        assert!(full.stderr.contains("cannot be written"), "{}", full.stderr);
    }
}

#[test]
fn streams_that_are_closed_do_no_harm() {
    let place = Place::new();
    for script in [
        r#""$0" exec --permission allow >&-"#,
        r#""$0" exec --permission allow 2>&-"#,
        r#""$0" exec --permission allow >&- 2>&- "#,
    ] {
        place
            .script(script, &[])
            .stdin(call("c1", "read", &json!({"file_path": "x"})) + "\n")
            .done()
            .status(0);
    }
    assert_eq!(place.record_is_readable().len(), 3);
}
