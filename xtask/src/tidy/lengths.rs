//! File and function lengths, with a ratchet for what is longer than it should be.
//!
//! A file's length leaves its `#[cfg(test)]` modules out. Clippy measures functions; this check counts where its lint is
//! switched off. The ratchet file may only shrink: it is written by hand, and an entry that allows more than its file
//! needs is an error.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{SourceFile, Violation, source, words};

const RULE: &str = "lengths";
/// The ratchet's path below the workspace root.
pub(crate) const RATCHET: &str = "xtask/tidy-ratchet.toml";
/// Above this a file is named in a note.
const FILE_LINES_SOFT_MAX: usize = 400;
/// Above this a file needs an entry in the ratchet.
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINT: &str = "clippy::too_many_lines";

/// What the ratchet file holds: paths below the workspace root and the most that each may have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Ratchet {
    file_lines: BTreeMap<String, usize>,
    long_functions: BTreeMap<String, usize>,
}

/// What the check found.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    pub(crate) violations: Vec<Violation>,
    pub(crate) notes: Vec<String>,
}

/// Checks every Rust file that is not tests against the limits and the ratchet's text.
pub(crate) fn check(files: &[SourceFile], ratchet_text: &str) -> Lengths {
    let mut found = Lengths::default();
    let ratchet: Ratchet = match toml::from_str(ratchet_text) {
        Ok(ratchet) => ratchet,
        Err(error) => {
            let line = error.span().map_or(1, |span| source::line_index(ratchet_text, span.start) + 1);
            found.violations.push(in_ratchet(line, error.message().to_owned(), "repair the file".to_owned()));
            return found;
        }
    };
    let (mut lines, mut long_functions) = (BTreeMap::new(), BTreeMap::new());
    for file in files.iter().filter(|file| !file.is_test) {
        if file.path.split('/').any(|part| part == "src") {
            lines.insert(file.path.as_str(), own_lines(file));
        }
        long_functions.insert(file.path.as_str(), long_function_marks(file));
    }
    for (path, count) in &lines {
        if (FILE_LINES_SOFT_MAX + 1..=FILE_LINES_MAX).contains(count) {
            found.notes.push(format!("{path}: {count} lines; over {FILE_LINES_SOFT_MAX} is long"));
        }
    }
    let lines = Measure {
        table: "file_lines",
        unit: "lines without tests",
        free: FILE_LINES_MAX,
        remedy: "split the file along its types",
        counts: lines,
    };
    let long_functions = Measure {
        table: "long_functions",
        unit: "functions excepted from `clippy::too_many_lines`",
        free: 0,
        remedy: "name the function's steps and move each into a function of its own",
        counts: long_functions,
    };
    found.violations.extend(lines.check(&ratchet.file_lines, ratchet_text));
    found.violations.extend(long_functions.check(&ratchet.long_functions, ratchet_text));
    found
}

/// One number per file, the limit that holds without an entry and the ratchet's table of exceptions.
struct Measure<'a> {
    table: &'static str,
    unit: &'static str,
    free: usize,
    remedy: &'static str,
    counts: BTreeMap<&'a str, usize>,
}

impl Measure<'_> {
    fn check(&self, entries: &BTreeMap<String, usize>, ratchet_text: &str) -> Vec<Violation> {
        let Self { table, unit, free, remedy, counts } = self;
        let mut found = Vec::new();
        for (path, &count) in counts {
            let limit = entries.get(*path).copied().unwrap_or(*free).max(*free);
            if count > limit {
                found.push(Violation {
                    rule: RULE,
                    file: (*path).to_owned(),
                    line: 1,
                    what: format!("{count} {unit}, {limit} allowed"),
                    remedy: (*remedy).to_owned(),
                });
            }
        }
        for (path, &limit) in entries {
            let line = source::line_of(ratchet_text, &format!("\"{path}\""));
            let violation = match counts.get(path.as_str()) {
                None => in_ratchet(
                    line,
                    format!("{table}: `{path}` is not measured"),
                    "remove the line".to_owned(),
                ),
                Some(count) if count <= free => in_ratchet(
                    line,
                    format!("{table}: `{path}` has {count} {unit} and needs no entry"),
                    "remove the line".to_owned(),
                ),
                Some(&count) if count < limit => in_ratchet(
                    line,
                    format!("{table}: `{path}` is down to {count} {unit}"),
                    format!("lower {limit} to {count}"),
                ),
                Some(_) => continue,
            };
            found.push(violation);
        }
        found
    }
}

