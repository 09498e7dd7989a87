//! Crate arrows: which crate of the workspace may depend on which.
//!
//! The table is the rule. ARCHITECTURE.md draws it; this check keeps the drawing true.

use std::path::Path;

use super::metadata::{Dependency, Kind, Metadata, Package};
use super::{Violation, source};

const RULE: &str = "arrows";

/// One crate's allowed arrows inside the workspace.
struct Arrows {
    crate_name: &'static str,
    /// For `[dependencies]` and `[build-dependencies]`.
    normal: &'static [&'static str],
    /// For `[dev-dependencies]`, beside `normal`.
    dev: &'static [&'static str],
}

const fn arrows(
    crate_name: &'static str,
    normal: &'static [&'static str],
    dev: &'static [&'static str],
) -> Arrows {
    Arrows { crate_name, normal, dev }
}

const AGENT: &str = "fivegates-agent";
const CODE: &str = "fivegates-code";
const CORE: &str = "fivegates-core";
const MCP: &str = "fivegates-mcp";
const PLUGINS: &str = "fivegates-plugins";
const PROCESS: &str = "fivegates-process";
const SESSION: &str = "fivegates-session";
const TESTKIT: &str = "fivegates-testkit";
const TOOLS: &str = "fivegates-tools";

/// Every library that a test of another library may bring in.
const LIBRARIES: &[&str] = &[AGENT, CODE, CORE, MCP, PLUGINS, PROCESS, SESSION, TESTKIT, TOOLS];

/// Every crate of the workspace, those to come included. A crate that is not here may not be in the workspace.
const TABLE: &[Arrows] = &[
    arrows(CORE, &[], &[TESTKIT]),
    arrows(PROCESS, &[], &[TESTKIT]),
    arrows(PLUGINS, &[CORE, PROCESS], LIBRARIES),
    arrows(TOOLS, &[CORE, PROCESS], LIBRARIES),
    arrows(CODE, &[CORE, PROCESS], LIBRARIES),
    arrows(MCP, &[CORE, PROCESS], LIBRARIES),
    arrows(SESSION, &[CORE], LIBRARIES),
    arrows(AGENT, &[CORE, SESSION], LIBRARIES),
    arrows(TESTKIT, &[AGENT, CODE, CORE, MCP, PLUGINS, PROCESS, SESSION, TOOLS], &[]),
    arrows("fivegates", &[AGENT, CODE, CORE, MCP, PLUGINS, PROCESS, SESSION, TOOLS], &[TESTKIT]),
    arrows("xtask", &[], &[]),
];

/// Reports every arrow between workspace crates that the table does not draw.
pub(crate) fn check(metadata: &Metadata, root: &Path, read: &dyn Fn(&str) -> String) -> Vec<Violation> {
    let names: Vec<&str> = metadata.members().map(|package| package.name.as_str()).collect();
    let mut found = Vec::new();
    for package in metadata.members() {
        let manifest = package.manifest(root);
        let Some(allowed) = TABLE.iter().find(|row| row.crate_name == package.name) else {
            found.push(Violation {
                rule: RULE,
                line: 1,
                what: format!("crate `{}` is not in the table of arrows", package.name),
                remedy: "add a row to `xtask/src/tidy/arrows.rs` and a line to ARCHITECTURE.md".to_owned(),
                file: manifest,
            });
            continue;
        };
        let text = read(&manifest);
        let inside =
            package.dependencies.iter().filter(|dependency| names.contains(&dependency.name.as_str()));
        found.extend(inside.filter_map(|dependency| judge(package, dependency, allowed, &manifest, &text)));
    }
    found
}

