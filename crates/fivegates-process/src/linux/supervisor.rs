//! The small process between the runner and a program: it adopts every descendant, so that none can leave the tree, and kills
//! them all when it is told to or when its host dies.
//!
//! Two threads. The first starts the program and reaps; when there is nothing left to reap, the tree is gone. The second
//! listens and signals. A lock keeps a process from being reaped while it is signalled.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus};

use super::child_setup::{ChildSetup, Step};
use super::fence::Prepared;
use super::sweep;
use super::sys;
use super::wire::{Event, ORDER_BYTES_MAX, Order, Request};

/// The name under which a program that calls [`crate::child_main`] is the supervisor.
pub(super) const SUPERVISE: &str = "fivegates-supervise";
/// Between two sweeps; a process that forks is caught by one of the next.
const SWEEP_EVERY_MS: i64 = 5;
/// The exit status of a supervisor that nobody ordered anything from.
const NOT_ORDERED: u8 = 125;

/// Whether this process was started as a supervisor.
pub(super) fn is_called() -> bool {
    std::env::args_os().next().as_deref() == Some(OsStr::new(SUPERVISE))
}

/// Supervises one program and answers the exit status of this process.
pub(super) fn run() -> u8 {
    let control = std::env::args().nth(1).and_then(|number| number.parse().ok());
    let Some(Ok(control)) = control.map(sys::inherited) else {
        return NOT_ORDERED;
    };
    let mut control = UnixStream::from(control);
    match begin(&mut control) {
        Ok((host, leader)) => {
            watch(control, host, leader);
            0
        }
        Err(error) => {
            let raw = error.raw_os_error().unwrap_or_else(|| Errno::IO.raw_os_error());
            send(&control, Event::Failed { raw });
            NOT_ORDERED
        }
    }
}

/// Reads the order and starts the program. From then on this process holds nothing of the program's but its life.
fn begin(control: &mut UnixStream) -> io::Result<(OwnedFd, Pid)> {
    let order = read_order(control)?;
    sys::keep_ended_children();
    rustix::process::set_child_subreaper(Pid::from_raw(1)).map_err(|errno| Step::Adopt.failed(errno))?;
    let host = watch_host(order.host)?;
    let leader = start(&order)?;
    leave_its_world()?;
    send(control, Event::Started { pid: leader.as_raw_pid() });
    // Until here the kernel killed us together with our host. From here on we outlive it for as long as it takes to kill.
    rustix::process::set_parent_process_death_signal(None)
        .map_err(|errno| Step::BindToParent.failed(errno))?;
    Ok((host, leader))
}

fn read_order(control: &mut UnixStream) -> io::Result<Order> {
    let unreadable = || Step::Order.failed(Errno::BADMSG);
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| unreadable())?;
    if length > ORDER_BYTES_MAX {
        return Err(unreadable());
    }
    let mut bytes = vec![0; length];
    control.read_exact(&mut bytes)?;
    Order::decode(&bytes).ok_or_else(unreadable)
}

fn watch_host(host: i32) -> io::Result<OwnedFd> {
    let failed = |errno| Step::WatchHost.failed(errno);
    let host = Pid::from_raw(host).ok_or_else(|| failed(Errno::INVAL))?;
    let pidfd = rustix::process::pidfd_open(host, PidfdFlags::empty()).map_err(failed)?;
    // What was opened is our parent only if it still is.
    if rustix::process::getppid() != Some(host) {
        return Err(failed(Errno::SRCH));
    }
    Ok(pidfd)
}

#[expect(clippy::disallowed_methods, reason = "the supervisor's one program, on behalf of the runner")]
fn start(order: &Order) -> io::Result<Pid> {
    let mut command = Command::new(&order.path);
    command.arg0(&order.arg0).args(&order.args);
    command.env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    if order.fence.is_some() && !has_single_thread() {
        // The child could not allocate, which enforcing needs.
        return Err(Step::SingleThread.failed(Errno::BUSY));
    }
    let fence = order.fence.as_ref().map(Prepared::new).transpose()?;
    sys::install(&mut command, ChildSetup::confined(fence));
    command.spawn().map(|child| Pid::from_child(&child))
}

