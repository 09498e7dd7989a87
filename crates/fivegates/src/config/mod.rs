//! The configuration: defaults, then the user's file, then the project's, then the command line.
//!
//! - The **user's** file is `$XDG_CONFIG_HOME/fivegates/fivegates.toml`, else `$HOME/.config/fivegates/fivegates.toml`.
//! - The **project's** file is the nearest `fivegates.toml` in the working directory or a folder around it, up to the root
//!   of the file system. It comes from whatever repository one is in, so it is not trusted: it can make things stricter
//!   and nothing else. [`keys::KEYS`] says for each key whether it may stand there.
//! - Unknown keys, duplicate keys, wrong types and bad values are errors that show the place.
//! - Every value knows who set it.
//!
//! All keys with their limits and defaults: [`reference()`], which is made from the list that the files are read by.

mod error;
mod file;
mod find;
mod guards;
mod keys;
mod kinds;
mod origin;
mod overrides;
mod reference;
mod value;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use fivegates_agent::turn::STEPS_MAX_DEFAULT;
use fivegates_core::pipeline::{ARGUMENTS_BYTES_MAX_DEFAULT, Waits as PipelineWaits};
use fivegates_core::scheduler::PARALLEL_MAX_DEFAULT;
use fivegates_session::Sync as RecordSync;

pub(crate) use error::ConfigError;
pub(crate) use find::Sources;
pub(crate) use guards::GuardRule;
pub(crate) use kinds::{BaseUrl, ModelChoice, Permission, SystemPrompt};
pub(crate) use origin::{Origin, Setting};
pub(crate) use overrides::Overrides;
pub(crate) use reference::reference;
pub(crate) use value::{Ms, Within};

/// A day in milliseconds.
const DAY_MS: u64 = 86_400_000;
/// A week in milliseconds.
const WEEK_MS: u64 = 7 * DAY_MS;

/// Everything that can be configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Config {
    /// How much a model may do without a person.
    pub(crate) permission: Setting<Permission>,
    /// `[model]`.
    pub(crate) model: Model,
    /// `[bash]`.
    pub(crate) bash: Bash,
    /// `[files]`.
    pub(crate) files: Files,
    /// `[record]`.
    pub(crate) record: Record,
    /// `[waits]`.
    pub(crate) waits: Waits,
    /// `[limits]`.
    pub(crate) limits: Limits,
    /// `[deadline]`.
    pub(crate) deadline: Deadline,
    /// All `[[guard]]`s: the user's, then the project's.
    pub(crate) guards: Vec<GuardRule>,
    /// The files that were read, in order.
    pub(crate) files_read: Vec<Origin>,
}

/// The model and the turn loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Model {
    /// Which model answers.
    pub(crate) choice: Setting<Option<ModelChoice>>,
    /// Where the server answers, if not at its own address.
    pub(crate) base_url: Setting<Option<BaseUrl>>,
    /// What the model is told before anything else.
    pub(crate) system_prompt: Setting<Option<SystemPrompt>>,
    /// Model requests in one turn.
    pub(crate) steps_max: Setting<Within<1, 10_000>>,
    /// Calls of one message that may overlap.
    pub(crate) parallel_max: Setting<Within<1, 64>>,
}

/// The shell tool (spec §7.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bash {
    /// Deadline of a command for which the model asks for none.
    pub(crate) timeout_ms: Setting<Ms<DAY_MS>>,
    /// Longest deadline that the model may ask for; never less than `timeout_ms`.
    pub(crate) timeout_ms_max: Setting<Ms<DAY_MS>>,
    /// Bytes kept of each of stdout and stderr.
    pub(crate) output_bytes_max: Setting<Within<1, { 64 << 20 }>>,
    /// Time between TERM and KILL.
    pub(crate) grace_ms: Setting<Ms<600_000>>,
}

/// The file tools (spec §9.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Files {
    /// Lines of one `read`.
    pub(crate) read_lines_max: Setting<Within<1, 1_000_000>>,
    /// Bytes of one `read`; room for one line that is cut at 2,000 characters.
    pub(crate) read_bytes_max: Setting<Within<8_192, { 16 << 20 }>>,
    /// Bytes of a file that is written or edited.
    pub(crate) text_bytes_max: Setting<Within<1, { 1 << 30 }>>,
}

/// The record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// The file; without one it is where the session crate keeps it.
    pub(crate) path: Setting<Option<PathBuf>>,
    /// What a recorded event survives.
    pub(crate) sync: Setting<RecordSync>,
}

/// How long each extension point may take (L-16). There is no way to wait for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Waits {
    /// For all pre-execute listeners of a call together.
    pub(crate) pre_execute_ms: Setting<Ms<WEEK_MS>>,
    /// For a person's answer.
    pub(crate) approval_ms: Setting<Ms<WEEK_MS>>,
    /// For each guard.
    pub(crate) guard_ms: Setting<Ms<WEEK_MS>>,
    /// For all post-execute listeners of a call together.
    pub(crate) post_execute_ms: Setting<Ms<WEEK_MS>>,
}

