//! `fivegates exec`: calls from JSON lines, results to JSON lines.

mod input;
mod line;
mod output;

use std::collections::HashSet;
use std::sync::Arc;

use fivegates_core::call::CallRequest;
use fivegates_core::scheduler::Scheduler;

use crate::assemble::Host;
use crate::cli::ExecArgs;
use crate::error::{CliError, Kind};
use crate::settings::Settings;

use input::{Input, Piece};
use line::Wanted;
use output::Out;

/// Ids remembered for finding repetitions within one input.
const IDS_MAX: usize = 100_000;

/// Runs every call of the input and prints one line for each.
pub(crate) async fn run(host: &Host, settings: &Settings, args: &ExecArgs) -> Result<(), CliError> {
    let mut input = Input::open(&args.file, settings.line_bytes_max())?;
    let mut out = Out::stdout();
    let scheduler = Scheduler::new(host.pipeline.clone(), host.record());
    let mut seen = HashSet::new();
    let mut bad_lines = 0_u64;
    loop {
        let piece = tokio::select! {
            biased;
            () = host.cancel.cancelled() => break,
            piece = input.next() => piece,
        };
        let Some(piece) = piece else {
            break;
        };
        let wanted = match read(&piece) {
            Ok(wanted) => wanted,
            Err(problem) => {
                bad_lines += 1;
                out.bad_line(piece.number, &problem)?;
                continue;
            }
        };
        let requests = requests(host, wanted, &mut seen);
        let report = scheduler.run(requests, &host.cancel).await;
        for call in &report.calls {
            out.call(call)?;
        }
        if let Some(failure) = report.failure {
            return Err(CliError::record(format!("the record cannot be written: {failure}"))
                .hint("no further call was run; mend that (free some space, say) or name another file with --record"));
        }
    }
    if let Some(failure) = input.failure() {
        return Err(CliError::usage(failure));
    }
    if host.cancel.is_cancelled() {
        return Err(CliError::new(Kind::Interrupted, "interrupted; calls that were not started did not run"));
    }
    match bad_lines {
        0 => Ok(()),
        1 => Err(CliError::failed("1 line of the input was no call; the others ran")),
        n => Err(CliError::failed(format!("{n} lines of the input were no calls; the others ran"))),
    }
}

fn read(piece: &Piece) -> Result<Vec<Wanted>, String> {
    match &piece.line {
        Ok(bytes) => line::read(bytes),
        Err(problem) => Err(problem.clone()),
    }
}

fn requests(host: &Host, wanted: Vec<Wanted>, seen: &mut HashSet<String>) -> Vec<CallRequest<'static>> {
    wanted
        .into_iter()
        .map(|wanted| {
            let request =
                CallRequest::new(wanted.id.as_str(), wanted.name, wanted.arguments, host.cancel.clone())
                    .with_agent(host.scope.id());
            // One input is one message as far as ids go (L-09).
            let first = seen.len() >= IDS_MAX || seen.insert(wanted.id);
            if first { request } else { request.as_duplicate() }
        })
        .collect()
}

/// The arguments' raw text.
type Text = Arc<str>;
