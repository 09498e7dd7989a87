//! The tool `edit`: replaces a part of a file (spec §9.1, §9.3).

use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;

use fivegates_core::call::Invocation;
use fivegates_core::cancel::Cancel;
use fivegates_core::content::Block;
use fivegates_core::error::ToolError;
use fivegates_core::ids::ScopeId;
use fivegates_core::json::Json;
use fivegates_core::tool::{CallCard, Effects, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{FsError, Verb};
use super::handle::{Ancestors, Place, Target, Version};
use super::hunks::{Hunk, Hunks, compare};
use super::matching::{NoEdit, Occurrences, replace};
use super::observed::Seen;
use super::stage::{Staged, check_cancel};
use super::write::diff_meta;
use super::{Fs, blocking, check_path};
use crate::args::invalid_args;

/// Bytes read between two looks at the caller's cancellation.
const CHUNK_BYTES: u64 = 1 << 20;

/// Replaces a text in a file.
#[derive(Clone, Debug)]
pub struct Edit {
    fs: Fs,
}

/// Arguments of `edit`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EditArgs {
    /// Path of the file, absolute or relative to the workspace.
    file_path: String,
    /// The text to replace, exactly as it is in the file, without the line numbers that read shows.
    old_string: String,
    /// The text to put in its place. It must differ from old_string.
    new_string: String,
    /// Replace every occurrence. Without it old_string must occur exactly once.
    replace_all: Option<bool>,
}

/// What was edited.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditOutput {
    /// The absolute path.
    path: String,
    /// Whether all occurrences were asked for.
    replaced_all: bool,
    /// Bytes in the file now.
    bytes: u64,
    /// What changed, as far as it is shown.
    hunks: Vec<Hunk>,
    /// Whether more changed than `hunks` shows.
    hunks_truncated: bool,
}

impl Edit {
    /// Makes the tool.
    pub fn new(fs: Fs) -> Self {
        Self { fs }
    }
}

impl Tool for Edit {
    type Args = EditArgs;
    type Output = EditOutput;

    fn name(&self) -> Cow<'static, str> {
        "edit".into()
    }

    fn description(&self) -> Cow<'static, str> {
        "Replace a text in a file. The file must have been read first, and must not have changed since. old_string must occur \
         exactly once: take in enough of the lines around it, or set replace_all."
            .into()
    }

    async fn run(&self, args: EditArgs, invocation: &Invocation) -> Result<EditOutput, ToolError> {
        check_path(&args.file_path)?;
        if args.old_string.is_empty() {
            return Err(invalid_args("old_string must be a non-empty string"));
        }
        if args.old_string == args.new_string {
            return Err(same());
        }
        let (fs, cancel, agent) = (self.fs.clone(), invocation.cancel().clone(), invocation.call().agent());
        let path = args.file_path.clone();
        let (expected, target) = blocking({
            let fs = fs.clone();
            move || {
                let target = fs.target_to_change(Verb::Edit, &path)?;
                Ok((expected(&target, fs.observed().of(agent, target.canonical.as_path()))?, target))
            }
        })
        .await?;
        let turn = fs.lock(target.canonical.as_path(), &cancel).await?;
        blocking(move || {
            let _turn = turn;
            fs.edit(&target, &expected, &args, agent, &cancel)
        })
        .await
    }

    fn render(&self, output: &EditOutput) -> Result<Vec<Block>, String> {
        let path = &output.path;
        Ok(vec![Block::text(if output.replaced_all {
            format!("The file {path} has been updated. All occurrences were successfully replaced.")
        } else {
            format!("The file {path} has been updated successfully.")
        })])
    }

    fn meta(&self, output: &EditOutput) -> Option<Json> {
        diff_meta(&output.path, &output.hunks, output.hunks_truncated)
    }

    fn effects(&self, _: &EditArgs) -> Effects {
        Effects { read_only: false, destructive: true, idempotent: false, open_world: false }
    }

    fn card(&self, args: &EditArgs) -> Option<CallCard> {
        let path = args.file_path.clone();
        let (old, new) = (Some(args.old_string.clone()), args.new_string.clone());
        Some(CallCard::Diff { title: format!("edit {path}"), path, old, new })
    }
}

fn same() -> ToolError {
    invalid_args("old_string and new_string must differ")
}

/// The version that an edit may start from.
fn expected(target: &Target, seen: Seen) -> Result<Version, FsError> {
    let path = target.shown.clone();
    match seen {
        Seen::Never => Err(FsError::NotObserved { path }),
        Seen::Absent => Err(FsError::NotFound { verb: target.verb, path }),
        Seen::Present(version) => Ok(version),
    }
}

impl Fs {
    fn edit(
        &self,
        target: &Target,
        expected: &Version,
        args: &EditArgs,
        agent: Option<ScopeId>,
        cancel: &Cancel,
    ) -> Result<EditOutput, ToolError> {
        let place = Place::open(target, Ancestors::MustExist).map_err(|error| gone(target, error))?;
        let (file, stat) = place.open_regular().map_err(|error| gone(target, error))?;
        // Before any matching: what the model knows of another state tells nothing about this one.
        if Version::of(&stat) != *expected {
            return Err(target.stale().into());
        }
        place.check_writable()?;
        let old = self.text(target, &file, cancel)?;
        let all = args.replace_all.unwrap_or(false);
        let which = if all { Occurrences::All } else { Occurrences::One };
        let new = replace(&old, &args.old_string, &args.new_string, which, self.config().text_bytes_max)
            .map_err(|cause| self.not_edited(target, &cause))?;
        let version = Staged::write(&place, new.as_bytes(), Some(&stat), cancel)?.replace(expected)?;
        self.observed().record(agent, target.canonical.as_path(), Seen::Present(version));
        let Hunks { hunks, truncated } = compare(&old, &new, self.config());
        Ok(EditOutput {
            path: target.shown.clone(),
            replaced_all: all,
            bytes: new.len() as u64,
            hunks,
            hunks_truncated: truncated,
        })
    }

    /// All of a file, if it is text.
    fn text(&self, target: &Target, mut file: &File, cancel: &Cancel) -> Result<String, FsError> {
        let (verb, path) = (target.verb, || target.shown.clone());
        let bytes_max = self.config().text_bytes_max;
        let mut bytes = Vec::new();
        loop {
            check_cancel(cancel)?;
            let got = file.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes);
            if got.map_err(|error| target.failed(error))? == 0 {
                break;
            }
            if bytes.len() as u64 > bytes_max {
                return Err(target.too_large(bytes_max));
            }
        }
        if memchr::memchr(0, &bytes).is_some() {
            return Err(FsError::Binary { verb, path: path() });
        }
        String::from_utf8(bytes).map_err(|_| FsError::InvalidUtf8 { verb, path: path() })
    }

    fn not_edited(&self, target: &Target, cause: &NoEdit) -> ToolError {
        let path = target.shown.clone();
        match *cause {
            NoEdit::Same => same(),
            NoEdit::NotFound => FsError::EditNotFound { path }.into(),
            NoEdit::Ambiguous(matches) => FsError::AmbiguousEdit { path, matches }.into(),
            NoEdit::TooLong => target.too_large(self.config().text_bytes_max).into(),
        }
    }
}

/// A file that was read and is not there is a change like any other.
fn gone(target: &Target, error: FsError) -> FsError {
    if matches!(error, FsError::NotFound { .. }) { target.gone() } else { error }
}
