use std::borrow::Cow;
use std::fmt;

/// Says what kind of failure ended a model turn. The words are those of spec §19.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// `AUTH`: the server refused the key (401, 403).
    Auth,
    /// `RATE_LIMIT`: too many requests (429).
    RateLimit,
    /// `QUOTA`: the account has no balance or quota left.
    Quota,
    /// `INVALID_REQUEST`: the server understood the request and refused it (400, 413).
    InvalidRequest,
    /// `CONTEXT_WINDOW_EXCEEDED`: the conversation is too long for the model.
    ContextWindowExceeded,
    /// `SERVER`: the server failed (500 and above, or an error inside the stream).
    Server,
    /// `HTTP_<n>`: any other status.
    Http(u16),
    /// `TIMEOUT`: nothing arrived for too long, or the turn took too long.
    Timeout,
    /// `ABORTED`: the caller cancelled the turn. Providers are cancelled by dropping; the code is for the caller's use.
    Aborted,
    /// `TRANSPORT`: the connection could not be made or broke.
    Transport,
    /// `MISSING_CREDENTIAL`: no key where one is needed.
    MissingCredential,
    /// `INVALID_CREDENTIAL`: the key cannot be sent as a header.
    InvalidCredential,
    /// `STREAM_CLOSED`: the answer ended before its end mark.
    StreamClosed,
    /// `MALFORMED_RESPONSE`: the answer is not what the protocol says.
    MalformedResponse,
    /// `EMPTY_RESPONSE`: the model answered nothing at all.
    EmptyResponse,
    /// `RESPONSE_TOO_LARGE`: the answer passed one of [`Limits`](super::Limits).
    ResponseTooLarge,
    /// `INVALID_BASE_URL`: the configured base URL cannot be used.
    InvalidBaseUrl,
    /// `INSECURE_BASE_URL`: the key would travel unencrypted over a network.
    InsecureBaseUrl,
    /// `TLS_SETUP`: the TLS client could not be made, for example for want of root certificates.
    TlsSetup,
    /// `SCRIPT_EXHAUSTED`: a scripted model has no turn left.
    ScriptExhausted,
    /// A finish reason that is neither a stop, a call nor a length, in upper case, such as `CONTENT_FILTER`.
    Finish(String),
}

impl ErrorCode {
    /// Makes the code of an unknown finish reason: its letters in upper case, all else as `_`, at most 64 of them.
    pub(crate) fn from_finish_reason(reason: &str) -> Self {
        let upper = reason.chars().take(64);
        Self::Finish(
            upper.map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect(),
        )
    }

    /// Returns the code's word.
    pub fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Auth => "AUTH",
            Self::RateLimit => "RATE_LIMIT",
            Self::Quota => "QUOTA",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::ContextWindowExceeded => "CONTEXT_WINDOW_EXCEEDED",
            Self::Server => "SERVER",
            Self::Http(status) => return Cow::Owned(format!("HTTP_{status}")),
            Self::Timeout => "TIMEOUT",
            Self::Aborted => "ABORTED",
            Self::Transport => "TRANSPORT",
            Self::MissingCredential => "MISSING_CREDENTIAL",
            Self::InvalidCredential => "INVALID_CREDENTIAL",
            Self::StreamClosed => "STREAM_CLOSED",
            Self::MalformedResponse => "MALFORMED_RESPONSE",
            Self::EmptyResponse => "EMPTY_RESPONSE",
            Self::ResponseTooLarge => "RESPONSE_TOO_LARGE",
            Self::InvalidBaseUrl => "INVALID_BASE_URL",
            Self::InsecureBaseUrl => "INSECURE_BASE_URL",
            Self::TlsSetup => "TLS_SETUP",
            Self::ScriptExhausted => "SCRIPT_EXHAUSTED",
            Self::Finish(word) => word,
        })
    }

    /// Tells whether the same request may succeed if it is sent again (the normal retry set of spec §19).
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::EmptyResponse | Self::RateLimit | Self::Server | Self::Timeout | Self::Transport)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str())
    }
}

/// Says why a model turn failed, in the shape of a spec §1 failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure it is.
    pub code: ErrorCode,
    /// What happened and what to do next: one line, bounded, without control characters and without the key.
    pub message: String,
    /// The HTTP status, if the server answered with an error.
    pub status: Option<u16>,
    /// How long the server asks to wait before the next request, in milliseconds, as it said it (not capped).
    pub retry_after_ms: Option<u64>,
    /// The server's id for the request, for support.
    pub request_id: Option<String>,
}

impl ProviderError {
    /// Makes an error that has no answer of a server behind it.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), status: None, retry_after_ms: None, request_id: None }
    }

    /// Adds the server's request id where none is known yet.
    pub(crate) fn or_request_id(mut self, request_id: Option<&str>) -> Self {
        self.request_id = self.request_id.or_else(|| request_id.map(str::to_owned));
        self
    }
}

/// Makes foreign text fit for a message: control characters become spaces, and more than `bytes_max` bytes are cut.
pub(crate) fn excerpt(text: &str, bytes_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(bytes_max));
    for c in text.trim().chars() {
        if out.len() + c.len_utf8() > bytes_max {
            out.push('…');
            break;
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_bounded_and_printable() {
        let cases = [
            ("  plain ", 10, "plain"),
            ("a\u{1b}[31mb\nc", 20, "a [31mb c"),
            ("abcdef", 3, "abc…"),
            ("ééé", 5, "éé…"),
            ("", 5, ""),
        ];
        for (text, bytes_max, want) in cases {
            assert_eq!(excerpt(text, bytes_max), want);
        }
    }

    #[test]
    fn unknown_finish_reasons_become_codes() {
        let cases = [("content_filter", "CONTENT_FILTER"), ("a b\n", "A_B_"), ("é", "_")];
        for (reason, want) in cases {
            assert_eq!(ErrorCode::from_finish_reason(reason).as_str(), want);
        }
        assert_eq!(ErrorCode::from_finish_reason(&"x".repeat(1000)).as_str().len(), 64);
        assert_eq!(ErrorCode::Http(418).as_str(), "HTTP_418");
    }
}
