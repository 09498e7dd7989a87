//! Text from elsewhere, made safe to show: what a terminal would obey or an eye would miss becomes visible (invariant 7).
//!
//! Whatever a model, a tool, a file name or the record says goes through [`line`], [`block`] or [`json`] before it is
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
