//! `fivegates run` against a server that speaks the streaming format of chat completions.

use std::time::Instant;

use fivegates_agent::provider::testing::{FakeServer, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Done, Start};
use crate::support::Place;

const KEY: &str = "sk-very-secret-4711";

fn start(place: &Place, url: &str, more: &[&str]) -> Start {
    let arguments = [&["run", "read the notes", "--model", "openai:m-1", "--base-url", url], more].concat();
    place.start(&arguments).env("OPENAI_API_KEY", KEY)
}

/// Runs against one server with these answers; the key is never seen.
async fn run(place: &Place, replies: Vec<Reply>, more: &[&str]) -> (Done, FakeServer) {
    let server = FakeServer::start(replies).await.unwrap();
    let start = start(place, server.base_url(), more);
    let done = tokio::task::spawn_blocking(|| start.done()).await.unwrap();
    assert!(!format!("{done:?}").contains(KEY), "{done:?}");
    let record = std::fs::read(place.record()).unwrap();
    assert!(!record.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
    place.record_is_readable();
    (done, server)
}

#[tokio::test]
async fn a_whole_task_with_a_call() {
    let place = Place::new();
    place.file("notes.txt", "milk\n");
    let raw = "{ \"file_path\" : \"notes.txt\",  \"limit\": 1 }";
    let replies = vec![
        Reply::calls("I look.", &[("call_a", "read", raw)]).in_chunks_of(7),
        Reply::text("It says milk."),
    ];
    let (done, server) = run(&place, replies, &["--permission", "read-only"]).await;
    assert_eq!((done.status, done.stdout.as_str()), (0, "It says milk.\n"), "{}", done.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    }
    let bodies: Vec<Value> =
        requests.iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    assert_eq!((&bodies[0]["model"], &bodies[0]["stream"]), (&json!("m-1"), &json!(true)));
    // The tools are those that `tools --json` shows.
    let shown: Value = serde_json::from_str(&place.done(&["tools", "--json"]).stdout).unwrap();
    assert_eq!(bodies[0]["tools"], shown);
    let first = bodies[0]["messages"].as_array().unwrap();
    assert_eq!((&first[0]["role"], &first[1]["content"]), (&json!("system"), &json!("read the notes")));
    // The second request carries the call as it was written, and its result.
    let second = bodies[1]["messages"].as_array().unwrap();
    let (asked, told) = (&second[second.len() - 2], &second[second.len() - 1]);
    assert_eq!(asked["tool_calls"][0]["function"]["arguments"], raw);
    assert_eq!((&told["role"], &told["tool_call_id"]), (&json!("tool"), &json!("call_a")));
    assert!(told["content"].as_str().unwrap().contains("1: milk"), "{told}");
    let session = &place.record_is_readable()[0];
    let events = place.events(session);
    let call = events.iter().find(|event| event["type"] == "tool/call").unwrap();
    assert_eq!(call["data"]["arguments"], raw);
}

#[tokio::test]
async fn what_a_server_can_do_wrong_is_one_clear_error() {
    let text = Reply::text("a longer answer than this would be");
    let half_line = text.body_bytes() / 3;
    let cases = [
        (Reply::error(401, &format!("bad key {KEY}")), "AUTH: "),
        (Reply::error(500, "out of order\u{1b}[31m"), "SERVER: "),
        (Reply::error(429, "slow down"), "RATE_LIMIT: "),
        (text.clone().truncated(half_line).then_cut(), ""),
        (text.clone().truncated(half_line), "STREAM_CLOSED: "),
        (Reply::bytes("data: {\"choices\": [{\"delta\"\n\ndata: [DONE]\n\n"), "MALFORMED_RESPONSE: "),
        (Reply::bytes("<html>hello</html>"), ""),
        (Reply::hang_up(), "TRANSPORT: "),
    ];
    for (reply, code) in cases {
        let place = Place::new();
        let shown = format!("{reply:?}");
        let (done, server) = run(&place, vec![reply], &["--permission", "allow"]).await;
        assert_eq!((done.status, done.stdout.as_str()), (4, ""), "{shown}: {}", done.stderr);
        let errors = done.stderr.lines().filter(|line| line.starts_with("fivegates: error: "));
        let errors: Vec<&str> = errors.collect();
        assert_eq!(errors.len(), 1, "{}", done.stderr);
        assert!(errors[0].starts_with(&format!("fivegates: error: {code}")), "{shown}: {}", errors[0]);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn calls_of_an_answer_that_was_cut_do_not_run() {
    let arguments = json!({"command": "touch made", "description": "d"}).to_string();
    let whole = Reply::calls("", &[("c1", "bash", &arguments)]);
    // Everything arrived but the end.
    for reply in [
        whole.clone().truncated(whole.body_bytes() - 20),
        whole.clone().then_cut().truncated(whole.body_bytes() - 20),
    ] {
        let place = Place::new();
        let (done, _server) = run(&place, vec![reply], &["--permission", "allow"]).await;
        assert_eq!(done.status, 4, "{}", done.stderr);
        assert!(!place.work().join("made").exists());
    }
}

#[tokio::test]
async fn nobody_listens() {
    let place = Place::new();
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let done = start(&place, &url, &[]).done().status(4);
    assert!(done.stderr.contains("error: TRANSPORT: cannot connect to"), "{}", done.stderr);
    place.record_is_readable();
}

#[test]
fn a_key_is_needed_elsewhere_and_never_printed() {
    let place = Place::new();
    for (model, variable) in [("openai:m", "OPENAI_API_KEY"), ("deepseek:m", "DEEPSEEK_API_KEY")] {
        let done = place.done(&["run", "x", "--model", model]).status(2);
        assert!(
            done.stderr.contains("MISSING_CREDENTIAL") && done.stderr.contains(variable),
            "{}",
            done.stderr
        );
        let broken =
            place.start(&["run", "x", "--model", model]).env(variable, format!("{KEY} x\n")).done().status(2);
        assert!(
            broken.stderr.contains("INVALID_CREDENTIAL") && !broken.stderr.contains("secret"),
            "{}",
            broken.stderr
        );
    }
    let done = start(&place, "http://192.0.2.1/v1", &[]).done().status(2);
    assert!(done.stderr.contains("INSECURE_BASE_URL") && !done.stderr.contains(KEY), "{}", done.stderr);
    assert!(!place.record().exists(), "nothing was begun");
}

#[tokio::test]
async fn a_server_that_stalls_is_left_at_the_first_interrupt() {
    let place = Place::new();
    let text = Reply::text("never finished");
    let half = text.body_bytes() / 2;
    let server = FakeServer::start(vec![text.truncated(half).then_stall()]).await.unwrap();
    let running = start(&place, server.base_url(), &[]).spawn();
    server.asked(1).await;
    let before = Instant::now();
    running.signal(Signal::INT);
    let done = tokio::task::spawn_blocking(|| running.ended()).await.unwrap().status(130);
    server.client_closed(1).await;
    assert!(before.elapsed().as_secs() < 10, "{:?}", before.elapsed());
    assert!(done.stderr.contains("error: the turn was stopped"), "{}", done.stderr);
    let session = &place.record_is_readable()[0];
    let end = place.events(session).pop().unwrap();
    assert_eq!((&end["type"], &end["data"]["reason"]["kind"]), (&json!("turn/end"), &json!("aborted")));
}
