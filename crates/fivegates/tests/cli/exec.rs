//! `fivegates exec`.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Place, bash, call, told};

/// What of each line matters here.
fn brief(lines: &[Value]) -> Vec<String> {
    let one = |line: &Value| {
        let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}: {}", text("id"), text("outcome"), text("code"), told(line).replace('\n', "\\n"))
    };
    lines.iter().map(one).collect()
}

#[test]
fn the_line_of_the_issue() {
    let place = Place::new();
    let script = r#"printf '%s\n' '{"id":"c1","name":"bash","arguments":"{\"command\":\"echo hi\",\"description\":\"say hi\"}"}' '{"id":"c2","name":"nope","arguments":{}}' | "$0" exec --permission allow -"#;
    let done = place.script(script, &[]).done();
    insta::assert_snapshot!(place.shown(&done), @r#"
    {"id":"c1","name":"bash","outcome":"success","code":null,"content":[{"type":"text","text":"hi"}],"denial":null,"stages":["admit","tools/pre-execute","guards","body","tools/post-execute","tools/result"]}
    {"id":"c2","name":"nope","outcome":"error","code":"UNKNOWN_TOOL","content":[{"type":"text","text":"Error: unknown tool \"nope\""}],"denial":null,"stages":["admit","tools/pre-execute","guards","body","tools/post-execute","tools/result"]}
    --- stderr
    fivegates: permission mode allow (the command line): every call runs without being asked about
    fivegates: commands are not confined: they run with your own rights
    --- status 0
    "#);
    let why = place.done(&["why", "c2"]);
    insta::assert_snapshot!(place.shown(&why), @r#"
    call `c2` of nope failed [UNKNOWN_TOOL] after [N] ms
      session    [SESSION], event 5
      when       [TIME]
      error      ToolNotFoundError
      arguments
      │ {}

      admit               admitted
      tools/pre-execute   allowed by `permission`
                          permission mode allow
      approval            nobody was asked
      guards              none mounted
      tools/execute       passed
      body                not run [UNKNOWN_TOOL]
                          unknown tool "nope"
      tools/post-execute  accepted [UNKNOWN_TOOL before and after]
      finalizeContent     unchanged
      egress              no filter
      tools/result        published an error

    the model was told:
      │ Error: unknown tool "nope"
    --- stderr
    --- status 0
    "#);
    place.record_is_readable();
}

#[test]
fn calls_come_from_a_file_or_a_message_in_their_order() {
    let place = Place::new();
    place.file("notes.txt", "one\n");
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "m1", "type": "function", "function": {"name": "read", "arguments": "{\"file_path\": \"notes.txt\"}"}},
        {"id": "m2", "type": "function", "function": {"name": "bash", "arguments": {"command": "sleep 0.2; echo slow", "description": "d"}}},
        {"id": "m3", "type": "function", "function": {"name": "read", "arguments": {"file_path": "gone.txt"}}},
    ]});
    let lines = [
        message.to_string(),
        call("o1", "write", &json!({"file_path": "new/n.txt", "content": "é\n"})),
        call("o2", "edit", &json!({"file_path": "notes.txt", "old_string": "one", "new_string": "two"})),
        call("r1", "read", &Value::from("{\"file_path\":\"notes.txt\",\"limit\":1}")),
    ];
    // The last line has no end.
    let path = place.file("calls.jsonl", lines.join("\n"));
    let done = place.done(&["exec", "--permission", "allow", &path.to_string_lossy()]).status(0);
    let ids: Vec<_> = done.json_lines().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, ["m1", "m2", "m3", "o1", "o2", "r1"]);
    let lines = done.json_lines();
    assert_eq!(told(&lines[1]), "slow");
    assert_eq!(lines[2]["code"], "FS_NOT_FOUND");
    assert_eq!(fs::read_to_string(place.work().join("new/n.txt")).unwrap(), "é\n");
    assert_eq!(fs::read_to_string(place.work().join("notes.txt")).unwrap(), "two\n");
    assert!(told(&lines[5]).contains("1: two"), "{}", lines[5]);
    // The text of arguments is on record byte for byte.
    let sessions = place.record_is_readable();
    let events = place.events(&sessions[0]);
    let raw = |id: &str| {
        let is_call = |event: &&Value| event["type"] == "tool/call" && event["callId"] == id;
        events.iter().find(is_call).unwrap()["data"]["arguments"].as_str().unwrap().to_owned()
    };
    assert_eq!(raw("m1"), "{\"file_path\": \"notes.txt\"}");
    assert_eq!(raw("r1"), "{\"file_path\":\"notes.txt\",\"limit\":1}");
}

