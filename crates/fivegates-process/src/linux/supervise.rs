//! From a started program to its answer: run, stop, settle. One task, no lock, every wait bounded.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal as Kill;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use super::group::{self, Members};
use super::launch::Started;
use super::streams::Streams;
use super::sys;
use super::tree::{Exit, Tree};
use crate::error::RunError;
use crate::finished::{Certainty, Finished, Stream};
use crate::signal::Signal;

/// From KILL until the leader must be seen to have ended; longer, and it is stuck in the system.
const KILL_WAIT: Duration = Duration::from_millis(2_000);
/// From KILL until the rest of the group must be seen to have ended.
const CONFIRM_WAIT: Duration = Duration::from_millis(2_000);
/// Between two looks at a group that is ending.
const GROUP_POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Limits {
    pub(super) timeout: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) drain: Duration,
    pub(super) output_bytes_max: usize,
}

/// Why we stop a program. The first cause counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    TimedOut,
    Aborted,
}

/// Sees a program to its end. `stop` is a cause that was there already.
pub(super) async fn supervise(
    started: Started,
    stop: Option<Stop>,
    input: Vec<u8>,
    limits: Limits,
    cancel: Pin<&mut impl Future<Output = ()>>,
    observe: impl FnMut(Stream, &[u8]),
) -> Result<Finished, RunError> {
    let Started { tree, stdin, stdout, stderr, at, program } = started;
    let unwatched = |source: io::Error| RunError::Spawn { program, step: "watch the program", source };
    let streams = match Streams::new(stdin, input, stdout, stderr, limits.output_bytes_max) {
        Ok(streams) => streams,
        Err(error) => return Err(unwatched(error)),
    };
    let ended = sys::watch(tree.pidfd()).map_err(unwatched)?;
    let mut run = Run { tree, ended, streams, observe };
    let stop = match stop {
        None => run.until_ended(cause(cancel, limits.timeout)).await,
        stop => stop,
    };
    let killed = match stop {
        None => {
            run.drain(limits.drain).await;
            false
        }
        Some(_) => run.stop(limits.grace).await,
    };
    let (exit, certainty) = run.settle().await;
    let (stdout, stderr) = run.streams.finish();
    Ok(Finished {
        exit_code: exit.code,
        signal: exit.signal.map(Signal::new),
        timed_out: stop == Some(Stop::TimedOut),
        aborted: stop == Some(Stop::Aborted),
        killed,
        certainty: if stdout.held || stderr.held { certainty.min_survivors() } else { certainty },
        stdout,
        stderr,
        wall_time: at.elapsed(),
    })
}

async fn cause(cancel: Pin<&mut impl Future<Output = ()>>, timeout: Option<Duration>) -> Stop {
    let deadline = async {
        match timeout {
            Some(timeout) => sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancel => Stop::Aborted,
        () = deadline => Stop::TimedOut,
    }
}

struct Run<O> {
    // The first field, so that a dropped run kills before it closes the pipes.
    tree: Tree,
    ended: AsyncFd<Arc<OwnedFd>>,
    streams: Streams,
    observe: O,
}

impl<O: FnMut(Stream, &[u8])> Run<O> {
    /// Moves data until the leader has ended (`None`) or `event` comes. Both are looked at before each piece of data, so no
    /// amount of output delays them.
    async fn until_ended<T>(&mut self, event: impl Future<Output = T>) -> Option<T> {
        let mut event = pin!(event);
        loop {
            tokio::select! {
                biased;
                _ = self.ended.readable() => return None,
                value = &mut event => return Some(value),
                () = self.streams.step(&mut self.observe) => {}
            }
        }
    }

    /// Moves data until `event` comes.
    async fn until<T>(&mut self, event: impl Future<Output = T>) -> T {
        let mut event = pin!(event);
        loop {
            tokio::select! {
                biased;
                value = &mut event => return value,
                () = self.streams.step(&mut self.observe) => {}
            }
        }
    }

    /// The leader has ended by itself: gives a helper that still holds a stream (`> >(tee log)`) a moment to finish.
    async fn drain(&mut self, drain: Duration) {
        self.streams.close_stdin();
        let _ = tokio::time::timeout(drain, self.streams.read_to_end(&mut self.observe)).await;
    }

    /// TERM, and KILL to what is left of the group after the grace. Answers whether KILL was needed.
    async fn stop(&mut self, grace: Duration) -> bool {
        self.tree.signal(Kill::TERM);
        let mut grace = pin!(sleep(grace));
        let in_time = match self.until_ended(grace.as_mut()).await {
            None => self.group_ends(grace).await,
            Some(()) => false,
        };
        if !in_time {
            self.tree.signal(Kill::KILL);
            self.until_ended(sleep(KILL_WAIT)).await;
        }
        !in_time
    }

    /// Kills and confirms. The leader is reaped after the last signal, since its id keeps the group's id ours.
    async fn settle(&mut self) -> (Exit, Certainty) {
        self.streams.close_stdin();
        self.tree.signal(Kill::KILL);
        let group = self.tree.group();
        let exit = self.tree.reap();
        let certainty = match exit {
            None => Certainty::Unconfirmed,
            Some(_) if group::is_empty(group) || self.group_ends(pin!(sleep(CONFIRM_WAIT))).await => {
                Certainty::GroupGone
            }
            Some(_) => Certainty::SurvivorsPossible,
        };
        self.streams.read_rest(&mut self.observe);
        (exit.unwrap_or_default(), certainty)
    }

    /// Whether the group has no live member before `limit` comes.
    async fn group_ends(&mut self, mut limit: Pin<&mut impl Future<Output = ()>>) -> bool {
        let group = self.tree.group();
        loop {
            let look = async {
                // Not to be had while the runtime's blocking threads are all busy: then the limit decides.
                let gone = matches!(
                    tokio::task::spawn_blocking(move || group::members(group)).await,
                    Ok(Members::Gone)
                );
                if !gone {
                    sleep(GROUP_POLL).await;
                }
                gone
            };
            let ended = self.until(async {
                tokio::select! {
                    biased;
                    () = limit.as_mut() => Some(false),
                    gone = look => gone.then_some(true),
                }
            });
            if let Some(ended) = ended.await {
                return ended;
            }
        }
    }
}

impl Certainty {
    /// Somebody still holds a stream, so nothing better than this is known.
    fn min_survivors(self) -> Self {
        match self {
            Self::GroupGone => Self::SurvivorsPossible,
            other => other,
        }
    }
}
