//! A scriptable HTTP server that plays a model endpoint, for tests: real sockets, exact bytes, and every way to fail.
//!
//! It answers each request with the next [`Reply`] of its list, one request per connection, and keeps what it was sent.
//! With no reply left it answers 500. It stops when it is dropped.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Bytes of a request's head and body together; a longer request is hung up on.
pub const REQUEST_BYTES_MAX: usize = 64 << 20;

/// Is one answer of the server. Unless told otherwise it is complete and well formed.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunk_bytes: usize,
    ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The answer ends as HTTP says.
    Complete,
    /// The connection is closed although more was announced.
    Cut,
    /// Nothing more comes, and the connection stays open until the client closes it.
    Stall,
    /// The connection is closed without an answer.
    HangUp,
}

impl Reply {
    /// Answers 200 with an event stream of exactly these bytes.
    pub fn bytes(body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        Self { status: 200, headers, body: body.into(), chunk_bytes: usize::MAX, ending: Ending::Complete }
    }

    /// Streams one event per JSON text, then the end mark.
    pub fn events<T: AsRef<str>>(chunks: &[T]) -> Self {
        let mut body: String = chunks.iter().map(|chunk| format!("data: {}\n\n", chunk.as_ref())).collect();
        body.push_str("data: [DONE]\n\n");
        Self::bytes(body)
    }

    /// Streams a text answer.
    pub fn text(text: &str) -> Self {
        Self::events(&[delta(&json!({"content": text})), finish("stop"), usage()])
    }

    /// Streams a text (may be empty) and calls, each an id, a name and the raw argument text, which comes in pieces
    /// that interleave with those of the other calls.
    pub fn calls(text: &str, calls: &[(&str, &str, &str)]) -> Self {
        let mut chunks = vec![delta(&json!({"content": text}))];
        let mut rests: Vec<std::str::Chars<'_>> = Vec::new();
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            chunks.push(delta(&json!({"tool_calls": [{
                "index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""},
            }]})));
            rests.push(arguments.chars());
        }
        loop {
            let before = chunks.len();
            for (index, rest) in rests.iter_mut().enumerate() {
                let piece: String = rest.take(5).collect();
                if !piece.is_empty() {
                    chunks.push(delta(
                        &json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
                    ));
                }
            }
            if chunks.len() == before {
                break;
            }
        }
        chunks.extend([finish("tool_calls"), usage()]);
        Self::events(&chunks)
    }

    /// Answers `status` with an error object.
    pub fn error(status: u16, message: &str) -> Self {
        let body = json!({"error": {"message": message, "type": "error"}}).to_string();
        Self { status, headers: Vec::new(), ..Self::bytes(body) }
            .with_header("content-type", "application/json")
    }

    /// Closes the connection once the request is read.
    pub fn hang_up() -> Self {
        Self { ending: Ending::HangUp, ..Self::bytes("") }
    }

    /// Adds a header, or replaces the one of that name.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in pieces of `chunk_bytes`, each an HTTP chunk and a write of its own.
    #[must_use]
    pub fn in_chunks_of(mut self, chunk_bytes: usize) -> Self {
        self.chunk_bytes = chunk_bytes.max(1);
        self
    }

    /// Keeps only the first `body_bytes` of the body.
    #[must_use]
    pub fn truncated(mut self, body_bytes: usize) -> Self {
        self.body.truncate(body_bytes);
        self
    }

    /// Breaks the connection after the body, in the middle of the HTTP answer.
    #[must_use]
    pub fn then_cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// Sends nothing after the body and waits for the client to close the connection.
    #[must_use]
    pub fn then_stall(mut self) -> Self {
        self.ending = Ending::Stall;
        self
    }

    /// Returns the size of the body.
    pub fn body_bytes(&self) -> usize {
        self.body.len()
    }
}

/// Is a request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The request line, such as `POST /v1/chat/completions HTTP/1.1`.
    pub line: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl RecordedRequest {
    /// Returns the first header of that name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Is a running server. It needs a tokio runtime with I/O.
#[derive(Debug)]
pub struct FakeServer {
    base_url: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<RecordedRequest>>,
    counts: watch::Sender<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    asked: usize,
    client_closed: usize,
}

impl FakeServer {
    /// Listens on a free port of the loopback address.
    pub async fn start(replies: Vec<Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies.into()),
            requests: Mutex::new(Vec::new()),
            counts: watch::Sender::new(Counts::default()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { base_url, shared, accepting })
    }

    /// Returns the base URL to configure, such as `http://127.0.0.1:40123/v1`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        locked(&self.shared.requests).clone()
    }

    /// Waits until `count` requests have arrived in all.
    pub async fn asked(&self, count: usize) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self.shared.counts.subscribe().wait_for(|counts| counts.asked >= count).await;
    }

    /// Waits until clients have closed `count` connections whose reply stalled.
    pub async fn client_closed(&self, count: usize) {
        let _ = self.shared.counts.subscribe().wait_for(|counts| counts.client_closed >= count).await;
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    let shared = Arc::clone(&shared);
                    // An error means that the client went away, which some tests want.
                    connections.spawn(async move { serve(socket, &shared).await.ok() });
                }
                Err(_) => return,
            },
        }
    }
}

async fn serve(mut socket: TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let request = read_request(&mut socket).await?;
    locked(&shared.requests).push(request);
    let reply = locked(&shared.replies).pop_front();
    let reply = reply.unwrap_or_else(|| Reply::error(500, "the fake server has no reply left"));
    shared.counts.send_modify(|counts| counts.asked += 1);
    if reply.ending == Ending::HangUp {
        return Ok(());
    }
    write_reply(&mut socket, &reply).await?;
    match reply.ending {
        Ending::Complete => socket.write_all(b"0\r\n\r\n").await?,
        Ending::Stall => {
            // An error is a reset: closed as well.
            let mut rest = [0; 64];
            while matches!(socket.read(&mut rest).await, Ok(bytes) if bytes > 0) {}
            shared.counts.send_modify(|counts| counts.client_closed += 1);
        }
        Ending::Cut | Ending::HangUp => {}
    }
    socket.shutdown().await
}

async fn write_reply(socket: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    for part in reply.body.chunks(reply.chunk_bytes) {
        let mut chunk = format!("{:x}\r\n", part.len()).into_bytes();
        chunk.extend_from_slice(part);
        chunk.extend_from_slice(b"\r\n");
        socket.write_all(&chunk).await?;
    }
    socket.flush().await
}

async fn read_request(socket: &mut TcpStream) -> io::Result<RecordedRequest> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        read_more(socket, &mut bytes).await?;
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or_default();
    while bytes.len() - head_end - 4 < length {
        read_more(socket, &mut bytes).await?;
    }
    let body = String::from_utf8_lossy(&bytes[head_end + 4..]).into_owned();
    Ok(RecordedRequest { line, headers, body })
}

async fn read_more(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    if bytes.len() > REQUEST_BYTES_MAX {
        return Err(io::Error::other("the request is too long"));
    }
    if socket.read_buf(bytes).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn delta(delta: &serde_json::Value) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}).to_string()
}

fn finish(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

fn usage() -> String {
    json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}).to_string()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
