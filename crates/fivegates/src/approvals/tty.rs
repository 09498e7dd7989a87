//! A terminal that is read and written without blocking a thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, isatty, tcflush, tcgetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::page::Size;

/// Bytes of one answer.
const ANSWER_BYTES_MAX: usize = 1_024;

/// An open terminal. Its file description is its own: making it non-blocking troubles nobody else.
#[derive(Clone, Debug)]
pub(super) struct Tty(Arc<OwnedFd>);

/// Has the runtime watch a descriptor for input and room for output. Needs a runtime that drives them.
#[expect(unsafe_code, reason = "a registered descriptor must not be closed, which no type expresses yet")]
pub(super) fn watch(fd: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: the shared owner inside keeps the descriptor open and cannot be exchanged.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE | Interest::WRITABLE) };
    Ok(registered?)
}

impl Tty {
    /// Opens the terminal that controls this process; none when there is none.
    pub(super) fn controlling() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        Self::new(rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?)
    }

    /// Takes an open terminal whose file description nobody else uses; none when it is something else.
    pub(super) fn new(fd: OwnedFd) -> Option<Self> {
        if !isatty(&fd) {
            return None;
        }
        let flags = rustix::fs::fcntl_getfl(&fd).ok()?;
        rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK).ok()?;
        Some(Self(Arc::new(fd)))
    }

    pub(super) fn size(&self) -> Size {
        tcgetwinsize(&*self.0).map_or_else(|_| Size::new(0, 0), |size| Size::new(size.ws_col, size.ws_row))
    }

    /// Forgets what was typed and not read yet.
    pub(super) fn forget_typed(&self) -> io::Result<()> {
        Ok(tcflush(&*self.0, QueueSelector::IFlush)?)
    }

    /// Starts a dialog. Needs a runtime that drives input and output.
    pub(super) fn dialog(&self) -> io::Result<Dialog> {
        Ok(Dialog(watch(Arc::clone(&self.0))?))
    }

    /// Writes what the terminal takes without waiting, for a last word.
    pub(super) fn write_now(&self, text: &str) {
        let _ = rustix::io::write(&*self.0, text.as_bytes());
    }
}

/// What came in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Typed {
    /// One line, without its end.
    Line(String),
    /// More than one line at once, or more than an answer can be: pasted, or typed before the question was read.
    TooMuch,
    /// The input is at its end.
    End,
}

/// One dialog with the terminal.
pub(super) struct Dialog(AsyncFd<Arc<OwnedFd>>);

impl Dialog {
    /// Writes a text; waits while the terminal takes nothing, as when somebody stopped it.
    pub(super) async fn write(&self, text: &str) -> io::Result<()> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let write = |tty: &Arc<OwnedFd>| Ok(retry(|| rustix::io::write(tty, rest))?);
            let written = self.0.async_io(Interest::WRITABLE, write).await?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads one line.
    pub(super) async fn read(&self) -> io::Result<Typed> {
        let mut typed = Vec::new();
        loop {
            let mut buffer = [0_u8; ANSWER_BYTES_MAX];
            let read = |tty: &Arc<OwnedFd>| Ok(retry(|| rustix::io::read(tty, &mut buffer[..]))?);
            let count = self.0.async_io(Interest::READABLE, read).await?;
            if count == 0 {
                return Ok(Typed::End);
            }
            typed.extend_from_slice(&buffer[..count]);
            let end = typed.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            match end {
                Some(end) if end + 1 < typed.len() || self.more_is_waiting() => return Ok(Typed::TooMuch),
                Some(end) => return Ok(Typed::Line(String::from_utf8_lossy(&typed[..end]).into_owned())),
                None if typed.len() > ANSWER_BYTES_MAX => return Ok(Typed::TooMuch),
                None => {}
            }
        }
    }

    fn more_is_waiting(&self) -> bool {
        retry(|| rustix::io::read(self.0.get_ref(), &mut [0_u8; 1][..])).is_ok_and(|count| count > 0)
    }
}

/// Does it again when a signal came in between.
fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
