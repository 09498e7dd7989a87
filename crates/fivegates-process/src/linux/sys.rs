//! The three calls that the compiler cannot check, and nothing else.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::child_setup::ChildSetup;

/// Has the child of `command` run `setup` between fork and execution.
#[expect(unsafe_code, reason = "code between fork and execution cannot be proved safe by the compiler")]
pub(super) fn install(command: &mut Command, setup: ChildSetup) {
    // SAFETY: `ChildSetup::run` makes system calls alone, each async-signal-safe, and neither allocates nor locks. It reads
    // nothing that another thread of the parent could have been changing: a descriptor number and a process id.
    unsafe { command.pre_exec(move || setup.run()) };
}

/// Marks every descriptor above the standard streams close-on-exec. Linux 5.11.
#[expect(unsafe_code, reason = "the crates in use have no safe wrapper of close_range")]
pub(super) fn withhold_descriptors() -> Result<(), Errno> {
    // SAFETY: the call takes three integers and, with this flag, closes nothing now.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOSYS))
    }
}

/// Lets the runtime of the calling task tell when the process behind `pidfd` has ended.
#[expect(unsafe_code, reason = "a registered descriptor must not be closed, which no type expresses yet")]
pub(super) fn watch(pidfd: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: the descriptor is owned by what is registered and always the same, so it is open as long as the registration.
    let registered = unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) };
    registered.map_err(Into::into)
}
