//! Servers and answers that fail.

use std::future::Future;
use std::time::Duration;

use tokio::net::TcpListener;

use super::super::super::ErrorCode;
use super::*;

const TEXT: &str = r#"{"choices":[{"delta":{"content":"x"}}]}"#;

/// Checks that a reply ends in an error with this code and text, and without the key.
async fn check(reply: Reply, limits: Limits, code: &str, message: &str) -> ProviderError {
    let shown = format!("{reply:?}");
    let error = play(reply, limits).await.0.expect_err(&shown);
    assert_eq!(error.code.as_str(), code, "{}", error.message);
    assert!(error.message.contains(message), "{:?} lacks {message:?}", error.message);
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    error
}

fn events(events: &[&str]) -> Reply {
    Reply::events(events)
}

#[tokio::test]
async fn error_statuses_are_told_apart() {
    let limits = Limits::default();
    let error = check(
        Reply::error(401, &format!("bad key {KEY}")).with_header("x-request-id", "r-1"),
        limits,
        "AUTH",
        "401: bad key ****; check the key",
    )
    .await;
    assert_eq!((error.status, error.request_id.as_deref()), (Some(401), Some("r-1")));
    let slow = Reply::error(429, "slow").with_header("retry-after", "3");
    assert_eq!(check(slow, limits, "RATE_LIMIT", "429: slow").await.retry_after_ms, Some(3000));
    check(Reply::error(500, "oops"), limits, "SERVER", "500: oops").await;
    check(Reply::error(413, "big"), limits, "INVALID_REQUEST", "413: big").await;
    let long = Reply::error(400, "This model's maximum context length is 5 tokens");
    check(long, limits, "CONTEXT_WINDOW_EXCEEDED", "shorten").await;
    check(Reply::error(400, "bad"), limits, "INVALID_REQUEST", "400: bad").await;
    check(Reply::error(402, "Insufficient Balance"), limits, "QUOTA", "402").await;
    check(Reply::error(404, "no such model"), limits, "HTTP_404", "404: no such model").await;
}

