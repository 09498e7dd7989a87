//! A started program and what belongs to it: signalled as one, reaped once, killed when dropped.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use tokio::io::unix::AsyncFd;

use super::group::{self, Members};
use super::kept::Kept;
use super::reaper::Reaper;
use super::wire::Request;

/// Between two looks at a group that is ending.
const GROUP_POLL: Duration = Duration::from_millis(20);

/// How the leader ended. Both are `None` when somebody else reaped it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

/// A program and all that it started, as far as it can be reached.
#[derive(Debug)]
pub(super) enum Tree {
    /// Without a supervisor: its process group.
    Group(Group),
    /// With one: every descendant.
    Kept(Kept),
}

impl Tree {
    /// What becomes readable when the tree has news.
    pub(super) fn news(&self) -> Arc<OwnedFd> {
        match self {
            Self::Group(group) => group.leader.shared_pidfd(),
            Self::Kept(kept) => kept.control(),
        }
    }

    /// Waits until the program itself has ended. Cancel-safe.
    pub(super) async fn ended(&mut self, news: &AsyncFd<Arc<OwnedFd>>) {
        match self {
            // An error is that of a runtime which is ending.
            Self::Group(_) => drop(news.readable().await),
            Self::Kept(kept) => kept.ended(news).await,
        }
    }

    /// Waits until nothing of it lives. Answers false when that will never be known. Cancel-safe.
    pub(super) async fn gone(&mut self, news: &AsyncFd<Arc<OwnedFd>>) -> bool {
        match self {
            Self::Group(group) => {
                drop(news.readable().await);
                group.is_gone().await;
                true
            }
            Self::Kept(kept) => kept.gone(news).await,
        }
    }

    /// Asks everybody to end.
    pub(super) fn terminate(&self) {
        match self {
            Self::Group(group) => group.signal(Signal::TERM),
            Self::Kept(kept) => kept.request(Request::Term),
        }
    }

    /// Kills everybody who is left.
    pub(super) fn kill(&self) {
        match self {
            Self::Group(group) => group.signal(Signal::KILL),
            Self::Kept(kept) => kept.request(Request::Kill),
        }
    }
}

/// The group has the id of its leader. It is signalled only while the leader is unreaped: until then the system cannot give
/// the id to anybody else.
#[derive(Debug)]
pub(super) struct Group {
    leader: Leader,
    reaped: bool,
    reaper: Reaper,
}

/// A child that is ours to reap.
#[derive(Clone, Debug)]
pub(super) struct Leader {
    pid: Pid,
    /// Readable once the child has ended.
    pidfd: Arc<OwnedFd>,
}

impl Group {
    /// Takes over a child that leads its group. On failure the group is killed and reaped.
    pub(super) fn of(child: Child, reaper: &Reaper) -> io::Result<Self> {
        Ok(Self { leader: Leader::of(child)?, reaped: false, reaper: reaper.clone() })
    }

    pub(super) fn id(&self) -> Pid {
        self.leader.pid
    }

    /// Signals every member of the group; nothing once the leader was reaped. That a member may not be signalled (it has
    /// become another user's) shows in the certainty of the answer.
    fn signal(&self, signal: Signal) {
        if !self.reaped {
            let _ = rustix::process::kill_process_group(self.leader.pid, signal);
        }
    }

    /// Reaps the leader if it has ended. From then on the group is no longer signalled.
    pub(super) fn reap(&mut self) -> Option<Exit> {
        let exit = self.leader.reap();
        self.reaped |= exit.is_some();
        exit
    }

    /// Waits until the group has no live member. Cancel-safe.
    pub(super) async fn is_gone(&self) {
        let id = self.leader.pid;
        loop {
            // Not to be had while the runtime's blocking threads are all busy: then the caller's limit decides.
            match tokio::task::spawn_blocking(move || group::members(id)).await {
                Ok(Members::Gone) => return,
                _ => tokio::time::sleep(GROUP_POLL).await,
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.signal(Signal::KILL);
        if self.leader.reap().is_none() {
            self.reaper.adopt(self.leader.clone());
        }
    }
}

impl Leader {
    /// Takes over a child. On failure its group is killed and it is reaped.
    pub(super) fn of(mut child: Child) -> io::Result<Self> {
        let pid = Pid::from_child(&child);
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd: Arc::new(pidfd) }),
            Err(errno) => {
                let _ = rustix::process::kill_process_group(pid, Signal::KILL);
                child.wait()?;
                Err(errno.into())
            }
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn shared_pidfd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.pidfd)
    }

    /// Signals the child alone; nothing once it was reaped.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }

    /// Reaps, and waits for it if need be. Blocks. Answers whether it was reaped.
    pub(super) fn reap_within(&self, wait: Duration) -> bool {
        let limit = Timespec::try_from(wait).ok();
        let _ = rustix::event::poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], limit.as_ref());
        self.reap().is_some()
    }

    pub(super) fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    /// Reaps without waiting; `None` while the child lives.
    pub(super) fn reap(&self) -> Option<Exit> {
        use std::os::fd::AsFd as _;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        loop {
            match rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
                Ok(status) => {
                    return status.map(|s| Exit { code: s.exit_status(), signal: s.terminating_signal() });
                }
                Err(Errno::INTR) => {}
                // No such child: the embedding process reaps whatever it finds, or ignores SIGCHLD.
                Err(_) => return Some(Exit::default()),
            }
        }
    }
}
