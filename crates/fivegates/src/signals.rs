//! Ctrl-C and termination: the first asks, the second insists.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use fivegates_core::cancel::{CancelReason, CancelSource};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::CliError;

/// The exit status that the signals so far ask for; 0 while there were none.
#[derive(Clone, Default)]
pub(crate) struct Stopped(Arc<AtomicU8>);

impl Stopped {
    pub(crate) fn status(&self) -> Option<u8> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            status => Some(status),
        }
    }
}

const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// Fires the cancellation at the first signal: calls under way come to their end and are recorded. A second one ends the
/// process at once; the record closes what is open when it is next used.
pub(crate) fn listen(source: CancelSource) -> Result<Stopped, CliError> {
    let cannot = |error| CliError::failed(format!("cannot listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let stopped = Stopped::default();
    let status = Arc::clone(&stopped.0);
    tokio::spawn(async move {
        loop {
            let asked = tokio::select! {
                _ = interrupt.recv() => INTERRUPTED,
                _ = terminate.recv() => TERMINATED,
            };
            if status.swap(asked, Ordering::SeqCst) != 0 {
                std::process::exit(asked.into());
            }
            source.fire(CancelReason::User);
            crate::say("stopping: waiting for the calls under way; once more to stop at once");
        }
    });
    Ok(stopped)
}
