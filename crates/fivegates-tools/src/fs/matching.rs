//! Finding and replacing text, whatever the line ends are.
//!
//! Matching sees every line end as `\n`. What is replaced gets the line end that the file mostly has; all other bytes stay
//! as they are, so that an edit of a file with mixed line ends touches no line but those it names.

use std::borrow::Cow;
use std::ops::Range;

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoEdit {
    /// The text does not occur.
    NotFound,
    /// It occurs this often.
    Ambiguous(usize),
    /// The result would be longer than the limit.
    TooLong,
    /// Old and new text differ in line ends alone.
    Same,
}

/// Which occurrences are replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Occurrences {
    /// The only one.
    One,
    /// All of them.
    All,
}

/// Replaces `old` by `new` in `text`. The result has at most `bytes_max` bytes.
pub(super) fn replace(
    text: &str,
    old: &str,
    new: &str,
    which: Occurrences,
    bytes_max: u64,
) -> Result<String, NoEdit> {
    let (old, new_lf) = (unified(old), unified(new));
    if old == new_lf {
        return Err(NoEdit::Same);
    }
    let plain = unified(text);
    let found: Vec<usize> = plain.match_indices(&*old).map(|(at, _)| at).collect();
    let count = match found[..] {
        [] => return Err(NoEdit::NotFound),
        // Occurrences that overlap make it just as unclear which one is meant.
        [only] if overlaps(&plain, &old, only) => 2,
        _ => found.len(),
    };
    if which == Occurrences::One && count > 1 {
        return Err(NoEdit::Ambiguous(count));
    }
    let new = match line_end(text) {
        Some(LineEnd::Lf) => new_lf,
        Some(LineEnd::Crlf) => Cow::Owned(new_lf.replace('\n', "\r\n")),
        None => Cow::Borrowed(new),
    };
    // The least that the result can have; what line ends add to it is less than the text that is there already.
    let added = (found.len() as u64).saturating_mul(new.len() as u64);
    let kept = (plain.len() - found.len() * old.len()) as u64;
    if kept.saturating_add(added) > bytes_max {
        return Err(NoEdit::TooLong);
    }
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for range in in_source(text, &found, old.len()) {
        result.push_str(&text[done..range.start]);
        result.push_str(&new);
        done = range.end;
    }
    result.push_str(&text[done..]);
    Ok(result)
}

/// The text with `\n` for every `\r\n`.
fn unified(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

fn overlaps(text: &str, old: &str, only: usize) -> bool {
    let next = text[only..].chars().next().map_or(1, char::len_utf8);
    text[only + next..].contains(old)
}

#[derive(Clone, Copy)]
enum LineEnd {
    Lf,
    Crlf,
}

/// The line end that most lines have.
fn line_end(text: &str) -> Option<LineEnd> {
    let all = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let crlf = text.matches("\r\n").count();
    match all {
        0 => None,
        _ if crlf > all - crlf => Some(LineEnd::Crlf),
        _ => Some(LineEnd::Lf),
    }
}

/// Where matches of the unified text lie in the source, in order.
fn in_source<'a>(
    source: &'a str,
    found: &'a [usize],
    bytes: usize,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut crlf = source.match_indices("\r\n").map(|(at, _)| at).peekable();
    let mut dropped = 0;
    // A place lies as many bytes further on as `\r` were left out before it. At a line end that is the `\r` itself, so
    // that no match begins or ends inside of one.
    let mut to_source = move |at: usize| {
        while crlf.next_if(|carriage| carriage - dropped < at).is_some() {
            dropped += 1;
        }
        at + dropped
    };
    found.iter().map(move |at| {
        let start = to_source(*at);
        start..to_source(at + bytes)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, old: &str, new: &str, which: Occurrences, expected: Result<&str, NoEdit>) {
        assert_eq!(replace(text, old, new, which, 100).as_deref(), expected.as_ref().map(|text| *text));
    }

    #[test]
    fn one_match_is_needed_unless_all_are_meant() {
        use Occurrences::{All, One};
        check("abc", "b", "x", One, Ok("axc"));
        check("abcb", "b", "", All, Ok("ac"));
        check("abc", "z", "x", One, Err(NoEdit::NotFound));
        check("abcb", "b", "x", One, Err(NoEdit::Ambiguous(2)));
        check("aaa", "aa", "x", One, Err(NoEdit::Ambiguous(2)));
        check("aaa", "aa", "x", All, Ok("xa"));
        check("éé", "é", "x", One, Err(NoEdit::Ambiguous(2)));
        check("", "a", "b", One, Err(NoEdit::NotFound));
        check("a", "a", &"x".repeat(101), One, Err(NoEdit::TooLong));
        check("a", "a\r\n", "a\n", One, Err(NoEdit::Same));
    }

    #[test]
    fn line_ends_match_each_other_and_stay() {
        use Occurrences::{All, One};
        check("a\r\nb\r\n", "a\nb", "x\ny", One, Ok("x\r\ny\r\n"));
        check("a\nb\n", "a\r\nb", "x\r\ny", One, Ok("x\ny\n"));
        check("a\r\nb\r\nc\nd", "c\n", "1\n2\n", One, Ok("a\r\nb\r\n1\r\n2\r\nd"));
        check("a\r\nb\nc\nd", "b", "1\n2", One, Ok("a\r\n1\n2\nc\nd"));
        check("a\r\nb\r\n", "\n", ";", All, Ok("a;b;"));
        check("a\r\nb", "a", "x", One, Ok("x\r\nb"));
        check("a\r\nb", "b", "", One, Ok("a\r\n"));
        check("a", "a", "x\r\ny", One, Ok("x\r\ny"));
        check("a\rb\r\n", "b", "x", One, Ok("a\rx\r\n"));
    }

    proptest! {
        #[test]
        fn only_what_matched_changes(before in "[ab\r\n]{0,20}", after in "[ab\r\n]{0,20}", new in "[ab\n]{0,5}") {
            let text = format!("{before}<é>{after}");
            let replaced = replace(&text, "<é>", &new, Occurrences::One, 1000).unwrap();
            prop_assert!(replaced.starts_with(&before) && replaced.ends_with(&after));
            prop_assert_eq!(unified(&replaced[before.len()..replaced.len() - after.len()]), new);
        }
    }
}
