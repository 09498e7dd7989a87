//! Answers that make a turn.

use super::super::super::{Finish, Usage};
use super::*;

/// Checks that a stream of these events, however it is cut, gives this turn.
async fn check(events: &[&str], text: &str, calls: &[(&str, &str, &str)], finish: Finish) -> ModelTurn {
    let mut last = None;
    for chunk_bytes in [1, 7, 64, usize::MAX] {
        for crlf in ["\n", "\r\n"] {
            let body: String = events.iter().chain(&["[DONE]"]).fold(String::new(), |body, event| {
                format!("{body}: keep-alive{crlf}{crlf}data: {event}{crlf}{crlf}")
            });
            let reply = Reply::bytes(body).in_chunks_of(chunk_bytes);
            let turn = play(reply, Limits::default()).await.0.unwrap();
            let got: Vec<_> =
                turn.calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
            assert_eq!((turn.text.as_str(), got.as_slice(), turn.finish), (text, calls, finish));
            last = Some(turn);
        }
    }
    last.unwrap()
}

#[tokio::test]
async fn text_and_reasoning_survive_any_cut() {
    let turn = check(
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm €"}}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"né"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"😀","reasoning_content":null}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"another choice"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{}"#,
        ],
        "né😀",
        &[],
        Finish::Stop,
    )
    .await;
    assert_eq!(turn.reasoning.as_deref(), Some("hm €"));
    assert_eq!(turn.usage, None);
}

#[tokio::test]
async fn interleaved_calls_keep_their_raw_argument_text() {
    check(
        &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{ \"n\":"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":12345678901234567890123,"}},{"index":1,"function":{"name":"late"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"","function":{"name":"","arguments":"1E400 }\n"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"n\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        "",
        &[("a", "read", r#"{"n":12345678901234567890123,"n":1}"#), ("call-1", "late", "{ \"n\":1E400 }\n")],
        Finish::ToolCalls,
    )
    .await;
}

#[tokio::test]
async fn a_token_limit_drops_all_calls() {
    check(
        &[
            r#"{"choices":[{"delta":{"content":"so"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
        ],
        "so",
        &[],
        Finish::MaxTokens,
    )
    .await;
}

#[tokio::test]
async fn a_refusal_is_text_and_a_missing_finish_a_stop() {
    check(
        &[r#"{"choices":[{"delta":{"refusal":"no","reasoning":"r"},"finish_reason":""}]}"#],
        "no",
        &[],
        Finish::Stop,
    )
    .await;
}

#[tokio::test]
async fn usage_is_disjoint_under_either_name() {
    let cases = [
        (
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":20}}}"#,
            Usage {
                input_tokens: 40,
                output_tokens: 30,
                cache_read_tokens: Some(60),
                cache_write_tokens: None,
                reasoning_tokens: Some(20),
            },
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}"#,
            Usage { input_tokens: 36, output_tokens: 50, cache_read_tokens: Some(64), ..Usage::default() },
        ),
        (
            r#"{"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}}"#,
            Usage { input_tokens: 0, output_tokens: 2, cache_read_tokens: Some(9), ..Usage::default() },
        ),
    ];
    for (chunk, want) in cases {
        let reply = Reply::events(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#, chunk]);
        assert_eq!(play(reply, Limits::default()).await.0.unwrap().usage, Some(want), "{chunk}");
    }
}

#[tokio::test]
async fn the_sink_sees_everything_in_order() {
    let reply = Reply::calls("look", &[("a", "read", "{\"p\":1}"), ("b", "ls", "{}")]);
    let (turn, seen) = play(reply, Limits::default()).await;
    assert_eq!(seen, "look[0 read][1 ls]{0:{\"p\":}{1:{}}{0:1}}");
    assert_eq!(turn.unwrap().calls.len(), 2);
}

#[tokio::test]
async fn the_end_mark_counts_even_without_its_line_end() {
    let chunk = r#"data: {"choices":[{"delta":{"content":"x"}}]}"#;
    for end in ["data: [DONE]\n", "data: [DONE]", "data:[DONE]\r\n\r\ndata: {never read"] {
        let reply = Reply::bytes(format!("{chunk}\n\n{end}"));
        assert_eq!(play(reply, Limits::default()).await.0.unwrap().text, "x", "{end:?}");
    }
}

#[tokio::test]
async fn the_end_mark_ends_the_turn_though_the_connection_stays() {
    let server = FakeServer::start(vec![Reply::text("x").then_stall()]).await.unwrap();
    assert_eq!(ask(config(server.base_url())).await.0.unwrap().text, "x");
    server.client_closed(1).await;
}

#[tokio::test]
async fn the_request_is_sent_where_and_as_it_should() {
    let server = FakeServer::start(vec![Reply::text("a"), Reply::text("b")]).await.unwrap();
    ask(config(server.base_url())).await.0.unwrap();
    ask(OpenAiConfig { key: None, ..config(&format!("{}/", server.base_url())) }).await.0.unwrap();
    let requests = server.requests();
    for request in &requests {
        assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("accept"), Some("text/event-stream"));
        assert_eq!(
            request.body,
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}"#
        );
    }
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-test-secret"));
    assert_eq!(requests[1].header("authorization"), None);
}
