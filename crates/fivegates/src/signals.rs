//! Ctrl-C and termination: the first asks, the second insists.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use fivegates_core::cancel::{CancelReason, CancelSource};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::error::CliError;

/// What the signals so far ask for.
#[derive(Clone, Default)]
pub(crate) struct Stopped {
    /// The exit status; 0 while there were none.
    status: Arc<AtomicU8>,
    insisted: Arc<Notify>,
}

impl Stopped {
    pub(crate) fn status(&self) -> Option<u8> {
        match self.status.load(Ordering::SeqCst) {
            0 => None,
            status => Some(status),
        }
    }

    /// Waits for a second signal. Whoever hears it drops the work, and with it the programs that it started.
    pub(crate) async fn insisted(&self) {
        self.insisted.notified().await;
    }
}

/// How long dropping the work may take after a second signal, before the process ends anyway.
pub(crate) const INSIST: Duration = Duration::from_secs(2);

const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;
/// The terminal was closed.
const HUNG_UP: u8 = 129;

/// Makes a write beyond the process's file size limit fail like one to a full disk. By itself the signal kills, without a
/// word. Programs that are started get the default back.
pub(crate) fn survive_size_limits() -> Result<(), CliError> {
    // The handler stays in place once it was installed.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop).map_err(cannot)
}

fn cannot(error: std::io::Error) -> CliError {
    CliError::failed(format!("cannot listen for signals: {error}"))
}

/// Fires the cancellation at the first signal: calls under way come to their end and are recorded. A second one is for
/// whoever waits for [`Stopped::insisted`], and ends the process soon whether or not anybody does; the record closes what
/// is open when it is next used.
pub(crate) fn listen(source: CancelSource) -> Result<Stopped, CliError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(cannot)?;
    let stopped = Stopped::default();
    let Stopped { status, insisted } = stopped.clone();
    tokio::spawn(async move {
        loop {
            let asked = tokio::select! {
                _ = interrupt.recv() => INTERRUPTED,
                _ = terminate.recv() => TERMINATED,
                _ = hangup.recv() => HUNG_UP,
            };
            if status.swap(asked, Ordering::SeqCst) != 0 {
                insisted.notify_one();
                tokio::time::sleep(INSIST).await;
                std::process::exit(asked.into());
            }
            source.fire(CancelReason::User);
            crate::say("stopping: waiting for the calls under way; once more to stop at once");
        }
    });
    Ok(stopped)
}
