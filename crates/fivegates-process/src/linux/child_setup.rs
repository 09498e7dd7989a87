//! What the child does between fork and execution. Only system calls: no allocation, no lock, no panic.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

/// A step in the child. Its number travels in the upper half of the error code that the standard library carries to the
/// parent as it is; nothing else could tell a failed `fchdir` from a failed `execve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    BindToParent = 1,
    Session = 2,
    Workdir = 3,
    Descriptors = 4,
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
        }
    }

    fn failed(self, errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(((self as i32) << Self::SHIFT) | errno.raw_os_error())
    }
}

/// Has the child of `command` run [`enter`] before it executes.
#[expect(unsafe_code, reason = "code between fork and execution cannot be proved safe by the compiler")]
pub(super) fn install(command: &mut Command, workdir: OwnedFd) {
    let host = rustix::process::getpid();
    // SAFETY: `enter` makes system calls alone, each async-signal-safe, and neither allocates nor locks. It touches no memory
    // that another thread of the parent could have been changing: a descriptor number and a process id.
    unsafe { command.pre_exec(move || enter(workdir.as_fd(), host)) };
}

fn enter(workdir: BorrowedFd<'_>, host: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| Step::BindToParent.failed(errno))?;
    // The parent may have died before the line above took effect.
    if rustix::process::getppid() != Some(host) {
        return Err(Step::BindToParent.failed(Errno::SRCH));
    }
    // A new session has no controlling terminal, so `/dev/tty` cannot be opened; its leader also leads a new group.
    rustix::process::setsid().map_err(|errno| Step::Session.failed(errno))?;
    rustix::process::fchdir(workdir).map_err(|errno| Step::Workdir.failed(errno))?;
    withhold_descriptors().map_err(|errno| Step::Descriptors.failed(errno))
}

/// Marks everything above the standard streams close-on-exec, also what some library opened without that flag.
#[expect(unsafe_code, reason = "no safe wrapper of close_range in the crates that are used")]
fn withhold_descriptors() -> Result<(), Errno> {
    // SAFETY: the call takes three integers and, with this flag, closes nothing now.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOSYS)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_and_its_error_survive_the_way_to_the_parent() {
        for step in [Step::BindToParent, Step::Session, Step::Workdir, Step::Descriptors] {
            let raw = step.failed(Errno::ACCESS).raw_os_error().unwrap();
            assert_eq!(Step::decode(raw), (Some(step), Errno::ACCESS.raw_os_error()));
        }
        assert_eq!(Step::decode(Errno::TOOBIG.raw_os_error()), (None, Errno::TOOBIG.raw_os_error()));
    }
}
