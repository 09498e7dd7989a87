//! `why`, `log`, `tools`, `config`, `pipeline`, `completions`, `man`, `--version` and `--help`.

use serde_json::{Value, json};

use crate::support::{Place, bash, call};

fn with_calls() -> Place {
    let place = Place::new();
    place.exec("allow", &[bash("c1", "echo one"), call("c2", "nope", &json!({}))]).status(0);
    place.exec("read-only", &[bash("c1", "echo two")]).status(0);
    place
}

#[test]
fn why_tells_the_newest_of_several_and_lists_the_others() {
    let place = with_calls();
    let why = place.done(&["why", "c1"]);
    insta::assert_snapshot!(place.shown(&why), @r#"
    call `c1` of bash was denied by `permission` [PERMISSION_READ_ONLY] after [N] ms
      session    [SESSION], event 1
      when       [TIME]
      denial     policy: tool `bash` is denied in permission mode `read-only`: it
                 may change or destroy things, also beyond this machine;
                 `--permission ask` would ask instead
      arguments
      │ {"command":"echo two","description":"a command of a test"}

      admit               admitted
      tools/pre-execute   denied by `permission` [PERMISSION_READ_ONLY]
                          tool `bash` is denied in permission mode `read-only`: it
                          may change or destroy things, also beyond this machine;
                          `--permission ask` would ask instead
      approval            not reached
      guards              not reached
      tools/execute       not reached
      body                not reached
      tools/post-execute  accepted
      finalizeContent     unchanged
      egress              no filter
      tools/result        published an error

    the model was told:
      │ Error: tool `bash` is denied in permission mode `read-only`: it may change
      ┊ or destroy things, also beyond this machine; `--permission ask` would ask
      ┊ instead

    1 other call of this id:
      [TIME]  --session [SESSION]:1  bash
    --- stderr
    --- status 0
    "#);
    // What it lists can be used as it stands.
    let other = why.stdout.split_whitespace().skip_while(|word| *word != "--session").nth(1).unwrap();
    let other = place.done(&["why", "c1", "--session", other]).status(0);
    assert!(other.stdout.contains("succeeded") && other.stdout.contains("echo one"), "{}", other.stdout);
    let line = place.done(&["why", "c1", "--json"]).status(0).json_lines();
    assert_eq!((line.len(), &line[0]["tool"]), (1, &Value::from("bash")));
    place.record_is_readable();
}

#[test]
fn why_and_log_say_what_is_not_there() {
    let place = with_calls();
    insta::assert_snapshot!(place.shown(&place.done(&["why", "nothing"])), @r#"
    --- stderr
    fivegates: error: the record holds no call `nothing`
    fivegates: hint: `fivegates log` lists the sessions, `fivegates log SESSION` the calls of one
    --- status 1
    "#);
    insta::assert_snapshot!(place.shown(&place.done(&["log", "nothing"])), @r#"
    --- stderr
    fivegates: error: the record holds no session `nothing`: list its sessions with `fivegates log`
    --- status 1
    "#);
    let empty = Place::new();
    for arguments in [&["log"][..], &["why", "c1"]] {
        let done = empty.done(arguments).status(3);
        assert!(done.stdout.is_empty() && done.stderr.contains("there is no record at"), "{}", done.stderr);
    }
    assert!(!empty.record().exists(), "looking makes no record");
}

#[test]
fn log_lists_sessions_and_events() {
    let place = with_calls();
    insta::assert_snapshot!(place.shown(&place.done(&["log"])), @r#"
    SESSION                     WHEN                  KIND    EVENTS  CWD
    [SESSION]  [TIME]  exec         4  [ROOT]/project
    [SESSION]  [TIME]  exec         8  [ROOT]/project
    --- stderr
    --- status 0
    "#);
    let sessions = place.record_is_readable();
    insta::assert_snapshot!(place.shown(&place.done(&["log", &sessions[1]])), @r#"
    session [SESSION]  [TIME]  exec
    in [ROOT]/project
        0    [+T]  permission/preset  {"preset":"allow","origin":"the command line","confined":false}
        1    [+T]  tool/call          c1  bash {"command":"echo one","description":"a command of a test"}
        2    [+T]  tool/decision      c1  permitted: guards none mounted
        3    [+T]  tool/intent        c1  destructive, not idempotent
        4    [+T]  tool/result        c1  ok [N] ms: one
        5    [+T]  tool/call          c2  nope {}
        6    [+T]  tool/decision      c2  permitted: guards none mounted
        7    [+T]  tool/result        c2  error UNKNOWN_TOOL [N] ms: Error: unknown tool "nope"
    --- stderr
    --- status 0
    "#);
    let types: Vec<String> =
        place.events(&sessions[0]).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(types, ["permission/preset", "tool/call", "tool/decision", "tool/result"]);
    let one = place.done(&["log", "--limit", "1"]).status(0);
    assert!(one.stdout.contains("older sessions are on record"), "{}", one.stdout);
}

#[test]
fn tools_are_shown_as_they_are_sent() {
    let place = Place::new();
    let tools = place.done(&["tools", "--json"]).status(0);
    assert_eq!(tools.stderr, "");
    let tools: Vec<Value> = serde_json::from_str(&tools.stdout).unwrap();
    let brief: Vec<String> = tools
        .iter()
        .map(|tool| {
            assert_eq!(tool["type"], "function");
            let (function, parameters) = (&tool["function"], &tool["function"]["parameters"]);
            assert!(!function["description"].as_str().unwrap().is_empty());
            assert_eq!(parameters["type"], "object");
            let mut keys: Vec<_> = parameters["properties"].as_object().unwrap().keys().cloned().collect();
            keys.sort();
            let required: Vec<_> =
                parameters["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            format!(
                "{}({}) needs {}",
                function["name"].as_str().unwrap(),
                keys.join(", "),
                required.join(", ")
            )
        })
        .collect();
    insta::assert_snapshot!(brief.join("\n"), @r#"
    bash(command, description, timeoutMs, workdir) needs command, description
    edit(file_path, new_string, old_string, replace_all) needs file_path, old_string, new_string
    read(file_path, limit, offset) needs file_path
    write(content, file_path) needs file_path, content
    "#);
    let text = place.done(&["tools"]).status(0).stdout;
    for name in ["bash\n", "\nedit\n", "\nread\n", "\nwrite\n", "command (string, required)"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(!place.record().exists());
}

#[test]
fn the_reference_of_the_configuration_is_itself_a_configuration() {
    let place = Place::new();
    let reference = place.done(&["config"]).status(0).stdout;
    assert!(reference.contains("permission") && reference.contains("[bash]"), "{reference}");
    let path = place.file("all.toml", &reference);
    place.done(&["tools", "--config", &path.to_string_lossy()]).status(0);
}

#[test]
fn the_pipeline_is_drawn_in_three_forms() {
    let place = Place::new();
    place.file("fivegates.toml", "[[guard]]\ntool = \"write\"\nreason = \"no\"\n");
    for (format, mark) in [("text", "GATE 5"), ("mermaid", "flowchart"), ("svg", "<svg")] {
        let done = place.done(&["pipeline", "--format", format]).status(0);
        let has = |text: &str| done.stdout.contains(text);
        assert!(has(mark) && has("permission") && has("tools/execute") && has("deadline"), "{}", done.stdout);
        assert!(has("guard/project/1"), "the configured guard is mounted: {}", done.stdout);
    }
    assert_eq!(place.done(&["pipeline"]).stdout, place.done(&["pipeline", "--format", "text"]).stdout);
    place.done(&["pipeline", "--format", "png"]).status(2);
}

#[test]
fn help_version_completions_and_manual() {
    let place = Place::new();
    assert_eq!(
        place.done(&["--version"]).status(0).stdout,
        format!("fivegates {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = place.done(&["--help"]).status(0).stdout;
    for name in
        ["demo", "run", "exec", "why", "log", "tools", "pipeline", "config", "completions", "man", "143"]
    {
        assert!(help.contains(name), "{name}: {help}");
    }
    let script = r#"source <("$0" completions bash) && complete -p fivegates"#;
    let done = place.script(script, &[]).done().status(0);
    assert!(done.stdout.contains("fivegates"), "{}", done.stdout);
    for shell in ["zsh", "fish"] {
        assert!(place.done(&["completions", shell]).status(0).stdout.contains("fivegates"));
    }
    let page = place.done(&["man"]).status(0).stdout;
    assert!(page.contains(".TH fivegates") && page.contains("fivegates\\-exec"), "{page}");
    for wrong in
        [&[][..], &["nope"], &["run"], &["why"], &["exec", "--permission", "maybe"], &["log", "--limit", "0"]]
    {
        let done = place.done(wrong).status(2);
        assert!(
            done.stdout.is_empty() && done.stderr.contains("Usage") | done.stderr.contains("--help"),
            "{done:?}"
        );
    }
    assert!(!place.record().exists(), "none of these makes a record");
}
