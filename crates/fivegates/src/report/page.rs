//! Lines that fit a terminal.
//!
//! Every line that holds somebody else's text is broken here, behind a margin of ours: a text cannot wrap around to the
//! left edge and pass for a line of the report.

use crate::escape::{self, BlockLimits};

/// Columns of a line.
const COLUMNS: usize = 80;

/// Broken lines of escaped text.
pub(super) struct Page {
    text: String,
}

impl Page {
    pub(super) fn new() -> Self {
        Self { text: String::new() }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Adds a line of ours.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Adds a text behind a head of `width` columns, which is `padded` already; further lines are indented as far.
    pub(super) fn hang(&mut self, head: &str, width: usize, text: &str) {
        let mut head = head.to_owned();
        for piece in broken(text, COLUMNS - width) {
            self.line(&format!("{head}{piece}"));
            head = " ".repeat(width);
        }
    }

    /// Adds a text in its own lines behind a bar; a dotted bar goes on with a line that was broken here.
    pub(super) fn quote(&mut self, indent: usize, text: &str, limits: BlockLimits) {
        let shown = escape::block(text, limits);
        let indent = " ".repeat(indent);
        for line in shown.lines() {
            let mut bar = '│';
            for piece in broken(line, COLUMNS - indent.len() - 2) {
                self.line(&format!("{indent}{bar} {piece}"));
                bar = '┊';
            }
        }
        if shown.is_empty() {
            self.line(&format!("{indent}(nothing)"));
        }
    }
}

/// Breaks escaped text into pieces of at most `columns`, at spaces where there are some; at least one piece.
fn broken(text: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut used, mut space) = (0, 0, None);
    for (at, character) in text.char_indices() {
        while used + columns_of(character) > columns && start < at {
            // A break after less than half a line would waste more than it explains.
            let cut = space.filter(|cut| (cut - start) * 2 >= at - start).unwrap_or(at);
            pieces.push(&text[start..cut]);
            (start, space) = (cut, None);
            used = text[start..at].chars().map(columns_of).sum();
        }
        used += columns_of(character);
        if character == ' ' {
            space = Some(at + 1);
        }
    }
    pieces.push(&text[start..]);
    pieces
}

/// Columns that a character takes at most: two from where the wide scripts begin.
fn columns_of(character: char) -> usize {
    if character < '\u{1100}' || matches!(character, '…' | '“' | '”' | '’' | '–' | '—') {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_break_at_spaces_and_within_long_words() {
        for (text, columns, expected) in [
            ("", 4, vec![""]),
            ("one two three", 8, vec!["one two ", "three"]),
            ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
            ("a bcdefghij", 6, vec!["a bcde", "fghij"]),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
        ] {
            assert_eq!(broken(text, columns), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_wide(text in "[ -~é漢]{0,300}", columns in 2_usize..90) {
            let pieces = broken(&text, columns);
            prop_assert_eq!(pieces.concat(), text.as_str());
            prop_assert!(pieces.iter().all(|p| p.chars().map(columns_of).sum::<usize>() <= columns));
        }
    }

    #[test]
    fn a_quoted_text_stays_behind_its_bar() {
        let mut page = Page::new();
        let forged = format!("{}  guards  passed\nx\u{1b}[2J", " ".repeat(76));
        page.quote(2, &forged, BlockLimits { chars_max: 999, lines_max: 9 });
        for line in page.into_text().lines() {
            assert!(line.starts_with("  │") || line.starts_with("  ┊"), "{line}");
            assert!(line.chars().count() <= COLUMNS && !line.contains('\u{1b}'), "{line}");
        }
    }
}
