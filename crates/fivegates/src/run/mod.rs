//! `fivegates run`: a task for a model.

mod model;
mod print;

use std::sync::{Arc, Mutex, PoisonError};

use fivegates_agent::provider::Provider;
use fivegates_agent::turn::{Agent, AgentConfig, TurnEnd, Watcher};
use fivegates_session::journal::Journal;

use crate::assemble::Host;
use crate::cli::{Output, RunArgs};
use crate::config::Overrides;
use crate::error::{CliError, Kind};
use crate::settings::Settings;
use crate::signals::Stopped;

pub(crate) use model::{Model, provider};
use print::Printer;

/// What the command line of `run` sets.
pub(crate) fn overrides(args: &RunArgs) -> Overrides {
    Overrides { model: args.model.clone(), base_url: args.base_url.clone(), ..Overrides::default() }
}

/// The system prompt when none is configured.
const SYSTEM: &str = "You are an agent that works in a directory through tools. Use tools to look and to act; do not \
guess at what a file holds. When a call is denied, do not try to reach the same effect in another way: say what was \
denied, and what you would need. When the task is done, answer in plain text.";

/// Runs one turn and prints what happens in the form that was asked for.
pub(crate) async fn run(
    host: &Host,
    model: Model,
    settings: &Settings,
    args: &RunArgs,
    _stopped: &Stopped,
) -> Result<(), CliError> {
    let config = AgentConfig {
        model: model.name,
        system: Some(settings.system_prompt().unwrap_or(SYSTEM).to_owned()),
        steps_max: settings.steps_max(),
        parallel_max: settings.parallel_max(),
    };
    let printer = Arc::new(Mutex::new(Printer::new(args.output, host.session.to_string())));
    let watcher: Watcher = {
        let printer = Arc::clone(&printer);
        Arc::new(move |event| printer.lock().unwrap_or_else(PoisonError::into_inner).event(event))
    };
    let journal = Arc::clone(&host.journal) as Arc<dyn Journal>;
    let provider: Arc<dyn Provider> = model.provider;
    let mut agent = Agent::new(config, provider, host.pipeline.clone(), journal, host.scope.id(), watcher);
    let end = agent.run_turn(&args.task, &host.cancel).await;
    let printed = printer.lock().unwrap_or_else(PoisonError::into_inner).finish(&end);
    printed?;
    verdict(&end, args.output)
}

/// The exit status follows from how the turn ended.
fn verdict(end: &TurnEnd, _output: Output) -> Result<(), CliError> {
    match end {
        TurnEnd::Completed { .. } => Ok(()),
        TurnEnd::MaxTokens { .. } => Err(CliError::failed("the answer was cut at the model's output limit")
            .hint("its calls were not run; ask for less at once")),
        TurnEnd::Aborted(reason) => {
            Err(CliError::new(Kind::Interrupted, format!("the turn was stopped: {reason}")))
        }
        TurnEnd::Error(failure) => {
            let kind = match failure.code.as_str() {
                "RECORD_FAILED" => Kind::Record,
                "STEP_LIMIT" => Kind::Failed,
                "MISSING_CREDENTIAL" | "INVALID_CREDENTIAL" | "INVALID_BASE_URL" | "INSECURE_BASE_URL" => {
                    Kind::Usage
                }
                _ => Kind::Model,
            };
            Err(CliError::new(kind, format!("{}: {}", failure.code, failure.message)))
        }
    }
}
