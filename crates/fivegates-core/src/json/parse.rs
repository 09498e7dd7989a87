//! A strict parser: what it accepts is represented exactly, everything else is an error with its place.

use std::collections::HashSet;
use std::sync::Arc;

use super::number::{Number, NumberError};
use super::value::{Array, Json, Object};

/// Levels of nesting accepted unless configured otherwise (L-61).
pub const DEPTH_MAX_DEFAULT: usize = 8_192;

/// Members up to which duplicate keys are looked for by comparing with each earlier key.
const HASHED_FROM: usize = 16;

/// Limits of one parse.
#[derive(Debug, Clone, Copy)]
pub struct ParseLimits {
    /// Levels of nesting accepted; a scalar has none.
    pub depth_max: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { depth_max: DEPTH_MAX_DEFAULT }
    }
}

/// Why a text is not lossless JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at line {line} column {column}")]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Byte offset into the text, from 0.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// The text ends inside a value.
    #[error("the JSON text ends too early")]
    UnexpectedEnd,
    /// Something else stands where this was expected.
    #[error("expected {0}")]
    Expected(&'static str),
    /// More text follows the value.
    #[error("unexpected text after the JSON value")]
    TrailingText,
    /// A key was given twice in one object.
    #[error("duplicate key `{}`", shorten(.0))]
    DuplicateKey(Arc<str>),
    /// An escape that JSON does not have.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// A surrogate escape without its other half.
    #[error("lone surrogate escape in a string")]
    LoneSurrogate,
    /// A raw control character in a string.
    #[error("unescaped control character in a string")]
    ControlCharacter,
    /// A number that cannot be held without loss.
    #[error("{0}")]
    Number(NumberError),
    /// Nested deeper than the limit.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// More members in one object than can be held.
    #[error("too many members in one object")]
    TooManyMembers,
}

/// Parses one JSON value with the default limits.
///
/// # Errors
/// The first thing that is not strict, lossless JSON, with its place.
pub fn parse(text: &str) -> Result<Json, ParseError> {
    parse_with(text, ParseLimits::default())
}

/// Parses one JSON value.
///
/// # Errors
/// The first thing that is not strict, lossless JSON, with its place.
pub fn parse_with(text: &str, limits: ParseLimits) -> Result<Json, ParseError> {
    let mut parser =
        Parser { text, bytes: text.as_bytes(), at: 0, open: Vec::new(), depth_max: limits.depth_max };
    parser.document().map_err(|kind| {
        let offset = parser.at.min(text.len());
        let before = &text.as_bytes()[..offset];
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        // Characters are counted by their first bytes, so that an offset inside one does no harm.
        let column = before[line_start..].iter().filter(|b| **b & 0xC0 != 0x80).count() + 1;
        ParseError { kind, offset, line, column }
    })
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    open: Vec<Open>,
    depth_max: usize,
}

/// A container whose end has not been reached.
enum Open {
    Array(Vec<Json>),
    Object { entries: Vec<(Arc<str>, Json)>, key: Option<Arc<str>>, seen: Option<HashSet<Arc<str>>> },
}

type Step<T> = Result<T, ParseErrorKind>;

