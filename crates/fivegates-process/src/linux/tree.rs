//! A started program and its process group: signalled as one, reaped once, killed when dropped.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::reaper::Reaper;

/// How the leader ended. Both are `None` when somebody else reaped it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

/// The group has the id of its leader. It is signalled only while the leader is unreaped: until then the system cannot give
/// the id to anybody else.
#[derive(Debug)]
pub(super) struct Tree {
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

impl Tree {
    /// Takes over a child that leads its group. On failure the group is killed and reaped.
    pub(super) fn of(mut child: Child, reaper: &Reaper) -> io::Result<Self> {
        let pid = Pid::from_child(&child);
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => {
                let leader = Leader { pid, pidfd: Arc::new(pidfd) };
                Ok(Self { leader, reaped: false, reaper: reaper.clone() })
            }
            Err(errno) => {
                let _ = rustix::process::kill_process_group(pid, Signal::KILL);
                child.wait()?;
                Err(errno.into())
            }
        }
    }

    pub(super) fn group(&self) -> Pid {
        self.leader.pid
    }

    pub(super) fn pidfd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.leader.pidfd)
    }

    /// Signals every member of the group; nothing once the leader was reaped. That a member may not be signalled (it has
    /// become another user's) shows in the certainty of the answer.
    pub(super) fn signal(&self, signal: Signal) {
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
}

impl Drop for Tree {
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
