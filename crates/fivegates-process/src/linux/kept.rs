//! A program under its supervisor, as the runner sees it: requests go out, events come in.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::unix::AsyncFd;

use super::child_setup::ChildSetup;
use super::group;
use super::launch::{self, Launch, Started};
use super::reaper::Reaper;
use super::supervisor::SUPERVISE;
use super::sys;
use super::tree::{Exit, Leader, Tree};
use super::wire::{EVENT_BYTES, Event, Order, Request};
use crate::error::RunError;

/// How long the supervisor may take to read its order and to start the program.
const START_WAIT: Duration = Duration::from_secs(20);
/// From the last event until the supervisor itself must have ended.
const END_WAIT: Duration = Duration::from_millis(1_000);

#[derive(Debug)]
pub(super) struct Kept {
    supervisor: Leader,
    /// Its end at the supervisor closes with the supervisor; ours closing makes the supervisor kill everything.
    control: Arc<OwnedFd>,
    /// The program, should the supervisor be lost. `None` when it had ended before we could look.
    program: Option<OwnedFd>,
    partial: Partial,
    exit: Option<Exit>,
    killed: Option<u32>,
    lost: bool,
    reaped: bool,
    reaper: Reaper,
}

#[derive(Debug, Default)]
struct Partial {
    bytes: [u8; EVENT_BYTES],
    filled: usize,
}

/// Starts a supervisor and has it start the program.
pub(super) fn start(
    launch: &Launch,
    path: &Path,
    workdir: OwnedFd,
    helper: &Path,
    reaper: &Reaper,
) -> Result<Started, RunError> {
    let broken = |reason: String| RunError::HelperFailed { helper: helper.to_owned(), reason };
    let order = order(launch, path).ok_or_else(|| launch::too_long(launch))?;
    let (control, theirs) = UnixStream::pair().map_err(|error| broken(error.to_string()))?;
    let theirs = OwnedFd::from(theirs);
    let number = std::os::fd::AsRawFd::as_raw_fd(&theirs);
    let mut command = launch::command(helper, OsStr::new(SUPERVISE), launch.input);
    command.arg(number.to_string());
    sys::install(&mut command, ChildSetup::new(Some(workdir), Some(theirs)));
    let at = std::time::Instant::now();
    let mut child = command.spawn().map_err(|error| explain_helper(&error, launch, helper))?;
    // It holds their end, and a lost supervisor must be seen.
    drop(command);
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let supervisor = Leader::of(child).map_err(|error| broken(error.to_string()))?;
    let pid = match instruct(&control, &order) {
        Ok(Event::Started { pid }) => Pid::from_raw(pid),
        Ok(Event::Failed { raw }) => {
            end(&supervisor, reaper);
            return Err(launch::explain(&io::Error::from_raw_os_error(raw), launch));
        }
        Ok(event) => {
            end(&supervisor, reaper);
            return Err(broken(format!("it said {event:?} at its start")));
        }
        Err(error) => {
            end(&supervisor, reaper);
            return Err(broken(error.to_string()));
        }
    };
    let program = pid.and_then(|pid| open_child_of(pid, supervisor.pid()));
    let kept = Kept {
        supervisor,
        control: Arc::new(control.into()),
        program,
        partial: Partial::default(),
        exit: None,
        killed: None,
        lost: false,
        reaped: false,
        reaper: reaper.clone(),
    };
    Ok(Started {
        tree: Tree::Kept(kept),
        stdin: streams.0.map(Into::into),
        stdout: streams.1.map(Into::into),
        stderr: streams.2.map(Into::into),
        at,
        program: launch.program.display(),
    })
}

fn order(launch: &Launch, path: &Path) -> Option<Vec<u8>> {
    let order = Order {
        host: rustix::process::getpid().as_raw_pid(),
        path: path.to_owned(),
        arg0: launch.program.as_os_str().to_owned(),
        args: launch.args.clone(),
        env: launch.env.clone().into_iter().collect(),
        fence: launch.fence.clone(),
    };
    order.encode()
}

/// Blocks, for [`START_WAIT`] at most with each step.
fn instruct(mut control: &UnixStream, order: &[u8]) -> io::Result<Event> {
    control.set_write_timeout(Some(START_WAIT))?;
    control.set_read_timeout(Some(START_WAIT))?;
    control.write_all(order)?;
    let mut bytes = [0; EVENT_BYTES];
    control.read_exact(&mut bytes)?;
    control.set_nonblocking(true)?;
    Event::decode(bytes).ok_or_else(|| io::Error::other("it is not a supervisor of this version"))
}

