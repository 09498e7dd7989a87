//! Turns a server's error answers into [`ProviderError`]s (spec §19, status to code).

use std::time::SystemTime;

use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::error::excerpt;
use super::super::{ApiKey, ErrorCode, ProviderError};

/// Bytes of a server's own message that an error shows.
const MESSAGE_BYTES_MAX: usize = 1000;
/// Bytes of a request id; longer ones are not kept.
const REQUEST_ID_BYTES_MAX: usize = 200;

/// Is the `error` member of an answer, in any of the shapes that servers use.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum WireError {
    Text(String),
    Object {
        message: Option<Scalar>,
        #[serde(rename = "type")]
        kind: Option<Scalar>,
        code: Option<Scalar>,
    },
    Other(IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Scalar {
    Text(String),
    Number(i64),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
struct Body {
    error: Option<WireError>,
    message: Option<Scalar>,
    detail: Option<Scalar>,
}

/// Is what a server said, taken apart.
struct Said {
    /// For people.
    message: String,
    /// All of its words, in lower case, to classify by.
    wording: String,
    /// A status given inside the body.
    status: Option<u16>,
}

/// Makes the error of an answer whose status is not a success.
pub(crate) fn of_status(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    key: Option<&ApiKey>,
) -> ProviderError {
    let said = read_body(body);
    let code = classify(status, &said.wording);
    let heard = match clean(&said.message, key) {
        heard if heard.is_empty() => " without a message".to_owned(),
        heard => format!(": {heard}"),
    };
    ProviderError {
        message: format!("the model server answered {status}{heard}{}", hint(&code)),
        code,
        status: Some(status),
        retry_after_ms: retry_after_ms(headers, SystemTime::now()),
        request_id: request_id(headers),
    }
}

/// Makes the error of an error object inside a stream that began as a success.
pub(crate) fn of_event(error: WireError, key: Option<&ApiKey>) -> ProviderError {
    let said = take_apart(error);
    let code = match said.status {
        Some(status) => classify(status, &said.wording),
        None => classify_wording(&said.wording),
    };
    let heard = clean(&said.message, key);
    let heard = if heard.is_empty() { "it gave no message" } else { &heard };
    let message = format!("the model server failed while it answered: {heard}{}", hint(&code));
    ProviderError { status: said.status, ..ProviderError::new(code, message) }
}

/// Reads an event that is an error as a whole; `None` if it is not JSON.
pub(crate) fn of_error_event(data: &str, key: Option<&ApiKey>) -> Option<ProviderError> {
    if let Ok(Body { error: Some(error), .. }) = serde_json::from_str(data) {
        return Some(of_event(error, key));
    }
    serde_json::from_str(data).ok().map(|error| of_event(error, key))
}

/// Reads the server's id for a request, if it is printable and of sane length.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-request-id", "request-id", "x-ds-trace-id"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .filter(|id| !id.is_empty() && id.len() <= REQUEST_ID_BYTES_MAX)
        .map(str::to_owned)
}

/// Prepares foreign text for a message: without the key, printable, bounded.
pub(crate) fn clean(text: &str, key: Option<&ApiKey>) -> String {
    match key {
        Some(key) => excerpt(&key.scrub(text), MESSAGE_BYTES_MAX),
        None => excerpt(text, MESSAGE_BYTES_MAX),
    }
}

fn read_body(body: &[u8]) -> Said {
    let text = String::from_utf8_lossy(body);
    let parsed: Option<Body> = match serde_json::from_str(&text) {
        Ok(body) => Some(body),
        // Gemini's compatible endpoint wraps its errors in an array.
        Err(_) => serde_json::from_str::<Vec<Body>>(&text).ok().and_then(|list| list.into_iter().next()),
    };
    let said = match parsed {
        Some(Body { error: Some(error), .. }) => take_apart(error),
        Some(Body { message: Some(message), .. }) | Some(Body { detail: Some(message), .. }) => {
            take_apart(WireError::Object { message: Some(message), kind: None, code: None })
        }
        _ => Said { message: String::new(), wording: String::new(), status: None },
    };
    if said.message.is_empty() {
        return Said { wording: text.to_lowercase(), message: text.into_owned(), ..said };
    }
    said
}

fn take_apart(error: WireError) -> Said {
    let (message, kind, code) = match error {
        WireError::Text(text) => (Some(Scalar::Text(text)), None, None),
        WireError::Object { message, kind, code } => (message, kind, code),
        WireError::Other(_) => (None, None, None),
    };
    let status = match &code {
        Some(Scalar::Number(number)) => u16::try_from(*number).ok().filter(|n| (300..600).contains(n)),
        _ => None,
    };
    let words = [text_of(kind), text_of(code)];
    let message = text_of(message);
    let wording = format!("{message} {}", words.join(" ")).to_lowercase();
    let message = if message.is_empty() { words.join(" ").trim().to_owned() } else { message };
    Said { message, wording, status }
}

fn text_of(scalar: Option<Scalar>) -> String {
    match scalar {
        Some(Scalar::Text(text)) => text,
        Some(Scalar::Number(number)) => number.to_string(),
        Some(Scalar::Other(_)) | None => String::new(),
    }
}

fn classify(status: u16, wording: &str) -> ErrorCode {
    match status {
        401 | 403 => ErrorCode::Auth,
        413 => ErrorCode::InvalidRequest,
        _ if is_quota(wording) => ErrorCode::Quota,
        429 => ErrorCode::RateLimit,
        400 if is_context_window(wording) => ErrorCode::ContextWindowExceeded,
        400 => ErrorCode::InvalidRequest,
        500.. => ErrorCode::Server,
        other => ErrorCode::Http(other),
    }
}

/// Classifies an error that has no status. In doubt the server failed: nothing of the turn was used yet.
fn classify_wording(wording: &str) -> ErrorCode {
    let any = |needles: &[&str]| needles.iter().any(|needle| wording.contains(needle));
    if is_quota(wording) {
        ErrorCode::Quota
    } else if is_context_window(wording) {
        ErrorCode::ContextWindowExceeded
    } else if any(&["rate limit", "rate_limit", "too many requests"]) {
        ErrorCode::RateLimit
    } else if any(&["authentication", "invalid_api_key", "unauthorized"]) {
        ErrorCode::Auth
    } else if any(&["invalid_request", "invalid request"]) {
        ErrorCode::InvalidRequest
    } else {
        ErrorCode::Server
    }
}

fn is_quota(wording: &str) -> bool {
    [
        "insufficient_quota",
        "insufficient balance",
        "current quota",
        "quota exceeded",
        "exceeded quota",
        "billing",
    ]
    .iter()
    .any(|needle| wording.contains(needle))
}

fn is_context_window(wording: &str) -> bool {
    [
        "context_length",
        "context length",
        "context window",
        "context size",
        "context_size",
        "prompt is too long",
    ]
    .iter()
    .any(|needle| wording.contains(needle))
}

fn hint(code: &ErrorCode) -> &'static str {
    match code {
        ErrorCode::Auth => "; check the key",
        ErrorCode::Quota => "; check the account's balance and limits",
        ErrorCode::RateLimit => "; wait and try again",
        ErrorCode::ContextWindowExceeded => "; shorten the conversation",
        ErrorCode::InvalidRequest => "; check the model's name and the request",
        ErrorCode::Server => "; try again later",
        ErrorCode::Http(300..400) => "; redirects are not followed, so set the base URL to where they lead",
        ErrorCode::Http(404) => "; check the base URL and the model's name",
        _ => "; check the base URL",
    }
}