#[tokio::test]
async fn error_bodies_are_read_within_bounds() {
    // Long enough for the status to arrive on a busy machine, short enough to wait for the body's end that never comes.
    let limits = Limits { idle_timeout_ms: 1500, ..Limits::default() };
    let huge = Reply::error(500, &"y".repeat(1 << 20));
    assert!(check(huge, limits, "SERVER", "yyy").await.message.len() < 1200);
    // The status is enough where the body never ends or breaks.
    check(Reply::error(503, "late").then_stall(), limits, "SERVER", "503: late").await;
    check(Reply::error(429, "cut").truncated(12).then_cut(), limits, "RATE_LIMIT", r#"{"error":{"m"#).await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = FakeServer::start(vec![Reply::text("stolen")]).await.unwrap();
    let reply =
        Reply::error(307, "").with_header("location", &format!("{}/chat/completions", other.base_url()));
    check(reply, Limits::default(), "HTTP_307", "redirects are not followed").await;
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn streams_that_end_early_are_closed_and_cut_ones_broken() {
    let limits = Limits::default();
    let whole = events(&[TEXT]);
    let without_mark = whole.body_bytes() - "data: [DONE]\n\n".len();
    check(whole.clone().truncated(without_mark), limits, "STREAM_CLOSED", "before its end mark").await;
    check(whole.clone().truncated(without_mark - 10), limits, "STREAM_CLOSED", "").await;
    check(whole.clone().truncated(without_mark + 8), limits, "STREAM_CLOSED", "").await;
    check(whole.clone().truncated(0), limits, "STREAM_CLOSED", "").await;
    check(whole.clone().truncated(without_mark).then_cut(), limits, "TRANSPORT", "broke within the answer")
        .await;
    check(whole.truncated(20).then_cut(), limits, "TRANSPORT", "broke within the answer").await;
    check(Reply::hang_up(), limits, "TRANSPORT", "broke before the answer").await;
}

#[tokio::test]
async fn a_cut_turn_runs_no_call_that_seemed_complete() {
    let calls = Reply::calls("", &[("a", "bash", "{\"command\":\"rm x\"}")]);
    let without_mark = calls.body_bytes() - "data: [DONE]\n\n".len();
    check(calls.truncated(without_mark), Limits::default(), "STREAM_CLOSED", "").await;
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let limits = Limits { idle_timeout_ms: 100, ..Limits::default() };
    check(events(&[TEXT]).truncated(30).then_stall(), limits, "TIMEOUT", "nothing for 100 ms").await;
    // No answer at all: the port accepts, and nobody reads.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let error = ask(OpenAiConfig { limits, ..config(&base_url) }).await.0.unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout);
}

#[tokio::test]
async fn a_turn_ends_even_if_the_server_keeps_sending() {
    let limits = Limits { turn_timeout_ms: 100, ..Limits::default() };
    let comments = ": ping\n".repeat(1000);
    check(Reply::bytes(comments).then_stall(), limits, "TIMEOUT", "not complete after 100 ms").await;
}

#[tokio::test]
async fn dropping_the_turn_closes_the_connection() {
    let server = FakeServer::start(vec![events(&[TEXT]).truncated(30).then_stall()]).await.unwrap();
    let provider = OpenAiProvider::new(config(server.base_url())).unwrap();
    let request = request();
    let mut sink = |_: Delta<'_>| {};
    let turn = provider.turn(&request, &mut sink);
    tokio::select! {
        _ = turn => panic!("a stalled turn ended"),
        () = server.asked(1) => {}
    }
    server.client_closed(1).await;
}

#[tokio::test]
async fn nonsense_is_malformed() {
    let limits = Limits::default();
    let call = |call: &str| events(&[&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#)]);
    check(events(&["{half"]), limits, "MALFORMED_RESPONSE", "not a chunk").await;
    check(events(&["[]"]), limits, "MALFORMED_RESPONSE", "not a chunk").await;
    check(events(&[r#"{"choices":7}"#]), limits, "MALFORMED_RESPONSE", "not a chunk").await;
    check(events(&[&"[".repeat(100_000)]), limits, "MALFORMED_RESPONSE", "not a chunk").await;
    check(Reply::bytes(b"data: \xff\n\n".as_slice()), limits, "MALFORMED_RESPONSE", "not UTF-8").await;
    check(call(r#"{"id":"a","function":{"name":"n"}}"#), limits, "MALFORMED_RESPONSE", "no `index`").await;
    check(call(r#"{"index":0,"id":"a"}"#), limits, "MALFORMED_RESPONSE", "call 0 has no name").await;
    let json =
        Reply::bytes(r#"{"choices":[]}"#).with_header("content-type", "application/json; charset=utf-8");
    check(json, limits, "MALFORMED_RESPONSE", "one JSON document").await;
}

#[tokio::test]
async fn an_empty_answer_and_unknown_reasons_are_errors() {
    let limits = Limits::default();
    let finish = |reason: &str| format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
    check(events(&[&finish("stop")]), limits, "EMPTY_RESPONSE", "").await;
    check(events(&[]), limits, "EMPTY_RESPONSE", "").await;
    check(events(&[TEXT, &finish("content_filter")]), limits, "CONTENT_FILTER", "`content_filter`").await;
    check(
        events(&[TEXT, &finish("insufficient_system_resource")]),
        limits,
        "INSUFFICIENT_SYSTEM_RESOURCE",
        "",
    )
    .await;
}

#[tokio::test]
async fn errors_within_the_stream_are_errors() {
    let limits = Limits::default();
    let error = format!(r#"{{"error":{{"message":"no more, {KEY}","code":429}}}}"#);
    let error = check(
        events(&[TEXT, &error]).with_header("x-request-id", "r-2"),
        limits,
        "RATE_LIMIT",
        "while it answered: no more, ****",
    )
    .await;
    assert_eq!(error.request_id.as_deref(), Some("r-2"));
    let bare = Reply::bytes("event: error\ndata: {\"message\":\"broken\"}\n\n");
    check(bare, limits, "SERVER", "broken").await;
    let success = Reply::error(200, "overloaded");
    check(success, limits, "SERVER", "overloaded").await;
}

#[tokio::test]
async fn limits_hold_on_the_wire() {
    let limits =
        Limits { response_bytes_max: 300, line_bytes_max: 200, argument_bytes_max: 10, ..Limits::default() };
    let too_large = "RESPONSE_TOO_LARGE";
    check(Reply::bytes(": p\n".repeat(100)).in_chunks_of(50), limits, too_large, "longer than 300 bytes")
        .await;
    check(Reply::bytes("d".repeat(250)).in_chunks_of(50), limits, too_large, "longer than 200 bytes").await;
    let long = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"n","arguments":"0123456789a"}}]}}]}"#;
    check(events(&[long]), limits, too_large, "longer than 10 bytes").await;
}

#[tokio::test]
async fn an_argument_over_the_default_limit_is_refused_and_one_at_it_is_not() {
    let call = |bytes: usize| Reply::calls_in_one(&"x".repeat(bytes));
    let (turn, _) = play(call(Limits::ARGUMENT_BYTES_MAX), Limits::default()).await;
    assert_eq!(turn.unwrap().calls[0].arguments.len(), Limits::ARGUMENT_BYTES_MAX);
    check_code(call(Limits::ARGUMENT_BYTES_MAX + 1), "RESPONSE_TOO_LARGE").await;
    check_code(call(100 << 20), "RESPONSE_TOO_LARGE").await;
}

async fn check_code(reply: Reply, code: &str) {
    let error = play(reply, Limits::default()).await.0.unwrap_err();
    assert_eq!(error.code.as_str(), code, "{}", error.message);
}

impl Reply {
    fn calls_in_one(arguments: &str) -> Self {
        let call = format!(r#"{{"index":0,"id":"a","function":{{"name":"n","arguments":"{arguments}"}}}}"#);
        Self::events(&[format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#)])
    }
}

#[tokio::test]
async fn servers_that_are_not_there_are_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = ask(config(&format!("http://{address}/v1"))).await.0.unwrap_err();
    assert_eq!(error.code, ErrorCode::Transport);
    let want = format!("cannot connect to `http://{address}`");
    assert!(error.message.starts_with(&want) && error.message.contains("refused"), "{}", error.message);
}

#[tokio::test]
async fn tls_to_a_server_without_it_is_a_transport_error() {
    let server = FakeServer::start(vec![]).await.unwrap();
    let base_url = server.base_url().replace("http:", "https:");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let not_tls = format!("https://{}", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        // Answers the handshake with something else than TLS.
        let (mut socket, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        socket
    });
    let error = ask(config(&not_tls)).await.0.unwrap_err();
    assert_eq!(error.code, ErrorCode::Transport, "{}", error.message);
    assert!(error.message.contains("cannot connect"), "{}", error.message);
    drop(answering.await.unwrap());
    // A handshake that is never answered ends with the connect timeout.
    let limits = Limits { connect_timeout_ms: 100, ..Limits::default() };
    let error = ask(OpenAiConfig { limits, ..config(&base_url) }).await.0.unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout, "{}", error.message);
}

#[tokio::test]
async fn a_provider_can_be_shared_and_sent() {
    fn spawnable<F: Future<Output: Send> + Send + 'static>(future: F) -> tokio::task::JoinHandle<F::Output> {
        tokio::spawn(future)
    }
    let server = FakeServer::start(vec![Reply::text("a"), Reply::text("b")]).await.unwrap();
    let provider: std::sync::Arc<dyn Provider> =
        std::sync::Arc::new(OpenAiProvider::new(config(server.base_url())).unwrap());
    assert_eq!(provider.name(), "deepseek");
    let turns = [0, 1].map(|_| {
        let provider = std::sync::Arc::clone(&provider);
        spawnable(async move { provider.turn(&request(), &mut |_| {}).await.unwrap().text })
    });
    let mut texts = Vec::new();
    for turn in turns {
        texts.push(tokio::time::timeout(Duration::from_secs(10), turn).await.unwrap().unwrap());
    }
    texts.sort();
    assert_eq!(texts, ["a", "b"]);
}
