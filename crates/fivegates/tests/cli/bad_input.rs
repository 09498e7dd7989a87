//! Lines that are no calls, and calls that no tool takes: an error of their own each, and the rest goes on.

use serde_json::{Value, json};

use crate::support::{Place, bash, call, told};

/// Memory that no input makes the program take.
const MEMORY_KIB_MAX: u64 = 400 << 10;

/// Feeds one line and a good one; checks what comes of the first, and that the second runs all the same.
fn check(line: &str, id: Option<&str>, code: &str, says: &str) {
    let place = Place::new();
    let input = [line.to_owned(), bash("good", "echo ok")].join("\n");
    let done = place.start(&["exec", "--permission", "allow"]).stdin(input).done();
    let lines = done.json_lines();
    assert_eq!(lines.len(), 2, "{}", done.stdout);
    assert_eq!((lines[0]["id"].as_str(), lines[0]["code"].as_str()), (id, Some(code)), "{}", lines[0]);
    assert!(told(&lines[0]).contains(says), "{}", lines[0]);
    assert_eq!((&lines[1]["id"], told(&lines[1]).as_str()), (&json!("good"), "ok"));
    assert_eq!(done.status, i32::from(id.is_none()), "{}", done.stderr);
    if let Some(id) = id {
        let why = place.done(&["why", id]).status(0);
        assert!(why.stdout.contains(code), "{}", why.stdout);
    }
    place.record_is_readable();
}

