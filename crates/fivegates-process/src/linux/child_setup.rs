//! What the child does between fork and execution. Only system calls, no lock, no panic; and no
//! allocation, but in the child of a process with a single thread.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Signal};

use super::fence::Prepared;
use super::sys;

/// A step in the child. Its number travels in the upper half of the error code that the standard library carries to the
/// parent as it is; nothing else could tell a failed `fchdir` from a failed `execve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    BindToParent = 1,
    Session = 2,
    Workdir = 3,
    Descriptors = 4,
    Adopt = 5,
    WatchHost = 6,
    Order = 7,
    Root = 8,
    Fence = 9,
    Limits = 10,
    Landlock = 11,
    Seccomp = 12,
    Capabilities = 13,
    SingleThread = 14,
}

impl Step {
    const SHIFT: u32 = 16;

    /// Splits an error code into the step, when one of ours failed, and the system's error number.
    pub(super) fn decode(raw: i32) -> (Option<Self>, i32) {
        let step = match raw >> Self::SHIFT {
            1 => Self::BindToParent,
            2 => Self::Session,
            3 => Self::Workdir,
            4 => Self::Descriptors,
            5 => Self::Adopt,
            6 => Self::WatchHost,
            7 => Self::Order,
            8 => Self::Root,
            9 => Self::Fence,
            10 => Self::Limits,
            11 => Self::Landlock,
            12 => Self::Seccomp,
            13 => Self::Capabilities,
            14 => Self::SingleThread,
            _ => return (None, raw),
        };
        (Some(step), raw & 0xffff)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BindToParent => "bind its life to ours",
            Self::Session => "open its session",
            Self::Workdir => "enter the working directory",
            Self::Descriptors => "withhold our descriptors; this needs Linux 5.11 or later",
            Self::Adopt => "adopt its descendants",
            Self::WatchHost => "watch the life of its host",
            Self::Order => "read its launch order",
            Self::Root => "open a root that may be written",
            Self::Fence => "build the rules",
            Self::Limits => "set the limits of a process",
            Self::Landlock => "enforce the landlock rules",
            Self::SingleThread => "begin in a single thread; call `child_main` first in `main`",
            Self::Capabilities => "give up the powers of root",
            Self::Seccomp => "enforce the seccomp filter",
        }
    }

    /// Whether it belongs to the confinement, without which nothing runs.
    pub(super) fn confines(self) -> bool {
        matches!(
            self,
            Self::Root
                | Self::Fence
                | Self::Limits
                | Self::Landlock
                | Self::Seccomp
                | Self::Capabilities
                | Self::SingleThread
        )
    }

    pub(super) fn failed(self, errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(((self as i32) << Self::SHIFT) | errno.raw_os_error())
    }
}

/// What the child needs to know.
#[derive(Debug)]
pub(super) struct ChildSetup {
    /// Where it starts; `None` leaves it in the directory of its parent.
    workdir: Option<OwnedFd>,
    /// The one descriptor beside the standard streams that it keeps.
    kept: Option<OwnedFd>,
    /// What the program is confined by.
    fence: Option<Prepared>,
    host: Pid,
}

impl ChildSetup {
    pub(super) fn new(workdir: Option<OwnedFd>, kept: Option<OwnedFd>) -> Self {
        Self { workdir, kept, fence: None, host: rustix::process::getpid() }
    }

    /// Only for a process with a single thread: enforcing allocates.
    pub(super) fn confined(fence: Option<Prepared>) -> Self {
        Self { fence, ..Self::new(None, None) }
    }

    pub(super) fn run(&mut self) -> io::Result<()> {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|errno| Step::BindToParent.failed(errno))?;
        // The parent may have died before the line above took effect.
        if rustix::process::getppid() != Some(self.host) {
            return Err(Step::BindToParent.failed(Errno::SRCH));
        }
        // A new session has no controlling terminal, so `/dev/tty` cannot be opened; its leader also leads a new group.
        rustix::process::setsid().map_err(|errno| Step::Session.failed(errno))?;
        if let Some(workdir) = &self.workdir {
            rustix::process::fchdir(workdir).map_err(|errno| Step::Workdir.failed(errno))?;
        }
        // Also what some library opened without the flag.
        sys::withhold_descriptors().map_err(|errno| Step::Descriptors.failed(errno))?;
        if let Some(kept) = &self.kept {
            rustix::io::fcntl_setfd(kept, FdFlags::empty())
                .map_err(|errno| Step::Descriptors.failed(errno))?;
        }
        // The last step, since everything before it might be denied by it.
        match &mut self.fence {
            Some(fence) => fence.apply(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_and_its_error_survive_the_way_to_the_parent() {
        for step in [Step::BindToParent, Step::Session, Step::Workdir, Step::Descriptors, Step::Order] {
            let raw = step.failed(Errno::ACCESS).raw_os_error().unwrap();
            assert_eq!(Step::decode(raw), (Some(step), Errno::ACCESS.raw_os_error()));
        }
        assert_eq!(Step::decode(Errno::TOOBIG.raw_os_error()), (None, Errno::TOOBIG.raw_os_error()));
    }
}
