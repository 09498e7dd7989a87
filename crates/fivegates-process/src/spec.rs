//! What to start, where, with what, and within which limits.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::confinement::Confinement;
use crate::env::{Entries, EnvPolicy};
use crate::error::RunError;

/// The deadline of a program unless configured (spec §7.1).
const TIMEOUT: Duration = Duration::from_millis(120_000);
/// The grace between TERM and KILL unless configured (spec §7.1).
const GRACE: Duration = Duration::from_millis(3_000);
/// How long open streams are still read after the program has exited, unless configured.
const DRAIN: Duration = Duration::from_millis(250);
/// The kept tail of each stream unless configured (spec §7.1).
const OUTPUT_BYTES_MAX: usize = 64_000;

/// The name or path of a program: not empty, no NUL byte.
///
/// A name without `/` is looked up in the absolute directories of the child's `PATH`. A relative path is taken from the
/// working directory of the program. Nothing is ever handed to a shell to parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(OsString);

impl Program {
    /// Takes a name or a path. Fails with [`RunError::EmptyProgram`] or [`RunError::NulInArgument`].
    pub fn new(program: impl Into<OsString>) -> Result<Self, RunError> {
        let program = program.into();
        if program.is_empty() {
            return Err(RunError::EmptyProgram);
        }
        check_nul(&program, || "the program".into())?;
        Ok(Self(program))
    }

    /// The name or path as given.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    pub(crate) fn display(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

/// One program to run: fully explicit, with a limit for everything.
///
/// Its `Debug` form shows neither the values of the environment nor the text for standard input.
#[derive(Clone)]
pub struct Spec {
    pub(crate) program: Program,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env_policy: EnvPolicy,
    pub(crate) env: Entries,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) drain: Duration,
    pub(crate) output_bytes_max: usize,
    pub(crate) confinement: Option<Confinement>,
}

impl Spec {
    /// A program without arguments, with empty input, in `cwd`, with the default environment policy and limits: 120 s, 3 s
    /// of grace, 64,000 bytes kept of each stream.
    pub fn new(program: Program, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program,
            args: Vec::new(),
            cwd: cwd.into(),
            env_policy: EnvPolicy::default(),
            env: Entries::new(),
            stdin: None,
            timeout: Some(TIMEOUT),
            grace: GRACE,
            drain: DRAIN,
            output_bytes_max: OUTPUT_BYTES_MAX,
            confinement: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Decides what is inherited from the environment of this process.
    #[must_use]
    pub fn env_policy(mut self, policy: EnvPolicy) -> Self {
        self.env_policy = policy;
        self
    }

    /// Sets a variable, whatever the policy says.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), Some(value.into()));
        self
    }

    /// Makes a variable absent, whatever the policy says.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), None);
        self
    }

    /// Writes these bytes to standard input and closes it. A program that does not read them is no error. Without this,
    /// standard input is `/dev/null`.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Stops the program this long after its start; `None` leaves it to the caller's cancellation alone.
    #[must_use]
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// Gives the program this long between TERM and KILL.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Reads streams that are still open this long after the program has exited by itself; then what is left of its group
    /// is killed.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Keeps at most this many bytes of each stream, the last ones.
    #[must_use]
    pub fn output_bytes_max(mut self, bytes: usize) -> Self {
        self.output_bytes_max = bytes;
        self
    }

    /// Confines the program and everything that it starts. Needs a runner with a supervisor. If it cannot be had, nothing
    /// runs: [`RunError::SandboxUnavailable`]. Without this the program is not confined at all.
    #[must_use]
    pub fn confine(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// The program as given.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The working directory as given.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Refuses what no system call can carry.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        for (index, arg) in self.args.iter().enumerate() {
            check_nul(arg, || format!("argument {}", index + 1))?;
        }
        check_nul(self.cwd.as_os_str(), || "the working directory".into())
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("env_policy", &self.env_policy)
            .field("env_names", &self.env.keys().collect::<Vec<_>>())
            .field("stdin_bytes", &self.stdin.as_ref().map(Vec::len))
            .field("timeout", &self.timeout)
            .field("grace", &self.grace)
            .field("drain", &self.drain)
            .field("output_bytes_max", &self.output_bytes_max)
            .field("confinement", &self.confinement)
            .finish()
    }
}

fn check_nul(value: &OsStr, what: impl FnOnce() -> String) -> Result<(), RunError> {
    if value.as_encoded_bytes().contains(&0) {
        return Err(RunError::NulInArgument { what: what() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_name() {
        assert_eq!(Program::new("").unwrap_err().code(), "EMPTY_PROGRAM");
        assert_eq!(Program::new("a\0b").unwrap_err().code(), "NUL_IN_ARGUMENT");
        assert_eq!(Program::new("true").unwrap().as_os_str(), "true");
    }

    #[test]
    fn nul_bytes_are_told_where_they_are() {
        let spec = Spec::new(Program::new("true").unwrap(), "/").args(["a", "b\0"]);
        assert_eq!(spec.check().unwrap_err().to_string(), "argument 2 contains a NUL byte; remove it");
        let spec = Spec::new(Program::new("true").unwrap(), "/\0");
        assert_eq!(
            spec.check().unwrap_err().to_string(),
            "the working directory contains a NUL byte; remove it"
        );
    }

    #[test]
    fn debug_shows_no_values() {
        let spec = Spec::new(Program::new("true").unwrap(), "/").env("API_KEY", "hunter2").stdin("hunter2");
        let shown = format!("{spec:?}");
        assert!(shown.contains("API_KEY") && !shown.contains("hunter2"), "{shown}");
    }
}
