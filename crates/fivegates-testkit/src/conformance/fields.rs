//! Reading a scenario strictly: a member that is not understood stops the scenario and is named.

use std::collections::BTreeSet;

use fivegates_core::json::{Json, Object};

/// Why a scenario cannot be run as it is written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stop {
    /// It is not in the vocabulary, or has the wrong shape.
    #[error("{0}")]
    Malformed(String),
    /// It speaks of a value that has no form in this language.
    #[error("{0}")]
    Unrepresentable(String),
}

impl Stop {
    /// Says that the value at this path is not what the vocabulary allows there.
    pub fn malformed(at: &str, wanted: &str) -> Self {
        Self::Malformed(format!("`{at}` must be {wanted}"))
    }

    /// Says that the word at this path is not in the vocabulary.
    pub fn unknown(at: &str, word: &str) -> Self {
        Self::Malformed(format!("unknown word `{word}` at `{at}`"))
    }
}

/// The members of one object, each to be asked for by name; what is left over is an error.
pub struct Fields<'a> {
    at: String,
    members: &'a Object,
    asked: BTreeSet<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads the object at this path.
    ///
    /// # Errors
    /// It is no object.
    pub fn of(at: &str, value: &'a Json) -> Result<Self, Stop> {
        let members = value.as_object().ok_or_else(|| Stop::malformed(at, "an object"))?;
        Ok(Self { at: at.to_owned(), members, asked: BTreeSet::new() })
    }

    /// The path of a member.
    pub fn at(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }

    /// A member that may be absent.
    pub fn get(&mut self, key: &'static str) -> Option<&'a Json> {
        self.asked.insert(key);
        self.members.get(key)
    }

    /// A member that must be there.
    ///
    /// # Errors
    /// It is absent.
    pub fn need(&mut self, key: &'static str) -> Result<&'a Json, Stop> {
        self.get(key).ok_or_else(|| Stop::Malformed(format!("`{}` is missing", self.at(key))))
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// It is absent or no text.
    pub fn text(&mut self, key: &'static str) -> Result<&'a str, Stop> {
        let value = self.need(key)?;
        value.as_str().ok_or_else(|| Stop::malformed(&self.at(key), "a string"))
    }

    /// A text that may be absent or null.
    ///
    /// # Errors
    /// It is something else.
    pub fn text_if(&mut self, key: &'static str) -> Result<Option<&'a str>, Stop> {
        match self.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(Stop::malformed(&self.at(key), "a string")),
        }
    }

    /// A truth value; absent is false.
    ///
    /// # Errors
    /// It is something else.
    pub fn flag(&mut self, key: &'static str) -> Result<bool, Stop> {
        match self.get(key) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| Stop::malformed(&self.at(key), "true or false")),
        }
    }

    /// A list; absent is empty.
    ///
    /// # Errors
    /// It is something else.
    pub fn list(&mut self, key: &'static str) -> Result<&'a [Json], Stop> {
        match self.get(key) {
            None => Ok(&[]),
            Some(value) => value.as_array().ok_or_else(|| Stop::malformed(&self.at(key), "an array")),
        }
    }

    /// A list whose items are read one by one, each with its path.
    ///
    /// # Errors
    /// It is no list, or an item cannot be read.
    pub fn each<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str, &'a Json) -> Result<T, Stop>,
    ) -> Result<Vec<T>, Stop> {
        let at = self.at(key);
        let items = self.list(key)?.iter().enumerate();
        items.map(|(index, item)| read(&format!("{at}[{index}]"), item)).collect()
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// A member was never asked for.
    pub fn done(self) -> Result<(), Stop> {
        let unknown = self.members.entries().iter().find(|(key, _)| !self.asked.contains(&**key));
        match unknown {
            Some((key, _)) => Err(Stop::Malformed(format!("unknown key `{}`", self.at(key)))),
            None => Ok(()),
        }
    }
}

/// Reads a word, alone or with its object: `"next"` or `{"deny": "no"}`.
///
/// # Errors
/// It is neither, or has more than one member.
pub fn word<'a>(at: &str, value: &'a Json) -> Result<(&'a str, Option<&'a Json>), Stop> {
    match value {
        Json::String(word) => Ok((word, None)),
        Json::Object(object) => match object.entries() {
            [(word, value)] => Ok((word, Some(value))),
            _ => Err(Stop::malformed(at, "a word or an object with one member")),
        },
        _ => Err(Stop::malformed(at, "a word or an object with one member")),
    }
}

/// Reads a text.
///
/// # Errors
/// It is no text.
pub fn text(at: &str, value: &Json) -> Result<String, Stop> {
    value.as_str().map(str::to_owned).ok_or_else(|| Stop::malformed(at, "a string"))
}

/// Reads a whole number that is not negative.
///
/// # Errors
/// It is something else.
pub fn count(at: &str, value: &Json) -> Result<u64, Stop> {
    let number = value.as_number().and_then(|number| number.as_u64());
    number.ok_or_else(|| Stop::malformed(at, "a whole number that is not negative"))
}
