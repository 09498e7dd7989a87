//! The runner on Linux. The road of a run: queue → spawning thread (→ supervisor) → supervision → answer.

mod child_setup;
mod fence;
mod filter;
mod group;
mod kept;
mod launch;
mod reaper;
mod spawner;
mod streams;
mod supervise;
mod supervisor;
mod sweep;
mod sys;
mod tree;
mod wire;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::confinement::Mode;
use crate::error::RunError;
use crate::finished::{Finished, Stream};
use crate::spec::Spec;
use launch::{Input, Launch};
use spawner::Spawner;
use supervise::{Limits, supervise};

/// Whether this program can be executed again as a supervisor.
static IS_HELPER: AtomicBool = AtomicBool::new(false);
/// Holds also when the file of this program was replaced or removed meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Lets the running program be its own helper. An embedder calls this first in `main`, before it starts a thread or reads
/// anything.
///
/// [`Runner::new`] then executes this program again, under another name, as the supervisor of each program that is run. In
/// such a supervisor this function does the whole work and does not return.
pub fn child_main() {
    if supervisor::is_called() {
        std::process::exit(supervisor::run().into());
    }
    IS_HELPER.store(true, Ordering::Release);
}

/// Starts programs, one thread for all of them, and sees each to its end. Cheap to clone.
///
/// With a helper, each program gets a small supervisor process, the parent of everything that the program starts and
/// abandons. Nothing can leave its tree, and the answer is [`Certainty::TreeGone`](crate::Certainty::TreeGone). Without one,
/// the process group is stopped and a descendant that left it survives.
///
/// The kernel kills a program when the thread that started it ends, so all are started from one thread that lives as long
/// as any clone of the runner.
#[derive(Clone, Debug)]
pub struct Runner {
    spawner: Spawner,
}

impl Runner {
    /// Starts the spawning thread. Fails with [`RunError::SpawnerGone`] when the system has no thread left.
    ///
    /// Programs are supervised if this program has called [`child_main`].
    pub fn new() -> Result<Self, RunError> {
        let helper = IS_HELPER.load(Ordering::Acquire).then(|| THIS_PROGRAM.into());
        Ok(Self { spawner: Spawner::new(helper)? })
    }

    /// As [`Runner::new`], and without a supervisor also where there could be one: nothing can be confined, and a descendant
    /// that leaves the process group survives.
    pub fn without_supervisor() -> Result<Self, RunError> {
        Ok(Self { spawner: Spawner::new(None)? })
    }

    /// As [`Runner::new`], with the program at this absolute path as the supervisor: `fivegates-supervise`, or any other that
    /// calls [`child_main`] first. For an embedder whose `main` is not its own.
    ///
    /// Fails with [`RunError::HelperFailed`] when the path is not absolute. Whether the helper works shows when a program is run.
    pub fn with_helper(path: impl Into<PathBuf>) -> Result<Self, RunError> {
        let helper = path.into();
        if !helper.is_absolute() {
            let reason = "its path is not absolute".into();
            return Err(RunError::HelperFailed { helper, reason });
        }
        Ok(Self { spawner: Spawner::new(Some(helper))? })
    }

    /// Runs a program to its end, its deadline or the caller's cancellation, whichever comes first, and answers with what
    /// became of it. Fails only when it was not started.
    ///
    /// `cancel` stops the program when it resolves: TERM to the group, KILL after the grace. If it resolves before the
    /// program was started, nothing runs: [`RunError::AbortedBeforeSpawn`]. Dropping the future kills the group at once;
    /// it is then reaped in the background.
    ///
    /// The answer comes at the latest at the deadline plus the grace plus about four seconds, even if the program is stuck.
    ///
    /// # Panics
    ///
    /// As any use of tokio's timers and pipes: outside a tokio runtime with its time and I/O drivers enabled.
    pub async fn run(&self, spec: Spec, cancel: impl Future<Output = ()>) -> Result<Finished, RunError> {
        self.run_observed(spec, cancel, |_, _| {}).await
    }

    /// As [`Runner::run`], and shows each piece of output (at most 64 KiB, in order per stream) while the program runs.
    ///
    /// `observe` sees everything that is read, also what is not kept. It is called on the task that runs the program and must not block.
    pub async fn run_observed(
        &self,
        spec: Spec,
        cancel: impl Future<Output = ()>,
        observe: impl FnMut(Stream, &[u8]),
    ) -> Result<Finished, RunError> {
        spec.check()?;
        let env = spec.env_policy.resolve(std::env::vars_os(), &spec.env)?;
        let Spec { program, args, cwd, stdin, timeout, grace, drain, output_bytes_max, confinement, .. } =
            spec;
        let input = if stdin.is_some() { Input::Pipe } else { Input::Null };
        let (fence, enforcement) = match &confinement {
            Some(policy) => fence::plan(policy).map(|(fence, enforcement)| (fence, Some(enforcement)))?,
            None => (None, None),
        };
        let mode = confinement.map_or(Mode::DangerFullAccess, |policy| policy.mode);
        let launch = Launch { program, args, cwd, env, input, fence, mode };
        let limits = Limits { timeout, grace, drain, output_bytes_max };
        let mut cancel = pin!(cancel);
        let (started, stop) = self.spawner.start(launch, cancel.as_mut()).await?;
        let finished = supervise(started, stop, stdin.unwrap_or_default(), limits, cancel, observe).await?;
        Ok(Finished { enforcement, ..finished })
    }
}
