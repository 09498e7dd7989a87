//! Text from elsewhere, made safe to show: what a terminal would obey or an eye would miss becomes visible (invariant 7).
//!
//! Whatever a model, a tool, a file name or the record says goes through [`line()`], [`block`] or [`json`] before it is
//! printed. Only what is shown changes; what runs is the original.

use std::fmt::Write as _;

/// Spaces in the place of a tab.
const TAB: &str = "    ";

/// Every control (Cc) and format (Cf) character, line and paragraph separator, Bidi_Control and
/// Default_Ignorable_Code_Point of Unicode 17, in order. Surrogates cannot occur in a `str`.
const HIDDEN: [(char, char); 27] = [
    ('\u{0}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// How much of a text [`block`] shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockLimits {
    /// Characters as they are shown, escapes included.
    pub(crate) chars_max: usize,
    /// Lines.
    pub(crate) lines_max: usize,
}

/// Shows a text in one line: line breaks and tabs as `\n` and `\t`, everything hidden as `\u{…}`.
///
/// At most `chars_max` characters are shown, then how many more there are.
pub(crate) fn line(text: &str, chars_max: usize) -> String {
    let limits = BlockLimits { chars_max, lines_max: 1 };
    show(text, limits, |character, shown| match character {
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        other => visible(other, shown),
    })
}

/// Shows a text in its lines: line breaks stay, tabs become spaces, everything hidden is shown as `\u{…}`.
///
/// What is beyond the limits is counted, in a line of its own.
pub(crate) fn block(text: &str, limits: BlockLimits) -> String {
    show(text, limits, |character, shown| match character {
        '\n' => shown.push('\n'),
        '\t' => shown.push_str(TAB),
        other => visible(other, shown),
    })
}

/// Shows JSON text, of which only strings can hold anything hidden, as the same JSON with `\uXXXX` in its place.
pub(crate) fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Counts what is hidden in a text. Line breaks and tabs are not: they are meant to be seen.
pub(crate) fn hidden(text: &str) -> usize {
    text.chars().filter(|&character| is_hidden(character) && !matches!(character, '\n' | '\t')).count()
}

/// The warning for a text of which so much is hidden.
pub(crate) fn warning(hidden: usize) -> Option<String> {
    match hidden {
        0 => None,
        1 => Some("1 hidden character shown as \\u{…}".to_owned()),
        count => Some(format!("{count} hidden characters shown as \\u{{…}}")),
    }
}

fn show(text: &str, limits: BlockLimits, put: impl Fn(char, &mut String)) -> String {
    let mut shown = String::with_capacity(text.len().min(limits.chars_max));
    let (mut chars, mut lines) = (0_usize, 1_usize);
    let mut piece = String::new();
    for (at, character) in text.char_indices() {
        piece.clear();
        put(character, &mut piece);
        chars = chars.saturating_add(piece.chars().count());
        let breaks = piece == "\n";
        lines += usize::from(breaks);
        // A break with nothing after it begins no line.
        let last = breaks && at + 1 == text.len();
        if chars > limits.chars_max || (lines > limits.lines_max && !last) {
            let more = text[at..].chars().count();
            let gap =
                if limits.lines_max == 1 || shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
            let s = if more == 1 { "" } else { "s" };
            let _ = write!(shown, "{gap}… ({more} more character{s})");
            break;
        }
        shown.push_str(&piece);
    }
    shown
}

fn visible(character: char, shown: &mut String) {
    if is_hidden(character) {
        let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
    } else {
        shown.push(character);
    }
}

fn is_hidden(character: char) -> bool {
    if matches!(character, ' '..='~') {
        return false;
    }
    let after = HIDDEN.partition_point(|&(first, _)| first <= character);
    after.checked_sub(1).is_some_and(|at| character <= HIDDEN[at].1)
}

#[cfg(test)]
mod tests {
    use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint, GeneralCategory};
    use icu_properties::{CodePointMapData, CodePointSetData};
    use proptest::prelude::*;

    use super::*;

    const WIDE: BlockLimits = BlockLimits { chars_max: usize::MAX, lines_max: usize::MAX };

    /// What must not be seen raw, by Unicode's own tables.
    fn must_be_escaped(character: char) -> bool {
        use GeneralCategory as Category;
        let category = CodePointMapData::<Category>::new().get(character);
        matches!(
            category,
            Category::Control | Category::Format | Category::LineSeparator | Category::ParagraphSeparator
        ) || CodePointSetData::new::<BidiControl>().contains(character)
            || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
    }

    #[test]
    fn every_code_point_is_escaped_or_unchanged_by_unicodes_own_tables() {
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let (line, block) = (line(&text, 16), block(&text, WIDE));
            match character {
                '\n' => assert_eq!((&*line, &*block), ("\\n", "\n")),
                '\t' => assert_eq!((&*line, &*block), ("\\t", TAB)),
                _ if must_be_escaped(character) => {
                    let escape = format!("\\u{{{:x}}}", u32::from(character));
                    assert_eq!((&line, &block), (&escape, &escape));
                    assert_eq!(hidden(&text), 1);
                }
                _ => {
                    assert_eq!((&line, &block), (&text, &text));
                    assert_eq!(hidden(&text), 0);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_hidden_leaves_and_nothing_exceeds_its_limit(
            characters in proptest::collection::vec(any::<char>(), 0..200),
            chars_max in 0_usize..60,
            lines_max in 1_usize..5,
        ) {
            let text: String = characters.into_iter().collect();
            let notice = "… (200 more characters)".chars().count() + 1;
            let line = line(&text, chars_max);
            prop_assert!(!line.chars().any(must_be_escaped), "{line:?}");
            prop_assert!(line.chars().count() <= chars_max + notice);
            let block = block(&text, BlockLimits { chars_max, lines_max });
            prop_assert!(!block.chars().any(|c| c != '\n' && must_be_escaped(c)), "{block:?}");
            prop_assert!(block.chars().count() <= chars_max + notice);
            prop_assert!(block.lines().count() <= lines_max + 1);
        }

        #[test]
        fn json_stays_the_same_value(text in any::<String>()) {
            use fivegates_core::json::{Json, compact, parse};
            let value = Json::object([(text.as_str(), Json::from(text.as_str()))]);
            let shown = json(&compact(&value));
            prop_assert!(!shown.chars().any(must_be_escaped), "{shown:?}");
            prop_assert_eq!(parse(&shown), Ok(value));
        }
    }

    #[test]
    fn what_is_cut_is_counted() {
        for (text, chars_max, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "abc… (1 more character)"),
            ("é\u{1b}[31mred", 4, "é… (8 more characters)"),
            ("\u{202e}x", 7, "\\u{202e… (2 more characters)"),
            ("a\tb\nc\r\n", 99, "a\\tb\\nc\\u{d}\\n"),
            ("", 0, ""),
        ] {
            let expected = expected.replace("\\u{202e…", "…");
            assert_eq!(line(text, chars_max), expected, "{text:?}");
        }
        for (text, lines_max, expected) in [
            ("a\nb\nc", 3, "a\nb\nc"),
            ("a\nb\nc\n", 3, "a\nb\nc\n"),
            ("a\nb\nc\nd", 3, "a\nb\nc\n… (2 more characters)"),
            ("a\tb\r\n\u{feff}", 3, "a    b\\u{d}\n\\u{feff}"),
            ("\n\n\n", 1, "… (3 more characters)"),
        ] {
            assert_eq!(block(text, BlockLimits { chars_max: 99, lines_max }), expected, "{text:?}");
        }
    }

    #[test]
    fn a_disguised_command_is_shown_with_a_warning() {
        let command = "curl http://safe.com/\u{202e}moc.live\u{200b}";
        assert_eq!(line(command, 99), "curl http://safe.com/\\u{202e}moc.live\\u{200b}");
        assert_eq!(warning(hidden(command)).as_deref(), Some("2 hidden characters shown as \\u{…}"));
        assert_eq!(warning(hidden("plain\n\ttext")), None);
    }
}
