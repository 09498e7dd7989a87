//! `why` and `log` over a store.

use std::io::{self, Write};

use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::json::{self, Json};

use super::support::{Place, append, run, session_id};
use crate::commands::{log, why};
use crate::error::{CliError, Kind};
use crate::report::Style;
use crate::report::output::Format;

const TEXT: Format = Format::Text(Style::Plain);

/// What a command prints, and its error.
fn check(command: impl FnOnce(&mut dyn Write) -> Result<(), CliError>) -> String {
    let mut out = Vec::new();
    let result = command(&mut out);
    let mut text = String::from_utf8(out).unwrap();
    if let Err(error) = result {
        let hint = error.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        text = format!("{text}{:?}: {}{hint}", error.kind, error.message);
    }
    text
}

/// A reader that goes away after some bytes.
struct Closed(usize);

impl Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn two_sessions() -> Place {
    let place = Place::new();
    for number in [1, 2] {
        let name = format!(r#"{{"name":"tool{number}","arguments":"{{}}"}}"#);
        let events = [
            ("turn/start", None, r#"{"turn":1}"#),
            ("tool/call", Some("c1"), &*name),
            ("tool/result", Some("c1"), "{}"),
            ("tool/call", Some("c1"), &*name),
            ("turn/end", None, r#"{"turn":1,"reason":{"kind":"error","failure":{"code":"HTTP"}}}"#),
        ];
        append(&place.begin(number), &events).await;
    }
    place
}

#[tokio::test]
async fn why_tells_the_newest_call_and_how_to_select_the_others() {
    let place = two_sessions().await;
    let reader = place.reader();
    let newest = check(|out| why::run(&reader, "c1", None, out, TEXT));
    let others = &newest[newest.find("3 other").unwrap()..];
    assert!(newest.contains(&format!("{}, event 3", session_id(2))), "{newest}");
    insta::assert_snapshot!(others, @r#"
    3 other calls of this id:
      2023-11-14T22:13:20Z  --session 01HF7YAT000800000000000000:1  tool2
      2023-11-14T22:13:20Z  --session 01HF7YAT000400000000000000:3  tool1
      2023-11-14T22:13:20Z  --session 01HF7YAT000400000000000000:1  tool1
    "#);
    let older = check(|out| why::run(&reader, "c1", Some(&format!("{}:1", session_id(1))), out, TEXT));
    assert!(older.starts_with("call `c1` of tool1 succeeded"), "{older}");
    assert!(older.contains(&format!("{}, event 1", session_id(1))), "{older}");
    let line = check(|out| why::run(&reader, "c1", None, out, Format::Json));
    let told = json::parse(&line).unwrap();
    assert_eq!(told.get("tool").and_then(Json::as_str), Some("tool2"));
    assert_eq!(line.lines().count(), 1);
}

#[tokio::test]
async fn why_says_what_is_not_there() {
    let place = two_sessions().await;
    let reader = place.reader();
    let id = session_id(1).to_string();
    let ask = |call: &str, session: Option<&str>| check(|out| why::run(&reader, call, session, out, TEXT));
    insta::assert_snapshot!(ask("c\u{1b}2", None), @r#"
    Failed: the record holds no call `c\u{1b}2`
    hint: `fivegates log` lists the sessions, `fivegates log SESSION` the calls of one
    "#);
    insta::assert_snapshot!(ask("c2", Some(&id)), @r#"
    Failed: session `01HF7YAT000400000000000000` holds no call `c2`
    hint: `fivegates log` lists the sessions, `fivegates log SESSION` the calls of one
    "#);
    insta::assert_snapshot!(ask("c1", Some(&format!("{id}:0"))), @r#"
    Failed: session `01HF7YAT000400000000000000` holds no call `c1` that begins at event 0
    hint: `fivegates log` lists the sessions, `fivegates log SESSION` the calls of one
    "#);
    insta::assert_snapshot!(ask("c1", Some(&format!("{id}:x"))), @r#"
    Usage: `x` is not the place of an event: expected a number after the colon
    hint: `fivegates why CALL_ID` lists the calls of this id and how to select each
    "#);
    insta::assert_snapshot!(ask("c1", Some("ZZ")), @r#"
    Failed: the record holds no session `ZZ`: list its sessions with `fivegates log`
    "#);
    assert!(ask("c1", Some("01")).starts_with("Failed: `01` begins the ids of several sessions"));
}

#[tokio::test]
async fn log_lists_sessions_newest_first() {
    let place = two_sessions().await;
    let reader = place.reader();
    insta::assert_snapshot!(check(|out| log::sessions(&reader, 1, out, TEXT)), @r#"
    SESSION                     WHEN                  KIND    EVENTS  CWD
    01HF7YAT000800000000000000  2023-11-14T22:13:20Z  exec         5  /home/me/project
    … older sessions are on record: `--limit N` lists N of them
    "#);
    insta::assert_snapshot!(check(|out| log::sessions(&reader, 9, out, Format::Json)), @r#"
    {"session":"01HF7YAT000800000000000000","time":1700000000000,"kind":"exec","cwd":"/home/me/project","events":5,"meta":{"permission":"ask"},"hash":"eb09974d28eae68313d92e4e662f7f1164771764a1b8ca84a1cf39908412cfca"}
    {"session":"01HF7YAT000400000000000000","time":1700000000000,"kind":"exec","cwd":"/home/me/project","events":5,"meta":{"permission":"ask"},"hash":"567a01c0f29967a515093f709574dced79bffc5ab10ef3d3742eb2aa3872ac07"}
    "#);
    let empty = Place::new();
    insta::assert_snapshot!(check(|out| log::sessions(&empty.reader(), 9, out, TEXT)), @r#"
    the record holds no sessions
    "#);
}

#[tokio::test]
async fn log_prints_an_event_a_line() {
    let place = Place::new();
    let message = r#"{"turn":1,"step":1,"message":{"content":[{"type":"text","text":"a\nb"},
        {"type":"tool-call","name":"bash"}]}}"#;
    let events = [
        ("turn/start", None, r#"{"turn":1}"#),
        ("assistant/message", None, message),
        ("tool/intent", Some("c1"), r#"{"destructive":true,"idempotent":false}"#),
        ("approval/asked", Some("c1"), r#"{"toolName":"bash","reason":"it\u001b[2J writes"}"#),
        ("approval/decided", None, r#"{"outcome":"rejected","by":"terminal"}"#),
        ("odd/\u{202e}type", Some("\u{9b}c"), "7"),
        ("turn/end", None, r#"{"turn":1,"reason":{"kind":"aborted","reason":"user"}}"#),
    ];
    append(&place.begin(1), &events).await;
    let id = session_id(1).to_string();
    let reader = place.reader();
    insta::assert_snapshot!(check(|out| log::events(&reader, &id, out, TEXT)), @r#"
    session 01HF7YAT000400000000000000  2023-11-14T22:13:20Z  exec
    in /home/me/project
        0    +0.001s  turn/start         turn 1
        1    +0.002s  assistant/message  calls bash: a\nb
        2    +0.003s  tool/intent        c1  destructive, not idempotent
        3    +0.004s  approval/asked     c1  bash: it\u{1b}[2J writes
        4    +0.005s  approval/decided   rejected by terminal
        5    +0.006s  odd/\u{202e}type   \u{9b}c  7
        6    +0.007s  turn/end           turn 1: aborted (user)
    "#);
    let lines = check(|out| log::events(&reader, &id, out, Format::Json));
    let parsed: Vec<_> = lines.lines().map(|line| json::parse(line).unwrap()).collect();
    assert_eq!(parsed.len(), events.len());
    assert!(!lines.contains('\u{202e}') && !lines.contains('\u{9b}'));
    assert_eq!(parsed[5].get("type").and_then(Json::as_str), Some("odd/\u{202e}type"));
    assert_eq!(parsed[1].get("data"), Some(&json::parse(message).unwrap()));
    assert_eq!(parsed[0].get("hash").and_then(Json::as_str).map(str::len), Some(64));
}

#[tokio::test]
async fn log_of_real_calls() {
    let place = Place::new();
    let calls =
        [("c1", "write", r#"{"text":"x"}"#), ("c2", "echo", r#"{"text":"rm -rf /"}"#), ("c3", "fail", "")];
    let session = run(&place, ApprovalOutcome::AllowedOnce, &calls).await;
    let text = check(|out| log::events(&place.reader(), session.as_str(), out, TEXT));
    // Times are of now.
    let words: Vec<_> = text.lines().skip(2).map(|line| line.split_once("s  ").unwrap().1).collect();
    let words = words.join("\n");
    let words = (0..1_000).fold(words, |words, ms| words.replace(&format!(" {ms} ms:"), " N ms:"));
    insta::assert_snapshot!(words, @r#"
    tool/call          c1  write {"text":"x"}
    approval/asked     c1  write: `write` changes files
    approval/decided   allowed-once by terminal
    tool/decision      c1  permitted: guards passed
    tool/intent        c1  destructive, not idempotent
    tool/result        c1  ok N ms: x
    tool/call          c2  echo {"text":"rm -rf /"}
    tool/decision      c2  refused: guards denied by no-rm
    tool/result        c2  error NO_RM N ms: Error: `rm -rf` is never run
    tool/call          c3  fail
    tool/decision      c3  permitted: guards passed
    tool/intent        c3  destructive, not idempotent
    tool/result        c3  error N ms: the disk is none of your business
    "#);
}

#[tokio::test]
async fn damage_is_shown_and_the_rest_goes_on() {
    let place = two_sessions().await;
    place.tamper(
        "UPDATE event SET data = CAST(x'ff' AS TEXT) WHERE session = 2 AND seq = 2;
        UPDATE session SET kind = CAST(x'ff' AS TEXT) WHERE no = 1;",
    );
    let reader = place.reader();
    insta::assert_snapshot!(check(|out| log::sessions(&reader, 9, out, TEXT)), @r#"
    SESSION                     WHEN                  KIND    EVENTS  CWD
    01HF7YAT000800000000000000  2023-11-14T22:13:20Z  exec         5  /home/me/project
    damaged: session `01HF7YAT000400000000000000` is damaged (its kind is not UTF-8): check it with `fivegates log verify`
    Failed: 1 row of the record is damaged
    hint: what is listed can be trusted no further than its hashes can be checked
    "#);
    let id = session_id(2).to_string();
    insta::assert_snapshot!(check(|out| log::events(&reader, &id, out, TEXT)), @r#"
    session 01HF7YAT000800000000000000  2023-11-14T22:13:20Z  exec
    in /home/me/project
        0    +0.001s  turn/start         turn 1
        1    +0.002s  tool/call          c1  tool2 {}
    damaged: event 2 of session `01HF7YAT000800000000000000` is damaged (its data is not UTF-8): check it with `fivegates log verify`
        3    +0.004s  tool/call          c1  tool2 {}
        4    +0.005s  turn/end           turn 1: error (HTTP)
    Failed: 1 row of the record is damaged
    hint: what is listed can be trusted no further than its hashes can be checked
    "#);
    let lines = check(|out| log::events(&reader, &id, out, Format::Json));
    assert!(lines.contains(r#"{"damaged":"its data is not UTF-8","session":"#), "{lines}");
    let told = check(|out| why::run(&reader, "c1", Some(&format!("{id}:1")), out, TEXT));
    assert!(told.starts_with("call `c1` of tool2 has no result on record"), "{told}");
    assert!(told.contains("Failed: the story may be incomplete: event 2 of session"), "{told}");
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure() {
    let place = two_sessions().await;
    let reader = place.reader();
    let id = session_id(1).to_string();
    for bytes in [0, 30, 90] {
        assert!(log::sessions(&reader, 9, &mut Closed(bytes), TEXT).is_ok());
        assert!(log::events(&reader, &id, &mut Closed(bytes), Format::Json).is_ok());
        assert!(why::run(&reader, "c1", None, &mut Closed(bytes), TEXT).is_ok());
    }
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = log::sessions(&reader, 9, &mut Full, TEXT).unwrap_err();
    assert_eq!(error.kind, Kind::Failed);
    assert!(error.message.starts_with("the report cannot be written: "), "{}", error.message);
}
