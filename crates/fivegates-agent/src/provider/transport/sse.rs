//! Splits a byte stream into server-sent events, with bounded buffers.

/// Is one complete event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event:` field, if any.
    pub(crate) kind: Option<String>,
    /// The `data:` lines, joined by line feeds; never empty.
    pub(crate) data: String,
}

/// Says why bytes are not an event stream that we take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SseError {
    #[error("a line or event is longer than {bytes_max} bytes")]
    TooLong { bytes_max: usize },
    #[error("a line is not UTF-8")]
    NotUtf8,
}

/// Is what one step of the parser took and found.
#[derive(Debug)]
pub(crate) struct Step {
    /// How many of the given bytes are dealt with.
    pub(crate) used: usize,
    /// The event that they completed. `None` means that all bytes are used and more are needed.
    pub(crate) event: Option<Event>,
}

/// Reads events out of chunks that may be cut anywhere, even within a character.
#[derive(Debug)]
pub(crate) struct SseParser {
    bytes_max: usize,
    line: Vec<u8>,
    kind: Option<String>,
    data: String,
    has_data: bool,
    after_cr: bool,
    at_start: bool,
}

impl SseParser {
    /// Makes a parser that takes lines, and events, of up to `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            kind: None,
            data: String::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
        }
    }

    /// Reads from `bytes` up to the end of the next event, or all of them.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Result<Step, SseError> {
        let mut used = 0;
        while used < bytes.len() {
            if std::mem::take(&mut self.after_cr) && bytes[used] == b'\n' {
                used += 1;
                continue;
            }
            let rest = &bytes[used..];
            let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            if part.len() > self.bytes_max - self.line.len() {
                return Err(SseError::TooLong { bytes_max: self.bytes_max });
            }
            self.line.extend_from_slice(part);
            used += part.len();
            let Some(end) = end else { break };
            used += 1;
            self.after_cr = rest[end] == b'\r';
            if let Some(event) = self.end_line()? {
                return Ok(Step { used, event: Some(event) });
            }
        }
        Ok(Step { used, event: None })
    }

    /// Ends the stream and returns the event that its end left without a blank line, or even cut, if any.
    pub(crate) fn tail(&mut self) -> Option<Event> {
        let cut_line = !self.line.is_empty();
        if cut_line && self.end_line().is_err() {
            return None;
        }
        self.end_event()
    }

    fn end_line(&mut self) -> Result<Option<Event>, SseError> {
        let mut line = std::mem::take(&mut self.line);
        let result = self.read_line(&line);
        line.clear();
        self.line = line;
        result
    }

    fn read_line(&mut self, line: &[u8]) -> Result<Option<Event>, SseError> {
        let mut line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if value.len() >= self.bytes_max - self.data.len() {
                    return Err(SseError::TooLong { bytes_max: self.bytes_max });
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "event" => self.kind = Some(value.to_owned()),
            // A comment (empty field), `id`, `retry`, and what later versions may add.
            _ => {}
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<Event> {
        self.has_data = false;
        let (kind, data) = (self.kind.take(), std::mem::take(&mut self.data));
        if data.is_empty() { None } else { Some(Event { kind, data }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], chunk: usize, bytes_max: usize) -> Result<(Vec<Event>, Option<Event>), SseError> {
        let mut parser = SseParser::new(bytes_max);
        let mut events = Vec::new();
        for mut part in bytes.chunks(chunk) {
            while !part.is_empty() {
                let step = parser.step(part)?;
                part = &part[step.used..];
                events.extend(step.event);
            }
        }
        Ok((events, parser.tail()))
    }

    /// Checks that `bytes` give the `data` of these events however they are cut, and leave this tail.
    fn check(bytes: &[u8], want: &[&str], tail: Option<&str>) {
        for chunk in 1..=bytes.len().max(1) {
            let (events, rest) = read(bytes, chunk, 1000).unwrap();
            let got: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
            assert_eq!(got, want, "{chunk}-byte chunks of {:?}", String::from_utf8_lossy(bytes));
            assert_eq!(rest.map(|event| event.data).as_deref(), tail, "{chunk}-byte chunks");
        }
    }

    #[test]
    fn streams_are_read_alike_however_they_are_cut() {
        check(b"", &[], None);
        check(b"data: a\n\ndata:b\n\n", &["a", "b"], None);
        check(b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"], None);
        check(b"data: a\r\rdata: b\r\r", &["a", "b"], None);
        check(b": ping\n\n:\n\ndata: a\n\n: ping\n\n", &["a"], None);
        check("\u{feff}data: é€😀\n\n".as_bytes(), &["é€😀"], None);
        check(b"data: 1\ndata:\ndata:  2\n\n", &["1\n\n 2"], None);
        check(b"data: 1\r\ndata: 2\r\n\r\n", &["1\n2"], None);
        check(b"data: 1\rdata: 2\r\r\ndata: 3\n\n", &["1\n2", "3"], None);
        check(b"id: 7\nretry: 10\nnonsense\ndata: a\n\n", &["a"], None);
        check(b"data\n\ndata:\n\nevent: x\n\n", &[], None);
        check(b"data: a\n\ndata: half", &["a"], Some("half"));
        check(b"data: whole\n", &[], Some("whole"));
        check(b"data: [DONE]", &[], Some("[DONE]"));
    }

    #[test]
    fn the_kind_of_an_event_is_its_own() {
        let (events, _) =
            read(b"event: error\ndata: a\n\ndata: b\n\nevent: c\n\ndata: d\n\n", 5, 100).unwrap();
        let kinds: Vec<_> = events.iter().map(|event| event.kind.as_deref()).collect();
        assert_eq!(kinds, [Some("error"), None, None]);
    }

    #[test]
    fn long_lines_and_long_events_are_refused_wherever_they_are_cut() {
        let too_long = SseError::TooLong { bytes_max: 16 };
        for chunk in [1, 7, 100] {
            assert!(read(b"data: 0123456789\n\n", chunk, 16).is_ok());
            assert_eq!(read(b"data: 0123456789a\n\n", chunk, 16).unwrap_err(), too_long);
            assert_eq!(read(b": a comment without an end", chunk, 16).unwrap_err(), too_long);
            assert_eq!(read(b"data: 01234567\ndata: 01234567\n\n", chunk, 16).unwrap_err(), too_long);
        }
    }

    #[test]
    fn a_line_that_is_not_utf8_is_refused() {
        for bytes in [&b"data: \xff\n\n"[..], b"data: \xc3\n\n", b": \xe2\x82\n"] {
            assert_eq!(read(bytes, 1, 100).unwrap_err(), SseError::NotUtf8);
        }
    }
}
