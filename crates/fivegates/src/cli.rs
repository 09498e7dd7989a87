//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::{BaseUrl, ModelChoice, Permission};

const EXITS: &str = "Exit statuses:
  0    the work was done
  1    the answer is no: a turn failed, a line was no call, nothing was found
  2    the command line or the configuration cannot be used
  3    the record cannot be opened, read or written
  4    the model could not be reached, or refused
  130  interrupted (ctrl-C); 143 terminated; 129 the terminal was closed";

/// Runs a model's tool calls through five gates, and records each of them.
#[derive(Debug, Parser)]
#[command(name = "fivegates", version, after_help = EXITS, max_term_width = 100)]
#[command(propagate_version = true, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Read this configuration in place of the user's and the project's fivegates.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Keep the record in this file [default: $XDG_STATE_HOME/fivegates/record.sqlite]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Set one key of the configuration, such as bash.timeout_ms=5000; may be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show calls being allowed, asked about, denied, timed out and failing; needs no key and no network
    Demo,
    /// Give a task to a model and run its calls through the gates
    Run(RunArgs),
    /// Run calls given as JSON lines through the gates, without a model
    ///
    /// Each line is one call: {"id": "c1", "name": "bash", "arguments": {…}}, with the arguments as an object or as the
    /// raw text that a model produced; or a whole assistant message with "tool_calls". One JSON line comes out for each
    /// call, in the same order, with its outcome, code, content, denial and the stages it met. A line that is no call gets
    /// an error of its own and the rest goes on.
    Exec(ExecArgs),
    /// Explain one call from the record: each stage, who decided what and why, what the model was told
    Why(WhyArgs),
    /// List the recorded sessions, or the events of one
    Log(LogArgs),
    /// Show exactly the tools that a model would be sent
    Tools(ToolsArgs),
    /// Show the stages of the pipeline and what is mounted in them for the current configuration
    Pipeline {
        /// How to draw it
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: PictureFormat,
    },
    /// Print every key that fivegates.toml can have, with its limits and its default
    Config,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What may run.
#[derive(Debug, Args)]
pub(crate) struct Policy {
    /// What may run: read-only denies writes and commands, ask asks about them, allow lets everything run [default: ask]
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<PermissionArg>,
    /// Work in this directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionArg {
    /// Reads run; everything else is denied
    ReadOnly,
    /// Reads run; everything else is asked about at the terminal
    Ask,
    /// Everything runs
    Allow,
}

impl From<PermissionArg> for Permission {
    fn from(mode: PermissionArg) -> Self {
        match mode {
            PermissionArg::ReadOnly => Self::ReadOnly,
            PermissionArg::Ask => Self::Ask,
            PermissionArg::Allow => Self::Allow,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do, in words
    pub(crate) task: String,
    /// The model: deepseek:NAME, openai:NAME, or scripted:FILE for a file of turns
    #[arg(long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<ModelChoice>,
    /// Where the model's server answers, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<BaseUrl>,
    /// What to print on standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureFormat {
    /// Text of at most 80 columns
    Text,
    /// A Mermaid flow chart
    Mermaid,
    /// A picture
    Svg,
    /// The page docs/pipeline.md, always for the default configuration
    #[value(hide = true)]
    Document,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The model's last answer; progress goes to standard error
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object a line for each thing that happens
    StreamJson,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The file to read; - is standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The call's id
    pub(crate) call_id: String,
    /// The session to look in, when several have a call of that id
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The session, or the beginning of its id
    pub(crate) session: Option<String>,
    /// How many sessions to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Print the JSON that a model would be sent
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
