//! Files: `read`, `write` and `edit`, and what they share (spec §9).
//!
//! What the specification leaves open, or where this does more:
//! - `write` makes missing parent directories, since that is what is meant by the path;
//! - `edit` changes no line end but in what it replaces, so that a file with mixed ones stays as it is elsewhere;
//! - occurrences of `old_string` that overlap make an edit ambiguous;
//! - a change through a symbolic link that leads from inside the workspace to its outside is refused, whether the link
//!   dangles or not: what was shown and allowed is a path inside. The file itself can be named instead;
//! - a file that the process may not write to is not replaced either, although a rename could.
//!
//! An interrupted process can leave a staging directory `.fivegates-*` next to a file, never half a file. Between the last
//! look at a file's version and the rename, a program that takes no part in the locks can still change the file.

mod edit;
mod error;
mod handle;
mod hunks;
mod matching;
mod observed;
mod read;
mod stage;
mod window;
mod workspace;
mod write;

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use fivegates_core::cancel::Cancel;
use fivegates_core::error::ToolError;
use tokio::sync::{Mutex, OwnedMutexGuard};

pub use edit::Edit;
pub use error::{FsError, Verb};
pub use hunks::Hunk;
pub use read::Read;
pub use workspace::{CanonicalPath, Workspace};
pub use write::Write;

use crate::args::{ConfigError, PATH_BYTES_MAX, invalid_args};
use handle::Target;
use observed::Observations;

/// Locks for all files; two files may share one, which costs a wait and nothing else.
const LOCKS: usize = 64;

/// The limits of the file tools (spec §9.3).
#[derive(Clone, Debug)]
pub struct FsConfig {
    /// Lines of one `read`, both unless asked for less and at most.
    pub read_lines_max: usize,
    /// Characters shown of one line.
    pub line_chars_max: usize,
    /// Bytes of all lines of one `read`.
    pub read_bytes_max: usize,
    /// Bytes of a file that `read` goes through to find its window and to count lines.
    pub scan_bytes_max: u64,
    /// Bytes of a file that is edited, and of the text that `write` or `edit` leaves.
    pub text_bytes_max: u64,
    /// Bytes of old and new text each, up to which a change is also kept as a list of hunks.
    pub diff_basis_bytes_max: u64,
    /// Bytes of the lines in all hunks of one change.
    pub hunks_bytes_max: usize,
    /// Files that agents are remembered to have seen, all agents together.
    pub observations_max: usize,
}

impl Default for FsConfig {
    fn default() -> Self {
        Self {
            read_lines_max: 2_000,
            line_chars_max: 2_000,
            read_bytes_max: 51_200,
            scan_bytes_max: 4 << 30,
            text_bytes_max: 64 << 20,
            diff_basis_bytes_max: 10 << 20,
            hunks_bytes_max: 64 << 10,
            observations_max: 10_000,
        }
    }
}

impl FsConfig {
    /// Bytes that one line can take at most, cut and marked.
    fn line_bytes_max(&self) -> usize {
        self.line_chars_max.saturating_mul(4).saturating_add(64)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let positive = [
            ("read_lines_max", self.read_lines_max),
            ("line_chars_max", self.line_chars_max),
            ("observations_max", self.observations_max),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::NotPositive { name });
        }
        if self.read_bytes_max < self.line_bytes_max() {
            return Err(ConfigError::TooSmall { name: "read_bytes_max", least: self.line_bytes_max() });
        }
        Ok(())
    }
}

/// What the three tools share: the workspace, the limits, what agents have seen, and a lock for each file.
#[derive(Clone, Debug)]
pub struct Fs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    workspace: Workspace,
    config: FsConfig,
    observed: Observations,
    hasher: RandomState,
    locks: Vec<Arc<Mutex<()>>>,
}

impl Fs {
    /// Takes a workspace and limits.
    ///
    /// # Errors
    /// A limit with which the tools cannot work.
    pub fn new(workspace: Workspace, config: FsConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let observed = Observations::new(config.observations_max);
        let locks = (0..LOCKS).map(|_| Arc::default()).collect();
        Ok(Self(Arc::new(Inner { workspace, config, observed, hasher: RandomState::new(), locks })))
    }

    /// The workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.0.workspace
    }

    fn config(&self) -> &FsConfig {
        &self.0.config
    }

    fn observed(&self) -> &Observations {
        &self.0.observed
    }

    /// Finds the file that is meant. Blocks.
    fn target(&self, verb: Verb, path: &str) -> Result<Target, FsError> {
        let workspace = &self.0.workspace;
        let shown = workspace.absolute(path).to_string_lossy().into_owned();
        let canonical = workspace
            .walk(&workspace.root().join(path))
            .map_err(|error| FsError::from_io(verb, &shown, error))?;
        Ok(Target { verb, shown, canonical })
    }

    /// As [`Fs::target`], for a change: links of the workspace that lead out of it are not followed.
    fn target_to_change(&self, verb: Verb, path: &str) -> Result<Target, FsError> {
        let target = self.target(verb, path)?;
        if target.canonical.led_out() {
            let Target { shown: path, canonical, .. } = target;
            return Err(FsError::LeadsOut { verb, path, target: canonical.as_path().to_owned() });
        }
        Ok(target)
    }

    /// Waits for its turn at a file.
    async fn lock(&self, path: &Path, cancel: &Cancel) -> Result<OwnedMutexGuard<()>, FsError> {
        let hash = self.0.hasher.hash_one(path);
        let index = usize::try_from(hash % LOCKS as u64).unwrap_or(0);
        let turn = Arc::clone(&self.0.locks[index]).lock_owned();
        tokio::select! {
            biased;
            guard = turn => Ok(guard),
            () = cancel.cancelled() => Err(FsError::Aborted),
        }
    }
}

/// Runs work on files off the async threads, to its end.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(cause) => std::panic::resume_unwind(cause),
            // The runtime is closing and has not started it.
            Err(_) => Err(FsError::Aborted.into()),
        },
    }
}

/// Refuses a path that no file can have, without repeating it.
fn check_path(path: &str) -> Result<(), ToolError> {
    if path.trim().is_empty() {
        return Err(invalid_args("file_path must be a non-empty string"));
    }
    if path.contains('\0') {
        return Err(invalid_args("file_path must not contain a NUL character"));
    }
    if path.len() > PATH_BYTES_MAX {
        return Err(invalid_args(format!("file_path must not be longer than {PATH_BYTES_MAX} bytes")));
    }
    Ok(())
}

/// The envelope around what the model reads of a file.
fn envelope(path: &str, inner: &str) -> String {
    format!("<path>{path}</path>\n<type>file</type>\n<content>\n{inner}\n</content>")
}

#[cfg(test)]
mod tests {
    use fivegates_core::cancel::{CancelReason, CancelSource};

    use super::*;

    #[tokio::test]
    async fn who_waits_for_a_file_can_be_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        let fs = Fs::new(Workspace::new(dir.path()).unwrap(), FsConfig::default()).unwrap();
        let (source, cancel) = CancelSource::new();
        let path = dir.path().join("f");
        let held = fs.lock(&path, &cancel).await.unwrap();
        let mut waiting = Box::pin(fs.lock(&path, &cancel));
        let pending =
            std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx).is_pending()));
        assert!(pending.await);
        source.fire(CancelReason::User);
        assert_eq!(waiting.await.unwrap_err().code(), "FS_ABORTED");
        drop(held);
        // A cancelled wait leaves the lock to others.
        assert!(fs.lock(&path, &CancelSource::new().1).await.is_ok());
    }
}
