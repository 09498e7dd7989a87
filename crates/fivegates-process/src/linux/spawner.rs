//! The one thread that starts programs, and the bounded queue to it.

use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::launch::{self, Launch, Started};
use super::reaper::Reaper;
use super::supervise::Stop;
use crate::error::RunError;

/// Programs waiting to be started; the next caller waits its turn.
const QUEUE_JOBS_MAX: usize = 64;
/// From the call to the start of the program. Starting takes milliseconds; only a stuck file system takes this long.
const START_WAIT_MS_MAX: u64 = 30_000;

#[derive(Clone, Debug)]
pub(super) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

#[derive(Debug)]
struct Job {
    launch: Launch,
    claim: Arc<Claim>,
    reply: oneshot::Sender<Result<Started, RunError>>,
}

/// Decides between the thread, which wants to start a program, and its caller, who wants it not to be.
#[derive(Debug, Default)]
struct Claim(AtomicBool);

impl Claim {
    /// Whether the caller of this method was the first.
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Spawner {
    /// `helper` is executed as the supervisor of each program; without one there is no supervisor.
    pub(super) fn new(helper: Option<PathBuf>) -> Result<Self, RunError> {
        let (jobs, queue) = mpsc::channel(QUEUE_JOBS_MAX);
        let thread = std::thread::Builder::new().name("fivegates-spawn".into());
        thread.spawn(move || serve(queue, helper.as_deref())).map_err(|_| RunError::SpawnerGone)?;
        Ok(Self { jobs })
    }

    /// Has a program started. Answers `Stop::Aborted` beside it when `cancel` resolved too late to prevent the start.
    pub(super) async fn start(
        &self,
        launch: Launch,
        cancel: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(Started, Option<Stop>), RunError> {
        let program = launch.program.display();
        let claim = Arc::new(Claim::default());
        let (reply, answer) = oneshot::channel();
        let job = Job { launch, claim: Arc::clone(&claim), reply };
        let start = async {
            self.jobs.send(job).await.map_err(|_| RunError::SpawnerGone)?;
            answer.await.map_err(|_| RunError::SpawnerGone)?
        };
        // Dropping `answer` kills the program should it be started after all.
        let mut start = pin!(tokio::time::timeout(Duration::from_millis(START_WAIT_MS_MAX), start));
        let (started, stop) = tokio::select! {
            biased;
            () = cancel => {
                if claim.take() {
                    return Err(RunError::AbortedBeforeSpawn);
                }
                (start.await, Some(Stop::Aborted))
            }
            started = &mut start => (started, None),
        };
        let busy = || RunError::SpawnerBusy { program, waited_ms: START_WAIT_MS_MAX };
        Ok((started.map_err(|_| busy())??, stop))
    }
}

/// Lives until the last runner is gone, since programs die with the thread that started them.
fn serve(mut queue: mpsc::Receiver<Job>, helper: Option<&Path>) {
    let reaper = Reaper::default();
    while let Some(Job { launch, claim, reply }) = queue.blocking_recv() {
        if reply.is_closed() || !claim.take() {
            continue;
        }
        // A caller who left meanwhile drops what was started, which kills it.
        drop(reply.send(launch::start(&launch, helper, &reaper)));
    }
}
