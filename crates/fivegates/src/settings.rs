//! What a command works with: the configuration, where it works, and what each part of the program wants of it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use fivegates_core::pipeline::Waits;
use fivegates_plugins::{deadline, deny_tools, permission};
use fivegates_session::{Sync, default_path};
use fivegates_tools::ToolsConfig;

use crate::cli::{Common, Policy};
use crate::config::{self, BaseUrl, Config, ModelChoice, Origin, Overrides, Permission, Sources};
use crate::error::CliError;

/// Bytes of a model's answer, with room for what the record adds to it.
const ANSWER_BYTES_MAX: usize = 129 << 20;
/// Bytes that SQLite takes as one value, with room for what is beside it.
const SQLITE_BYTES_MAX: usize = 900_000_000;

/// The configuration and the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    config: Config,
    workspace: PathBuf,
}

impl Settings {
    /// Reads all layers, the command line on top. Blocks on files.
    pub(crate) fn load(
        common: &Common,
        policy: Option<&Policy>,
        overrides: Overrides,
    ) -> Result<Self, CliError> {
        let cwd = std::env::current_dir().map_err(|error| {
            CliError::usage(format!("the working directory cannot be used: {error}"))
                .hint("change into a directory that exists")
        })?;
        let workspace = match policy.and_then(|policy| policy.workspace.as_deref()) {
            Some(path) => directory(&cwd.join(path))?,
            None => cwd.clone(),
        };
        let sources =
            Sources { only: common.config.clone(), ..Sources::of(cwd, |name| std::env::var_os(name)) };
        let overrides = Overrides {
            record_path: common.record.clone(),
            set: common.set.clone(),
            permission: policy.and_then(|policy| policy.permission).map(Permission::from),
            ..overrides
        };
        Ok(Self { config: config::load(&sources, &overrides)?, workspace })
    }

    /// Nothing but the defaults, in a workspace.
    pub(crate) fn defaults(workspace: PathBuf) -> Self {
        Self { config: Config::default(), workspace }
    }

    /// The same, in another workspace and asking about what is not a read.
    pub(crate) fn for_demo(&self, workspace: &Path) -> Self {
        let mut demo = self.clone();
        demo.workspace = workspace.to_owned();
        demo.config.permission.value = Permission::Ask;
        demo
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(crate) fn permission(&self) -> permission::Mode {
        match self.config.permission.value {
            Permission::ReadOnly => permission::Mode::ReadOnly,
            Permission::Ask => permission::Mode::Ask,
            Permission::Allow => permission::Mode::Allow,
        }
    }

    /// Who set the permission mode, in words.
    pub(crate) fn permission_origin(&self) -> &Origin {
        &self.config.permission.origin
    }

    pub(crate) fn record_path(&self) -> Result<PathBuf, CliError> {
        match &self.config.record.path.value {
            Some(path) => Ok(path.clone()),
            None => default_path(|name| std::env::var_os(name)).map_err(CliError::record),
        }
    }

    /// What to add to a command so that it reads the same record; empty for the usual place.
    pub(crate) fn record_flag(&self) -> String {
        match (&self.config.record.path.value, &self.config.record.path.origin) {
            (Some(path), Origin::CommandLine) => format!(" --record {}", shell_word(path)),
            _ => String::new(),
        }
    }

    pub(crate) fn record_sync(&self) -> Sync {
        self.config.record.sync.value
    }

    pub(crate) fn waits(&self) -> Waits {
        self.config.waits.of_pipeline()
    }

    pub(crate) fn arguments_bytes_max(&self) -> usize {
        self.config.limits.arguments_bytes_max.value.count()
    }

    /// Bytes of one line of `exec`: room for the largest arguments with every character escaped.
    pub(crate) fn line_bytes_max(&self) -> usize {
        self.arguments_bytes_max().saturating_mul(2).saturating_add(64 << 10)
    }

    /// Bytes of one recorded event: a line of `exec` written as a string once more, or a whole answer of a model. What is
    /// too large to run is still recorded, so that its refusal is.
    pub(crate) fn event_bytes_max(&self) -> usize {
        self.line_bytes_max().saturating_mul(2).clamp(ANSWER_BYTES_MAX, SQLITE_BYTES_MAX)
    }

    pub(crate) fn model(&self) -> Option<&ModelChoice> {
        self.config.model.choice.value.as_ref()
    }

    pub(crate) fn base_url(&self) -> Option<&str> {
        self.config.model.base_url.value.as_ref().map(BaseUrl::as_str)
    }

    pub(crate) fn system_prompt(&self) -> Option<&str> {
        self.config.model.system_prompt.value.as_ref().map(config::SystemPrompt::as_str)
    }

    pub(crate) fn steps_max(&self) -> u32 {
        u32::try_from(self.config.model.steps_max.value.get()).unwrap_or(u32::MAX)
    }

    pub(crate) fn parallel_max(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.config.model.parallel_max.value.count()).unwrap_or(NonZeroUsize::MIN)
    }

    pub(crate) fn deadline(&self) -> deadline::Config {
        let deadline = &self.config.deadline;
        deadline::Config {
            default_ms: deadline.default_ms.value.map(config::Ms::get),
            max_ms: deadline.max_ms.value.map(config::Ms::get),
        }
    }

    pub(crate) fn guards(&self) -> deny_tools::Config {
        let rule = |guard: &config::GuardRule| deny_tools::GuardRule {
            id: guard.id.clone(),
            tool: guard.tool.clone(),
            reason: guard.reason.clone(),
            code: guard.code.clone(),
        };
        deny_tools::Config { rules: self.config.guards.iter().map(rule).collect() }
    }

    pub(crate) fn tools(&self, session: Option<String>) -> ToolsConfig {
        let mut tools = ToolsConfig::new(&self.workspace);
        let (bash, files) = (&self.config.bash, &self.config.files);
        tools.session_id = session;
        tools.bash.timeout_ms = bash.timeout_ms.value.get();
        tools.bash.timeout_ms_max = bash.timeout_ms_max.value.get();
        tools.bash.output_bytes_max = bash.output_bytes_max.value.count();
        tools.bash.grace_ms = bash.grace_ms.value.get();
        tools.fs.read_lines_max = files.read_lines_max.value.count();
        tools.fs.read_bytes_max = files.read_bytes_max.value.count();
        tools.fs.text_bytes_max = files.text_bytes_max.value.get();
        tools
    }
}

fn directory(path: &Path) -> Result<PathBuf, CliError> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(path.to_owned()),
        Ok(_) => Err(CliError::usage(format!("the workspace `{shown}` is not a directory"))),
        Err(error) => Err(CliError::usage(format!("the workspace `{shown}` cannot be used: {error}"))),
    }
    .map_err(|error| error.hint("name an existing directory with --workspace"))
}

/// A path as a word of a POSIX shell.
fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