impl Parser<'_> {
    fn document(&mut self) -> Step<Json> {
        let mut value = self.value_or_open()?;
        loop {
            // `value` is a finished value, or nothing when a container was opened.
            let Some(done) = value.take() else {
                value = self.first_of_container()?;
                continue;
            };
            let Some(mut top) = self.open.pop() else {
                self.skip_space();
                return if self.at == self.bytes.len() {
                    Ok(done)
                } else {
                    Err(ParseErrorKind::TrailingText)
                };
            };
            value = match &mut top {
                Open::Array(items) => {
                    items.push(done);
                    self.after_item(top)?
                }
                Open::Object { entries, key, .. } => {
                    entries.extend(key.take().map(|key| (key, done)));
                    self.after_member(top)?
                }
            };
        }
    }

    fn after_item(&mut self, top: Open) -> Step<Option<Json>> {
        self.skip_space();
        match self.peek()? {
            b',' => {
                self.at += 1;
                self.open.push(top);
                self.value_or_open()
            }
            b']' => {
                self.at += 1;
                Ok(Some(finish(top)))
            }
            _ => Err(ParseErrorKind::Expected("`,` or `]`")),
        }
    }

    fn after_member(&mut self, mut top: Open) -> Step<Option<Json>> {
        self.skip_space();
        match self.peek()? {
            b',' => {
                self.at += 1;
                self.skip_space();
                self.key(&mut top)?;
                self.open.push(top);
                self.value_or_open()
            }
            b'}' => {
                self.at += 1;
                Ok(Some(finish(top)))
            }
            _ => Err(ParseErrorKind::Expected("`,` or `}`")),
        }
    }

    /// Reads what follows an opening bracket: its end, or the first item or member.
    fn first_of_container(&mut self) -> Step<Option<Json>> {
        self.skip_space();
        let Some(mut top) = self.open.pop() else {
            return Err(ParseErrorKind::UnexpectedEnd);
        };
        match (&top, self.peek()?) {
            (Open::Array(_), b']') | (Open::Object { .. }, b'}') => {
                self.at += 1;
                Ok(Some(finish(top)))
            }
            (Open::Array(_), _) => {
                self.open.push(top);
                self.value_or_open()
            }
            (Open::Object { .. }, _) => {
                self.key(&mut top)?;
                self.open.push(top);
                self.value_or_open()
            }
        }
    }

    /// Reads a scalar, or opens a container and returns nothing.
    fn value_or_open(&mut self) -> Step<Option<Json>> {
        self.skip_space();
        match self.peek()? {
            b'{' => self.open(Open::Object { entries: Vec::new(), key: None, seen: None }),
            b'[' => self.open(Open::Array(Vec::new())),
            b'"' => Ok(Some(Json::String(self.string()?))),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            b'-' | b'0'..=b'9' => self.number().map(Some),
            _ => Err(ParseErrorKind::Expected("a JSON value")),
        }
    }

    fn open(&mut self, container: Open) -> Step<Option<Json>> {
        if self.open.len() >= self.depth_max {
            return Err(ParseErrorKind::TooDeep(self.depth_max));
        }
        self.at += 1;
        self.open.push(container);
        Ok(None)
    }

    fn key(&mut self, top: &mut Open) -> Step<()> {
        let Open::Object { entries, key, seen } = top else {
            return Err(ParseErrorKind::Expected("a JSON value"));
        };
        if self.peek()? != b'"' {
            return Err(ParseErrorKind::Expected("a key in double quotes"));
        }
        let start = self.at;
        let name = self.string()?;
        let duplicate = if entries.len() < HASHED_FROM {
            entries.iter().any(|(key, _)| *key == name)
        } else {
            let seen = seen.get_or_insert_with(|| entries.iter().map(|(key, _)| Arc::clone(key)).collect());
            !seen.insert(Arc::clone(&name))
        };
        if duplicate {
            self.at = start;
            return Err(ParseErrorKind::DuplicateKey(name));
        }
        if u32::try_from(entries.len() + 1).is_err() {
            return Err(ParseErrorKind::TooManyMembers);
        }
        *key = Some(name);
        self.skip_space();
        if self.peek()? != b':' {
            return Err(ParseErrorKind::Expected("`:`"));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Step<Arc<str>> {
        self.at += 1;
        let start = self.at;
        let end = self.plain_run();
        if self.peek()? == b'"' {
            self.at += 1;
            return Ok(Arc::from(&self.text[start..end]));
        }
        let mut out = String::from(&self.text[start..end]);
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(Arc::from(out));
                }
                b'\\' => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(ParseErrorKind::ControlCharacter),
            }
            let from = self.at;
            let to = self.plain_run();
            out.push_str(&self.text[from..to]);
        }
    }

    /// Skips to the next quote, backslash or control character and returns its place.
    fn plain_run(&mut self) -> usize {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|b| *b < 0x20 || matches!(b, b'"' | b'\\')).unwrap_or(rest.len());
        self.at
    }

    fn escape(&mut self) -> Step<char> {
        let byte = self.peek()?;
        let plain = match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(ParseErrorKind::InvalidEscape),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Step<char> {
        let start = self.at;
        let high = self.hex4()?;
        if let Some(scalar) = char::from_u32(high) {
            return Ok(scalar);
        }
        if high < 0xDC00 && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let low = self.hex4()?;
            if (0xDC00..0xE000).contains(&low)
                && let Some(scalar) = char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
            {
                return Ok(scalar);
            }
        }
        self.at = start;
        Err(ParseErrorKind::LoneSurrogate)
    }

    fn hex4(&mut self) -> Step<u32> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or(ParseErrorKind::UnexpectedEnd)?;
        let mut value = 0;
        for digit in digits {
            let digit = char::from(*digit).to_digit(16).ok_or(ParseErrorKind::InvalidEscape)?;
            value = value * 16 + digit;
        }
        self.at += 4;
        Ok(value)
    }

    fn number(&mut self) -> Step<Json> {
        let start = self.at;
        self.skip_if(|b| b == b'-');
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(ParseErrorKind::Expected("a digit")),
        }
        if self.skip_if(|b| b == b'.') {
            self.digits()?;
        }
        if self.skip_if(|b| matches!(b, b'e' | b'E')) {
            self.skip_if(|b| matches!(b, b'+' | b'-'));
            self.digits()?;
        }
        Number::from_json_text(&self.text[start..self.at]).map(Json::Number).map_err(|error| {
            self.at = start;
            ParseErrorKind::Number(error)
        })
    }

    fn digits(&mut self) -> Step<()> {
        let count = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(ParseErrorKind::Expected("a digit")) } else { Ok(()) }
    }

    fn skip_if(&mut self, test: impl Fn(u8) -> bool) -> bool {
        let found = self.bytes.get(self.at).is_some_and(|b| test(*b));
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Json) -> Step<Option<Json>> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(Some(value))
        } else {
            Err(ParseErrorKind::Expected("a JSON value"))
        }
    }

    fn skip_space(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Step<u8> {
        self.bytes.get(self.at).copied().ok_or(ParseErrorKind::UnexpectedEnd)
    }
}

fn finish(container: Open) -> Json {
    match container {
        Open::Array(items) => Json::Array(Array::new(items)),
        Open::Object { entries, .. } => Json::Object(Object::from_unique(entries)),
    }
}

/// Shows at most 80 characters of a key.
fn shorten(key: &str) -> String {
    if key.chars().count() <= 80 {
        key.to_owned()
    } else {
        format!("{}…", key.chars().take(80).collect::<String>())
    }
}