/// Limits of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Bytes of one call's arguments.
    pub(crate) arguments_bytes_max: Setting<Within<1_024, { 256 << 20 }>>,
}

/// The deadline policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Deadline {
    /// Deadline of tools that declare none; without it they have none.
    pub(crate) default_ms: Setting<Option<Ms<DAY_MS>>>,
    /// No deadline is longer; never less than `default_ms`.
    pub(crate) max_ms: Setting<Option<Ms<DAY_MS>>>,
}

impl Default for Config {
    fn default() -> Self {
        fn within<const MIN: u64, const MAX: u64>(number: u64) -> Setting<Within<MIN, MAX>> {
            Setting::default_of(Within::nearest(number))
        }
        let waits = PipelineWaits::default();
        let wait = |limit_ms: Option<u64>| within(limit_ms.unwrap_or(WEEK_MS));
        let unset = || Setting::default_of(None);
        Self {
            permission: Setting::default_of(Permission::default()),
            model: Model {
                choice: Setting::default_of(None),
                base_url: Setting::default_of(None),
                system_prompt: Setting::default_of(None),
                steps_max: within(STEPS_MAX_DEFAULT.into()),
                parallel_max: within(PARALLEL_MAX_DEFAULT.get() as u64),
            },
            bash: Bash {
                timeout_ms: within(120_000),
                timeout_ms_max: within(600_000),
                output_bytes_max: within(64_000),
                grace_ms: within(3_000),
            },
            files: Files {
                read_lines_max: within(2_000),
                read_bytes_max: within(51_200),
                text_bytes_max: within(64 << 20),
            },
            record: Record { path: Setting::default_of(None), sync: Setting::default_of(RecordSync::Normal) },
            waits: Waits {
                pre_execute_ms: wait(waits.pre_execute_ms),
                approval_ms: wait(waits.approval_ms),
                guard_ms: wait(waits.guard_ms),
                post_execute_ms: wait(waits.post_execute_ms),
            },
            limits: Limits { arguments_bytes_max: within(ARGUMENTS_BYTES_MAX_DEFAULT as u64) },
            deadline: Deadline { default_ms: unset(), max_ms: unset() },
            guards: Vec::new(),
            files_read: Vec::new(),
        }
    }
}

/// Reads all files and applies everything in order. Blocks.
///
/// # Errors
/// The first thing that is wrong; nothing is used then.
pub(crate) fn load(sources: &Sources, overrides: &Overrides) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    let user = sources.user_file()?.map(|path| Origin::User(Arc::from(path)));
    let project = sources.project_file()?.map(|path| Origin::Project(Arc::from(path)));
    for origin in user.into_iter().chain(project) {
        let Some(path) = origin.path() else { continue };
        file::Source::read(path, origin.clone())?.apply(&mut config)?;
        config.files_read.push(origin);
    }
    overrides.apply(&mut config, &sources.cwd)?;
    Ok(config)
}

impl Waits {
    /// The limits as the pipeline takes them.
    pub(crate) fn of_pipeline(&self) -> PipelineWaits {
        PipelineWaits {
            pre_execute_ms: Some(self.pre_execute_ms.value.get()),
            approval_ms: Some(self.approval_ms.value.get()),
            guard_ms: Some(self.guard_ms.value.get()),
            post_execute_ms: Some(self.post_execute_ms.value.get()),
        }
    }
}

/// A value above the one that bounds it.
#[derive(Debug)]
struct Contradiction {
    low: &'static str,
    low_ms: u64,
    high: &'static str,
    high_ms: u64,
    by: Origin,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, low_ms, high, high_ms, by } = self;
        write!(f, "`{low}` ({low_ms}) is above `{high}` ({high_ms}, set by {by})")
    }
}

impl Config {
    /// Keeps each value at most as high as the one that bounds it, once everything of one origin is applied. A bound that
    /// was lowered takes the older value down with it; a value that is itself set above its bound is a contradiction.
    fn settle_pairs(&mut self, origin: &Origin) -> Result<(), Contradiction> {
        let Bash { timeout_ms: low, timeout_ms_max: high, .. } = &mut self.bash;
        if low.value > high.value {
            if low.origin == *origin {
                return Err(Contradiction {
                    low: "bash.timeout_ms",
                    low_ms: low.value.get(),
                    high: "bash.timeout_ms_max",
                    high_ms: high.value.get(),
                    by: high.origin.clone(),
                });
            }
            *low = high.clone();
        }
        let Deadline { default_ms: low, max_ms: high } = &mut self.deadline;
        if let (Some(low_ms), Some(high_ms)) = (low.value, high.value)
            && low_ms > high_ms
        {
            if low.origin == *origin {
                return Err(Contradiction {
                    low: "deadline.default_ms",
                    low_ms: low_ms.get(),
                    high: "deadline.max_ms",
                    high_ms: high_ms.get(),
                    by: high.origin.clone(),
                });
            }
            *low = high.clone();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