#[test]
fn an_id_that_comes_again_is_refused() {
    let place = Place::new();
    let done =
        place.exec("allow", &[bash("c1", "echo one >> n"), bash("c1", "echo two >> n"), bash("c2", "cat n")]);
    assert_eq!(
        brief(&done.status(0).json_lines()),
        [
            "c1 success -: (no output)",
            "c1 error DUPLICATE_CALL_ID: Error: duplicate tool call id \"c1\" in one model message",
            "c2 success -: one",
        ]
    );
    place.record_is_readable();
}

#[test]
fn modes_decide_what_runs() {
    let lines = |id: &str| {
        vec![
            call(&format!("{id}-read"), "read", &json!({"file_path": "notes.txt"})),
            call(&format!("{id}-write"), "write", &json!({"file_path": "made.txt", "content": "x"})),
            bash(&format!("{id}-bash"), "touch made-too.txt"),
        ]
    };
    let check = |mode: &str, expected: [Option<&str>; 3]| {
        let place = Place::new();
        place.file("notes.txt", "n\n");
        let done = place.exec(mode, &lines(mode)).status(0);
        let codes: Vec<Option<String>> =
            done.json_lines().iter().map(|line| line["denial"]["code"].as_str().map(str::to_owned)).collect();
        assert_eq!(codes, expected.map(|code| code.map(str::to_owned)), "{}", done.stdout);
        let made = place.work().join("made.txt").exists() || place.work().join("made-too.txt").exists();
        assert_eq!(made, mode == "allow");
        assert_eq!(done.stderr.contains("permission mode allow (the command line)"), mode == "allow");
        // Whoever asks why is told by whom.
        let why = place.done(&["why", &format!("{mode}-bash")]).status(0);
        assert!(why.stdout.contains("by `permission`"), "{}", why.stdout);
        place.record_is_readable();
    };
    check("read-only", [None, Some("PERMISSION_READ_ONLY"), Some("PERMISSION_READ_ONLY")]);
    // There is no terminal: it is refused at once.
    check("ask", [None, Some("APPROVAL_UNAVAILABLE"), Some("APPROVAL_UNAVAILABLE")]);
    check("allow", [None, None, None]);
}

#[test]
fn asking_is_the_default_and_does_not_wait_without_a_terminal() {
    let place = Place::new();
    let mut running = place.start(&["exec"]).spawn();
    // The input stays open: the answer does not wait for its end.
    running.write(bash("c1", "touch made") + "\n");
    let line: Value = serde_json::from_str(&running.line()).unwrap();
    assert_eq!(line["denial"]["code"], "APPROVAL_UNAVAILABLE");
    running.end().status(0);
    assert!(!place.work().join("made").exists());
}

#[test]
fn another_workspace() {
    let place = Place::new();
    fs::create_dir(place.work().join("there")).unwrap();
    let line = bash("c1", "pwd") + "\n";
    let done =
        place.start(&["exec", "--permission=allow", "--workspace", "there"]).stdin(line).done().status(0);
    assert!(told(&done.json_lines()[0]).ends_with("/project/there"), "{}", done.stdout);
    place.file("plain", "");
    for (name, what) in [("nowhere", "cannot be used"), ("plain", "is not a directory")] {
        let done = place.done(&["exec", "--workspace", name]).status(2);
        assert!(done.stdout.is_empty() && done.stderr.contains(what), "{}", done.stderr);
    }
}

#[test]
fn input_that_cannot_be_read_is_a_usage_error() {
    let place = Place::new();
    let done = place.done(&["exec", "gone.jsonl"]);
    insta::assert_snapshot!(place.shown(&done), @r#"
    --- stderr
    fivegates: commands are not confined: they run with your own rights
    fivegates: error: cannot read `gone.jsonl`: No such file or directory (os error 2)
    fivegates: hint: name a file of JSON lines, or - for standard input
    --- status 2
    "#);
    place.done(&["exec", "."]).status(2);
    // A closed or empty input holds no calls.
    for script in [r#""$0" exec - <&-"#, r#""$0" exec - </dev/null"#] {
        assert_eq!(place.script(script, &[]).done().status(0).stdout, "");
    }
    place.record_is_readable();
}

#[test]
fn secrets_of_the_environment_do_not_reach_commands() {
    let place = Place::new();
    let start =
        place.start(&["exec", "--permission", "allow"]).stdin(bash("c1", "env; cat /proc/$$/environ") + "\n");
    let start = start.env("SECRET_X", "hush-1").env("DEEPSEEK_API_KEY", "hush-2");
    let done = start.env("OPENAI_API_KEY", "hush-3").env("FIVEGATES_KEY", "hush-4").done().status(0);
    let told = told(&done.json_lines()[0]);
    assert!(told.contains("PATH=") && told.contains("HOME="), "{told}");
    for hidden in ["hush", "SECRET_X", "API_KEY", "FIVEGATES_KEY"] {
        assert!(!told.contains(hidden) && !done.stderr.contains(hidden), "{told}");
    }
}
