//! The parts of `cargo metadata` that the checks read.

use std::path::Path;

use serde::Deserialize;

use crate::command;

/// The workspace and everything it depends on, for every platform and feature.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    /// Package ids of the workspace's own crates.
    pub(crate) workspace_members: Vec<String>,
}

/// One package, ours or another's.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
    pub(crate) id: String,
    /// Where it comes from; nothing for a folder on this machine.
    pub(crate) source: Option<String>,
    /// The licence as an SPDX expression.
    pub(crate) license: Option<String>,
    #[serde(default)]
    pub(crate) manifest_path: String,
    #[serde(default)]
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a package's dependency tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Nothing for `[dependencies]`.
    pub(crate) kind: Option<Kind>,
    #[serde(default)]
    pub(crate) features: Vec<String>,
}

/// Which table a dependency stands in, when it is not `[dependencies]`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Build,
    Dev,
}

impl Metadata {
    /// Asks cargo; the error is a sentence for the terminal.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let output = command::cargo(root)
            .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
            .output()
            .map_err(|error| format!("cannot start `cargo metadata`: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`cargo metadata --locked` failed: {}", said.trim().replace('\n', " ")));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("cannot read `cargo metadata`: {error}"))
    }

    /// The workspace's own crates, in the order in which cargo lists them.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

impl Package {
    /// The path of its Cargo.toml below `root`, as the reports print it.
    pub(crate) fn manifest(&self, root: &Path) -> String {
        let path = Path::new(&self.manifest_path);
        path.strip_prefix(root).unwrap_or(path).display().to_string()
    }
}
