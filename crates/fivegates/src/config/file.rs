//! Reading one file and applying it.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Config;
use super::error::{ConfigError, Placed};
use super::find::FILE_NAME;
use super::guards::{self, GUARDS_MAX, GuardRule};
use super::keys::{self, GUARD, GUARD_KEYS, InProject, Key, Presence};
use super::origin::Origin;
use super::value::{Fault, Freedom, Input, Raw};
use crate::escape;

/// Bytes of a configuration file.
pub(super) const FILE_BYTES_MAX: u64 = 256 << 10;

/// A file that was read.
pub(super) struct Source {
    origin: Origin,
    path: PathBuf,
    text: String,
}

/// Characters of a key that are shown.
pub(super) const WORD_CHARS_MAX: usize = 64;
/// Characters of a parser's message that are shown.
const MESSAGE_CHARS_MAX: usize = 300;

type Span = Range<usize>;

impl Source {
    /// Reads a file. Whatever is at the path, this does not wait.
    pub(super) fn read(path: &Path, origin: Origin) -> Result<Self, ConfigError> {
        let unreadable = |cause: io::Error| ConfigError::Unreadable { path: path.to_owned(), cause };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|cause| unreadable(cause.into()))?;
        let file = File::from(file);
        let kind = file.metadata().map_err(unreadable)?.file_type();
        if !kind.is_file() {
            let found = if kind.is_dir() { "a folder" } else { "a pipe or device" };
            return Err(ConfigError::NotAFile { path: path.to_owned(), found });
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(ConfigError::TooLarge { path: path.to_owned() });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            ConfigError::NotUtf8 { path: path.to_owned(), line, byte: bytes.get(at).copied().unwrap_or(0) }
        })?;
        Ok(Self { origin, path: path.to_owned(), text })
    }

    /// Applies everything that the file says.
    pub(super) fn apply(&self, config: &mut Config) -> Result<(), ConfigError> {
        let table = DeTable::parse(&self.text).map_err(|error| self.syntax(&error))?;
        let mut set: Vec<(&'static Key, Span)> = Vec::new();
        for (name, value) in in_order(table.get_ref()) {
            let section = name.get_ref().as_ref();
            if section == GUARD {
                self.guards(config, value)?;
            } else if keys::sections().contains(&section) {
                let DeValue::Table(table) = value.get_ref() else {
                    let message = format!("`{section}` is a section, not a key");
                    let hint = format!("write `[{section}]` and its keys in the lines below");
                    return Err(self.at(name.span(), message, hint));
                };
                for (name, value) in in_order(table) {
                    set.push(self.set(config, section, name, value)?);
                }
            } else {
                set.push(self.set(config, "", name, value)?);
            }
        }
        config.settle_pairs(&self.origin).map_err(|pair| {
            let span = set.iter().find(|(key, _)| key.path() == pair.low).map(|(_, span)| span.clone());
            let hint = format!("lower `{}` or raise `{}`", pair.low, pair.high);
            self.at(span.unwrap_or_default(), pair.to_string(), hint)
        })
    }

    fn set(
        &self,
        config: &mut Config,
        section: &str,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(&'static Key, Span), ConfigError> {
        let word = name.get_ref().as_ref();
        let Some(key) = keys::of_section(section).find(|key| key.name == word) else {
            let place = if section.is_empty() { String::new() } else { format!(" in `[{section}]`") };
            let message = format!("unknown key `{}`{place}", escape::line(word, WORD_CHARS_MAX));
            return Err(self.at(name.span(), message, keys::allowed_in(section)));
        };
        let freedom = match (&self.origin, key.in_project) {
            (Origin::Project(_), InProject::Never) => {
                let message = format!("`{}` may not stand in a project's file", key.path());
                return Err(self.at(name.span(), message, elsewhere(key)));
            }
            (Origin::Project(_), InProject::Tighten) => Freedom::Tighten,
            _ => Freedom::Free,
        };
        let base = self.path.parent().unwrap_or(Path::new("/"));
        let slot = (key.slot)(config);
        let input = Input { raw: raw(value.get_ref()), base };
        slot.set(&input, &self.origin, freedom).map_err(|fault| {
            let (message, hint) = describe(key, &slot.takes(), fault);
            self.at(value.span(), message, hint)
        })?;
        Ok((key, value.span()))
    }

    fn guards(&self, config: &mut Config, value: &Spanned<DeValue<'_>>) -> Result<(), ConfigError> {
        let hint = || format!("write `[[{GUARD}]]` and its keys in the lines below");
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.at(value.span(), format!("`{GUARD}` is a list of sections"), hint()));
        };
        for (place, guard) in list.iter().enumerate() {
            let DeValue::Table(table) = guard.get_ref() else {
                return Err(self.at(guard.span(), format!("`{GUARD}` is a list of sections"), hint()));
            };
            if place >= GUARDS_MAX {
                let message = format!("more than {GUARDS_MAX} guards in one file");
                return Err(self.at(guard.span(), message, "remove some"));
            }
            config.guards.push(self.guard(place + 1, table, guard.span())?);
        }
        Ok(())
    }

    fn guard(&self, number: usize, table: &DeTable<'_>, span: Span) -> Result<GuardRule, ConfigError> {
        let names = || GUARD_KEYS.iter().map(|(name, ..)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let hint = || format!("the keys of `[[{GUARD}]]` are {}", names());
        let mut texts: [Option<String>; GUARD_KEYS.len()] = [const { None }; GUARD_KEYS.len()];
        for (name, value) in in_order(table) {
            let word = name.get_ref().as_ref();
            let Some(place) = GUARD_KEYS.iter().position(|(known, ..)| *known == word) else {
                let message =
                    format!("unknown key `{}` in `[[{GUARD}]]`", escape::line(word, WORD_CHARS_MAX));
                return Err(self.at(name.span(), message, hint()));
            };
            let DeValue::String(text) = value.get_ref() else {
                let found = kind(value.get_ref());
                let message = format!("`{word}` of a guard cannot be {found}");
                return Err(self.at(value.span(), message, "it takes a text in quotes"));
            };
            if let Some(fault) = guards::fault(word, text) {
                let message = format!("`{word}` of a guard {fault}");
                return Err(self.at(value.span(), message, format!("it takes the {}", GUARD_KEYS[place].1)));
            }
            texts[place] = Some(text.to_string());
        }
        for ((name, _, presence), text) in GUARD_KEYS.iter().zip(&texts) {
            if *presence == Presence::Required && text.is_none() {
                return Err(self.at(span, format!("this guard has no `{name}`"), hint()));
            }
        }
        let [tool, reason, code] = texts;
        let id = guards::id(&self.origin, number);
        let (tool, reason) = (tool.unwrap_or_default(), reason.unwrap_or_default());
        Ok(GuardRule { id, tool, reason, code, origin: self.origin.clone() })
    }

    fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or_default();
        let message = escape::line(error.message(), MESSAGE_CHARS_MAX);
        if message == "duplicate key" {
            let key = self.text.get(span.clone()).unwrap_or_default();
            let message = format!("duplicate key `{}`", escape::line(key, WORD_CHARS_MAX));
            return self.at(span, message, "say it once");
        }
        self.at(span, message, "the file is TOML: `key = value` or `[section]` in a line, texts in quotes")
    }

    fn at(&self, span: Span, message: impl Into<String>, hint: impl Into<String>) -> ConfigError {
        ConfigError::InFile(Box::new(Placed::new(self.path.clone(), &self.text, span, message, hint)))
    }
}

