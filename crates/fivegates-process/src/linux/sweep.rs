//! Finds and signals every descendant of this process, in whatever session, group or depth.
//!
//! A process id may be given to a stranger as soon as it was reaped, so nothing is signalled by an id that was only read. A
//! child of ours keeps its id until we reap it, which the caller must not do meanwhile. A deeper descendant is held by a pidfd
//! and signalled once its parent is seen to be one of ours and alive; otherwise it has become, or will be, a child of ours.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use super::group::{self, Stat};

/// What is left to signal, by how it can be.
enum Held {
    Child(Pid),
    Deeper(OwnedFd),
}

/// Signals every live descendant that `wanted` picks, once. Answers the ids of those it signalled. Some may be missed that
/// are started meanwhile: repeat until there is no child any more.
pub(super) fn signal_descendants(signal: Signal, wanted: impl Fn(Pid, Stat) -> bool) -> Vec<Pid> {
    let mut signalled = Vec::new();
    let held = hold_descendants();
    for (pid, (stat, held)) in &held {
        if !stat.is_live() || !wanted(*pid, *stat) {
            continue;
        }
        let sent = match held {
            Held::Child(pid) => rustix::process::kill_process(*pid, signal),
            Held::Deeper(pidfd) => rustix::process::pidfd_send_signal(pidfd, signal),
        };
        if sent.is_ok() {
            signalled.push(*pid);
        }
    }
    signalled
}

fn hold_descendants() -> HashMap<Pid, (Stat, Held)> {
    let me = rustix::process::getpid();
    let all: Vec<(Pid, Stat)> = group::processes().into_iter().flatten().collect();
    let mut children_of: HashMap<i32, Vec<Pid>> = HashMap::new();
    for (pid, stat) in &all {
        children_of.entry(stat.parent).or_default().push(*pid);
    }
    let mut held = HashMap::new();
    let mut seen = HashSet::from([me]);
    let mut queue = vec![me];
    while let Some(parent) = queue.pop() {
        for pid in children_of.remove(&parent.as_raw_pid()).unwrap_or_default() {
            if !seen.insert(pid) {
                continue;
            }
            // Whoever cannot be held now is found by the next look.
            if let Some(hold) = hold(pid, me, &held) {
                held.insert(pid, hold);
                queue.push(pid);
            }
        }
    }
    held
}

fn hold(pid: Pid, me: Pid, held: &HashMap<Pid, (Stat, Held)>) -> Option<(Stat, Held)> {
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty());
    let stat = group::stat(pid)?;
    if stat.parent == me.as_raw_pid() {
        return Some((stat, Held::Child(pid)));
    }
    let parent_lives = match &held.get(&Pid::from_raw(stat.parent)?)?.1 {
        // Its id is not given away before we reap it.
        Held::Child(_) => true,
        Held::Deeper(parent) => is_running(parent),
    };
    Some((stat, Held::Deeper(pidfd.ok()?))).filter(|_| parent_lives)
}

fn is_running(pidfd: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now)) == Ok(0)
}
