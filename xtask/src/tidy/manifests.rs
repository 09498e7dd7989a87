//! Manifests: what every crate inherits, how panics travel, and that the lock file is committed.

use std::path::Path;

use toml::{Table, Value};

use super::files::Files;
use super::metadata::Metadata;
use super::{Violation, source};

const RULE: &str = "manifests";
/// The profiles that must say what a panic does; cargo ignores the setting for `test` and `bench`, which always unwind.
const PROFILES: &[&str] = &["dev", "release"];
const FUNCTION_LINES_MAX: i64 = 70;
const CARGO_CONFIG: &str = ".cargo/config.toml";

/// Checks the manifest of every crate in the workspace.
pub(crate) fn check_members(
    metadata: &Metadata,
    root: &Path,
    read: &dyn Fn(&str) -> String,
) -> Vec<Violation> {
    metadata
        .members()
        .flat_map(|package| {
            let file = package.manifest(root);
            check_member(&file, &read(&file))
        })
        .collect()
}

fn check_member(file: &str, text: &str) -> Vec<Violation> {
    let manifest = match parse(file, text) {
        Ok(manifest) => manifest,
        Err(violation) => return vec![violation],
    };
    let is_true = |path: &[&str]| get(&manifest, path).and_then(Value::as_bool) == Some(true);
    let mut found = Vec::new();
    let mut report = |needle: &str, what: &str, remedy: &str| {
        let line = source::line_of(text, needle);
        found.push(violation(file, line, what.to_owned(), remedy));
    };
    if !is_true(&["lints", "workspace"]) {
        report("[lints", "the crate does not take the workspace's lints", "add `[lints] workspace = true`");
    }
    for key in ["edition", "rust-version"] {
        if !is_true(&["package", key, "workspace"]) {
            let what = format!("`{key}` is not the workspace's");
            report(key, &what, &format!("write `{key}.workspace = true`"));
        }
    }
    let description = get(&manifest, &["package", "description"]).and_then(Value::as_str);
    if description.is_none_or(|text| text.trim().is_empty()) {
        report("[package]", "the crate has no description", "say in one sentence what is in it");
    }
    found
}

/// Checks the root manifest, clippy's configuration and cargo's.
pub(crate) fn check_workspace(read: &dyn Fn(&str) -> String) -> Vec<Violation> {
    let mut found = Vec::new();
    let text = read("Cargo.toml");
    match parse("Cargo.toml", &text) {
        Ok(manifest) => {
            found.extend(check_profiles("Cargo.toml", &manifest, &text, PROFILES));
            let level = get(&manifest, &["workspace", "lints", "clippy", "too_many_lines"]);
            let level = level.and_then(|lint| lint.as_str().or_else(|| lint.get("level")?.as_str()));
            if !matches!(level, Some("warn" | "deny" | "forbid")) {
                found.push(violation(
                    "Cargo.toml",
                    source::line_of(&text, "too_many_lines"),
                    "clippy does not measure functions".to_owned(),
                    "add `too_many_lines = \"warn\"` to `[workspace.lints.clippy]`",
                ));
            }
        }
        Err(violation) => found.push(violation),
    }
    let text = read("clippy.toml");
    match parse("clippy.toml", &text) {
        Ok(settings) => {
            let lines = settings.get("too-many-lines-threshold").and_then(Value::as_integer);
            if lines.is_none_or(|lines| lines > FUNCTION_LINES_MAX) {
                found.push(violation(
                    "clippy.toml",
                    source::line_of(&text, "too-many-lines-threshold"),
                    format!("functions may be longer than {FUNCTION_LINES_MAX} lines"),
                    "write `too-many-lines-threshold = 70`",
                ));
            }
        }
        Err(violation) => found.push(violation),
    }
    let text = read(CARGO_CONFIG);
    match parse(CARGO_CONFIG, &text) {
        Ok(settings) => found.extend(check_profiles(CARGO_CONFIG, &settings, &text, &[])),
        Err(violation) => found.push(violation),
    }
    if text.contains("panic=abort") {
        found.push(violation(
            CARGO_CONFIG,
            source::line_of(&text, "panic=abort"),
            "a compiler flag makes panics abort".to_owned(),
            "remove it: a gate's panic is caught and denies",
        ));
    }
    found
}

/// Every profile that says what a panic does says `unwind`, and those in `required` say it.
fn check_profiles(file: &str, settings: &Table, text: &str, required: &[&str]) -> Vec<Violation> {
    let none = Table::new();
    let profiles = get(settings, &["profile"]).and_then(Value::as_table).unwrap_or(&none);
    let missing = required.iter().filter(|name| profiles.get(**name).and_then(|p| p.get("panic")).is_none());
    let missing = missing.map(|name| (*name, "nothing"));
    let wrong = profiles.iter().filter_map(|(name, profile)| {
        let panic = profile.get("panic")?;
        (panic.as_str() != Some("unwind")).then(|| (name.as_str(), panic.as_str().unwrap_or("no text")))
    });
    missing
        .chain(wrong)
        .map(|(name, says)| {
            violation(
                file,
                source::line_of(text, &format!("[profile.{name}]")),
                format!("profile `{name}` says {says} about panics"),
                "write `panic = \"unwind\"`: a gate's panic is caught and denies",
            )
        })
        .collect()
}

