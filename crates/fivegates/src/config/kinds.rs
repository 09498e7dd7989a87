//! The types of values beside numbers.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use fivegates_agent::provider::openai::Service;
use fivegates_session::Sync as RecordSync;

use super::value::{Fault, Input, Value, file, quoted};

/// Bytes of a system prompt.
const SYSTEM_PROMPT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a base URL.
const BASE_URL_BYTES_MAX: usize = 2_048;
/// Bytes of a model's name.
const MODEL_NAME_BYTES_MAX: usize = 256;

/// How much a model may do without a person.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) enum Permission {
    /// Calls that change nothing run; all others are denied.
    ReadOnly,
    /// Calls that change nothing run; somebody is asked about each of the others.
    #[default]
    Ask,
    /// All calls run.
    Allow,
}

impl Permission {
    /// All modes, from the strictest to the loosest.
    pub(crate) const ALL: [Self; 3] = [Self::ReadOnly, Self::Ask, Self::Allow];

    /// The mode as it is written on the command line and in the configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text of the command line that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{why}; it takes {takes}")]
pub(crate) struct BadText {
    why: String,
    takes: String,
}

/// Reads a text as the configuration would; a relative path starts from the working directory.
macro_rules! from_str {
    ($($kind:ty),*) => {$(
        impl FromStr for $kind {
            type Err = BadText;

            fn from_str(text: &str) -> Result<Self, BadText> {
                <$kind>::parse(text, std::path::Path::new(""))
                    .map_err(|why| BadText { why: format!("this {why}"), takes: <$kind>::takes() })
            }
        }
    )*};
}

from_str!(Permission, ModelChoice, BaseUrl);

impl Permission {
    fn parse(text: &str, _base: &std::path::Path) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        known.ok_or_else(|| "holds no permission mode".to_owned())
    }
}

impl Value for Permission {
    fn takes() -> String {
        r#"`"read-only"`, `"ask"` or `"allow"`"#.to_owned()
    }

    fn example() -> String {
        quoted(Self::Ask.as_str())
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        Self::parse(input.text()?, input.base).map_err(Fault::Value)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(self.as_str()))
    }

    fn is_looser_than(&self, that: &Self) -> bool {
        self > that
    }

    fn is_for_projects(&self) -> bool {
        *self != Self::Allow
    }
}

/// Which model answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModelChoice {
    /// A model behind a server.
    Served {
        /// Whose format the server follows, and whose key is used.
        service: Service,
        /// The model's name there.
        name: String,
    },
    /// A file of model turns.
    Scripted {
        /// The file.
        file: PathBuf,
    },
}

impl ModelChoice {
    fn parse(text: &str, base: &std::path::Path) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').ok_or_else(|| "names no provider".to_owned())?;
        let service = match kind {
            "scripted" => {
                let file = file(rest, base).map_err(|_| "names no file".to_owned())?;
                return Ok(Self::Scripted { file });
            }
            "deepseek" => Service::DeepSeek,
            "openai" => Service::OpenAi,
            _ => return Err("names an unknown provider".to_owned()),
        };
        if rest.is_empty() || rest.len() > MODEL_NAME_BYTES_MAX || !rest.chars().all(is_plain) {
            return Err("names no model".to_owned());
        }
        Ok(Self::Served { service, name: rest.to_owned() })
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served { service, name } => write!(f, "{}:{name}", service.as_str()),
            Self::Scripted { file } => write!(f, "scripted:{}", file.display()),
        }
    }
}

impl Value for ModelChoice {
    fn takes() -> String {
        r#"`"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`"#.to_owned()
    }

    fn example() -> String {
        quoted("deepseek:deepseek-chat")
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        Self::parse(input.text()?, input.base).map_err(Fault::Value)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

/// Where a server answers. Whether a key may go there is decided by the provider that sends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BaseUrl(String);

impl BaseUrl {
    /// The URL.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(text: &str, _base: &std::path::Path) -> Result<Self, String> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let Some(rest) = rest else {
            return Err("is neither `http` nor `https`".to_owned());
        };
        let host = rest.split('/').next().unwrap_or_default();
        if host.is_empty() || !text.chars().all(is_plain) || text.len() > BASE_URL_BYTES_MAX {
            return Err("is no URL".to_owned());
        }
        if rest.contains('@') {
            return Err("has a user name or password in it".to_owned());
        }
        if rest.contains(['?', '#']) {
            return Err("has a query or fragment".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl Value for BaseUrl {
    fn takes() -> String {
        r#"a URL such as `"https://api.deepseek.com"` or `"http://127.0.0.1:8080/v1"`"#.to_owned()
    }

    fn example() -> String {
        quoted("http://127.0.0.1:8080/v1")
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        Self::parse(input.text()?, input.base).map_err(Fault::Value)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.0))
    }
}

/// What a model is told before anything else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SystemPrompt(String);

impl SystemPrompt {
    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for SystemPrompt {
    fn takes() -> String {
        format!("a text of 1 to {SYSTEM_PROMPT_BYTES_MAX} bytes")
    }

    fn example() -> String {
        quoted("You work in the current folder.")
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        let text = input.text()?;
        match text.len() {
            0 => Err(Fault::Value("is empty".to_owned())),
            bytes if bytes > SYSTEM_PROMPT_BYTES_MAX => Err(Fault::Value("is too long".to_owned())),
            _ => Ok(Self(text.to_owned())),
        }
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.0))
    }
}

impl Value for PathBuf {
    fn takes() -> String {
        "a path in quotes; a relative one starts from the folder of this file".to_owned()
    }

    fn example() -> String {
        quoted("/var/lib/fivegates/record.sqlite")
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        file(input.text()?, input.base)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.to_string_lossy()))
    }
}

impl Value for RecordSync {
    fn takes() -> String {
        r#"`"normal"` or `"full"`"#.to_owned()
    }

    fn example() -> String {
        quoted("full")
    }

    fn read(input: &Input<'_>) -> Result<Self, Fault> {
        match input.text()? {
            "normal" => Ok(Self::Normal),
            "full" => Ok(Self::Full),
            _ => Err(Fault::Value("holds an unknown word".to_owned())),
        }
    }

    fn written(&self) -> Option<String> {
        let word = match self {
            Self::Normal => "normal",
            Self::Full => "full",
        };
        Some(quoted(word))
    }

    fn is_looser_than(&self, that: &Self) -> bool {
        (*self, *that) == (Self::Normal, Self::Full)
    }
}

/// A character of a name or URL.
fn is_plain(c: char) -> bool {
    c.is_ascii_graphic()
}