/// Holds unless an embedder has started threads before it called us.
fn has_single_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

/// Gives up the program's streams, which would not end while we hold them, and its directory.
fn leave_its_world() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    rustix::process::chdir("/").map_err(Into::into)
}

/// A host that is gone needs no events.
fn send(mut control: &UnixStream, event: Event) {
    let _ = control.write_all(&event.encode());
}

/// What both threads know.
#[derive(Debug)]
struct Ward {
    leader: Pid,
    leader_reaped: bool,
    /// Whom we have sent KILL, without the leader. Bounded by the processes that there are ids for.
    killed: HashSet<Pid>,
}

/// Until the tree is gone.
fn watch(control: UnixStream, host: OwnedFd, leader: Pid) {
    let ward = Arc::new(Mutex::new(Ward { leader, leader_reaped: false, killed: HashSet::new() }));
    let listener = control.try_clone().and_then(|control| {
        let ward = Arc::clone(&ward);
        let thread = std::thread::Builder::new().name("listen".into());
        thread.spawn(move || listen(control, &host, &ward))
    });
    if listener.is_err() {
        // Nobody could stop the program any more.
        kill(&mut lock(&ward));
    }
    while let Some(status) = next_ended(&ward) {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => send(&control, Event::Exited { code }),
            (None, Some(signal)) => send(&control, Event::Signalled { signal }),
            (None, None) => {}
        }
    }
    let killed = i32::try_from(lock(&ward).killed.len()).unwrap_or(i32::MAX);
    send(&control, Event::Gone { killed });
}

/// Reaps until the leader has ended, and answers how; `None` when there is no descendant left.
fn next_ended(ward: &Mutex<Ward>) -> Option<WaitStatus> {
    loop {
        match rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => {}
            Err(Errno::CHILD) => return None,
            Err(_) => continue,
        }
        let mut ward = lock(ward);
        if let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG)
            && pid == ward.leader
            && !ward.leader_reaped
        {
            ward.leader_reaped = true;
            return Some(status);
        }
    }
}

/// Does what the host asks for, until it asks for the end or is gone.
fn listen(mut control: UnixStream, host: &OwnedFd, ward: &Mutex<Ward>) {
    let mut request = [0];
    loop {
        let mut fds = [PollFd::new(&control, PollFlags::IN), PollFd::new(host, PollFlags::IN)];
        if rustix::event::poll(&mut fds, None).is_err() {
            continue;
        }
        if fds[1].revents().is_empty()
            && matches!(control.read(&mut request), Ok(1))
            && request[0] == Request::Term.byte()
        {
            terminate(&lock(ward));
        } else {
            break;
        }
    }
    // The other thread ends this process once nobody is left.
    loop {
        kill(&mut lock(ward));
        let wait = Timespec { tv_sec: 0, tv_nsec: SWEEP_EVERY_MS * 1_000_000 };
        let _ = rustix::event::poll(&mut [], Some(&wait));
    }
}

/// Asks everybody to end: the leader's group as a whole, then whoever has left it.
fn terminate(ward: &Ward) {
    if !ward.leader_reaped {
        let _ = rustix::process::kill_process_group(ward.leader, Signal::TERM);
    }
    let in_group = |stat: super::group::Stat| !ward.leader_reaped && stat.group == ward.leader.as_raw_pid();
    sweep::signal_descendants(Signal::TERM, |_, stat| !in_group(stat));
}

fn kill(ward: &mut Ward) {
    if !has_child() {
        // A look through all processes would only delay the last event.
        return;
    }
    if !ward.leader_reaped {
        let _ = rustix::process::kill_process(ward.leader, Signal::KILL);
    }
    let leader = (!ward.leader_reaped).then_some(ward.leader);
    let killed = sweep::signal_descendants(Signal::KILL, |pid, _| Some(pid) != leader);
    ward.killed.extend(killed);
}

/// Zombies count.
fn has_child() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, look), Err(Errno::CHILD))
}

fn lock(ward: &Mutex<Ward>) -> MutexGuard<'_, Ward> {
    ward.lock().unwrap_or_else(PoisonError::into_inner)
}
