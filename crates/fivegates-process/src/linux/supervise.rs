//! From a started program to its answer: run, stop, settle. One task, no lock, every wait bounded.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use super::group;
use super::launch::Started;
use super::streams::Streams;
use super::sys;
use super::tree::{Exit, Tree};
use crate::error::RunError;
use crate::finished::{Certainty, Finished, Stream};
use crate::signal::Signal;

/// From KILL until the leader must be seen to have ended; longer, and it is stuck in the system.
const KILL_WAIT: Duration = Duration::from_millis(2_000);
/// From KILL until the rest of the tree must be seen to have ended.
const CONFIRM_WAIT: Duration = Duration::from_millis(2_000);

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
    let news = sys::watch(tree.news()).map_err(unwatched)?;
    let mut run = Run { tree, news, streams, observe };
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
    let Settled { exit, certainty, survivors_killed } = run.settle().await;
    let (stdout, stderr) = run.streams.finish();
    Ok(Finished {
        exit_code: exit.code,
        signal: exit.signal.map(Signal::new),
        timed_out: stop == Some(Stop::TimedOut),
        aborted: stop == Some(Stop::Aborted),
        killed,
        survivors_killed,
        certainty: if stdout.held || stderr.held { certainty.min_survivors() } else { certainty },
        stdout,
        stderr,
        enforcement: None,
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
    news: AsyncFd<Arc<OwnedFd>>,
    streams: Streams,
    observe: O,
}

struct Settled {
    exit: Exit,
    certainty: Certainty,
    survivors_killed: Option<u32>,
}

impl<O: FnMut(Stream, &[u8])> Run<O> {
    /// Moves data until the leader has ended (`None`) or `event` comes. Both are looked at before each piece of data, so no
    /// amount of output delays them.
    async fn until_ended<T>(&mut self, event: impl Future<Output = T>) -> Option<T> {
        let mut event = pin!(event);
        loop {
            tokio::select! {
                biased;
                () = self.tree.ended(&self.news) => return None,
                value = &mut event => return Some(value),
                () = self.streams.step(&mut self.observe) => {}
            }
        }
    }

    /// Moves data until nothing of the tree lives. Answers false when `limit` comes first, or when it will never be known.
    async fn gone_before(&mut self, mut limit: Pin<&mut impl Future<Output = ()>>) -> bool {
        let mut gone = pin!(self.tree.gone(&self.news));
        loop {
            tokio::select! {
                biased;
                () = limit.as_mut() => return false,
                gone = &mut gone => return gone,
                () = self.streams.step(&mut self.observe) => {}
            }
        }
    }

    /// The leader has ended by itself: gives a helper that still holds a stream (`> >(tee log)`) a moment to finish.
    async fn drain(&mut self, drain: Duration) {
        self.streams.close_stdin();
        let _ = tokio::time::timeout(drain, self.streams.read_to_end(&mut self.observe)).await;
    }

    /// TERM, and KILL to what is left after the grace. Answers whether KILL was needed.
    async fn stop(&mut self, grace: Duration) -> bool {
        self.tree.terminate();
        let in_time = self.gone_before(pin!(sleep(grace))).await;
        if !in_time {
            self.tree.kill();
            self.until_ended(sleep(KILL_WAIT)).await;
        }
        !in_time
    }

    /// Kills and confirms.
    async fn settle(&mut self) -> Settled {
        self.streams.close_stdin();
        self.tree.kill();
        let settled = match &mut self.tree {
            Tree::Group(_) => self.settle_group().await,
            Tree::Kept(_) => self.settle_kept().await,
        };
        self.streams.read_rest(&mut self.observe);
        settled
    }

    /// The leader is reaped after the last signal, since its id keeps the group's id ours.
    async fn settle_group(&mut self) -> Settled {
        let Tree::Group(group) = &mut self.tree else {
            return Settled::UNKNOWN;
        };
        let (id, exit) = (group.id(), group.reap());
        let certainty = match exit {
            None => Certainty::Unconfirmed,
            Some(_) if group::is_empty(id) || self.gone_before(pin!(sleep(CONFIRM_WAIT))).await => {
                Certainty::GroupGone
            }
            Some(_) => Certainty::SurvivorsPossible,
        };
        Settled { exit: exit.unwrap_or_default(), certainty, survivors_killed: None }
    }

    async fn settle_kept(&mut self) -> Settled {
        let gone = self.gone_before(pin!(sleep(CONFIRM_WAIT))).await;
        let Tree::Kept(kept) = &mut self.tree else {
            return Settled::UNKNOWN;
        };
        kept.finish().await;
        let certainty = match kept.exit() {
            _ if gone => Certainty::TreeGone,
            None => Certainty::Unconfirmed,
            Some(_) => Certainty::SurvivorsPossible,
        };
        let exit = kept.exit().unwrap_or_default();
        Settled { exit, certainty, survivors_killed: kept.killed() }
    }
}

impl Settled {
    const UNKNOWN: Self = Self {
        exit: Exit { code: None, signal: None },
        certainty: Certainty::Unconfirmed,
        survivors_killed: None,
    };
}

impl Certainty {
    /// Somebody still holds a stream, so nothing better than this is known.
    fn min_survivors(self) -> Self {
        match self {
            Self::TreeGone | Self::GroupGone => Self::SurvivorsPossible,
            other => other,
        }
    }
}
