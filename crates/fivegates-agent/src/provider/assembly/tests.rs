use super::*;

/// Is one thing that a dialect tells the assembly.
#[derive(Clone, Copy)]
enum Told {
    Text(&'static str),
    Reasoning(&'static str),
    Call(u64, &'static str, &'static str, &'static str),
    Finish(Finish),
}
use Told::{Call, Reasoning, Text};

const LIMITS: Limits = Limits {
    text_bytes_max: 20,
    calls_max: 3,
    argument_bytes_max: 10,
    response_bytes_max: Limits::RESPONSE_BYTES_MAX,
    line_bytes_max: Limits::LINE_BYTES_MAX,
    connect_timeout_ms: Limits::CONNECT_TIMEOUT_MS,
    idle_timeout_ms: Limits::IDLE_TIMEOUT_MS,
    turn_timeout_ms: Limits::TURN_TIMEOUT_MS,
};

fn assemble(told: &[Told]) -> (Result<ModelTurn, ProviderError>, Vec<String>) {
    let mut seen = Vec::new();
    let mut sink = |delta: Delta<'_>| {
        seen.push(match delta {
            Delta::Text(text) => format!("t:{text}"),
            Delta::Reasoning(text) => format!("r:{text}"),
            Delta::CallStarted { index, name } => format!("{index}={name}"),
            Delta::CallArguments { index, text } => format!("{index}:{text}"),
        });
    };
    let mut assembly = Assembly::new(&LIMITS, &mut sink);
    let result = told.iter().try_for_each(|told| match *told {
        Told::Text(text) => assembly.text(text),
        Told::Reasoning(text) => assembly.reasoning(text),
        Told::Call(index, id, name, arguments) => {
            assembly.call(CallPiece { index, id: Some(id), name: Some(name), arguments: Some(arguments) })
        }
        Told::Finish(finish) => {
            assembly.finish(finish);
            Ok(())
        }
    });
    (result.and_then(|()| assembly.settle()), seen)
}

fn check(told: &[Told], text: &str, calls: &[(&str, &str, &str)], finish: Finish, seen: &[&str]) {
    let (turn, shown) = assemble(told);
    let turn = turn.unwrap();
    let got: Vec<_> =
        turn.calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!((turn.text.as_str(), got.as_slice(), turn.finish), (text, calls, finish));
    assert_eq!(shown, seen);
}

fn check_error(told: &[Told], code: &str, message: &str) {
    let error = assemble(told).0.unwrap_err();
    assert_eq!(error.code.as_str(), code, "{}", error.message);
    assert!(error.message.contains(message), "{:?} lacks {message:?}", error.message);
}

#[test]
fn pieces_become_a_turn() {
    check(&[Text("a"), Text(""), Text("b")], "ab", &[], Finish::Stop, &["t:a", "t:b"]);
    check(
        &[
            Call(4, "x", "n", "{\"a\""),
            Call(2, "y", "m", ""),
            Call(4, "", "", ":1}"),
            Call(2, "y", "m", "{}"),
        ],
        "",
        &[("x", "n", "{\"a\":1}"), ("y", "m", "{}")],
        Finish::ToolCalls,
        &["0=n", "0:{\"a\"", "1=m", "0::1}", "1:{}"],
    );
    // A name that comes late; no id at all.
    check(
        &[Call(7, "", "", "{"), Call(7, "", "late", "}")],
        "",
        &[("call-7", "late", "{}")],
        Finish::ToolCalls,
        &["0=late", "0:{}"],
    );
    // The finish word follows from the calls, and a token limit drops them all, even one without a name.
    check(
        &[Call(0, "x", "n", ""), Told::Finish(Finish::Stop)],
        "",
        &[("x", "n", "")],
        Finish::ToolCalls,
        &["0=n"],
    );
    check(&[Text("a"), Told::Finish(Finish::ToolCalls)], "a", &[], Finish::Stop, &["t:a"]);
    check(
        &[Call(0, "x", "n", "{}"), Call(1, "y", "", "{"), Told::Finish(Finish::MaxTokens)],
        "",
        &[],
        Finish::MaxTokens,
        &["0=n", "0:{}"],
    );
    check(
        &[Text("a"), Told::Finish(Finish::MaxTokens), Told::Finish(Finish::Stop)],
        "a",
        &[],
        Finish::MaxTokens,
        &["t:a"],
    );
}

#[test]
fn reasoning_is_kept_apart() {
    let (turn, seen) = assemble(&[Reasoning("h"), Text("a"), Reasoning("m")]);
    let turn = turn.unwrap();
    assert_eq!((turn.text.as_str(), turn.reasoning.as_deref()), ("a", Some("hm")));
    assert_eq!(seen, ["r:h", "t:a", "r:m"]);
    assert_eq!(assemble(&[Text("a")]).0.unwrap().reasoning, None);
}

#[test]
fn senseless_turns_are_refused() {
    check_error(&[], "EMPTY_RESPONSE", "neither text nor a call");
    check_error(&[Text(""), Told::Finish(Finish::Stop)], "EMPTY_RESPONSE", "");
    check_error(&[Call(0, "x", "", "{}")], "MALFORMED_RESPONSE", "call 0 has no name");
    check_error(
        &[Call(0, "x", "n", ""), Call(0, "y", "n", "")],
        "MALFORMED_RESPONSE",
        "id of call 0 changed from `x` to `y`",
    );
    check_error(
        &[Call(0, "x", "n", ""), Call(0, "x", "m", "")],
        "MALFORMED_RESPONSE",
        "name of call 0 changed",
    );
    check_error(
        &[Call(0, "x", "n", ""), Call(1, "x", "n", "")],
        "MALFORMED_RESPONSE",
        "two calls have the id `x`",
    );
    check_error(&[Call(0, "", "n", ""), Call(1, "call-0", "n", "")], "MALFORMED_RESPONSE", "two calls");
}

#[test]
fn limits_hold_to_the_byte() {
    let full = "0123456789";
    assert!(assemble(&[Text(full), Text(full)]).0.is_ok());
    check_error(
        &[Text(full), Text(full), Text("x")],
        "RESPONSE_TOO_LARGE",
        "the text is longer than 20 bytes",
    );
    check_error(&[Reasoning(full), Reasoning(full), Reasoning("x")], "RESPONSE_TOO_LARGE", "the reasoning");
    assert!(assemble(&[Call(0, "x", "n", full)]).0.is_ok());
    check_error(
        &[Call(0, "x", "n", full), Call(0, "", "", "x")],
        "RESPONSE_TOO_LARGE",
        "longer than 10 bytes",
    );
    let three = [Call(0, "", "n", ""), Call(1, "", "n", ""), Call(2, "", "n", "")];
    assert!(assemble(&three).0.is_ok());
    check_error(
        &[three.as_slice(), &[Call(3, "", "n", "")]].concat(),
        "RESPONSE_TOO_LARGE",
        "more than 3 calls",
    );
}
