//! Words and marks that have no place in the project.

use super::{SourceFile, Violation, source};

const RULE: &str = "words";

// Written in halves, so that this file does not break its own rules.
const FIX_ME: &str = concat!("FIX", "ME");
const BUILD_FOLDER: &str = concat!("/wo", "rk/");

/// Macros that stand for code nobody wrote.
const STUBS: &[&str] = &[concat!("to", "do!"), concat!("unimple", "mented!")];

/// Parts of a host name by which a package registry is known.
const REGISTRY_LABELS: &[&str] = &["registry", "mirror", "artifactory", "nexus", "pypi"];

/// Settings by which somebody's own package registry gets into a project.
const REGISTRY_SETTINGS: &[&str] = &[
    concat!("--index", "-url"),
    concat!("replace", "-with"),
    concat!("CARGO_", "REGISTRIES_"),
    concat!("CARGO_", "SOURCE_"),
];

/// Checks Rust files for stubs, ignored tests and silenced lints.
pub(crate) fn check_rust(files: &[SourceFile]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in files {
        let mut report = |line: usize, what: String, remedy: &str| {
            found.push(Violation {
                rule: RULE,
                file: file.path.clone(),
                line,
                what,
                remedy: remedy.to_owned(),
            });
        };
        for (index, line) in file.code.lines().enumerate() {
            for stub in STUBS.iter().filter(|stub| has_word(line, stub)) {
                report(index + 1, format!("`{stub}`"), "write the code or leave the item out");
            }
        }
        for (index, line) in file.text.lines().enumerate() {
            if line.contains(FIX_ME) {
                report(index + 1, format!("`{FIX_ME}`"), "repair it now or file an issue");
            }
            if is_ignored_example(line) {
                report(index + 1, "a doc example that is not run".to_owned(), "make it run, or use `no_run`");
            }
        }
        for (offset, attribute) in attributes(&file.code) {
            let line = source::line_index(&file.code, offset) + 1;
            if sets(attribute, "ignore") {
                report(line, "an ignored test".to_owned(), "make it run everywhere or remove it");
            }
            if sets(attribute, "allow") {
                report(
                    line,
                    "a lint is silenced with `allow`".to_owned(),
                    "use `expect(lint, reason = \"…\")`, which ends when its cause does",
                );
            }
        }
    }
    found
}

/// Checks every text file for what only the machine it was written on knows.
pub(crate) fn check_text<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            let mut report = |what: String, remedy: &str| {
                let (file, remedy) = (path.to_owned(), remedy.to_owned());
                found.push(Violation { rule: RULE, file, line: index + 1, what, remedy });
            };
            if names_build_folder(line) {
                report(
                    format!("`{BUILD_FOLDER}` is a folder of one machine"),
                    "name a path inside the project, or `/home/user/…` in an example",
                );
            }
            for host in hosts(line).filter(|host| is_registry(host)) {
                report(format!("`{host}` is a package registry"), "name the package alone");
            }
            for setting in REGISTRY_SETTINGS.iter().filter(|setting| line.contains(*setting)) {
                report(
                    format!("`{setting}` chooses a package registry"),
                    "leave that to the machine's own configuration",
                );
            }
        }
    }
    found
}

/// Every attribute of the code: the offset of its `#` and what its brackets hold.
pub(crate) fn attributes(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (offset, _) in code.match_indices('#') {
        let rest = code.get(offset + 1..).unwrap_or_default();
        let Some(inside) = rest.strip_prefix('!').unwrap_or(rest).strip_prefix('[') else { continue };
        let mut depth = 1_usize;
        let end = inside.find(|c| {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        found.push((offset, inside.get(..end.unwrap_or(inside.len())).unwrap_or_default()));
    }
    found
}

/// Whether the attribute is `name`, itself or through `cfg_attr`.
pub(crate) fn sets(attribute: &str, name: &str) -> bool {
    let attribute = attribute.trim_start();
    let conditional = attribute.strip_prefix("cfg_attr");
    match conditional.and_then(|list| list.split_once(',')) {
        Some((_, list)) => list.split(',').any(|one| starts_with_word(one, name)),
        None => starts_with_word(attribute, name),
    }
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let rest = text.trim_start().strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(source::is_word))
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(offset, _)| {
        let before = line.get(..offset).and_then(|text| text.chars().next_back());
        !before.is_some_and(source::is_word)
    })
}

