//! From a launch order to a running program, with every failure told apart.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::fs::{Access, AtFlags, CWD, FileType, OFlags};
use rustix::io::Errno;

use super::child_setup::{ChildSetup, Step};
use super::fence::Fence;
use super::kept;
use super::reaper::Reaper;
use super::sys;
use super::tree::{Group, Tree};
use crate::confinement::Mode;
use crate::error::RunError;
use crate::spec::Program;

/// Searched when the child has no `PATH`.
const PATH_FALLBACK: &str = "/usr/local/bin:/usr/bin:/bin";

#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: Program,
    pub(super) args: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) input: Input,
    pub(super) fence: Option<Fence>,
    pub(super) mode: Mode,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    Null,
    Pipe,
}

/// A running program and our ends of its streams. Dropping it kills the program.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) tree: Tree,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) at: Instant,
    pub(super) program: String,
}

/// Starts the program from this thread, to which its life is bound. Blocks until it has been executed or has failed to be.
pub(super) fn start(launch: &Launch, helper: Option<&Path>, reaper: &Reaper) -> Result<Started, RunError> {
    let workdir = open_workdir(&launch.cwd)?;
    let path = find(launch, workdir.as_fd())?;
    match helper {
        None if launch.fence.is_some() => Err(RunError::SandboxUnavailable {
            mode: launch.mode,
            detail: "there is no supervisor; call `child_main` first in `main`, or name a helper".into(),
        }),
        Some(helper) => kept::start(launch, &path, workdir, helper, reaper),
        None => start_alone(launch, &path, workdir, reaper),
    }
}

fn start_alone(launch: &Launch, path: &Path, workdir: OwnedFd, reaper: &Reaper) -> Result<Started, RunError> {
    let mut command = command(path, launch.program.as_os_str(), launch.input);
    command.args(&launch.args).envs(&launch.env);
    sys::install(&mut command, ChildSetup::new(Some(workdir), None));
    let at = Instant::now();
    let mut child = command.spawn().map_err(|error| explain(&error, launch))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let program = launch.program.display();
    let group = Group::of(child, reaper).map_err(|source| RunError::Spawn {
        program: program.clone(),
        step: "watch the program",
        source,
    })?;
    Ok(Started {
        tree: Tree::Group(group),
        stdin: stdin.map(Into::into),
        stdout: stdout.map(Into::into),
        stderr: stderr.map(Into::into),
        at,
        program,
    })
}

/// A command without arguments and with an empty environment.
#[expect(clippy::disallowed_methods, reason = "the one place in the project that starts programs")]
pub(super) fn command(path: &Path, arg0: &OsStr, input: Input) -> Command {
    let mut command = Command::new(path);
    command.arg0(arg0).env_clear();
    command.stdin(match input {
        Input::Null => Stdio::null(),
        Input::Pipe => Stdio::piped(),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The directory is opened here and entered in the child through its descriptor, so that what was checked is what is used,
/// and a bad directory is never mistaken for a missing program.
fn open_workdir(path: &Path) -> Result<OwnedFd, RunError> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, rustix::fs::Mode::empty())
        .map_err(|errno| RunError::BadWorkdir { path: path.to_owned(), source: errno.into() })
}

/// Finds the file to execute. Relative entries of `PATH` are skipped: what a name means must not depend on the directory
/// that a model works in.
fn find(launch: &Launch, workdir: BorrowedFd<'_>) -> Result<PathBuf, RunError> {
    let name = launch.program.as_os_str();
    if name.as_encoded_bytes().contains(&b'/') {
        return executable(workdir, Path::new(name))
            .map(|()| name.into())
            .map_err(|errno| not_found(errno, launch));
    }
    let search = launch.env.get(OsStr::new("PATH")).map_or(OsStr::new(PATH_FALLBACK), OsString::as_os_str);
    let mut worst = Errno::NOENT;
    for dir in std::env::split_paths(search).filter(|dir| dir.is_absolute()) {
        let path = dir.join(name);
        match executable(CWD, &path) {
            Ok(()) => return Ok(path),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => worst = errno,
        }
    }
    Err(not_found(worst, launch))
}

/// A relative path counts from `dir`.
fn executable(dir: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
    let stat = rustix::fs::statat(dir, path, AtFlags::empty())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::ISDIR);
    }
    rustix::fs::accessat(dir, path, Access::EXEC_OK, AtFlags::EACCESS)
}

fn not_found(errno: Errno, launch: &Launch) -> RunError {
    let program = launch.program.display();
    match errno {
        Errno::NOENT | Errno::NOTDIR => RunError::ProgramNotFound { program },
        Errno::ACCESS => RunError::ProgramNotExecutable { program, reason: "permission denied".into() },
        Errno::ISDIR => RunError::ProgramNotExecutable { program, reason: "it is not a regular file".into() },
        errno => RunError::Spawn { program, step: "find the program", source: errno.into() },
    }
}

/// Sorts a failure of fork, of our steps in the child, or of the execution. `find` has already seen the file.
pub(super) fn explain(error: &io::Error, launch: &Launch) -> RunError {
    let program = launch.program.display();
    let Some(raw) = error.raw_os_error() else {
        return RunError::Spawn { program, step: "spawn", source: io::Error::other(error.to_string()) };
    };
    let (step, errno) = Step::decode(raw);
    let source = io::Error::from_raw_os_error(errno);
    let unexecutable =
        |reason: &str| RunError::ProgramNotExecutable { program: program.clone(), reason: reason.into() };
    match (step, Errno::from_raw_os_error(errno)) {
        (Some(Step::Workdir), _) => RunError::BadWorkdir { path: launch.cwd.clone(), source },
        (Some(step), _) if step.confines() => {
            let detail = format!("could not {}: {source}", step.name());
            RunError::SandboxUnavailable { mode: launch.mode, detail }
        }
        (Some(step), _) => RunError::Spawn { program, step: step.name(), source },
        (None, Errno::TOOBIG) => too_long(launch),
        (None, Errno::NOENT) => unexecutable("the interpreter that its first line names does not exist"),
        (None, Errno::ACCESS | Errno::PERM) => unexecutable("permission denied"),
        (None, Errno::NOEXEC) => unexecutable("it has no format that this system can execute"),
        (None, _) => RunError::Spawn { program, step: "execute", source },
    }
}

pub(super) fn too_long(launch: &Launch) -> RunError {
    let args: usize = launch.args.iter().map(|arg| arg.len() + 1).sum();
    let env: usize = launch.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    RunError::ArgumentListTooLong { program: launch.program.display(), bytes: args + env }
}