/// The message and the hint for a value that cannot be used.
pub(super) fn describe(key: &Key, takes: &str, fault: Fault) -> (String, String) {
    let path = key.path();
    match fault {
        Fault::Type(found) => (format!("`{path}` cannot be {found}"), format!("it takes {takes}")),
        Fault::Value(why) => (format!("`{path}` {why}"), format!("it takes {takes}")),
        Fault::NotInProject => (format!("a project's file may not say this for `{path}`"), elsewhere(key)),
        Fault::Looser { than, origin } => (
            format!("a project's file may only tighten `{path}`, which {origin} sets to {than}"),
            elsewhere(key),
        ),
    }
}

/// Where a key may stand that may not stand in a project's file.
fn elsewhere(key: &Key) -> String {
    let folder = "$XDG_CONFIG_HOME/fivegates (or ~/.config/fivegates)";
    format!("put it into your own `{FILE_NAME}` in {folder}, or give `--set {}=...`", key.path())
}

/// The entries of a table in the order of the file, so that the first mistake is the one that is named.
fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

fn raw<'v>(value: &'v DeValue<'_>) -> Raw<'v> {
    match value {
        DeValue::String(text) => Raw::Text(text),
        DeValue::Integer(number) => Raw::Number(i64::from_str_radix(number.as_str(), number.radix()).ok()),
        other => Raw::Other(kind(other)),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}