/// Whether the line opens a doc example that rustdoc would neither run nor build.
fn is_ignored_example(line: &str) -> bool {
    let line = line.trim_start();
    let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    let marks = comment.and_then(|text| text.trim_start().strip_prefix("```"));
    marks.is_some_and(|marks| marks.split(',').any(|mark| mark.trim().starts_with("ignore")))
}

/// Whether the absolute path stands there, not a longer path that ends in it.
fn names_build_folder(line: &str) -> bool {
    line.match_indices(BUILD_FOLDER).any(|(offset, _)| {
        let before = line.get(..offset).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| source::is_word(c) || matches!(c, '.' | '-' | '~' | '/' | '}' | ')'))
    })
}

/// The host of every address in the line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").map(|(offset, mark)| {
        let rest = line.get(offset + mark.len()..).unwrap_or_default();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-')));
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    })
}

fn is_registry(host: &str) -> bool {
    let labels = host.split(['.', '-']);
    labels.into_iter().any(|label| REGISTRY_LABELS.contains(&label)) && !host.ends_with(".example")
}

#[cfg(test)]
mod tests {
    use super::{check_rust, check_text, hosts, sets};
    use crate::tidy::SourceFile;

    #[track_caller]
    fn rust(text: &str, expected: &[&str]) {
        let file = SourceFile::new("a.rs", text);
        let found: Vec<String> =
            check_rust(&[file]).into_iter().map(|v| format!("{} {}", v.line, v.what)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn text(line: &str, expected: &[&str]) {
        let found: Vec<String> =
            check_text([("a.md", line)].into_iter()).into_iter().map(|v| v.what).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn stubs_are_named() {
        rust(concat!("fn f() {\n    to", "do!()\n}"), &[concat!("2 `to", "do!`")]);
        rust(concat!("fn f() { unimple", "mented![] }"), &[concat!("1 `unimple", "mented!`")]);
        rust(concat!("// FIX", "ME later"), &[concat!("1 `FIX", "ME`")]);
        rust(concat!("fn f() { my_to", "do!() } // to", "do!()"), &[]);
    }

    #[test]
    fn tests_that_do_not_run_are_named() {
        let ignored = "1 an ignored test";
        rust("#[ignore]\nfn f() {}", &[ignored]);
        rust("#[ignore = \"slow\"]\nfn f() {}", &[ignored]);
        rust("#[cfg_attr(\n    not(unix),\n    ignore = \"unix\"\n)]\nfn f() {}", &[ignored]);
        rust("#[ignored_fields]\nstruct A;", &[]);
        let example = "1 a doc example that is not run";
        rust("/// ```ignore\n/// x\n/// ```", &[example]);
        rust("//! ```rust,ignore", &[example]);
        rust("/// ```no_run\n/// ```text", &[]);
    }

    #[test]
    fn silenced_lints_are_named() {
        let silenced = "1 a lint is silenced with `allow`";
        rust("#[allow(dead_code)]\nfn f() {}", &[silenced]);
        rust("#![allow(clippy::all)]", &[silenced]);
        rust("#[cfg_attr(test, allow(dead_code))]\nfn f() {}", &[silenced]);
        rust("#[expect(dead_code, reason = \"x\")]\nfn allow(x: u8) { allow(x) }", &[]);
        rust("let s = \"#[allow(dead_code)]\"; // #[allow(dead_code)]", &[]);
    }

    #[test]
    fn attributes_are_read_through_their_conditions() {
        assert!(sets("expect(a, reason = \"b\")", "expect"));
        assert!(sets("cfg_attr(all(a, b), expect(c))", "expect"));
        assert!(!sets("cfg_attr(expect, inline)", "expect"));
    }

    #[test]
    fn one_machines_paths_are_named() {
        let folder = concat!("/wo", "rk/");
        let named = format!("`{folder}` is a folder of one machine");
        text(&format!("see {folder}notes"), &[&named]);
        text(&format!("\"{folder}a\""), &[&named]);
        text(&format!("/home/user{folder}a and ${{TMP}}{folder}b"), &[]);
        text("/workspace/a", &[]);
    }

    #[test]
    fn registries_are_named() {
        text(
            concat!("https://regi", "stry.corp.net/x"),
            &[concat!("`regi", "stry.corp.net` is a package registry")],
        );
        text(concat!("http://npm-mir", "ror:8080/"), &[concat!("`npm-mir", "ror` is a package registry")]);
        text(concat!("pip --index", "-url x"), &[concat!("`--index", "-url` chooses a package registry")]);
        text("https://crates.io/crates/serde https://docs.rs", &[]);
        assert_eq!(hosts("a https://b.c/d://e:1").collect::<Vec<_>>(), ["b.c", "e"]);
    }
}
