//! Waits for killed programs that nobody waits for any more, so that no zombie is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::tree::Leader;

/// How soon a program that was adopted meanwhile is looked at.
const POLL_MS: i64 = 50;

/// Its thread exists only while there is something to wait for. It needs no runtime, so that a runtime's shutdown leaves
/// nothing behind. What it holds is bounded by the processes that exist.
#[derive(Clone, Debug, Default)]
pub(super) struct Reaper(Arc<Mutex<Ward>>);

#[derive(Debug, Default)]
struct Ward {
    orphans: Vec<Leader>,
    watched: bool,
}

impl Reaper {
    /// Takes over a child that was sent KILL. Does not block.
    pub(super) fn adopt(&self, leader: Leader) {
        let mut ward = self.lock();
        ward.orphans.push(leader);
        if !ward.watched {
            let reaper = self.clone();
            let thread = std::thread::Builder::new().name("fivegates-reap".into());
            // Without a thread the orphans wait for the next adoption to try again.
            ward.watched = thread.spawn(move || reaper.watch()).is_ok();
        }
    }

    fn watch(&self) {
        loop {
            let waiting = {
                let mut ward = self.lock();
                ward.orphans.retain(|leader| leader.reap().is_none());
                if ward.orphans.is_empty() {
                    ward.watched = false;
                    return;
                }
                ward.orphans.clone()
            };
            let mut fds: Vec<_> =
                waiting.iter().map(|leader| PollFd::new(leader.pidfd(), PollFlags::IN)).collect();
            let timeout = Timespec { tv_sec: 0, tv_nsec: POLL_MS * 1_000_000 };
            // A failure is a short wait.
            let _ = rustix::event::poll(&mut fds, Some(&timeout));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ward> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
