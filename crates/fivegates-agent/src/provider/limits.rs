/// Bounds what one model turn may take. A turn that passes a size limit fails with `RESPONSE_TOO_LARGE`, one that
/// passes a time limit with `TIMEOUT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole answer as received, framing included.
    pub response_bytes_max: u64,
    /// Bytes of one line, and of one event, of the answer.
    pub line_bytes_max: usize,
    /// Bytes of the visible text, and of the reasoning, each.
    pub text_bytes_max: usize,
    /// Tool calls in one turn.
    pub calls_max: usize,
    /// Bytes of one call's argument text.
    pub argument_bytes_max: usize,
    /// Milliseconds to find the server, connect and finish the TLS handshake.
    pub connect_timeout_ms: u64,
    /// Milliseconds in which nothing arrives, before the answer or within it (spec §19: 300 s).
    pub idle_timeout_ms: u64,
    /// Milliseconds from the request to the end of the answer.
    pub turn_timeout_ms: u64,
}

impl Limits {
    /// 128 MiB: room for 256,000 tokens, each in an event of its own.
    pub const RESPONSE_BYTES_MAX: u64 = 128 << 20;
    /// 32 MiB: a whole argument in one event, with half of its bytes escaped.
    pub const LINE_BYTES_MAX: usize = 32 << 20;
    /// 16 MiB.
    pub const TEXT_BYTES_MAX: usize = 16 << 20;
    /// 256 calls.
    pub const CALLS_MAX: usize = 256;
    /// 16 MiB.
    pub const ARGUMENT_BYTES_MAX: usize = 16 << 20;
    /// 30 s.
    pub const CONNECT_TIMEOUT_MS: u64 = 30_000;
    /// 300 s.
    pub const IDLE_TIMEOUT_MS: u64 = 300_000;
    /// 4 h: the longest answer at a slow 20 tokens a second.
    pub const TURN_TIMEOUT_MS: u64 = 4 * 3_600_000;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            response_bytes_max: Self::RESPONSE_BYTES_MAX,
            line_bytes_max: Self::LINE_BYTES_MAX,
            text_bytes_max: Self::TEXT_BYTES_MAX,
            calls_max: Self::CALLS_MAX,
            argument_bytes_max: Self::ARGUMENT_BYTES_MAX,
            connect_timeout_ms: Self::CONNECT_TIMEOUT_MS,
            idle_timeout_ms: Self::IDLE_TIMEOUT_MS,
            turn_timeout_ms: Self::TURN_TIMEOUT_MS,
        }
    }
}
