//! One line for each command.

pub(crate) mod log;
pub(crate) mod pipeline;
mod tools;
pub(crate) mod why;

use std::io::Write;

use clap::CommandFactory as _;
use fivegates_session::{Reader, Store};

use crate::approvals::Stdin;
use crate::assemble::{self, Asking, Host, Purpose};
use crate::cli::{Cli, Command, Common, Policy};
use crate::config::{Overrides, reference};
use crate::error::{CliError, Kind};
use crate::report::Style;
use crate::report::output::Format;
use crate::settings::Settings;
use crate::{Ended, demo, exec, run, signals};

/// Runs the command.
pub(crate) fn dispatch(cli: Cli) -> Result<(), Ended> {
    let common = &cli.common;
    match cli.command {
        Command::Demo => demo::run(&settings(common, None, Overrides::default())?),
        Command::Run(args) => {
            let settings = settings(common, Some(&args.policy), run::overrides(&args))?;
            let provider = run::provider(&settings)?;
            on_host(&settings, "run", async |host, stopped| {
                run::run(host, provider, &settings, &args, stopped).await
            })
        }
        Command::Exec(args) => {
            let settings = settings(common, Some(&args.policy), Overrides::default())?;
            on_host(&settings, "exec", async |host, _| exec::run(host, &settings, &args).await)
        }
        Command::Why(args) => with_reader(common, |reader, out| {
            why::run(reader, &args.call_id, args.session.as_deref(), out, format(args.json))
        }),
        Command::Log(args) => with_reader(common, |reader, out| match &args.session {
            Some(session) => log::events(reader, session, out, format(args.json)),
            None => log::sessions(reader, args.limit, out, format(args.json)),
        }),
        Command::Tools(args) => {
            printed(|out| tools::run(&settings(common, None, Overrides::default())?, &args, out))
        }
        Command::Pipeline { format } => {
            printed(|out| pipeline::run(&settings(common, None, Overrides::default())?, format, out))
        }
        Command::Config => printed(|out| written(out.write_all(reference().as_bytes()))),
        Command::Completions { shell } => printed(|out| {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "fivegates", &mut script);
            written(out.write_all(&script))
        }),
        Command::Man => printed(|out| {
            let mut page = Vec::new();
            written(clap_mangen::Man::new(Cli::command()).render(&mut page))?;
            written(out.write_all(&page))
        }),
    }
}

/// Settings of all layers, the command line on top.
fn settings(common: &Common, policy: Option<&Policy>, overrides: Overrides) -> Result<Settings, CliError> {
    Settings::load(common, policy, overrides)
}

/// Runs something that makes calls: record open, signals heard, everything put away at the end.
fn on_host<F>(settings: &Settings, kind: &'static str, work: F) -> Result<(), Ended>
where
    F: AsyncFnOnce(&Host, &signals::Stopped) -> Result<(), CliError>,
{
    let runtime = runtime()?;
    let store = assemble::open_record(settings)?;
    let result = runtime.block_on(async {
        let input = if kind == "exec" { Stdin::Calls } else { Stdin::Person };
        let purpose = Purpose { kind, asking: Asking::Terminal(input) };
        let host = assemble::assemble(settings, store, purpose).await?;
        let stopped = signals::listen(host.source.clone())?;
        banner(settings);
        let orderly = async {
            let done = work(&host, &stopped).await;
            let closed = host.close().await;
            done.and(closed)
        };
        let done = tokio::select! {
            done = orderly => Some(done),
            () = stopped.insisted() => None,
        };
        Ok::<_, CliError>((done, stopped))
    });
    match &result {
        // Work that is dropped kills the programs that it started.
        Ok((None, _)) => runtime.shutdown_timeout(signals::INSIST),
        // Threads that still wait for input are not waited for.
        _ => runtime.shutdown_background(),
    }
    let (done, stopped) = result?;
    let at_once = || CliError::new(Kind::Interrupted, "stopped at once; what was under way has no result");
    let done = done.unwrap_or_else(|| Err(at_once()));
    match (done, stopped.status()) {
        (Err(error), Some(status)) if error.kind == Kind::Interrupted => {
            Err(Ended { error: Some(error), status })
        }
        (Err(error), _) => Err(error.into()),
        (Ok(()), Some(status)) => Err(Ended { error: None, status }),
        (Ok(()), None) => Ok(()),
    }
}

/// Makes the runtime, under which a file at its size limit is an error of the write.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))?;
    let entered = runtime.enter();
    signals::survive_size_limits()?;
    drop(entered);
    Ok(runtime)
}

/// Says what is not the default and not safe, before anything runs.
fn banner(settings: &Settings) {
    use fivegates_plugins::permission::Mode;
    let origin = settings.permission_origin();
    if settings.permission() == Mode::ReadOnly {
        crate::say(&format!("permission mode read-only ({origin}): writes and commands are denied"));
    }
    if settings.permission() == Mode::Allow {
        crate::say(&format!("permission mode allow ({origin}): every call runs without being asked about"));
    }
    if settings.permission() != Mode::ReadOnly {
        crate::say("commands are not confined: they run with your own rights");
    }
}

fn with_reader(
    common: &Common,
    show: impl FnOnce(&Reader, &mut dyn Write) -> Result<(), CliError>,
) -> Result<(), Ended> {
    let settings = settings(common, None, Overrides::default())?;
    let path = settings.record_path()?;
    let reader = Store::open_read_only(&path).map_err(CliError::record)?;
    printed(|out| show(&reader, out))
}

/// Gives buffered standard output to something, and ends quietly when nobody reads it.
pub(crate) fn printed(show: impl FnOnce(&mut dyn Write) -> Result<(), CliError>) -> Result<(), Ended> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    show(&mut out)?;
    match written(out.flush()) {
        Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A closed pipe is the reader's way to say that it has enough.
pub(crate) fn written(result: std::io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::failed(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

fn format(json: bool) -> Format {
    if json { Format::Json } else { Format::Text(Style::of_stdout()) }
}
