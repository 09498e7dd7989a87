//! Reading one value into a type that cannot be wrong.

use std::path::{Path, PathBuf};

use super::origin::{Origin, Setting};

/// A value as it was written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    /// A quoted text of a file.
    Text(&'a str),
    /// A whole number of a file; none when it is beyond 64 bits.
    Number(Option<i64>),
    /// Something that no key takes, in words.
    Other(&'static str),
    /// A word of the command line, which is not quoted.
    Word(&'a str),
}

/// A value as it was written, and the folder that a relative path in it starts from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    pub(super) raw: Raw<'a>,
    pub(super) base: &'a Path,
}

impl<'a> Input<'a> {
    /// The text, for a type that takes one.
    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        match self.raw {
            Raw::Text(text) | Raw::Word(text) => Ok(text),
            Raw::Number(_) => Err(Fault::Type("a number")),
            Raw::Other(found) => Err(Fault::Type(found)),
        }
    }

    /// The whole number, for a type that takes one; none when it is beyond 64 bits.
    pub(super) fn number(&self) -> Result<Option<i64>, Fault> {
        match self.raw {
            Raw::Number(number) => Ok(number),
            Raw::Word(word) => match word.parse::<i128>() {
                Ok(number) => Ok(i64::try_from(number).ok()),
                Err(_) => Err(Fault::Value("is no whole number".to_owned())),
            },
            Raw::Text(_) => Err(Fault::Type("a text in quotes")),
            Raw::Other(found) => Err(Fault::Type(found)),
        }
    }
}

/// What is wrong with a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// It is of another kind than the key takes.
    Type(&'static str),
    /// It is of the right kind and still cannot be used.
    Value(String),
    /// It is good in itself, but a project's file may not say it, whatever holds elsewhere.
    NotInProject,
    /// It is looser than what holds, and stands in a project's file.
    Looser {
        /// What holds, as it would be written.
        than: String,
        /// Who set that.
        origin: Origin,
    },
}

/// A type of value.
pub(super) trait Value: Clone + PartialEq {
    /// What is allowed, in words that follow "takes".
    fn takes() -> String;

    /// Something allowed, as it is written in a file.
    fn example() -> String;

    /// Reads a value.
    fn read(input: &Input<'_>) -> Result<Self, Fault>;

    /// The value as it is written in a file; none for one that is not set.
    fn written(&self) -> Option<String>;

    /// Tells whether this value lets more through, or costs more, than that one. Doubt says yes.
    fn is_looser_than(&self, _that: &Self) -> bool {
        true
    }

    /// Tells whether a project's file may say this at all.
    fn is_for_projects(&self) -> bool {
        true
    }
}

/// Whether a value may be anything that its key takes, or only tighter than what holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Freedom {
    Free,
    Tighten,
}

/// A setting whose type is not known to who sets it.
pub(super) trait Slot {
    /// What is allowed, in words that follow "takes".
    fn takes(&self) -> String;

    /// The value as it is written in a file; none when it is not set.
    fn written(&self) -> Option<String>;

    /// Something allowed, as it is written in a file.
    fn example(&self) -> String;

    /// Who set it.
    #[cfg(test)]
    fn origin(&self) -> &Origin;

    /// Sets it. What holds and is said again keeps its origin.
    fn set(&mut self, input: &Input<'_>, origin: &Origin, freedom: Freedom) -> Result<(), Fault>;
}

impl<T: Value> Slot for Setting<T> {
    fn takes(&self) -> String {
        T::takes()
    }

    fn written(&self) -> Option<String> {
        self.value.written()
    }

    fn example(&self) -> String {
        T::example()
    }

    #[cfg(test)]
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn set(&mut self, input: &Input<'_>, origin: &Origin, freedom: Freedom) -> Result<(), Fault> {
        let value = T::read(input)?;
        if freedom == Freedom::Tighten {
            if !value.is_for_projects() {
                return Err(Fault::NotInProject);
            }
            if value == self.value {
                return Ok(());
            }
            if value.is_looser_than(&self.value) {
                let than = self.value.written().unwrap_or_else(|| "not set".to_owned());
                return Err(Fault::Looser { than, origin: self.origin.clone() });
            }
        }
        *self = Self { value, origin: origin.clone() };
        Ok(())
    }
}

impl<T: Value> Value for Option<T> {
    fn takes() -> String {
        T::takes()
    }

    fn example() -> String {
        T::example()
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        T::read(input).map(Some)
    }

    fn written(&self) -> Option<String> {
        self.as_ref().and_then(T::written)
    }

    /// Without a limit everything goes.
    fn is_looser_than(&self, that: &Self) -> bool {
        match (self, that) {
            (Some(this), Some(that)) => this.is_looser_than(that),
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    fn is_for_projects(&self) -> bool {
        self.as_ref().is_none_or(T::is_for_projects)
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Within<const MIN: u64, const MAX: u64>(u64);

/// Milliseconds: at least one.
pub(crate) type Ms<const MAX: u64> = Within<1, MAX>;

impl<const MIN: u64, const MAX: u64> Within<MIN, MAX> {
    /// Takes the nearest number that is allowed.
    pub(crate) const fn nearest(number: u64) -> Self {
        Self(if number < MIN {
            MIN
        } else if number > MAX {
            MAX
        } else {
            number
        })
    }

    /// The number.
    pub(crate) fn get(self) -> u64 {
        self.0
    }

    /// The number as a count of things in memory.
    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const MIN: u64, const MAX: u64> Value for Within<MIN, MAX> {
    fn takes() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }

    fn example() -> String {
        MAX.to_string()
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        let number = input.number()?.and_then(|number| u64::try_from(number).ok());
        match number {
            Some(number) if (MIN..=MAX).contains(&number) => Ok(Self(number)),
            _ => Err(Fault::Value("is out of range".to_owned())),
        }
    }

    fn written(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn is_looser_than(&self, that: &Self) -> bool {
        self.0 > that.0
    }
}

/// A text as it is written in a file.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A file; a relative one starts from the folder of the file in which it is named.
pub(super) fn file(text: &str, base: &Path) -> Result<PathBuf, Fault> {
    if text.is_empty() {
        return Err(Fault::Value("is empty".to_owned()));
    }
    if text.contains('\0') {
        return Err(Fault::Value("has a NUL character in it".to_owned()));
    }
    Ok(base.join(text))
}