/// Reads how long to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after_ms(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(ms);
    }
    let text = text("retry-after")?;
    if let Ok(seconds) = text.parse::<u64>() {
        return seconds.checked_mul(1000);
    }
    let wait = httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default();
    u64::try_from(wait.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn check(status: u16, body: &str, code: &str, message: &str) {
        let error = of_status(status, &HeaderMap::new(), body.as_bytes(), None);
        assert_eq!(error.code.as_str(), code, "{status} {body}");
        assert!(error.message.contains(message), "{:?} lacks {message:?}", error.message);
        assert_eq!(error.status, Some(status));
    }

    #[test]
    fn statuses_become_codes() {
        let context = r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#;
        let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#;
        check(401, r#"{"error":{"message":"no such key"}}"#, "AUTH", "401: no such key; check the key");
        check(403, "", "AUTH", "403 without a message");
        check(413, quota, "INVALID_REQUEST", "quota");
        check(429, quota, "QUOTA", "current quota");
        check(402, r#"{"error":{"message":"Insufficient Balance"}}"#, "QUOTA", "Insufficient Balance");
        check(402, "pay", "HTTP_402", "402: pay");
        check(429, "slow down", "RATE_LIMIT", "slow down");
        check(400, context, "CONTEXT_WINDOW_EXCEEDED", "too long; shorten");
        check(
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size"}}"#,
            "CONTEXT_WINDOW_EXCEEDED",
            "available",
        );
        check(400, r#"{"message":"bad field"}"#, "INVALID_REQUEST", "bad field");
        check(500, "<html>oops</html>", "SERVER", "<html>oops</html>; try again");
        check(503, "", "SERVER", "503");
        check(307, "", "HTTP_307", "redirects are not followed");
        check(404, r#"{"detail":"Not Found"}"#, "HTTP_404", "404: Not Found");
        check(418, r#"[{"error":{"message":"teapot"}}]"#, "HTTP_418", "teapot");
        check(422, r#"{"error":"plain text"}"#, "HTTP_422", "plain text");
        check(422, r#"{"error":{"message":["odd"],"type":"kind"}}"#, "HTTP_422", "kind");
        check(422, r#"{"error":7}"#, "HTTP_422", r#"{"error":7}"#);
    }

    #[test]
    fn errors_inside_a_stream_become_codes() {
        let cases = [
            (r#"{"error":{"message":"Rate limit reached","type":"requests"}}"#, "RATE_LIMIT"),
            (r#"{"error":{"message":"no","code":429}}"#, "RATE_LIMIT"),
            (r#"{"error":{"message":"no","code":"insufficient_quota"}}"#, "QUOTA"),
            (r#"{"error":{"message":"no","code":502}}"#, "SERVER"),
            (r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, "INVALID_REQUEST"),
            (r#"{"error":"maximum context length"}"#, "CONTEXT_WINDOW_EXCEEDED"),
            (r#"{"error":{"message":"overloaded"}}"#, "SERVER"),
            (r#"{"error":{}}"#, "SERVER"),
            (r#"{"message":"bare","type":"authentication_error"}"#, "AUTH"),
        ];
        for (data, code) in cases {
            assert_eq!(of_error_event(data, None).unwrap().code.as_str(), code, "{data}");
        }
        assert_eq!(of_error_event("{half", None), None);
    }

    #[test]
    fn a_message_is_bounded_and_never_repeats_the_key() {
        let key = ApiKey::parse("sk-very-secret", "K").unwrap();
        let body =
            format!(r#"{{"error":{{"message":"bad key sk-very-secret\u001b[2J {}"}}}}"#, "x".repeat(5000));
        let error = of_status(401, &HeaderMap::new(), body.as_bytes(), Some(&key));
        assert!(error.message.contains("bad key **** [2J xxx"), "{}", error.message);
        assert!(!error.message.contains("secret"));
        assert!(error.message.len() < MESSAGE_BYTES_MAX + 100);
        let raw = of_status(500, &HeaderMap::new(), b"raw sk-very-secret \xff", Some(&key));
        assert!(raw.message.contains("raw **** \u{fffd}"), "{}", raw.message);
    }

    #[test]
    fn waiting_times_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let cases: [(&str, &str, Option<u64>); 7] = [
            ("retry-after", "7", Some(7000)),
            ("retry-after-ms", "1500", Some(1500)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "18446744073709551615", None),
            ("x-other", "1", None),
        ];
        for (name, value, want) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(retry_after_ms(&headers, now), want, "{name}: {value}");
        }
    }
}
