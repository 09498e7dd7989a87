//! Why a program was not started.

use std::io;
use std::path::PathBuf;

use crate::confinement::Mode;

/// Why a program was not started (spec §6: only a failure to start is an error).
///
/// Nothing of it ran, with three exceptions in which it was, or will be, killed as soon as it starts: [`RunError::SpawnerBusy`],
/// [`RunError::Spawn`] at the step `watch the program`, and [`RunError::HelperFailed`] when the program killed its supervisor
/// before that could say that it had started it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program's name is empty.
    #[error("the program name is empty; name a program to run")]
    EmptyProgram,
    /// No such program, as a path or in the absolute directories of the child's `PATH`.
    #[error("program `{program}` was not found; check its name and the PATH it is run with")]
    ProgramNotFound {
        /// The program as given.
        program: String,
    },
    /// The program is there and cannot be executed.
    #[error("program `{program}` cannot be executed: {reason}; check its permissions and format")]
    ProgramNotExecutable {
        /// The program as given.
        program: String,
        /// What stands in the way.
        reason: String,
    },
    /// The working directory is missing, not a directory, or not accessible.
    #[error("working directory `{}` cannot be used: {source}; name an existing directory", path.display())]
    BadWorkdir {
        /// The directory as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system's limit for arguments and environment is exceeded (Linux: 128 KiB for one argument).
    #[error(
        "the arguments and environment of `{program}` are too long ({bytes} bytes); pass large input on stdin or in a file"
    )]
    ArgumentListTooLong {
        /// The program as given.
        program: String,
        /// Bytes in all arguments and the environment together.
        bytes: usize,
    },
    /// An environment entry that cannot be: an empty name, `=` in a name, or a NUL byte.
    #[error("environment entry `{name}` is not valid: {reason}; correct or remove it")]
    InvalidEnvironment {
        /// The name as given, escaped.
        name: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A NUL byte in the program, an argument or the working directory, which no system call can carry.
    #[error("{what} contains a NUL byte; remove it")]
    NulInArgument {
        /// Which one: `the program`, `argument 2`, `the working directory`.
        what: String,
    },
    /// The helper that supervises programs could not be executed or did not do its work.
    #[error(
        "the supervisor `{}` does not work: {reason}; name a program that calls `child_main` first", helper.display()
    )]
    HelperFailed {
        /// The helper as given; `/proc/self/exe` is the running program.
        helper: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The confinement cannot be had here, and nothing runs without it (spec §5.2).
    #[error(
        "sandbox mode \"{mode}\" is requested but no sandbox backend is usable on this host; refusing to run the command unconfined. Runner failure: {detail}"
    )]
    SandboxUnavailable {
        /// The mode that was asked for.
        mode: Mode,
        /// What stands in the way, and what would help.
        detail: String,
    },
    /// The runner's own thread has ended or could not be started.
    #[error("programs cannot be started: the spawning thread is gone; create a new runner")]
    SpawnerGone,
    /// The runner's thread did not answer in time: a file system or the machine is stuck.
    #[error(
        "program `{program}` was not started within {waited_ms} ms; check for a hanging file system and try again"
    )]
    SpawnerBusy {
        /// The program as given.
        program: String,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// The caller cancelled before the program was started.
    #[error("cancelled before the program was started")]
    AbortedBeforeSpawn,
    /// Anything else that keeps the system from starting it: too many processes or descriptors, no memory.
    #[error("program `{program}` could not be started ({step}): {source}; check the limits of this system")]
    Spawn {
        /// The program as given.
        program: String,
        /// What was being done.
        step: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// This system has no supported way to bound and stop a program.
    #[error("programs cannot be run on this system; use Linux 5.11 or later")]
    Unsupported,
}

impl RunError {
    /// The stable code of the cause, for records and for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyProgram => "EMPTY_PROGRAM",
            Self::ProgramNotFound { .. } => "PROGRAM_NOT_FOUND",
            Self::ProgramNotExecutable { .. } => "PROGRAM_NOT_EXECUTABLE",
            Self::BadWorkdir { .. } => "BAD_WORKDIR",
            Self::ArgumentListTooLong { .. } => "ARGUMENT_LIST_TOO_LONG",
            Self::InvalidEnvironment { .. } => "INVALID_ENVIRONMENT",
            Self::NulInArgument { .. } => "NUL_IN_ARGUMENT",
            Self::HelperFailed { .. } => "HELPER_FAILED",
            Self::SandboxUnavailable { .. } => "SANDBOX_UNAVAILABLE",
            Self::SpawnerGone => "SPAWNER_GONE",
            Self::SpawnerBusy { .. } => "SPAWNER_BUSY",
            Self::AbortedBeforeSpawn => "ABORTED_BEFORE_SPAWN",
            Self::Spawn { .. } => "SPAWN_FAILED",
            Self::Unsupported => "UNSUPPORTED_SYSTEM",
        }
    }
}