fn judge(
    package: &Package,
    dependency: &Dependency,
    allowed: &Arrows,
    manifest: &str,
    text: &str,
) -> Option<Violation> {
    let to = dependency.name.as_str();
    let is_dev = dependency.kind == Some(Kind::Dev);
    if allowed.normal.contains(&to) || (is_dev && allowed.dev.contains(&to)) {
        return None;
    }
    let (table, list) = match dependency.kind {
        Some(Kind::Dev) => ("dev-dependency", [allowed.normal, allowed.dev].concat()),
        Some(Kind::Build) => ("build dependency", allowed.normal.to_vec()),
        None => ("dependency", allowed.normal.to_vec()),
    };
    let may = if list.is_empty() { "no crate of the workspace".to_owned() } else { list.join(", ") };
    Some(Violation {
        rule: RULE,
        file: manifest.to_owned(),
        line: source::line_of(text, to),
        what: format!("`{}` has `{to}` as a {table}, but may use {may}", package.name),
        remedy: format!(
            "remove the arrow: put what both need into `{CORE}`, or let them meet in the binary's `assemble.rs`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::{LIBRARIES, TABLE, check};
    use crate::tidy::metadata::Metadata;

    /// Runs the check over crates written as `(name, [(dependency, kind)])`.
    fn violations(crates: &[(&str, &[(&str, &str)])]) -> Vec<String> {
        let packages: Vec<_> = crates
            .iter()
            .map(|(name, dependencies)| {
                let dependencies: Vec<_> = dependencies
                    .iter()
                    .map(|(name, kind)| {
                        let kind = if kind.is_empty() { json!(null) } else { json!(kind) };
                        json!({ "name": name, "kind": kind })
                    })
                    .collect();
                let manifest = format!("/w/crates/{name}/Cargo.toml");
                json!({ "name": name, "id": name, "manifest_path": manifest, "dependencies": dependencies })
            })
            .collect();
        let members: Vec<&str> = crates.iter().map(|(name, _)| *name).collect();
        let metadata: Metadata =
            serde_json::from_value(json!({ "packages": packages, "workspace_members": members })).unwrap();
        let read = |_: &str| "[dependencies]\nserde = \"1\"\nfivegates-session.workspace = true\n".to_owned();
        check(&metadata, Path::new("/w"), &read).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn drawn_arrows_pass() {
        let found = violations(&[
            ("fivegates-core", &[("fivegates-testkit", "dev"), ("serde", "")]),
            ("fivegates-process", &[]),
            ("fivegates-session", &[("fivegates-core", ""), ("fivegates-tools", "dev")]),
            ("fivegates-tools", &[("fivegates-core", ""), ("fivegates-process", "build")]),
            ("fivegates-testkit", &[("fivegates-core", ""), ("fivegates-session", "")]),
            ("fivegates", &[("fivegates-core", ""), ("fivegates-testkit", "dev")]),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn an_undrawn_arrow_is_named_with_its_line() {
        let found = violations(&[
            ("fivegates-core", &[]),
            ("fivegates-session", &[]),
            ("fivegates-tools", &[("fivegates-session", "")]),
        ]);
        assert_eq!(
            found,
            [
                "tidy: arrows: crates/fivegates-tools/Cargo.toml:3: `fivegates-tools` has `fivegates-session` as a \
              dependency, but may use fivegates-core, fivegates-process — remove the arrow: put what both need into \
              `fivegates-core`, or let them meet in the binary's `assemble.rs`"
            ]
        );
    }

    #[test]
    fn core_may_use_nobody() {
        for (kind, words) in
            [("", "as a dependency"), ("build", "as a build dependency"), ("dev", "as a dev-dependency")]
        {
            let found =
                violations(&[("fivegates-core", &[("fivegates-session", kind)]), ("fivegates-session", &[])]);
            assert!(matches!(found.as_slice(), [one] if one.contains(words)), "{found:?}");
        }
    }

    #[test]
    fn testkit_stays_out_of_what_ships() {
        let found = violations(&[("fivegates", &[("fivegates-testkit", "")]), ("fivegates-testkit", &[])]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn nobody_may_use_the_binary() {
        for name in LIBRARIES {
            for kind in ["", "dev", "build"] {
                let found = violations(&[(name, &[("fivegates", kind)]), ("fivegates", &[])]);
                assert_eq!(found.len(), 1, "{name} {kind}: {found:?}");
            }
        }
    }

    #[test]
    fn an_unknown_crate_is_an_error() {
        let found = violations(&[("fivegates-extra", &[])]);
        assert!(matches!(found.as_slice(), [one] if one.contains("`fivegates-extra` is not in the table")));
    }

    #[test]
    fn the_table_names_each_crate_once() {
        let mut names: Vec<&str> = TABLE.iter().map(|row| row.crate_name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
