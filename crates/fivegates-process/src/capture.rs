//! The last bytes of a stream of any length, in bounded memory.

use std::borrow::Cow;

/// Keeps the last `bytes_max` bytes of what is pushed. A push costs its own length and nothing more.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Grows up to `bytes_max`, then is a ring whose oldest byte is at `oldest`.
    ring: Vec<u8>,
    oldest: usize,
    bytes_max: usize,
    total_bytes: u64,
}

impl Tail {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { ring: Vec::new(), oldest: 0, bytes_max, total_bytes: 0 }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.total_bytes = self.total_bytes.saturating_add(chunk.len() as u64);
        let kept = &chunk[chunk.len().saturating_sub(self.bytes_max)..];
        let (grows, wraps) = kept.split_at(kept.len().min(self.bytes_max - self.ring.len()));
        self.grow(grows);
        let (ahead, again) = wraps.split_at(wraps.len().min(self.ring.len() - self.oldest));
        self.ring[self.oldest..self.oldest + ahead.len()].copy_from_slice(ahead);
        self.ring[..again.len()].copy_from_slice(again);
        if !wraps.is_empty() {
            self.oldest = (self.oldest + wraps.len()) % self.bytes_max;
        }
    }

    pub(crate) fn finish(mut self, held: bool) -> Captured {
        self.ring.rotate_left(self.oldest);
        let truncated = self.total_bytes > self.ring.len() as u64;
        Captured {
            bytes: self.ring,
            total_bytes: self.total_bytes,
            truncated,
            held,
            bytes_max: self.bytes_max,
        }
    }

    /// Doubles the allocation as a vector does, but never beyond `bytes_max`.
    fn grow(&mut self, bytes: &[u8]) {
        let wanted = self.ring.len() + bytes.len();
        if wanted > self.ring.capacity() {
            let capacity = wanted.max(self.ring.capacity().saturating_mul(2)).min(self.bytes_max);
            self.ring.reserve_exact(capacity - self.ring.len());
        }
        self.ring.extend_from_slice(bytes);
    }
}

/// What was kept of one output stream: its last bytes, exactly as written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// The last bytes, at most `output_bytes_max` of them.
    pub bytes: Vec<u8>,
    /// How many bytes were read in all.
    pub total_bytes: u64,
    /// Whether bytes were left out at the front. Output of exactly `output_bytes_max` bytes is not truncated.
    pub truncated: bool,
    /// Whether a process still held the stream open when the reading was ended.
    pub held: bool,
    bytes_max: usize,
}

/// A stream's kept bytes as text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// Valid UTF-8 of at most `output_bytes_max` bytes, cut between characters. Invalid input shows as U+FFFD.
    pub text: String,
    /// Whether the kept bytes held something that is not UTF-8. A character that our own cut split does not count.
    pub invalid_utf8: bool,
    /// How many bytes of the stream are not in `text` because of the limit.
    pub omitted_bytes: u64,
}

impl Captured {
    /// The kept bytes as text: lossy, cut between characters, never longer than `output_bytes_max`.
    pub fn text(&self) -> Text {
        let split = if self.truncated { split_character_bytes(&self.bytes) } else { 0 };
        let bytes = &self.bytes[split..];
        let lossy = String::from_utf8_lossy(bytes);
        let invalid_utf8 = matches!(lossy, Cow::Owned(_));
        // A replacement character is longer than the byte it stands for, so the text may have outgrown the limit.
        let mut from = lossy.len().saturating_sub(self.bytes_max);
        while !lossy.is_char_boundary(from) {
            from += 1;
        }
        let beyond_max = if from == 0 { 0 } else { source_bytes(bytes, from) };
        let omitted_bytes = self.total_bytes - bytes.len() as u64 + beyond_max as u64;
        let text = if from == 0 { lossy.into_owned() } else { lossy[from..].to_owned() };
        Text { text, invalid_utf8, omitted_bytes }
    }
}

/// How many bytes at the front are the rest of a character whose beginning was cut off: at most three.
fn split_character_bytes(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}

/// How many bytes of the source the first `lossy_bytes` bytes of its lossy text stand for.
fn source_bytes(bytes: &[u8], lossy_bytes: usize) -> usize {
    let (mut source, mut lossy) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if lossy + valid >= lossy_bytes {
            return source + (lossy_bytes - lossy);
        }
        (source, lossy) = (source + valid, lossy + valid);
        if !chunk.invalid().is_empty() {
            (source, lossy) =
                (source + chunk.invalid().len(), lossy + char::REPLACEMENT_CHARACTER.len_utf8());
        }
        if lossy >= lossy_bytes {
            break;
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(bytes: &[u8], bytes_max: usize) -> Captured {
        let mut tail = Tail::new(bytes_max);
        tail.push(bytes);
        tail.finish(false)
    }

    fn check_text(bytes: &[u8], bytes_max: usize, expected: &str, invalid_utf8: bool, omitted_bytes: u64) {
        let text = captured(bytes, bytes_max).text();
        assert_eq!(text, Text { text: expected.into(), invalid_utf8, omitted_bytes });
    }

    #[test]
    fn text_is_cut_between_characters_and_flagged() {
        check_text(b"abc", 3, "abc", false, 0);
        check_text(b"abcd", 3, "bcd", false, 1);
        check_text("éé".as_bytes(), 3, "é", false, 2);
        check_text("😀😀".as_bytes(), 7, "😀", false, 4);
        check_text(b"", 0, "", false, 0);
        check_text(b"abc", 0, "", false, 3);
        check_text(b"a\xff", 8, "a\u{fffd}", true, 0);
        check_text(b"\x80b", 8, "\u{fffd}b", true, 0);
        check_text(b"\xff\xff", 2, "", true, 2);
        check_text(b"a\xff\xffb", 4, "\u{fffd}b", true, 2);
        check_text(b"caf\xc3", 8, "caf\u{fffd}", true, 0);
    }

    proptest! {
        #[test]
        fn the_tail_is_exact(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12), bytes_max in 0usize..70) {
            let mut tail = Tail::new(bytes_max);
            for chunk in &chunks {
                tail.push(chunk);
                prop_assert!(tail.ring.capacity() <= bytes_max);
            }
            let all = chunks.concat();
            let captured = tail.finish(false);
            prop_assert_eq!(&captured.bytes, &all[all.len().saturating_sub(bytes_max)..]);
            prop_assert_eq!(captured.total_bytes, all.len() as u64);
            prop_assert_eq!(captured.truncated, all.len() > bytes_max);
        }

        #[test]
        fn text_is_bounded_and_accounts_for_every_byte(bytes in prop::collection::vec(any::<u8>(), 0..60), bytes_max in 0usize..70) {
            let text = captured(&bytes, bytes_max).text();
            prop_assert!(text.text.len() <= bytes_max);
            let omitted = usize::try_from(text.omitted_bytes).unwrap();
            prop_assert_eq!(String::from_utf8_lossy(&bytes[omitted..]), text.text);
        }
    }
}
