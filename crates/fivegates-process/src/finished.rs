//! What a program that was started came to.

use std::time::Duration;

use crate::capture::Captured;
use crate::signal::Signal;

/// One of the two output streams of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// What is known about the processes of a program when its answer is given.
///
/// A descendant that left the process group *and* closed or redirected both streams is not visible to any of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Certainty {
    /// The program was reaped, no live process is left in its group, and nobody holds its output streams.
    GroupGone,
    /// The program was reaped; a descendant still holds a stream, or the group could not be shown to be empty.
    SurvivorsPossible,
    /// KILL was sent and the program was not seen to end in time (it is stuck in the system, or not ours to kill).
    /// It is waited for in the background.
    Unconfirmed,
}

/// The outcome of a program that was started (spec §7.1). A non-zero exit, a deadline and a cancellation are outcomes, not errors.
///
/// `exit_code` and `signal` are never both set. Both are `None` when the end was not seen ([`Certainty::Unconfirmed`]) or
/// when the embedding process reaps children that are not its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The exit status, when the program exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the program, when one did.
    pub signal: Option<Signal>,
    /// Whether our own deadline passed while the program was running. Set even when it then exited with 0.
    pub timed_out: bool,
    /// Whether the caller's cancellation stopped the program. Never set together with `timed_out`: the first cause counts.
    pub aborted: bool,
    /// Whether the grace ran out, so that what was left of the group was sent KILL.
    pub killed: bool,
    /// What is known about the processes of the program now.
    pub certainty: Certainty,
    /// The kept tail of standard output.
    pub stdout: Captured,
    /// The kept tail of standard error.
    pub stderr: Captured,
    /// From the start of the program to this answer.
    pub wall_time: Duration,
}

impl Finished {
    /// Whether the program exited with 0 of its own accord.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && !self.aborted
    }
}
