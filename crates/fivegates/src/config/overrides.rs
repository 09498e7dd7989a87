//! What the command line says.

use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::file::{WORD_CHARS_MAX, describe};
use super::kinds::{BaseUrl, ModelChoice, Permission};
use super::origin::{Origin, Setting};
use super::value::{Freedom, Input, Raw};
use super::{Config, keys};
use crate::escape;

/// Values of the command line; they stand above those of all files, and may loosen them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// `--permission`.
    pub(crate) permission: Option<Permission>,
    /// `--model`.
    pub(crate) model: Option<ModelChoice>,
    /// `--base-url`.
    pub(crate) base_url: Option<BaseUrl>,
    /// `--record`.
    pub(crate) record_path: Option<PathBuf>,
    /// Each `--set KEY=VALUE`: any key of the configuration, such as `bash.timeout_ms=5000`. The value is not quoted.
    pub(crate) set: Vec<String>,
}

impl Overrides {
    /// Applies everything. Relative paths start from the working directory.
    pub(super) fn apply(&self, config: &mut Config, cwd: &Path) -> Result<(), ConfigError> {
        let mut said = Vec::new();
        let mut flag = |path: &str, given: bool| {
            if given {
                said.push(path.to_owned());
            }
        };
        flag("permission", put(&mut config.permission, self.permission));
        flag("model.use", put(&mut config.model.choice, self.model.clone().map(Some)));
        flag("model.base_url", put(&mut config.model.base_url, self.base_url.clone().map(Some)));
        let record = self.record_path.as_ref().map(|path| Some(cwd.join(path)));
        flag("record.path", put(&mut config.record.path, record));
        for text in &self.set {
            let path = assign(config, text, cwd)?;
            if said.contains(&path) {
                return Err(ConfigError::Assignment {
                    message: format!("the command line says `{path}` twice"),
                    hint: "give it once".to_owned(),
                });
            }
            said.push(path);
        }
        config.settle_pairs(&Origin::CommandLine).map_err(|pair| ConfigError::Assignment {
            message: pair.to_string(),
            hint: format!("lower `{}` or raise `{}`", pair.low, pair.high),
        })
    }
}

/// Puts a value where one was given, and tells whether it was.
fn put<T>(setting: &mut Setting<T>, given: Option<T>) -> bool {
    let Some(value) = given else {
        return false;
    };
    *setting = Setting { value, origin: Origin::CommandLine };
    true
}

/// Applies one `KEY=VALUE` and returns the key.
fn assign(config: &mut Config, text: &str, cwd: &Path) -> Result<String, ConfigError> {
    let wrong = |message: String, hint: String| ConfigError::Assignment { message, hint };
    let Some((path, value)) = text.split_once('=') else {
        let message = format!("`--set {}` has no `=`", escape::line(text, WORD_CHARS_MAX));
        return Err(wrong(message, "write `--set bash.timeout_ms=5000`".to_owned()));
    };
    let Some(key) = keys::KEYS.iter().find(|key| key.path() == path) else {
        let section = path.split_once('.').map_or("", |(section, _)| section);
        let known = if keys::sections().contains(&section) { section } else { "" };
        return Err(wrong(
            format!("unknown key `{}` in `--set`", escape::line(path, WORD_CHARS_MAX)),
            keys::allowed_in(known),
        ));
    };
    let slot = (key.slot)(config);
    let input = Input { raw: Raw::Word(value), base: cwd };
    slot.set(&input, &Origin::CommandLine, Freedom::Free).map_err(|fault| {
        let (message, hint) = describe(key, &slot.takes(), fault);
        wrong(format!("{message} in `--set`"), hint)
    })?;
    Ok(key.path())
}
