//! `fivegates run` with a model that plays a script.

use serde_json::{Value, json};

use crate::program::Done;
use crate::support::Place;

const TURNS: &str = r#"{"turns": [
  {"text": "I look.", "calls": [{"id": "c1", "name": "read", "arguments": {"file_path": "notes.txt"}}]},
  {"text": "I try.", "calls": [{"id": "c2", "name": "bash", "arguments": "{\"command\": \"touch made\", \"description\": \"d\"}"}]},
  {"text": "Done."}
]}"#;

fn play(place: &Place, script: &str, more: &[&str]) -> Done {
    place.file("turns.json", script);
    place.done(&[&["run", "do it", "--model", "scripted:turns.json"], more].concat())
}

#[test]
fn the_answer_is_on_standard_output_and_progress_beside_it() {
    let place = Place::new();
    place.file("notes.txt", "one\n");
    let done = play(&place, TURNS, &["--permission", "read-only"]);
    insta::assert_snapshot!(place.shown(&done), @r#"
    Done.
    --- stderr
    fivegates: permission mode read-only (the command line): writes and commands are denied
    fivegates: model: I look.
    fivegates: call c1 read {"file_path": "notes.txt"}
    fivegates:   c1 done: <path>[ROOT]/project/notes.txt</path>\n<type>file</type>\n<content>\n1: one\n\n(End of file - total 1 lines)\n</content>
    fivegates: model: I try.
    fivegates: call c2 bash {"command": "touch made", "description": "d"}
    fivegates:   c2 denied (PERMISSION_READ_ONLY): Error: tool `bash` is denied in permission mode `read-only`: it may change or destroy things, also beyond this machine; `--permission ask` would ask instead
    --- status 0
    "#);
    assert!(!place.work().join("made").exists());
    let why = place.done(&["why", "c2"]).status(0);
    assert!(why.stdout.contains("PERMISSION_READ_ONLY"), "{}", why.stdout);
    let sessions = place.record_is_readable();
    let types: Vec<String> =
        place.events(&sessions[0]).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    insta::assert_snapshot!(types.join("\n"), @r#"
    permission/preset
    turn/start
    step/start
    user/message
    assistant/message
    tool/call
    tool/decision
    tool/result
    step/end
    step/start
    assistant/message
    tool/call
    tool/decision
    tool/result
    step/end
    step/start
    assistant/message
    step/end
    turn/end
    "#);
}

#[test]
fn one_object_at_the_end() {
    let place = Place::new();
    place.file("notes.txt", "one\n");
    let done = play(&place, TURNS, &["--permission", "allow", "--output", "json"]).status(0);
    let lines = done.json_lines();
    assert_eq!(lines.len(), 1);
    assert_eq!((&lines[0]["end"], &lines[0]["text"]), (&json!("completed"), &json!("Done.")));
    let ids: Vec<_> = lines[0]["calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
    assert_eq!(ids, ["c1", "c2"]);
    assert_eq!(lines[0]["session"], place.record_is_readable()[0].as_str());
    assert!(place.work().join("made").exists());
}

#[test]
fn an_object_for_each_thing_that_happens() {
    let place = Place::new();
    place.file("notes.txt", "one\n");
    let done = play(&place, TURNS, &["--output", "stream-json"]).status(0);
    let lines = done.json_lines();
    let types: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(
        types.join(" "),
        "turn/start user/message assistant/chunk assistant/message tool/call tool/result assistant/chunk \
         assistant/message tool/call tool/result assistant/chunk assistant/message turn/end"
    );
    assert_eq!(lines[9]["denial"]["code"], "APPROVAL_UNAVAILABLE");
    assert_eq!(lines[8]["arguments"], "{\"command\": \"touch made\", \"description\": \"d\"}");
    assert_eq!(lines[12]["end"], "completed");
}

#[test]
fn a_script_that_ends_too_early_is_a_model_that_cannot_be_reached() {
    let place = Place::new();
    let script = r#"{"turns": [{"calls": [{"id": "c1", "name": "read", "arguments": {"file_path": "x"}}]}]}"#;
    for output in ["text", "json", "stream-json"] {
        let done = play(&place, script, &["--output", output]).status(4);
        assert!(done.stderr.contains("error: SCRIPT_EXHAUSTED: "), "{}", done.stderr);
        if output != "text" {
            let last = done.json_lines().pop().unwrap();
            assert_eq!((&last["end"], &last["error"]["code"]), (&json!("error"), &json!("SCRIPT_EXHAUSTED")));
        }
    }
    place.record_is_readable();
}

#[test]
fn an_answer_that_was_cut_runs_no_calls() {
    let place = Place::new();
    let call = r#"{"id": "c1", "name": "bash", "arguments": {"command": "touch made", "description": "d"}}"#;
    let script = format!(r#"{{"turns": [{{"text": "half", "finish": "max-tokens", "calls": [{call}]}}]}}"#);
    let done = play(&place, &script, &["--permission", "allow"]);
    insta::assert_snapshot!(place.shown(&done), @r#"
    half
    --- stderr
    fivegates: permission mode allow (the command line): every call runs without being asked about
    fivegates: commands are not confined: they run with your own rights
    fivegates: error: the answer was cut at the model's output limit
    fivegates: hint: its calls were not run; ask for less at once
    --- status 1
    "#);
    assert!(!place.work().join("made").exists());
    place.record_is_readable();
}

#[test]
fn steps_have_a_limit() {
    let place = Place::new();
    place.file("notes.txt", "one\n");
    let done = play(&place, TURNS, &["--set", "model.steps_max=1"]).status(1);
    assert!(done.stderr.contains("STEP_LIMIT"), "{}", done.stderr);
    place.record_is_readable();
}

#[test]
fn what_is_no_script_is_a_usage_error_that_shows_the_place() {
    let place = Place::new();
    for (script, what) in [
        ("", "line 1, column 1: the script is empty"),
        ("#!/bin/sh\n", "line 1, column 1: "),
        ("{\"turns\": [\n  {\"text\": 3}]}", "line 2, column "),
        ("{\"turns\": [{\"text\": \"a\", \"txet\": \"b\"}]}", "unknown field `txet`"),
    ] {
        let done = play(&place, script, &[]).status(2);
        assert!(done.stderr.contains(what), "{script}: {}", done.stderr);
    }
    let done = place.done(&["run", "x", "--model", "scripted:gone.json"]).status(2);
    assert!(done.stderr.contains("cannot read the script `gone.json`"), "{}", done.stderr);
    place.done(&["run", "x"]).status(2);
    place.done(&["run", "x", "--model", "nobody:x"]).status(2);
    assert!(!place.record().exists(), "nothing was begun");
}

#[test]
fn raw_argument_text_stays_as_the_model_wrote_it() {
    let place = Place::new();
    // Broken, repeated and oddly spaced, as models do it.
    let texts = [
        "{\"file_path\": \"a\", \"file_path\": \"b\"}",
        " { \"file_path\" :\t\"a\" } ",
        "{\"limit\": 1e400",
        "",
    ];
    let calls: Vec<Value> = texts
        .iter()
        .zip(0..)
        .map(|(text, n)| json!({"id": format!("c{n}"), "name": "read", "arguments": text}))
        .collect();
    let script = json!({"turns": [{"calls": calls}, {"text": "ok"}]}).to_string();
    play(&place, &script, &[]).status(0);
    let sessions = place.record_is_readable();
    let events = place.events(&sessions[0]);
    let recorded = events.iter().filter(|event| event["type"] == "tool/call");
    let recorded: Vec<&str> = recorded.map(|event| event["data"]["arguments"].as_str().unwrap()).collect();
    assert_eq!(recorded, texts);
}
