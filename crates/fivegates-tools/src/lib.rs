//! The tools that ship with Fivegates, one folder for each family.
//!
//! [`register`] puts them into a registry. They hold no power of their own: a tool body runs only when a call has come
//! through the gates of `fivegates-core`, and programs are started by `fivegates-process` alone.

mod args;
pub mod bash;
pub mod fs;

use std::path::PathBuf;

use fivegates_core::ids::ScopeId;
use fivegates_core::registry::{Registration, Registry, RegistryError};
use fivegates_core::schema::SchemaError;
use fivegates_core::tool::Definition;
use fivegates_process::Runner;

pub use args::ConfigError;
use bash::{Bash, BashConfig};
use fs::{Edit, Fs, FsConfig, FsError, Read, Workspace, Write};

/// What the tools need to know.
#[derive(Clone, Debug)]
pub struct ToolsConfig {
    /// The directory that relative paths start from, and in which commands run.
    pub workspace_root: PathBuf,
    /// The session's id, for the environment of commands.
    pub session_id: Option<String>,
    /// The limits of `bash`.
    pub bash: BashConfig,
    /// The limits of `read`, `write` and `edit`.
    pub fs: FsConfig,
}

impl ToolsConfig {
    /// The defaults, for a workspace.
    pub fn new(workspace_root: impl Into<PathBuf>) -> Self {
        Self {
            workspace_root: workspace_root.into(),
            session_id: None,
            bash: BashConfig::default(),
            fs: FsConfig::default(),
        }
    }
}

/// Why the tools cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// The workspace cannot be used.
    #[error("the workspace cannot be used: {0}")]
    Workspace(#[from] FsError),
    /// A limit with which a tool cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A tool's own schema is outside the subset.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The registry refused a tool.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// Makes all tools, in the order in which they are documented. Blocks on the file system to find the workspace.
///
/// # Errors
/// The workspace cannot be used, or a limit makes no sense.
pub fn definitions(config: ToolsConfig, runner: Runner) -> Result<Vec<Definition>, ToolsError> {
    let workspace = Workspace::new(&config.workspace_root)?;
    let fs = Fs::new(workspace.clone(), config.fs)?;
    Ok(vec![
        Definition::of(Bash::new(workspace, config.bash, config.session_id, runner)?)?,
        Definition::of(Read::new(fs.clone()))?,
        Definition::of(Write::new(fs.clone()))?,
        Definition::of(Edit::new(fs))?,
    ])
}

/// Registers all tools, globally or in a scope. Dropping a registration removes its tool.
///
/// # Errors
/// As [`definitions`], or the registry refused one of them; then none stays registered.
pub fn register(
    registry: &Registry,
    scope: Option<ScopeId>,
    config: ToolsConfig,
    runner: Runner,
) -> Result<Vec<Registration>, ToolsError> {
    let tools = definitions(config, runner)?;
    tools.into_iter().map(|tool| Ok(registry.register(scope, tool)?)).collect()
}
