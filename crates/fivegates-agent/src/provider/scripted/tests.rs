use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::super::{CallText, Finish};
use super::*;

fn parse(text: &str) -> Result<ScriptedProvider, ScriptError> {
    ScriptedProvider::parse(text.as_bytes(), Path::new("s.json"))
}

/// Asks for one turn; a scripted model never waits.
fn ask(provider: &ScriptedProvider) -> (Result<ModelTurn, ProviderError>, Vec<String>) {
    let mut seen = Vec::new();
    let mut sink = |delta: Delta<'_>| seen.push(format!("{delta:?}"));
    let request = ModelRequest::default();
    let turn = pin!(provider.turn(&request, &mut sink)).poll(&mut Context::from_waker(Waker::noop()));
    match turn {
        Poll::Ready(turn) => (turn, seen),
        Poll::Pending => panic!("a scripted turn waits"),
    }
}

fn check_first(text: &str, want: (&str, &[(&str, &str, &str)], Finish)) {
    let turn = ask(&parse(text).unwrap()).0.unwrap();
    let calls: Vec<_> =
        turn.calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!((turn.text.as_str(), calls.as_slice(), turn.finish), want, "{text}");
}

fn check_fault(text: &str, want: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), want, "{text}");
}

#[test]
fn turns_come_out_as_written() {
    check_first(r#"{"turns":[{"text":"hi"}]}"#, ("hi", &[], Finish::Stop));
    check_first(r#"{"turns":[{"text":"","finish":"max-tokens"}]}"#, ("", &[], Finish::MaxTokens));
    check_first(
        r#"{"turns":[{"calls":[{"id":"a","name":"n","arguments":{ "x" : 1E400,"x":[1,  2]}},{"name":"m"}]}]}"#,
        ("", &[("a", "n", r#"{ "x" : 1E400,"x":[1,  2]}"#), ("call-1-2", "m", "")], Finish::ToolCalls),
    );
    check_first(
        r#"{"turns":[{"text":"t","calls":[{"name":"n","arguments":"{\"half\": é\n"}],"finish":"stop"}]}"#,
        ("t", &[("call-1-1", "n", "{\"half\": é\n")], Finish::ToolCalls),
    );
    check_first(
        r#"{"turns":[{"calls":[{"name":"n"}],"finish":"max-tokens"}]}"#,
        ("", &[], Finish::MaxTokens),
    );
    check_first(
        r#"{"turns":[{"calls":[{"name":"n","arguments":{"$serde_json::private::RawValue":"1"}}]}]}"#,
        ("", &[("call-1-1", "n", r#"{"$serde_json::private::RawValue":"1"}"#)], Finish::ToolCalls),
    );
}

#[test]
fn turns_are_played_in_order_and_then_no_more() {
    let provider =
        parse(r#"{"turns":[{"text":"one","calls":[{"name":"n","arguments":{}}]},{"text":"two"}]}"#).unwrap();
    let (first, seen) = ask(&provider);
    let call = CallText { id: "call-1-1".to_owned(), name: "n".to_owned(), arguments: "{}".to_owned() };
    assert_eq!(first.unwrap().calls, [call]);
    assert_eq!(
        seen,
        [
            r#"Text("one")"#,
            r#"CallStarted { index: 0, name: "n" }"#,
            r#"CallArguments { index: 0, text: "{}" }"#
        ]
    );
    assert_eq!(ask(&provider).0.unwrap().text, "two");
    for _ in 0..2 {
        let (error, seen) = ask(&provider);
        let error = error.unwrap_err();
        assert_eq!(error.code, ErrorCode::ScriptExhausted);
        assert_eq!(
            error.message,
            "the script `s.json` is exhausted: all 2 turns are played; add the next turn to it"
        );
        assert!(seen.is_empty());
    }
}

/// Checks that the mark `^` in `text` is where a fault is found, and what it says.
fn check_at(text: &str, message: &str) {
    let at = text.find('^').unwrap();
    let line = text[..at].matches('\n').count() + 1;
    let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
    check_fault(&text.replace('^', ""), &format!("`s.json`, line {line}, column {column}: {message}"));
}

#[test]
fn faults_of_json_are_found_at_their_place() {
    check_at("^ \n", "the script is empty; write an object such as `{\"turns\": [{\"text\": \"hi\"}]}`");
    check_at("^{", "EOF while parsing an object");
    check_at("{\"turns\": [{\"text\":\n\"^a", "EOF while parsing a string");
    check_at("n^ope", "expected ident");
    check_at("[^]", "invalid length 0, expected an object with `turns`");
    check_at("{\"turns\":[{\"text\":\"a\"}]} ^x", "trailing characters");
    check_at("{\"turns\":[{\"calls\":[{\"name\":\"n\",\"arguments\":{\"x\":^}}]}]}", "expected value");
}

#[test]
fn faults_of_form_are_found_at_their_place() {
    check_at("{^}", "missing field `turns`");
    check_at("{\"turns\":^[]}", "`turns` is empty; add at least one turn");
    check_at("{\"turns\":\n ^{}}", "invalid type: map, expected a sequence");
    check_at("{\"turns\":[{\"text\":\"a\"}],\n\"turn^\":1}", "unknown field `turn`, expected `turns`");
    check_at("{\"turns\":[],\n\"turns^\":[]}", "duplicate field `turns`");
    check_at(
        "{\"turns\":[{\"text\":\"a\"},\n {\n\"txt^\":\"a\"}]}",
        "unknown field `txt`, expected one of `text`, `calls`, `finish`",
    );
    check_at("{\"turns\":[{\"text\":\"a\",\n  \"text^\":\"b\"}]}", "duplicate field `text`");
    check_at("{\"turns\":[\n{\"text\":nul^l}]}", "invalid type: null, expected a string");
    check_at(
        "{\"turns\":[{\"text\":\"a\"},\n^{},\n{\"text\":\"b\"}]}",
        "this turn has nothing in it; give it `text`, `calls` or both",
    );
    check_at(
        "{\"turns\":[{\"text\":\"a\",\n\"finish\":^\"length\"\n}]}",
        "`finish` is `length`; use `stop`, `tool-calls` or `max-tokens`",
    );
    check_at(
        "{\"turns\":[{\"text\":\"a\",\"finish\":^\"tool-calls\"}]}",
        "`finish` is `tool-calls`, but this turn has no calls; add one",
    );
}

#[test]
fn faults_of_calls_are_found_at_their_place() {
    check_at("{\"turns\":[{\"calls\":[\n{\"id\":\"a\"^}]}]}", "missing field `name`");
    check_at(
        "{\"turns\":[{\"calls\":[{\"name\":\"n\",\"id\":^7}]}]}",
        "invalid type: integer `7`, expected a string",
    );
    check_at(
        "{\"turns\":[{\"calls\":[{\"name\":\"n\",\n\"arguments\":\n ^[1]\n}\n]}]}",
        "`arguments` must be an object, or a string with the raw text",
    );
    check_at(
        "{\"turns\":[{\"calls\":[{\"name\":\"n\",\"arguments\":^null}]}]}",
        "`arguments` must be an object, or a string with the raw text",
    );
    check_at(
        "{\"turns\":[{\"calls\":[{\"name\":\"n\",\"arguments\":\"\\ud800^\"}]}]}",
        "unexpected end of hex escape",
    );
    check_at(
        "{\"turns\":[{\"calls\":[{\"name\":\"n\"},\n^{\"name\":\"n\",\"id\":\"call-1-1\"}]}]}",
        "another call of this turn has the id `call-1-1` already; give each its own",
    );
}

#[test]
fn a_byte_that_is_not_utf8_is_found_at_its_place() {
    let error =
        ScriptedProvider::parse(b"{\"turns\":[{\n\"text\":\"\xff\"}]}", Path::new("s.json")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`s.json`, line 2, column 9: this byte is not UTF-8; save the script as UTF-8"
    );
}

#[test]
fn a_fault_does_not_repeat_a_huge_value() {
    let text = format!("{{\"turns\":\"{}\"}}", "x".repeat(100_000));
    assert!(parse(&text).unwrap_err().to_string().len() < 500);
}

#[test]
fn files_are_read_and_missing_ones_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("turns.json");
    let missing = ScriptedProvider::load(&file).unwrap_err();
    assert!(missing.to_string().contains("turns.json"), "{missing}");
    std::fs::write(&file, r#"{"turns":[{"text":"hi"}]}"#).unwrap();
    assert_eq!(ask(&ScriptedProvider::load(&file).unwrap()).0.unwrap().text, "hi");
}
