//! The tool `write`: creates a file or replaces all of it (spec §9.1, §9.3).

use std::borrow::Cow;
use std::io::Read as _;

use fivegates_core::call::Invocation;
use fivegates_core::cancel::Cancel;
use fivegates_core::content::Block;
use fivegates_core::error::ToolError;
use fivegates_core::ids::ScopeId;
use fivegates_core::json::{Json, to_json};
use fivegates_core::tool::{CallCard, Effects, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{FsError, Verb};
use super::handle::{Ancestors, Place, Target, Version};
use super::hunks::{Hunk, Hunks, compare};
use super::observed::Seen;
use super::stage::Staged;
use super::{Fs, blocking, check_path, envelope};

/// Creates or replaces a text file. Directories that are missing on the way are made.
#[derive(Clone, Debug)]
pub struct Write {
    fs: Fs,
}

/// Arguments of `write`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WriteArgs {
    /// Path of the file, absolute or relative to the workspace. Missing parent directories are created.
    file_path: String,
    /// The whole content that the file is to have.
    content: String,
}

/// What was written.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteOutput {
    /// The absolute path.
    path: String,
    /// Whether the file is new.
    created: bool,
    /// Bytes in the file now.
    bytes: u64,
    /// What changed, as far as it is shown.
    hunks: Vec<Hunk>,
    /// Whether more changed than `hunks` shows.
    hunks_truncated: bool,
}

impl Write {
    /// Makes the tool.
    pub fn new(fs: Fs) -> Self {
        Self { fs }
    }
}

impl Tool for Write {
    type Args = WriteArgs;
    type Output = WriteOutput;

    fn name(&self) -> Cow<'static, str> {
        "write".into()
    }

    fn description(&self) -> Cow<'static, str> {
        "Write a text file: create it, or replace all that is in it. A file that exists must have been read first, and must \
         not have changed since. To change a part of a file use edit."
            .into()
    }

    async fn run(&self, args: WriteArgs, invocation: &Invocation) -> Result<WriteOutput, ToolError> {
        let WriteArgs { file_path, content } = args;
        check_path(&file_path)?;
        let (fs, cancel, agent) = (self.fs.clone(), invocation.cancel().clone(), invocation.call().agent());
        let (seen, target) = blocking({
            let fs = fs.clone();
            move || {
                let target = fs.target_to_change(Verb::Write, &file_path)?;
                Ok((fs.observed().of(agent, target.canonical.as_path()), target))
            }
        })
        .await?;
        let turn = fs.lock(target.canonical.as_path(), &cancel).await?;
        blocking(move || {
            let _turn = turn;
            fs.write(&target, seen, &content, agent, &cancel)
        })
        .await
    }

    fn render(&self, output: &WriteOutput) -> Result<Vec<Block>, String> {
        let done = if output.created { "Created file" } else { "Updated file" };
        Ok(vec![Block::text(envelope(&output.path, done))])
    }

    fn meta(&self, output: &WriteOutput) -> Option<Json> {
        diff_meta(&output.path, &output.hunks, output.hunks_truncated)
    }

    fn effects(&self, _: &WriteArgs) -> Effects {
        Effects { read_only: false, destructive: true, idempotent: true, open_world: false }
    }

    fn card(&self, args: &WriteArgs) -> Option<CallCard> {
        let (path, new) = (args.file_path.clone(), args.content.clone());
        Some(CallCard::Diff { title: format!("write {path}"), path, old: None, new })
    }
}

/// What a result card of a change needs.
pub(super) fn diff_meta(path: &str, hunks: &[Hunk], truncated: bool) -> Option<Json> {
    Some(Json::object([
        ("kind", Json::from("diff")),
        ("path", Json::from(path)),
        ("hunks", to_json(hunks).ok()?),
        ("truncated", Json::from(truncated)),
    ]))
}

impl Fs {
    fn write(
        &self,
        target: &Target,
        seen: Seen,
        content: &str,
        agent: Option<ScopeId>,
        cancel: &Cancel,
    ) -> Result<WriteOutput, ToolError> {
        let bytes = content.len() as u64;
        if bytes > self.config().text_bytes_max {
            return Err(target.too_large(self.config().text_bytes_max).into());
        }
        let place = Place::open(target, Ancestors::Create)?;
        let now = place.look()?;
        if let Some(stat) = &now {
            place.check_regular(stat)?;
        }
        let (old, version) = match (now, seen) {
            (None, Seen::Present(_)) => return Err(target.gone().into()),
            (None, Seen::Never | Seen::Absent) => {
                (None, Staged::write(&place, content.as_bytes(), None, cancel)?.create()?)
            }
            (Some(_), Seen::Never | Seen::Absent) => {
                return Err(FsError::Unseen { path: target.shown.clone() }.into());
            }
            (Some(stat), Seen::Present(version)) => {
                if Version::of(&stat) != version {
                    return Err(target.stale().into());
                }
                place.check_writable()?;
                let old = self.basis(&place);
                let staged = Staged::write(&place, content.as_bytes(), Some(&stat), cancel)?;
                (Some(old), staged.replace(&version)?)
            }
        };
        self.observed().record(agent, target.canonical.as_path(), Seen::Present(version));
        let created = old.is_none();
        let Hunks { hunks, truncated } = match old {
            None => compare("", content, self.config()),
            Some(Some(old)) => compare(&old, content, self.config()),
            Some(None) => Hunks { hunks: Vec::new(), truncated: true },
        };
        Ok(WriteOutput { path: target.shown.clone(), created, bytes, hunks, hunks_truncated: truncated })
    }

    /// The text that is about to go, when it can be shown. That it cannot is no reason to keep it.
    fn basis(&self, place: &Place<'_>) -> Option<String> {
        let (file, stat) = place.open_regular().ok()?;
        let basis_max = self.config().diff_basis_bytes_max;
        if u64::try_from(stat.st_size).ok()? >= basis_max {
            return None;
        }
        let mut text = String::new();
        file.take(basis_max).read_to_string(&mut text).ok()?;
        Some(text)
    }
}
