//! The one place in which a developer command starts a program.

use std::path::Path;
use std::process::Command;

/// Makes a command for `program` in `folder`, without the variables that `cargo run` sets for the package it runs.
///
/// Some build scripts watch `CARGO_MANIFEST_DIR` and its kin; handed on, they would make every nested cargo build such
/// crates again.
#[expect(clippy::disallowed_methods, reason = "a developer command starts cargo and git itself")]
pub(crate) fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_set_by_cargo_run) {
            command.env_remove(&name);
        }
    }
    command
}

/// Makes a command for the cargo that runs this program, or the one on the path.
pub(crate) fn cargo(folder: &Path) -> Command {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    command(&program, folder)
}

fn is_set_by_cargo_run(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_MANIFEST_")
        || matches!(name, "CARGO_PRIMARY_PACKAGE" | "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "OUT_DIR")
}

#[cfg(test)]
mod tests {
    use super::is_set_by_cargo_run;

    #[test]
    fn only_package_variables_are_dropped() {
        assert!(is_set_by_cargo_run("CARGO_PKG_NAME"));
        assert!(is_set_by_cargo_run("CARGO_MANIFEST_DIR"));
        for kept in ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_NET_OFFLINE", "CARGO_INCREMENTAL", "PATH"] {
            assert!(!is_set_by_cargo_run(kept), "{kept} must reach the nested cargo");
        }
    }
}
