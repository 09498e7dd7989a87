//! Core does no I/O: what it depends on is an allow-list, and its code names no module that reaches the outside.

use std::path::Path;

use super::metadata::{Kind, Metadata};
use super::{SourceFile, Violation, source};

const RULE: &str = "core-io";
const CORE: &str = "fivegates-core";
const CORE_SOURCE: &str = "crates/fivegates-core/src/";

/// All that core may depend on outside its tests. None of these opens a file, a socket or a program.
const ALLOWED_DEPENDENCIES: &[&str] =
    &["blake3", "futures-util", "getrandom", "schemars", "serde", "serde_json", "thiserror", "tokio"];

/// The features of tokio that core may ask for.
const TOKIO_FEATURES: &[&str] = &["rt", "sync", "time"];
/// Beside those, in its tests.
const TOKIO_FEATURES_DEV: &[&str] = &["macros", "test-util"];

/// Modules of the named crates that reach the outside.
const BANNED_MODULES: &[(&str, &[&str])] = &[
    ("std", &["env", "fs", "net", "os", "process"]),
    ("tokio", &["fs", "io", "net", "process", "signal"]),
    ("futures_util", &["io"]),
];

/// Checks core's dependency table.
pub(crate) fn check_manifest(
    metadata: &Metadata,
    root: &Path,
    read: &dyn Fn(&str) -> String,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for package in metadata.members().filter(|package| package.name == CORE) {
        let file = package.manifest(root);
        let text = read(&file);
        let outside = package.dependencies.iter().filter(|dependency| !is_ours(&dependency.name));
        for dependency in outside {
            let is_dev = dependency.kind == Some(Kind::Dev);
            let mut report = |what: String, remedy: &str| {
                let line = source::line_of(&text, &dependency.name);
                let (file, remedy) = (file.clone(), remedy.to_owned());
                found.push(Violation { rule: RULE, file, line, what, remedy });
            };
            if !is_dev && !ALLOWED_DEPENDENCIES.contains(&dependency.name.as_str()) {
                report(
                    format!("core depends on `{}`, which is not on its list", dependency.name),
                    "put the code that needs it into another crate, or add it to \
                     `xtask/src/tidy/core_io.rs` if it does no I/O",
                );
            }
            if dependency.name != "tokio" {
                continue;
            }
            for feature in &dependency.features {
                let feature = feature.as_str();
                if !(TOKIO_FEATURES.contains(&feature) || is_dev && TOKIO_FEATURES_DEV.contains(&feature)) {
                    report(
                        format!("core asks for the feature `{feature}` of tokio"),
                        "keep to `sync`, `time` and `rt` (`macros` and `test-util` in dev-dependencies)",
                    );
                }
            }
        }
    }
    found
}

fn is_ours(name: &str) -> bool {
    name == "fivegates" || name.starts_with("fivegates-")
}

/// Checks core's code, its test modules left out.
pub(crate) fn check_source(files: &[SourceFile]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(CORE_SOURCE) && !file.is_test) {
        for (crate_name, modules) in BANNED_MODULES {
            for (offset, module) in modules_named(&file.code, crate_name) {
                let index = source::line_index(&file.code, offset);
                let in_tests = file.tests.lines.iter().any(|lines| lines.contains(&index));
                if in_tests || !modules.contains(&module.as_str()) {
                    continue;
                }
                found.push(Violation {
                    rule: RULE,
                    file: file.path.clone(),
                    line: index + 1,
                    what: format!("core names `{crate_name}::{module}`"),
                    remedy: "take what it reads as a value or through a port that the binary fills in"
                        .to_owned(),
                });
            }
        }
    }
    found
}