#[test]
fn lines_that_are_no_calls() {
    let bad = |line: &str, says: &str| check(line, None, "BAD_LINE", says);
    bad("nonsense", "line 1 is not a call");
    bad("{\"id\":\"a\",\"name\":\"rea", "the line ends in the middle of a value");
    bad("[1, 2]", "expected a call or an assistant message");
    bad("null", "expected a call or an assistant message");
    bad("{}", "missing key `id`");
    bad(r#"{"id":"a","name":"","arguments":{}}"#, "`name` is empty");
    bad(r#"{"id":"","name":"read","arguments":{}}"#, "`id` is empty");
    bad(r#"{"id":1,"name":"read","arguments":{}}"#, "expected a string");
    bad(r#"{"id":"a","name":"read","arguments":{},"extra":1}"#, "unknown key `extra`");
    bad(r#"{"id":"a","id":"b","name":"read","arguments":{}}"#, "duplicate field `id`");
    bad(r#"{"tool_calls":[{"id":"a","function":{"name":"read"}}]}"#, "missing field `arguments`");
    bad(&"[".repeat(10_000), "line 1 is not a call");
    bad(&format!("{}1{}", "{\"id\":".repeat(10_000), "}".repeat(10_000)), "line 1 is not a call");
}

#[test]
fn a_line_that_is_not_utf8_is_no_call() {
    let place = Place::new();
    let mut input = b"{\"id\":\"\xff\",\"name\":\"read\",\"arguments\":{}}\n\0\n".to_vec();
    input.extend(bash("good", "echo ok").bytes());
    let done = place.start(&["exec", "--permission", "allow"]).stdin(input).done().status(1);
    let lines = done.json_lines();
    assert!(told(&lines[0]).contains("not UTF-8"), "{}", lines[0]);
    assert_eq!((lines.len(), told(&lines[2]).as_str()), (3, "ok"));
    assert!(done.stderr.contains("2 lines of the input were no calls"), "{}", done.stderr);
}

#[test]
fn half_a_line_at_the_end_is_no_call() {
    let place = Place::new();
    let whole = bash("c1", "echo ok");
    let done = place.exec("allow", &[whole.clone(), whole[..whole.len() - 9].to_owned()]).status(1);
    let lines = done.json_lines();
    assert_eq!((lines.len(), &lines[1]["line"], &lines[1]["code"]), (2, &json!(2), &json!("BAD_LINE")));
}

#[test]
fn calls_that_no_tool_takes() {
    let bad = |name: &str, arguments: Value, code: &str, says: &str| {
        check(&call("bad", name, &arguments), Some("bad"), code, says);
    };
    bad("nope", json!({}), "UNKNOWN_TOOL", "unknown tool \"nope\"");
    bad("read", json!({"file_path": 3}), "INVALID_ARGS", "\"file_path\" must be a string");
    bad("read", json!({}), "INVALID_ARGS", "file_path");
    bad("read", json!([]), "INVALID_ARGS", "");
    bad("read", Value::Null, "INVALID_ARGS", "");
    bad("read", json!(""), "INVALID_ARGS", "");
    bad("read", json!("{\"file_path\": \"x\""), "INVALID_ARGS", "ends too early");
    bad("read", json!("{\"file_path\": \"x\", \"file_path\": \"y\"}"), "INVALID_ARGS", "");
    bad("read", json!({"file_path": "x", "limit": 1.5}), "INVALID_ARGS", "limit");
    bad("read", json!({"file_path": "x", "limit": true}), "INVALID_ARGS", "limit");
    bad("bash", json!({"command": ["ls"], "description": "d"}), "INVALID_ARGS", "command");
    let deep = format!("{{\"file_path\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    bad("read", json!(deep), "INVALID_ARGS", "nested deeper than");
    check(
        &format!("{{\"id\":\"bad\",\"name\":\"read\",\"arguments\":{deep}}}"),
        Some("bad"),
        "INVALID_ARGS",
        "nested deeper than",
    );
}

/// Feeds lines and looks at the memory while the input is still open.
fn check_memory(lines: &[String], codes: &[&str]) {
    let place = Place::new();
    let mut running = place.start(&["exec", "--permission", "allow"]).spawn();
    running.write(lines.join("\n") + "\n");
    for code in codes {
        let line = running.line();
        let parsed: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(parsed["code"], *code, "{}", &line[..line.len().min(500)]);
        assert!(line.len() < 2_000);
    }
    running.write(bash("good", "echo ok") + "\n");
    assert_eq!(told(&serde_json::from_str(&running.line()).unwrap()), "ok");
    let memory_kib = running.memory_kib_max();
    println!("at most {memory_kib} KiB of memory");
    assert!(memory_kib < MEMORY_KIB_MAX, "{memory_kib} KiB");
    running.end();
    place.record_is_readable();
}

/// A line that writes a file of one character many times over, as that character is written in the line. It is put
/// together by hand, since a serializer that is not optimized takes its time with so much.
fn write(id: &str, character: &str, times: usize, form: Form) -> String {
    let content = character.repeat(times);
    match form {
        Form::Object => {
            format!(r#"{{"id":"{id}","name":"write","arguments":{{"file_path":"x","content":"{content}"}}}}"#)
        }
        Form::RawText => format!(
            r#"{{"id":"{id}","name":"write","arguments":"{{\"file_path\":\"x\",\"content\":\"{content}\"}}"}}"#
        ),
    }
}

#[derive(Clone, Copy)]
enum Form {
    Object,
    RawText,
}

#[test]
fn an_argument_of_100_mb_is_refused_in_bounded_memory() {
    let lines = [Form::Object, Form::RawText].map(|form| write("huge", "a", 100_000_000, form));
    check_memory(&lines, &["BAD_LINE"; 2]);
}

#[test]
fn an_argument_over_the_limit_is_refused_and_the_rest_goes_on() {
    let lines = [
        write("large", "a", 17_000_000, Form::Object),
        write("larger", "a", 30_000_000, Form::RawText),
        // A quote within raw text takes four characters: too long a line for arguments within the limit.
        write("escaped", r#"\\\""#, 10_000_000, Form::RawText),
    ];
    check_memory(&lines, &["INVALID_ARGS", "INVALID_ARGS", "BAD_LINE"]);
}

#[test]
fn an_argument_near_the_limit_runs() {
    let place = Place::new();
    // As raw text, which is the longest that a call of this size can be.
    let line = write("near", r#"\\\""#, 8_000_000, Form::RawText);
    let done = place.exec("allow", &[line]).status(0);
    assert_eq!(done.json_lines()[0]["outcome"], "success", "{}", &done.stdout[..300]);
    assert_eq!(std::fs::read(place.work().join("x")).unwrap(), b"\"".repeat(8_000_000));
    place.record_is_readable();
}
