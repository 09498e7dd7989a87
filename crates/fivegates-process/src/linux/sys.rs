//! The calls that the compiler cannot check, and nothing else.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::child_setup::ChildSetup;

/// Has the child of `command` run `setup` between fork and execution.
#[expect(unsafe_code, reason = "code between fork and execution cannot be proved safe by the compiler")]
pub(super) fn install(command: &mut Command, mut setup: ChildSetup) {
    // SAFETY: A fence is only ever given by the supervisor while it has a single thread, whose child may allocate: nobody else
    // can have held a lock. Beside that, `ChildSetup::run` makes system calls alone, each async-signal-safe, and neither allocates nor locks. It reads
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

/// Has ended children wait to be reaped, also when our parent ignores its own.
#[expect(unsafe_code, reason = "the crates in use have no safe wrapper of signal")]
pub(super) fn keep_ended_children() {
    // SAFETY: the call takes two integers and installs no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Takes over an inherited descriptor by its number.
#[expect(unsafe_code, reason = "a number is all that an executed program is given of a descriptor")]
pub(super) fn inherited(number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: the call takes integers and changes one flag of a descriptor, if there is one.
    if number < 3 || unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: it is open, and nothing else in this process, which has just begun, knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Signals the group that the process behind `pidfd` leads or led, and no other group that came to have its number.
/// Linux 6.9; earlier it fails.
#[expect(unsafe_code, reason = "the crates in use have no safe wrapper of pidfd_send_signal with flags")]
pub(super) fn signal_group_of(pidfd: BorrowedFd<'_>, signal: rustix::process::Signal) -> io::Result<()> {
    const PROCESS_GROUP: libc::c_uint = 1 << 2;
    let (fd, signal) = (pidfd.as_raw_fd(), signal.as_raw());
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: an open descriptor, integers, and a null pointer, which the call takes for "no information".
    let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, no_info, PROCESS_GROUP) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The version of Landlock in this kernel; 0 or less without it.
#[expect(unsafe_code, reason = "the crates in use do not tell the version before they restrict")]
pub(super) fn landlock_abi() -> i32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no memory and creates nothing.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, VERSION)
    };
    i32::try_from(version).unwrap_or(0)
}

/// Lets the runtime of the calling task tell when `fd` is readable: a process has ended, or has something to say.
#[expect(unsafe_code, reason = "a registered descriptor must not be closed, which no type expresses yet")]
pub(super) fn watch(fd: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: the descriptor is owned by what is registered and always the same, so it is open as long as the registration.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    registered.map_err(Into::into)
}