/// Every module that follows `crate_name::`, also in a group such as `use std::{fs, io}`, with its offset.
fn modules_named(code: &str, crate_name: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (offset, _) in code.match_indices(crate_name) {
        let before = code.get(..offset).and_then(|text| text.chars().next_back());
        let after = code.get(offset + crate_name.len()..).unwrap_or_default();
        if before.is_some_and(source::is_word) {
            continue;
        }
        let Some(path) = after.trim_start().strip_prefix("::").map(str::trim_start) else { continue };
        let start = code.len() - path.len();
        if path.starts_with('{') {
            let end = source::matching_brace(code, start);
            found.extend(group_heads(code, start + 1, end));
        } else {
            found.push((start, head(path)));
        }
    }
    found
}

/// The first identifier of every element of a `use` group that spans the bytes from `start` to `end`.
fn group_heads(code: &str, start: usize, end: usize) -> Vec<(usize, String)> {
    let mut heads = Vec::new();
    let (mut depth, mut expecting) = (0_usize, true);
    for (offset, c) in code.get(start..end).unwrap_or_default().char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => expecting = true,
            c if expecting && source::is_word(c) => {
                expecting = false;
                heads.push((start + offset, head(code.get(start + offset..).unwrap_or_default())));
            }
            _ => {}
        }
    }
    heads
}

fn head(path: &str) -> String {
    path.chars().take_while(|&c| source::is_word(c)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{check_manifest, check_source};
    use crate::tidy::SourceFile;
    use crate::tidy::metadata::Metadata;

    fn manifest(dependencies: &Value) -> Vec<String> {
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": [{ "name": "fivegates-core", "id": "core", "dependencies": dependencies }],
            "workspace_members": ["core"],
        }))
        .unwrap();
        check_manifest(&metadata, Path::new("/w"), &|_| String::new()).into_iter().map(|v| v.what).collect()
    }

    #[test]
    fn what_the_list_allows_passes() {
        let found = manifest(&json!([
            { "name": "serde", "kind": null },
            { "name": "tokio", "kind": null, "features": ["sync", "time", "rt"] },
            { "name": "tokio", "kind": "dev", "features": ["macros", "test-util"] },
            { "name": "proptest", "kind": "dev" },
        ]));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn other_dependencies_and_features_are_named() {
        let found = manifest(&json!([
            { "name": "reqwest", "kind": null },
            { "name": "cc", "kind": "build" },
            { "name": "tokio", "kind": null, "features": ["sync", "fs", "macros"] },
            { "name": "tokio", "kind": "dev", "features": ["full"] },
        ]));
        assert_eq!(
            found,
            [
                "core depends on `reqwest`, which is not on its list",
                "core depends on `cc`, which is not on its list",
                "core asks for the feature `fs` of tokio",
                "core asks for the feature `macros` of tokio",
                "core asks for the feature `full` of tokio",
            ]
        );
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let file = SourceFile::new("crates/fivegates-core/src/a.rs", text);
        let found: Vec<String> =
            check_source(&[file]).into_iter().map(|v| format!("{} {}", v.line, v.what)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn code_that_reaches_outside_is_named() {
        check("use std::fs;", &["1 core names `std::fs`"]);
        check("\nfn f() { ::std::net::TcpStream::connect(a); }", &["2 core names `std::net`"]);
        check(
            "use std::{sync::Arc,\n  env, fmt::{self, Write},\n  process};",
            &["2 core names `std::env`", "3 core names `std::process`"],
        );
        check("tokio::fs::read(p)", &["1 core names `tokio::fs`"]);
        check("use tokio :: { sync::{mpsc, fs}, net };", &["1 core names `tokio::net`"]);
        check("use std::os::unix::fs::PermissionsExt;", &["1 core names `std::os`"]);
    }

    #[test]
    fn other_code_passes() {
        check("use std::{fmt, time::Duration}; use tokio::sync::mpsc;", &[]);
        check("// std::fs\nlet s = \"std::fs::read\";", &[]);
        check("use my_std::fs; use mystd::net;", &[]);
        check("#[cfg(test)]\nmod tests {\n use std::fs;\n}\n", &[]);
        let elsewhere = SourceFile::new("crates/fivegates-tools/src/a.rs", "use std::fs;");
        assert!(check_source(&[elsewhere]).is_empty());
    }
}