fn in_ratchet(line: usize, what: String, remedy: String) -> Violation {
    Violation { rule: RULE, file: RATCHET.to_owned(), line, what, remedy }
}

/// The number of lines outside the file's test modules.
fn own_lines(file: &SourceFile) -> usize {
    let tests: usize = file.tests.lines.iter().map(ExactSizeIterator::len).sum();
    file.text.lines().count().saturating_sub(tests)
}

/// How many attributes switch clippy's measure of functions off.
fn long_function_marks(file: &SourceFile) -> usize {
    let attributes = words::attributes(&file.code);
    attributes.into_iter().filter(|(_, text)| text.contains("expect") && text.contains(FUNCTION_LINT)).count()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::SourceFile;

    const PATH: &str = "crates/a/src/a.rs";

    fn file(lines: usize, test_lines: usize, long_functions: usize) -> SourceFile {
        let mut text = "#[expect(clippy::too_many_lines, reason = \"r\")]\n".repeat(long_functions);
        text.push_str(&"fn a() {}\n".repeat(lines - long_functions));
        if test_lines > 0 {
            text.push_str("#[cfg(test)]\nmod tests {\n");
            text.push_str(&"fn b() {}\n".repeat(test_lines - 3));
            text.push_str("}\n");
        }
        SourceFile::new(PATH, &text)
    }

    #[track_caller]
    fn violations(file: SourceFile, ratchet: &str, expected: &[&str]) {
        let found: Vec<String> = check(&[file], ratchet).violations.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (one, part) in found.iter().zip(expected) {
            assert!(one.contains(part), "{one} does not say {part}");
        }
    }

    #[test]
    fn limits() {
        violations(file(600, 0, 0), "", &[]);
        violations(file(600, 500, 0), "", &[]);
        violations(
            file(601, 0, 0),
            "",
            &["lengths: crates/a/src/a.rs:1: 601 lines without tests, 600 allowed"],
        );
        violations(file(10, 0, 1), "", &["1 functions excepted"]);
    }

    #[test]
    fn notes_are_for_long_files_that_pass() {
        let notes = |lines| check(&[file(lines, 50, 0)], "").notes.len();
        assert_eq!((notes(400), notes(401), notes(600), notes(601)), (0, 1, 1, 0));
    }

    #[test]
    fn the_ratchet_allows_what_it_says_and_no_more() {
        let ratchet = "[file_lines]\n\"crates/a/src/a.rs\" = 700\n";
        violations(file(700, 0, 0), ratchet, &[]);
        violations(file(701, 0, 0), ratchet, &["701 lines without tests, 700 allowed"]);
        let ratchet = "[long_functions]\n\"crates/a/src/a.rs\" = 2\n";
        violations(file(10, 0, 2), ratchet, &[]);
        violations(
            file(10, 0, 3),
            ratchet,
            &["3 functions excepted from `clippy::too_many_lines`, 2 allowed"],
        );
    }

    #[test]
    fn the_ratchet_only_shrinks() {
        let ratchet = "[file_lines]\n\"crates/a/src/a.rs\" = 700\n";
        violations(
            file(650, 0, 0),
            ratchet,
            &["tidy-ratchet.toml:2: file_lines: `crates/a/src/a.rs` is down to 650"],
        );
        violations(file(600, 0, 0), ratchet, &["needs no entry — remove the line"]);
        violations(file(10, 0, 0), "[file_lines]\n\"b.rs\" = 700\n", &["`b.rs` is not measured"]);
        let ratchet = "[long_functions]\n\"crates/a/src/a.rs\" = 2\n";
        violations(file(10, 0, 1), ratchet, &["lower 2 to 1"]);
        violations(file(10, 0, 0), ratchet, &["needs no entry"]);
    }

    #[test]
    fn a_broken_ratchet_is_an_error() {
        violations(file(1, 0, 0), "\n[file_linse]\n", &["tidy-ratchet.toml:2: unknown field `file_linse`"]);
    }
}
