//! The runner of systems on which programs cannot be bounded yet: it refuses.

use std::path::PathBuf;

use crate::error::RunError;
use crate::finished::{Finished, Stream};
use crate::spec::Spec;

/// Refuses to start programs: this system has no supported way to stop a whole process tree.
#[derive(Clone, Debug)]
pub struct Runner(std::convert::Infallible);

/// Does nothing: there is no supervisor on this system.
pub fn child_main() {}

impl Runner {
    /// Fails with [`RunError::Unsupported`].
    pub fn new() -> Result<Self, RunError> {
        Err(RunError::Unsupported)
    }

    /// Fails with [`RunError::Unsupported`].
    pub fn without_supervisor() -> Result<Self, RunError> {
        Err(RunError::Unsupported)
    }

    /// Fails with [`RunError::Unsupported`].
    pub fn with_helper(_path: impl Into<PathBuf>) -> Result<Self, RunError> {
        Err(RunError::Unsupported)
    }

    /// Cannot be reached: there is no value of this type.
    pub async fn run(
        &self,
        _spec: Spec,
        _cancel: impl Future<Output = ()> + Send,
    ) -> Result<Finished, RunError> {
        match self.0 {}
    }

    /// Cannot be reached: there is no value of this type.
    pub async fn run_observed(
        &self,
        _spec: Spec,
        _cancel: impl Future<Output = ()> + Send,
        _observe: impl FnMut(Stream, &[u8]) + Send,
    ) -> Result<Finished, RunError> {
        match self.0 {}
    }
}