/// Checks that Cargo.lock is there and, where git can be asked, tracked.
pub(crate) fn check_lock(files: &Files) -> Option<Violation> {
    let what = match (files.text("Cargo.lock"), files.lock_tracked) {
        (None, _) => "the lock file is missing or ignored",
        (_, Some(false)) => "the lock file is not tracked by git",
        _ => return None,
    };
    Some(violation("Cargo.lock", 1, what.to_owned(), "commit it, so that every build uses the same versions"))
}

fn violation(file: &str, line: usize, what: String, remedy: &str) -> Violation {
    Violation { rule: RULE, file: file.to_owned(), line, what, remedy: remedy.to_owned() }
}

fn parse(file: &str, text: &str) -> Result<Table, Violation> {
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| source::line_index(text, span.start) + 1);
        violation(file, line, format!("not TOML: {}", error.message()), "repair the file")
    })
}

fn get<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

#[cfg(test)]
mod tests {
    use super::{check_member, check_workspace};

    const MEMBER: &str = "[package]\nname = \"a\"\ndescription = \"Does a\"\nedition.workspace = true\n\
                          rust-version.workspace = true\n\n[lints]\nworkspace = true\n";
    const ROOT: &str = "[workspace.lints.clippy]\ntoo_many_lines = \"warn\"\n[profile.dev]\npanic = \"unwind\"\n\
                        [profile.release]\npanic = \"unwind\"\n";
    const CLIPPY: &str = "too-many-lines-threshold = 70\n";

    #[track_caller]
    fn member(text: &str, expected: &[&str]) {
        let found: Vec<String> =
            check_member("Cargo.toml", text).into_iter().map(|v| format!("{} {}", v.line, v.what)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn workspace(root: &str, clippy: &str, config: &str, expected: &[&str]) {
        let read = |path: &str| {
            match path {
                "Cargo.toml" => root,
                "clippy.toml" => clippy,
                _ => config,
            }
            .to_owned()
        };
        let found: Vec<String> =
            check_workspace(&read).into_iter().map(|v| format!("{}:{} {}", v.file, v.line, v.what)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn members() {
        member(MEMBER, &[]);
        member(
            &MEMBER.replace("workspace = true\n\n[lints]\nworkspace = true", "workspace = true"),
            &["1 the crate does not take the workspace's lints"],
        );
        member(
            &MEMBER.replace("\nworkspace = true", "\nworkspace = false"),
            &["7 the crate does not take the workspace's lints"],
        );
        member(
            &MEMBER.replace("edition.workspace = true", "edition = \"2021\""),
            &["4 `edition` is not the workspace's"],
        );
        member(
            &MEMBER.replace("rust-version.workspace = true\n", ""),
            &["1 `rust-version` is not the workspace's"],
        );
        member(&MEMBER.replace("Does a", " "), &["1 the crate has no description"]);
        member("[package\n", &["1 not TOML: unclosed table, expected `]`"]);
    }

    #[test]
    fn profiles() {
        workspace(ROOT, CLIPPY, "", &[]);
        workspace(
            &ROOT.replacen("panic = \"unwind\"", "", 1),
            CLIPPY,
            "",
            &["Cargo.toml:3 profile `dev` says nothing about panics"],
        );
        workspace(
            &ROOT.replace("[profile.release]\npanic = \"unwind\"", "[profile.release]\npanic = \"abort\""),
            CLIPPY,
            "",
            &["Cargo.toml:5 profile `release` says abort about panics"],
        );
        workspace(
            &format!("{ROOT}[profile.fast]\ninherits = \"release\"\npanic = \"abort\"\n"),
            CLIPPY,
            "",
            &["Cargo.toml:7 profile `fast` says abort about panics"],
        );
        workspace(
            ROOT,
            CLIPPY,
            "[profile.dev]\npanic = \"abort\"\n",
            &[".cargo/config.toml:1 profile `dev` says abort about panics"],
        );
        workspace(
            ROOT,
            CLIPPY,
            "[build]\nrustflags = [\"-Cpanic=abort\"]\n",
            &[".cargo/config.toml:2 a compiler flag makes panics abort"],
        );
    }

    #[test]
    fn clippy_measures_functions() {
        let longer = "clippy.toml:1 functions may be longer than 70 lines";
        workspace(ROOT, "too-many-lines-threshold = 100\n", "", &[longer]);
        workspace(ROOT, "", "", &[longer]);
        let off = "Cargo.toml:2 clippy does not measure functions";
        workspace(&ROOT.replace("\"warn\"", "\"allow\""), CLIPPY, "", &[off]);
        workspace(&ROOT.replace("\"warn\"", "{ level = \"deny\", priority = 1 }"), CLIPPY, "", &[]);
    }
}
