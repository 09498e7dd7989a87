//! The rules together, over small workspaces in a folder of their own.

use std::path::Path;

use super::{Report, check};
use crate::command;

const ROOT: &str = r#"[workspace]
resolver = "3"
members = ["crates/*"]

[workspace.package]
edition = "2024"
rust-version = "1.95"

[workspace.lints.clippy]
too_many_lines = "warn"

[profile.dev]
panic = "unwind"

[profile.release]
panic = "unwind"
"#;

const MEMBER: &str = r#"[package]
name = "fivegates-core"
description = "The core"
license = "MIT"
edition.workspace = true
rust-version.workspace = true

[lints]
workspace = true
"#;

const LOCK: &str = "version = 4\n\n[[package]]\nname = \"fivegates-core\"\nversion = \"0.0.0\"\n";

/// A workspace of one crate that breaks no rule, changed by `files`; the flag says whether git tracks it.
fn report(files: &[(&str, &str)], tracked: Tracked) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let good = [
        ("Cargo.toml", ROOT),
        ("Cargo.lock", LOCK),
        ("clippy.toml", "too-many-lines-threshold = 70\n"),
        ("ARCHITECTURE.md", "`fivegates-core` is the core.\n"),
        ("crates/fivegates-core/Cargo.toml", MEMBER),
        ("crates/fivegates-core/src/lib.rs", "//! The core.\n"),
    ];
    for (path, text) in good.iter().chain(files) {
        write(&folder.path().join(path), text);
    }
    if tracked == Tracked::Yes {
        for arguments in [["init", "--quiet"].as_slice(), &["add", "--all"]] {
            assert!(command::command("git", folder.path()).args(arguments).status().unwrap().success());
        }
    }
    check(folder.path())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracked {
    Yes,
    No,
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_good_workspace_passes() {
    let report = report(&[], Tracked::Yes);
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!((report.files, report.packages), (6, 1));
}

#[test]
fn every_rule_is_wired_in() {
    let long = "fn a() {}\n".repeat(601);
    let report = report(
        &[
            ("ARCHITECTURE.md", "nothing yet\n"),
            ("Cargo.lock", &format!("{LOCK}\n[[package]]\nname = \"extra\"\nversion = \"0.0.0\"\n")),
            ("crates/fivegates-core/Cargo.toml", &MEMBER.replace("description = \"The core\"\n", "")),
            ("crates/fivegates-core/src/lib.rs", "use std::fs;\n#[ignore]\nfn a() {}\n"),
            ("crates/fivegates-core/src/long.rs", &long),
            (
                "crates/extra/Cargo.toml",
                &MEMBER.replace("fivegates-core", "extra").replace("MIT", "GPL-3.0-only"),
            ),
            ("crates/extra/src/lib.rs", ""),
            ("clippy.toml", ""),
            ("README.md", concat!("see /wo", "rk/notes\n")),
        ],
        Tracked::No,
    );
    let found: Vec<String> =
        report.violations.iter().map(|v| format!("{} {}:{}", v.rule, v.file, v.line)).collect();
    for expected in [
        "arrows crates/extra/Cargo.toml:1",
        "licences crates/extra/Cargo.toml:1",
        "manifests crates/fivegates-core/Cargo.toml:1",
        "architecture ARCHITECTURE.md:1",
        "manifests clippy.toml:1",
        "core-io crates/fivegates-core/src/lib.rs:1",
        "lengths crates/fivegates-core/src/long.rs:1",
        "words crates/fivegates-core/src/lib.rs:2",
        "words README.md:1",
    ] {
        assert!(found.iter().any(|one| one == expected), "{expected} is missing in {found:#?}");
    }
    assert_eq!(report.notes.len(), 1, "the note that git is not usable: {:?}", report.notes);
}

#[test]
fn a_lock_file_must_be_committed() {
    let ignored = report(&[(".gitignore", "Cargo.lock\n")], Tracked::Yes);
    assert!(
        matches!(ignored.violations.as_slice(), [one] if one.rule == "manifests"),
        "{:?}",
        ignored.violations
    );
}

#[test]
fn a_stale_lock_file_is_named() {
    let stale = report(&[("Cargo.lock", "version = 4\n")], Tracked::Yes);
    assert!(stale.violations.iter().any(|one| one.rule == "metadata"), "{:?}", stale.violations);
}
