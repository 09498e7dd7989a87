//! A window of lines out of a file of any size, in memory for the window alone.

use std::io::{self, Read};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes at the front of a file in which a NUL byte tells that it is no text (spec §9.1).
const PROBE_BYTES: u64 = 8_192;

/// Which lines are wanted, and how much of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Number of the first line, from 1.
    pub(super) offset: u64,
    /// Lines at most.
    pub(super) lines_max: u64,
    /// Characters of one line.
    pub(super) line_chars_max: usize,
    /// Bytes of all lines.
    pub(super) bytes_max: usize,
    /// Bytes of the file that are gone through.
    pub(super) scan_bytes_max: u64,
}

/// The lines that were found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) lines: Vec<String>,
    /// Lines in the file; unknown when not all of it was gone through.
    pub(super) total: Option<u64>,
    /// Whether `bytes_max` ended the window.
    pub(super) capped: bool,
    /// How many lines were cut.
    pub(super) cut: u64,
}

/// Why a file is not read.
#[derive(Debug)]
pub(super) enum Unreadable {
    Binary,
    InvalidUtf8,
    Io(io::Error),
    Aborted,
}

/// Reads the window. `cancelled` is asked between chunks.
pub(super) fn read(
    mut source: impl Read,
    window: Window,
    cancelled: impl Fn() -> bool,
) -> Result<Lines, Unreadable> {
    let mut scan = Scan::new(window);
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut held = 0;
    let mut read = 0;
    loop {
        if cancelled() {
            return Err(Unreadable::Aborted);
        }
        let got = match source.read(&mut buffer[held..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            got => got.map_err(Unreadable::Io)?,
        };
        if got == 0 {
            return if held == 0 { Ok(scan.finish(Whole::Yes)) } else { Err(Unreadable::InvalidUtf8) };
        }
        if read >= window.scan_bytes_max {
            return Ok(scan.finish(Whole::No));
        }
        let probe = usize::try_from(PROBE_BYTES.saturating_sub(read)).unwrap_or(0).min(got);
        if memchr::memchr(0, &buffer[held..held + probe]).is_some() {
            return Err(Unreadable::Binary);
        }
        read += got as u64;
        let filled = held + got;
        let whole = whole_characters(&buffer[..filled]).ok_or(Unreadable::InvalidUtf8)?;
        scan.text(whole);
        let used = whole.len();
        // At most three bytes: the beginning of a character whose rest is still to come.
        buffer.copy_within(used..filled, 0);
        held = filled - used;
    }
}

/// The longest prefix that ends between characters; nothing when a byte cannot be part of any.
fn whole_characters(bytes: &[u8]) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

#[derive(PartialEq)]
enum Whole {
    Yes,
    No,
}

/// Where in the file the scan is, and what it keeps.
struct Scan {
    window: Window,
    found: Lines,
    bytes: usize,
    /// Lines that have ended.
    ended: u64,
    /// Whether anything of the line that has not ended was seen.
    begun: bool,
    /// The beginning of that line, when it is wanted: one character more than may be shown.
    line: String,
    line_chars: usize,
    /// Whether the line is longer than what is kept of it.
    longer: bool,
}

impl Scan {
    fn new(window: Window) -> Self {
        Self {
            window,
            found: Lines::default(),
            bytes: 0,
            ended: 0,
            begun: false,
            line: String::new(),
            line_chars: 0,
            longer: false,
        }
    }

    /// Whether the line after those that have ended is to be shown.
    fn wanted(&self) -> bool {
        let number = self.ended + 1;
        !self.found.capped
            && number >= self.window.offset
            && number - self.window.offset < self.window.lines_max
    }

    fn text(&mut self, mut text: &str) {
        while !text.is_empty() {
            let wanted = self.wanted();
            if !wanted && (self.found.capped || self.ended + 1 >= self.window.offset) {
                // Past the window lines are only counted.
                self.ended += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
                self.begun = !text.ends_with('\n');
                return;
            }
            let end = memchr::memchr(b'\n', text.as_bytes());
            let (piece, rest) = match end {
                Some(at) => (&text[..at], &text[at + 1..]),
                None => (text, ""),
            };
            if wanted {
                self.keep(piece);
            }
            if end.is_some() {
                self.drop_carriage();
                self.end_line();
            } else {
                self.begun = true;
            }
            text = rest;
        }
    }

    fn keep(&mut self, piece: &str) {
        let room = (self.window.line_chars_max + 1).saturating_sub(self.line_chars);
        match piece.char_indices().nth(room) {
            Some((at, _)) => {
                self.line.push_str(&piece[..at]);
                self.line_chars += room;
                self.longer = true;
            }
            None => {
                self.line.push_str(piece);
                self.line_chars += piece.chars().count();
            }
        }
    }

    /// A `\r` right before a `\n` is part of the line end.
    fn drop_carriage(&mut self) {
        if !self.longer && self.line.ends_with('\r') {
            self.line.pop();
            self.line_chars -= 1;
        }
    }

    fn end_line(&mut self) {
        if self.wanted() {
            self.show();
        }
        self.ended += 1;
        self.begun = false;
        self.line.clear();
        self.line_chars = 0;
        self.longer = false;
    }

    fn show(&mut self) {
        let max = self.window.line_chars_max;
        let mut line = std::mem::take(&mut self.line);
        let cut = self.longer || self.line_chars > max;
        if cut {
            let end = line.char_indices().nth(max).map_or(line.len(), |(at, _)| at);
            line.truncate(end);
            line.push_str(&format!("... (line truncated to {max} chars)"));
        }
        let bytes = line.len() + usize::from(!self.found.lines.is_empty());
        if self.bytes + bytes > self.window.bytes_max {
            self.found.capped = true;
            return;
        }
        self.bytes += bytes;
        self.found.cut += u64::from(cut);
        self.found.lines.push(line);
    }

    fn finish(mut self, whole: Whole) -> Lines {
        if whole == Whole::No {
            // The line that the limit cut through is not shown: nothing tells how it goes on.
            return Lines { total: None, ..self.found };
        }
        if self.begun {
            self.end_line();
        }
        Lines { total: Some(self.ended), ..self.found }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hands out its text in pieces of a few bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn window(offset: u64, lines_max: u64) -> Window {
        Window { offset, lines_max, line_chars_max: 5, bytes_max: 200, scan_bytes_max: 1 << 20 }
    }

    #[track_caller]
    fn check(text: &[u8], window: Window, expected: &[&str], total: Option<u64>, capped: bool) {
        for piece in [1, 2, 3, 7, text.len().max(1)] {
            let found = read(Pieces(text, piece), window, || false).unwrap();
            assert_eq!(found.lines, expected, "in pieces of {piece}");
            assert_eq!((found.total, found.capped), (total, capped));
        }
    }

    #[test]
    fn lines_are_those_between_line_feeds() {
        check(b"", window(1, 9), &[], Some(0), false);
        check(b"\n", window(1, 9), &[""], Some(1), false);
        check(b"a\nb", window(1, 9), &["a", "b"], Some(2), false);
        check(b"a\r\nb\r\n", window(1, 9), &["a", "b"], Some(2), false);
        check(b"a\r", window(1, 9), &["a\r"], Some(1), false);
        check(b"a\n\n\nb\n", window(2, 2), &["", ""], Some(4), false);
        check(b"a\nb\nc\nd", window(3, 1), &["c"], Some(4), false);
        check(b"a\nb", window(9, 1), &[], Some(2), false);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let mark = "... (line truncated to 5 chars)";
        check("ééééé\n".as_bytes(), window(1, 9), &["ééééé"], Some(1), false);
        check("ééééé\r\n".as_bytes(), window(1, 9), &["ééééé"], Some(1), false);
        check("éééééé".as_bytes(), window(1, 9), &[&format!("ééééé{mark}")], Some(1), false);
        check("éééééé\r\n".as_bytes(), window(1, 9), &[&format!("ééééé{mark}")], Some(1), false);
        check(b"abcdefgh\nx", window(1, 9), &[&format!("abcde{mark}"), "x"], Some(2), false);
    }

    #[test]
    fn the_byte_limit_ends_between_lines() {
        let window = Window { bytes_max: 5, ..window(1, 9) };
        check(b"ab\ncd\ne\nf\n", window, &["ab", "cd"], Some(4), true);
        check(b"ab\ncd\n", window, &["ab", "cd"], Some(2), false);
    }

    #[test]
    fn what_is_no_text_is_told() {
        let outcome = |bytes: &[u8]| format!("{:?}", read(bytes, window(1, 1), || false));
        assert_eq!(outcome(b"a\0b"), "Err(Binary)");
        assert_eq!(outcome(b"a\xff"), "Err(InvalidUtf8)");
        assert_eq!(outcome(b"a\xc3"), "Err(InvalidUtf8)");
        let late = [b"a\n".repeat(4096), vec![0]].concat();
        assert!(outcome(&late).starts_with("Ok"), "a NUL after the first 8192 bytes is text");
        assert_eq!(format!("{:?}", read(&b"a"[..], window(1, 1), || true)), "Err(Aborted)");
    }

    #[test]
    fn a_limit_of_the_scan_leaves_the_total_open() {
        let window = Window { scan_bytes_max: 3, ..window(1, 9) };
        let found = read(Pieces(b"a\nbc\nd\n", 1), window, || false).unwrap();
        assert_eq!((found.lines, found.total), (vec!["a".to_owned()], None));
    }

    proptest! {
        #[test]
        fn any_window_is_the_same_as_splitting(text in "[aé\n\r]{0,60}", piece in 1usize..9, offset in 1u64..9, lines_max in 1u64..9) {
            let window = Window { line_chars_max: 100, bytes_max: 10_000, ..window(offset, lines_max) };
            let found = read(Pieces(text.as_bytes(), piece), window, || false).unwrap();
            // `str::lines` is another reading of the same rule.
            let all: Vec<&str> = text.lines().collect();
            let from = usize::try_from(offset - 1).unwrap();
            let expected: Vec<&str> = all.iter().skip(from).take(usize::try_from(lines_max).unwrap()).copied().collect();
            prop_assert_eq!(found.lines, expected);
            prop_assert_eq!(found.total, Some(all.len() as u64));
        }
    }
}
