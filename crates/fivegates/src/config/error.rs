//! What can be wrong with the configuration, and how it is shown.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use super::file::FILE_BYTES_MAX;
use super::origin::shown;
use crate::error::CliError;
use crate::escape;

/// Columns of an offending line that are shown.
const COLUMNS_MAX: usize = 96;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// A folder on the way up cannot be looked into, so that a file there could be missed.
    #[error("cannot look for `{}`: {cause}", shown(path))]
    Lookup { path: PathBuf, cause: std::io::Error },
    /// There is a file that cannot be read.
    #[error("cannot read `{}`: {cause}", shown(path))]
    Unreadable { path: PathBuf, cause: std::io::Error },
    /// The name leads to something else than a file.
    #[error("`{}` is {found}, not a file", shown(path))]
    NotAFile { path: PathBuf, found: &'static str },
    /// The file is beyond the limit.
    #[error("`{}` is larger than {FILE_BYTES_MAX} bytes", shown(path))]
    TooLarge { path: PathBuf },
    /// The file is no text.
    #[error("`{}` is not UTF-8 text: line {line} has the byte 0x{byte:02x} in it", shown(path))]
    NotUtf8 { path: PathBuf, line: usize, byte: u8 },
    /// Something in a file is wrong; the place is shown.
    #[error("{0}")]
    InFile(Box<Placed>),
    /// A `--set` is wrong.
    #[error("{message}")]
    Assignment { message: String, hint: String },
}

impl ConfigError {
    /// What to do next.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Lookup { .. } => "make the folder searchable, or start in another one".to_owned(),
            Self::Unreadable { .. } | Self::NotAFile { .. } => {
                "make it a readable file, or remove it to go without".to_owned()
            }
            Self::TooLarge { .. } => "is it meant to be the configuration?".to_owned(),
            Self::NotUtf8 { .. } => "save it as UTF-8".to_owned(),
            Self::InFile(placed) => placed.hint.clone(),
            Self::Assignment { hint, .. } => hint.clone(),
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let hint = error.hint();
        Self::usage(error).hint(hint)
    }
}

/// Something wrong at a place in a file: the message, the place, and the line with a caret under the place.
#[derive(Debug)]
pub(crate) struct Placed {
    message: String,
    hint: String,
    path: PathBuf,
    /// Counted from 1.
    line: usize,
    /// In characters, counted from 1.
    column: usize,
    excerpt: Excerpt,
}

impl Placed {
    /// Finds the place of a range of bytes in the text of a file.
    pub(super) fn new(
        path: PathBuf,
        text: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let start = floor(text, span.start);
        let end = floor(text, span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = &text[line_start..line_end];
        Self {
            message: message.into(),
            hint: hint.into(),
            path,
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            excerpt: Excerpt::new(line, start - line_start..end.min(line_end) - line_start),
        }
    }
}

/// The nearest start of a character at or before this byte.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "{}", self.message)?;
        writeln!(f, "{gutter}--> {}:{}:{}", shown(&self.path), self.line, self.column)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", self.excerpt.text)?;
        let Excerpt { before, under, .. } = self.excerpt;
        write!(f, "{gutter} | {}{}", " ".repeat(before), "^".repeat(under))
    }
}

/// One line, escaped, with what may be a secret masked, and cut around the place.
#[derive(Debug)]
struct Excerpt {
    text: String,
    /// Columns before the carets.
    before: usize,
    /// Carets.
    under: usize,
}

impl Excerpt {
    fn new(line: &str, span: Range<usize>) -> Self {
        let line = line.trim_end_matches('\r');
        let open_to = secret_start(line).unwrap_or(line.len());
        let part = |range: Range<usize>| {
            let range = range.start.min(open_to)..range.end.min(open_to);
            escape::line(&line[range], usize::MAX)
        };
        let before = part(0..span.start);
        let marked = part(span.clone());
        let after = part(span.end.min(line.len())..line.len());
        let mask = if open_to < line.len() { "****" } else { "" };
        let text: Vec<char> = format!("{before}{marked}{after}{mask}").chars().collect();
        let caret = before.chars().count();
        let under = marked.chars().count().max(1);

        let from = if caret + under.min(COLUMNS_MAX / 2) > COLUMNS_MAX { caret - COLUMNS_MAX / 3 } else { 0 };
        let to = text.len().min(from + COLUMNS_MAX);
        let mut shown: String = text[from..to].iter().collect();
        if to < text.len() {
            shown.push_str("...");
        }
        let lead = if from > 0 { "..." } else { "" };
        let before = caret - from + lead.len();
        Self {
            text: format!("{lead}{shown}"),
            before,
            under: under.min((to - from).saturating_sub(caret - from).max(1)),
        }
    }
}

/// Where the value of a key begins that may hold a secret. No key of ours does, but a key in the wrong place is how
/// secrets get printed.
fn secret_start(line: &str) -> Option<usize> {
    let equals = line.find('=')?;
    let key = line[..equals].to_ascii_lowercase();
    let named = ["key", "token", "secret", "password", "credential"].iter().any(|word| key.contains(word));
    let in_url = line[equals..].contains("://") && line[equals..].contains('@');
    (named || in_url).then(|| {
        let value = equals + 1;
        value + line[value..].len() - line[value..].trim_start().len()
    })
}