/// A supervisor that has nothing to supervise, or does not know what it is.
fn end(supervisor: &Leader, reaper: &Reaper) {
    supervisor.signal(Signal::KILL);
    if !supervisor.reap_within(END_WAIT) {
        reaper.adopt(supervisor.clone());
    }
}

fn explain_helper(error: &io::Error, launch: &Launch, helper: &Path) -> RunError {
    match launch::explain(error, launch) {
        RunError::ProgramNotExecutable { reason, .. } => {
            RunError::HelperFailed { helper: helper.to_owned(), reason }
        }
        error => error,
    }
}

fn open_child_of(pid: Pid, parent: Pid) -> Option<OwnedFd> {
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // If it had ended already, the id may be a stranger's.
    (group::stat(pid)?.parent == parent.as_raw_pid()).then_some(pidfd)
}

impl Kept {
    pub(super) fn control(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.control)
    }

    /// How the program ended, as far as it was told.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// How many processes besides the program itself had to be killed; `None` until the tree is gone.
    pub(super) fn killed(&self) -> Option<u32> {
        self.killed
    }

    pub(super) fn request(&self, request: Request) {
        // Who was stopped by the program it watches hears nothing.
        self.supervisor.signal(Signal::CONT);
        // A lost supervisor is seen by its closed end.
        let _ = rustix::io::write(&self.control, &[request.byte()]);
    }

    /// Waits until the program has ended, or the supervisor was lost. Cancel-safe.
    pub(super) async fn ended(&mut self, watch: &AsyncFd<Arc<OwnedFd>>) {
        while self.exit.is_none() && self.killed.is_none() && !self.lost {
            self.next(watch).await;
        }
    }

    /// Waits until the whole tree is gone. Answers false when nobody can tell any more. Cancel-safe.
    pub(super) async fn gone(&mut self, watch: &AsyncFd<Arc<OwnedFd>>) -> bool {
        while self.killed.is_none() && !self.lost {
            self.next(watch).await;
        }
        self.killed.is_some()
    }

    /// Reaps the supervisor, which ends by itself after its last event. Without it, kills what can be found of the program.
    pub(super) async fn finish(&mut self) {
        if self.lost && self.killed.is_none() {
            self.supervisor.signal(Signal::KILL);
            if let Some(program) = &self.program {
                // Not there before Linux 6.9; the answer says that somebody may live.
                let _ = sys::signal_group_of(program.as_fd(), Signal::KILL);
            }
        }
        if (self.lost || self.killed.is_some())
            && let Ok(ended) = sys::watch(self.supervisor.shared_pidfd())
        {
            let _ = tokio::time::timeout(END_WAIT, ended.readable()).await;
        }
        self.reaped = self.supervisor.reap().is_some();
    }

    async fn next(&mut self, watch: &AsyncFd<Arc<OwnedFd>>) {
        let Ok(mut ready) = watch.readable().await else {
            self.lost = true;
            return;
        };
        match rustix::io::read(&self.control, &mut self.partial.bytes[self.partial.filled..]) {
            Ok(0) => self.lost = true,
            Ok(count) => {
                self.partial.filled += count;
                if self.partial.filled == EVENT_BYTES {
                    self.partial.filled = 0;
                    self.take(Event::decode(self.partial.bytes));
                }
            }
            Err(Errno::AGAIN) => ready.clear_ready(),
            Err(Errno::INTR) => {}
            Err(_) => self.lost = true,
        }
    }

    fn take(&mut self, event: Option<Event>) {
        match event {
            Some(Event::Exited { code }) => self.exit = Some(Exit { code: Some(code), signal: None }),
            Some(Event::Signalled { signal }) => {
                self.exit = Some(Exit { code: None, signal: Some(signal) });
            }
            Some(Event::Gone { killed }) => self.killed = Some(killed.unsigned_abs()),
            Some(Event::Started { .. } | Event::Failed { .. }) | None => self.lost = true,
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.request(Request::Kill);
        if self.supervisor.reap().is_none() {
            self.reaper.adopt(self.supervisor.clone());
        }
    }
}
