//! The tool `bash`: one command in a fresh shell (spec §7).

mod config;
mod output;

use std::borrow::Cow;
use std::time::Duration;

use fivegates_core::call::Invocation;
use fivegates_core::content::Block;
use fivegates_core::error::ToolError;
use fivegates_core::json::{Json, compact};
use fivegates_core::tool::{CallCard, Tool};
use fivegates_process::{Finished, Program, RunError, Runner, Spec};
use schemars::JsonSchema;
use serde::Deserialize;

pub use config::BashConfig;
pub use output::{BashOutput, Certainty, StreamOutput};

use crate::args::{ConfigError, PATH_BYTES_MAX, invalid_args};
use crate::fs::Workspace;

/// What every command finds in its environment: no colours, no pager, no clever terminal.
const ENVIRONMENT: [(&str, &str); 5] =
    [("NO_COLOR", "1"), ("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("FIVEGATES_SHELL", "1")];

/// Runs a command in a fresh shell that is no login shell.
#[derive(Clone, Debug)]
pub struct Bash {
    workspace: Workspace,
    config: BashConfig,
    session_id: Option<String>,
    runner: Runner,
}

/// Arguments of `bash`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BashArgs {
    /// The command, for `bash -c`.
    command: String,
    /// What the command is for, in five to ten words. It is shown to people.
    description: String,
    /// Milliseconds after which the command is stopped.
    #[serde(rename = "timeoutMs")]
    timeout_ms: Option<f64>,
    /// Directory to run in, absolute or relative to the workspace. Default: the workspace.
    workdir: Option<String>,
}

impl Bash {
    /// Makes the tool.
    ///
    /// # Errors
    /// A limit with which it cannot work.
    pub fn new(
        workspace: Workspace,
        config: BashConfig,
        session_id: Option<String>,
        runner: Runner,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { workspace, config, session_id, runner })
    }

    /// The deadline that was asked for, at most the configured one, in whole milliseconds.
    fn timeout_ms(&self, args: &BashArgs, raw: &Json) -> Result<u64, ToolError> {
        let Some(asked_ms) = args.timeout_ms else {
            return Ok(self.config.timeout_ms);
        };
        if asked_ms <= 0.0 {
            // As it was written: a long number would lose digits on the way through a double.
            let shown = raw.get("timeoutMs").map(compact).unwrap_or_default();
            return Err(invalid_args(format!("invalid timeoutMs: expected a positive number, got {shown}")));
        }
        let max = self.config.timeout_ms_max;
        let asked = Duration::try_from_secs_f64(asked_ms / 1_000.0).unwrap_or(Duration::MAX);
        let whole_ms = asked.as_nanos().div_ceil(1_000_000).max(1);
        Ok(u64::try_from(whole_ms).unwrap_or(max).min(max))
    }

    fn spec(&self, args: &BashArgs, timeout_ms: u64) -> Result<Spec, RunError> {
        let cwd = self.workspace.absolute(args.workdir.as_deref().unwrap_or_default());
        let mut spec = Spec::new(Program::new(&self.config.shell)?, cwd)
            // The command may begin with a dash.
            .args(["-c", "--", &args.command])
            .env_policy(self.config.env_policy.clone())
            .timeout(Duration::from_millis(timeout_ms))
            .grace(Duration::from_millis(self.config.grace_ms))
            .output_bytes_max(self.config.output_bytes_max);
        for (name, value) in &self.config.env {
            spec = spec.env(name, value);
        }
        for (name, value) in ENVIRONMENT {
            spec = spec.env(name, value);
        }
        if let Some(session_id) = &self.session_id {
            spec = spec.env("FIVEGATES_SESSION_ID", session_id);
        }
        Ok(spec)
    }
}

impl Tool for Bash {
    type Args = BashArgs;
    type Output = BashOutput;

    fn name(&self) -> Cow<'static, str> {
        "bash".into()
    }

    fn description(&self) -> Cow<'static, str> {
        let BashConfig { timeout_ms, timeout_ms_max, output_bytes_max, .. } = &self.config;
        format!(
            "Run a command with bash. Each call is a fresh shell: variables and the current directory do not last, files do. \
             There is no terminal and standard input is empty. The command is stopped after timeoutMs milliseconds (default \
             {timeout_ms}, at most {timeout_ms_max}); of each output stream the last {output_bytes_max} bytes are shown. A \
             non-zero exit code is shown at the end and is not an error of the call."
        )
        .into()
    }

    async fn run(&self, args: BashArgs, invocation: &Invocation) -> Result<BashOutput, ToolError> {
        check(&args)?;
        let timeout_ms = self.timeout_ms(&args, invocation.arguments())?;
        let spec = self.spec(&args, timeout_ms).map_err(|error| not_started(&error))?;
        let cancel = invocation.cancel().clone();
        let finished = self.runner.run(spec, async move { cancel.cancelled().await }).await;
        match finished {
            Ok(Finished { aborted: true, .. }) | Err(RunError::AbortedBeforeSpawn) => Err(aborted()),
            Ok(finished) => Ok(BashOutput::of(&finished, timeout_ms)),
            Err(error) => Err(not_started(&error)),
        }
    }

    fn render(&self, output: &BashOutput) -> Result<Vec<Block>, String> {
        Ok(vec![Block::text(output.text())])
    }

    fn meta(&self, output: &BashOutput) -> Option<Json> {
        Some(output.meta())
    }

    fn card(&self, args: &BashArgs) -> Option<CallCard> {
        let (title, command) = (args.description.clone(), args.command.clone());
        Some(CallCard::Terminal { title, command, cwd: args.workdir.clone() })
    }
}

fn check(args: &BashArgs) -> Result<(), ToolError> {
    for (name, value) in [("command", &args.command), ("description", &args.description)] {
        if value.trim().is_empty() {
            return Err(invalid_args(format!("invalid {name}: expected a non-empty string")));
        }
    }
    if args.command.contains('\0') {
        return Err(invalid_args("invalid command: expected no NUL character"));
    }
    match &args.workdir {
        Some(workdir) if workdir.trim().is_empty() => {
            Err(invalid_args("invalid workdir: expected a non-empty string"))
        }
        Some(workdir) if workdir.contains('\0') => {
            Err(invalid_args("invalid workdir: expected no NUL character"))
        }
        Some(workdir) if workdir.len() > PATH_BYTES_MAX => {
            Err(invalid_args(format!("invalid workdir: expected at most {PATH_BYTES_MAX} bytes")))
        }
        _ => Ok(()),
    }
}

fn not_started(error: &RunError) -> ToolError {
    ToolError::coded("ShellError", error.code(), error.to_string())
}

fn aborted() -> ToolError {
    ToolError::coded("AbortError", "ABORTED", "tool call aborted")
}
