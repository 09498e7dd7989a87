//! Patterns over tool names: `*` stands for any text, `?` for one character.

use serde::Deserialize;

/// A pattern that was checked.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Glob(Vec<char>);

/// A pattern that would not do what it looks like.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GlobError {
    /// An empty pattern matches no tool.
    #[error("a tool pattern is empty; use `*` for all tools")]
    Empty,
    /// Special in other dialects, not here.
    #[error(
        "tool pattern `{pattern}` holds `{symbol}`; only `*` and `?` are special, so write several patterns"
    )]
    Unsupported {
        /// The pattern.
        pattern: String,
        /// The character.
        symbol: char,
    },
}

impl TryFrom<String> for Glob {
    type Error = GlobError;

    fn try_from(pattern: String) -> Result<Self, GlobError> {
        if pattern.is_empty() {
            return Err(GlobError::Empty);
        }
        match pattern.chars().find(|symbol| "[]{}!\\".contains(*symbol)) {
            Some(symbol) => Err(GlobError::Unsupported { pattern, symbol }),
            None => Ok(Self(pattern.chars().collect())),
        }
    }
}

impl TryFrom<&str> for Glob {
    type Error = GlobError;

    fn try_from(pattern: &str) -> Result<Self, GlobError> {
        Self::try_from(pattern.to_owned())
    }
}

impl Glob {
    /// Tells whether the whole name matches. Takes at most (length of the pattern × length of the name) steps.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (&[char], Vec<char>) = (&self.0, name.chars().collect());
        let (mut at, mut seen) = (0, 0);
        // The last star, and how much of the name it has taken.
        let mut star: Option<(usize, usize)> = None;
        while seen < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, seen));
                    at += 1;
                }
                Some(symbol) if *symbol == '?' || *symbol == name[seen] => {
                    at += 1;
                    seen += 1;
                }
                _ => {
                    let Some((place, taken)) = star else {
                        return false;
                    };
                    star = Some((place, taken + 1));
                    (at, seen) = (place + 1, taken + 1);
                }
            }
        }
        pattern[at..].iter().all(|symbol| *symbol == '*')
    }
}
