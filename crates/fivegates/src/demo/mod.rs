//! `fivegates demo`: six calls of a scripted model, one for each way a call can go, in a throw-away workspace.

mod cast;

use std::path::Path;
use std::sync::Arc;

use fivegates_agent::provider::scripted::ScriptedProvider;
use fivegates_agent::turn::{Agent, AgentConfig, AgentEvent, TurnEnd, Watcher};
use fivegates_core::gates::guard_fn;
use fivegates_core::registry::{Listen, Registration};
use fivegates_session::journal::Journal;
use fivegates_session::{SessionId, Store};

use crate::assemble::{self, Asking, Host, Purpose};
use crate::commands::runtime;
use crate::error::{CliError, Kind};
use crate::settings::Settings;
use crate::{Ended, report, signals};

/// Calls that are shown; the script has fewer.
const CALLS_MAX: usize = 100;

/// Plays the demonstration and prints what became of each call.
pub(crate) fn run(settings: &Settings) -> Result<(), Ended> {
    let workspace = tempfile::Builder::new()
        .prefix("fivegates-demo-")
        .tempdir()
        .map_err(|error| CliError::failed(format!("cannot make a throw-away workspace: {error}")))?;
    prepare(workspace.path())?;
    let settings = settings.for_demo(workspace.path());
    let runtime = runtime()?;
    let store = assemble::open_record(&settings)?;
    let played = runtime.block_on(play(&settings, store));
    runtime.shutdown_background();
    let (session, end, stopped) = played?;
    if let Some(status) = stopped.status() {
        return Err(Ended { error: None, status });
    }
    match end {
        TurnEnd::Completed { .. } => {}
        other => {
            return Err(
                CliError::new(Kind::Failed, format!("the demonstration did not finish: {other:?}")).into()
            );
        }
    }
    show(&settings, session)
}

fn prepare(workspace: &Path) -> Result<(), CliError> {
    std::fs::write(workspace.join("notes.txt"), cast::NOTES)
        .map_err(|error| CliError::failed(format!("cannot write into the throw-away workspace: {error}")))
}

async fn play(settings: &Settings, store: Store) -> Result<(SessionId, TurnEnd, signals::Stopped), CliError> {
    let purpose = Purpose { kind: "demo", asking: Asking::Other(Arc::new(cast::Stagehand::new())) };
    let host = assemble::assemble(settings, store, purpose).await?;
    let stopped = signals::listen(host.source.clone())?;
    let _mounted = mount(&host)?;
    let provider = ScriptedProvider::parse(cast::SCRIPT.as_bytes(), Path::new("demo script"))
        .map_err(CliError::failed)?;
    let watcher: Watcher = Arc::new(|event| {
        if let AgentEvent::Call { id, name, .. } = event {
            crate::say(&format!("{id} ({name}) …"));
        }
    });
    let journal = Arc::clone(&host.journal) as Arc<dyn Journal>;
    let config = AgentConfig { model: "scripted".to_owned(), ..AgentConfig::default() };
    let mut agent =
        Agent::new(config, Arc::new(provider), host.pipeline.clone(), journal, host.scope.id(), watcher);
    let end = agent.run_turn(cast::TASK, &host.cancel).await;
    let session = host.session;
    host.close().await?;
    Ok((session, end, stopped))
}

/// The guard and the slow tool of the demonstration.
fn mount(host: &Host) -> Result<Vec<Registration>, CliError> {
    let guard = guard_fn(cast::no_recursive_delete);
    let slow = cast::slow_lookup().map_err(CliError::failed)?;
    Ok(vec![
        host.registry.guard(Listen::as_id("demo/no-recursive-delete"), guard),
        host.registry.register(None, slow).map_err(CliError::failed)?,
    ])
}

fn show(settings: &Settings, session: SessionId) -> Result<(), Ended> {
    let path = settings.record_path()?;
    let reader = Store::open_read_only(&path).map_err(CliError::record)?;
    let found = report::read::calls_of_session(&reader, session, CALLS_MAX)
        .map_err(|error| CliError::record(error.to_string()))?;
    let style = report::Style::of_stdout();
    crate::commands::printed(|out| {
        crate::commands::written(write!(out, "{}", cast::INTRODUCTION))?;
        for story in &found.stories {
            crate::commands::written(writeln!(out, "{}", report::short(story, style)))?;
        }
        let record = settings.record_flag();
        crate::commands::written(write!(
            out,
            "Each of these is on record. To see one explained:\n\n    fivegates why demo-guarded{record}\n\n\
             and everything that happened:\n\n    fivegates log {session}{record}\n"
        ))
    })
}
