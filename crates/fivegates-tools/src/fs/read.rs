//! The tool `read`: a window of lines of a text file (spec §9.3).

use std::borrow::Cow;
use std::fmt::Write as _;

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
use super::observed::Seen;
use super::window::{self, Unreadable, Window};
use super::{Fs, blocking, check_path, envelope};
use crate::args::invalid_args;

/// Bytes read of a file whose size the system does not tell, as for those in `/proc`.
const UNSIZED_BYTES_MAX: u64 = 16 << 20;

/// Reads a text file.
#[derive(Clone, Debug)]
pub struct Read {
    fs: Fs,
}

/// Arguments of `read`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReadArgs {
    /// Path of the file, absolute or relative to the workspace.
    file_path: String,
    /// Number of the first line to read, counted from 1. Default 1.
    offset: Option<i64>,
    /// Number of lines to read. Default and maximum: the limit of the tool, 2000 unless configured.
    limit: Option<i64>,
}

/// What was read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadOutput {
    /// The absolute path.
    path: String,
    /// Number of the first line, from 1.
    offset: u64,
    /// The lines without their ends, long ones cut.
    lines: Vec<String>,
    /// Lines in the file; absent when it was too large to be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// Whether the limit of bytes ended the window.
    capped: bool,
    /// Whether lines follow.
    more: bool,
    /// How many lines were cut.
    cut_lines: u64,
}

impl Read {
    /// Makes the tool.
    pub fn new(fs: Fs) -> Self {
        Self { fs }
    }

    fn window(&self, args: &ReadArgs) -> Result<Window, ToolError> {
        let config = self.fs.config();
        let lines_max = config.read_lines_max as u64;
        let offset = positive("offset", args.offset)?.unwrap_or(1);
        let limit = positive("limit", args.limit)?.unwrap_or(lines_max);
        if limit > lines_max {
            return Err(invalid_args(format!("limit must be less than or equal to {lines_max}")));
        }
        Ok(Window {
            offset,
            lines_max: limit,
            line_chars_max: config.line_chars_max,
            bytes_max: config.read_bytes_max,
            scan_bytes_max: config.scan_bytes_max,
        })
    }
}

fn positive(name: &str, value: Option<i64>) -> Result<Option<u64>, ToolError> {
    match value.map(u64::try_from) {
        None => Ok(None),
        Some(Ok(value)) if value > 0 => Ok(Some(value)),
        Some(_) => Err(invalid_args(format!("{name} must be a positive integer"))),
    }
}

impl Tool for Read {
    type Args = ReadArgs;
    type Output = ReadOutput;

    fn name(&self) -> Cow<'static, str> {
        "read".into()
    }

    fn description(&self) -> Cow<'static, str> {
        "Read a UTF-8 text file. Each line comes with its number, counted from 1: the number, a colon and a space are not \
         part of the file. Use offset and limit to read a part of a long file. Read a file before you edit or overwrite it."
            .into()
    }

    async fn run(&self, args: ReadArgs, invocation: &Invocation) -> Result<ReadOutput, ToolError> {
        check_path(&args.file_path)?;
        let window = self.window(&args)?;
        let (fs, cancel, agent) = (self.fs.clone(), invocation.cancel().clone(), invocation.call().agent());
        blocking(move || fs.read(&args.file_path, window, agent, &cancel)).await
    }

    fn render(&self, output: &ReadOutput) -> Result<Vec<Block>, String> {
        let mut text = String::new();
        let numbered = output.lines.iter().zip(output.offset..);
        for (line, number) in numbered {
            writeln!(text, "{number}: {line}").map_err(|error| error.to_string())?;
        }
        let inner = format!("{text}\n{}", output.footer());
        Ok(vec![Block::text(envelope(&output.path, &inner))])
    }

    fn meta(&self, output: &ReadOutput) -> Option<Json> {
        let mut members = vec![
            ("kind", Json::from("read")),
            ("path", Json::from(&*output.path)),
            ("offset", Json::from(output.offset)),
            ("lines", to_json(&output.lines).ok()?),
        ];
        members.extend(output.total_lines.map(|total| ("totalLines", Json::from(total))));
        Some(Json::object(members))
    }

    fn effects(&self, _: &ReadArgs) -> Effects {
        Effects::READ_ONLY
    }

    fn can_parallel(&self, _: &ReadArgs) -> bool {
        true
    }

    fn card(&self, args: &ReadArgs) -> Option<CallCard> {
        let from = args.offset.map(|offset| format!(" from line {offset}")).unwrap_or_default();
        Some(CallCard::Generic { title: format!("read {}{from}", args.file_path) })
    }
}

impl ReadOutput {
    fn footer(&self) -> String {
        let (first, next) = (self.offset, self.offset + self.lines.len() as u64);
        let last = next - 1;
        match self.total_lines {
            Some(total) if !self.more => format!("(End of file - total {total} lines)"),
            Some(total) if !self.capped => {
                format!("(Showing lines {first}-{last} of {total}. Use offset={next} to continue.)")
            }
            _ => format!("(Output capped. Showing lines {first}-{last}. Use offset={next} to continue.)"),
        }
    }
}

impl Fs {
    fn read(
        &self,
        path: &str,
        window: Window,
        agent: Option<ScopeId>,
        cancel: &Cancel,
    ) -> Result<ReadOutput, ToolError> {
        let target = self.target(Verb::Read, path)?;
        let canonical = target.canonical.as_path();
        let opened = Place::open(&target, Ancestors::MustExist).and_then(|place| place.open_regular());
        if let Err(FsError::NotFound { .. }) = opened {
            self.observed().record(agent, canonical, Seen::Absent);
        }
        let (file, stat) = opened?;
        // A file that grows all the time would never end, so it is read as far as it went when it was opened.
        let size = u64::try_from(stat.st_size).ok().filter(|size| *size > 0).unwrap_or(UNSIZED_BYTES_MAX);
        let window = Window { scan_bytes_max: window.scan_bytes_max.min(size), ..window };
        let found = window::read(&file, window, || cancel.is_cancelled())
            .map_err(|cause| unreadable(&target, cause))?;
        present(&target, window, found).inspect(|_| {
            // The state from before the reading: what changed meanwhile may not have been seen.
            self.observed().record(agent, canonical, Seen::Present(Version::of(&stat)));
        })
    }
}

fn present(target: &Target, window: Window, found: window::Lines) -> Result<ReadOutput, ToolError> {
    let window::Lines { lines, total, capped, cut } = found;
    let past_end = lines.is_empty() && !(window.offset == 1 && total == Some(0));
    if past_end {
        let Some(total) = total else {
            return Err(target.too_large(window.scan_bytes_max).into());
        };
        let (offset, path) = (window.offset, &target.shown);
        let text = format!("offset {offset} is out of range for \"{path}\" ({total} lines)");
        return Err(invalid_args(text));
    }
    let shown = window.offset - 1 + lines.len() as u64;
    let more = total.is_none_or(|total| total > shown);
    Ok(ReadOutput {
        path: target.shown.clone(),
        offset: window.offset,
        lines,
        total_lines: total,
        capped,
        more,
        cut_lines: cut,
    })
}

fn unreadable(target: &Target, cause: Unreadable) -> FsError {
    let (verb, path) = (target.verb, target.shown.clone());
    match cause {
        Unreadable::Binary => FsError::Binary { verb, path },
        Unreadable::InvalidUtf8 => FsError::InvalidUtf8 { verb, path },
        Unreadable::Io(error) => target.failed(error),
        Unreadable::Aborted => FsError::Aborted,
    }
}
