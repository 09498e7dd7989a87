//! The `fivegates` program: tool calls through five gates, from a model, from JSON lines, and from the record.

mod cli;
mod error;

mod config;
mod settings;

mod approvals;
mod assemble;
mod signals;

mod demo;
mod exec;
mod run;

mod commands;
mod escape;
mod picture;
mod report;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use cli::Cli;
use error::CliError;

fn main() -> ExitCode {
    withhold_memory();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    match commands::dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ended { error, status }) => {
            if let Some(error) = error {
                explain("error", &error.message);
                if let Some(hint) = error.hint {
                    explain("hint", &hint);
                }
            }
            ExitCode::from(status)
        }
    }
}

/// Keeps our memory and environment, where keys are, from other programs of the same user: commands that a model runs could
/// read them through /proc otherwise. It does not keep them from root, and not every kernel knows it.
fn withhold_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// How much of an error is shown.
const MESSAGE: escape::BlockLimits = escape::BlockLimits { chars_max: 4_000, lines_max: 20 };

/// Says an error or a hint; the lines after the first show a place in a file.
fn explain(what: &str, text: &str) {
    let shown = escape::block(text, MESSAGE);
    let mut lines = shown.lines();
    say(&format!("{what}: {}", lines.next().unwrap_or_default()));
    for line in lines {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

/// Help goes out as it is; an error quotes the command line, which may come from a script and hold anything.
fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let text = error.render().to_string();
    // Where standard error is closed nobody listens.
    let _ = write!(std::io::stderr().lock(), "{}", escape::block(&text, REFUSAL));
    ExitCode::from(error::Kind::Usage.status())
}

/// How much of an error about the command line is shown.
const REFUSAL: escape::BlockLimits = escape::BlockLimits { chars_max: 8_000, lines_max: 60 };

/// How the program ends when it did not succeed.
struct Ended {
    error: Option<CliError>,
    status: u8,
}

impl From<CliError> for Ended {
    fn from(error: CliError) -> Self {
        Self { status: error.kind.status(), error: Some(error) }
    }
}

/// Says something on standard error. Where that is closed nobody listens, and nothing else depends on it.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "fivegates: {text}");
}
