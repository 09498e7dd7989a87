//! What a program that was started came to.

use std::time::Duration;

use crate::capture::Captured;
use crate::confinement::Enforcement;
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
/// A descendant that left the process group *and* closed or redirected both streams is not visible without a supervisor; only
/// [`Certainty::TreeGone`] speaks of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Certainty {
    /// The supervisor reaped the program and every descendant, in whatever session or group, and nobody holds its output streams.
    TreeGone,
    /// The program was reaped, no live process is left in its group, and nobody holds its output streams.
    GroupGone,
    /// The program has ended; a descendant still holds a stream, or the group or tree could not be shown to be empty. Also
    /// when the supervisor itself was killed.
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
    /// How many processes besides the program were sent KILL because they were still there. Only a supervisor can count:
    /// `None` without one, and when it did not see the end of the tree.
    pub survivors_killed: Option<u32>,
    /// What is known about the processes of the program now.
    pub certainty: Certainty,
    /// The kept tail of standard output.
    pub stdout: Captured,
    /// The kept tail of standard error.
    pub stderr: Captured,
    /// What was enforced on the program; `None` when no confinement was asked for.
    pub enforcement: Option<Enforcement>,
    /// From the start of the program to this answer.
    pub wall_time: Duration,
}

impl Finished {
    /// Whether the program exited with 0 of its own accord.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && !self.aborted
    }
}
