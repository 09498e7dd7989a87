//! `cargo xtask tidy`: the house rules that neither the compiler nor clippy checks.

mod arrows;
mod core_io;
mod docs;
mod files;
mod lengths;
mod licences;
mod manifests;
mod metadata;
mod source;
mod words;

use std::fmt;
use std::path::Path;

use files::{Files, Origin};
use metadata::Metadata;

/// One broken rule at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The rule's short name.
    pub(crate) rule: &'static str,
    /// The path below the workspace root.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, file, line, what, remedy } = self;
        write!(f, "tidy: {rule}: {file}:{line}: {what} — {remedy}")
    }
}

/// One Rust file, read once for all rules.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The path below the workspace root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with comments and literals blanked.
    pub(crate) code: String,
    pub(crate) tests: source::TestModules,
    /// Whether the whole file is tests.
    pub(crate) is_test: bool,
}

impl SourceFile {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = source::code_only(text);
        let tests = source::test_modules(&code);
        let is_test = path.split('/').any(|part| part == "tests");
        Self { path: path.to_owned(), text: text.to_owned(), code, tests, is_test }
    }
}

/// What a run found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) violations: Vec<Violation>,
    /// Remarks that fail nothing.
    pub(crate) notes: Vec<String>,
    /// How many files were read.
    pub(crate) files: usize,
    /// How many packages the licence rule saw.
    pub(crate) packages: usize,
}

/// Runs every rule over the workspace at `root`.
pub(crate) fn check(root: &Path) -> Report {
    let files = Files::load(root);
    let rust = files.rust();
    let read = |path: &str| files.text(path).unwrap_or_default().to_owned();
    let mut report = Report { files: files.len(), ..Report::default() };
    if files.origin == Origin::Walk {
        report.notes.push("git is not usable here; checked every file in the folder instead".to_owned());
    }

    // What needs cargo comes first: a broken manifest explains most of what follows.
    match Metadata::load(root) {
        Ok(metadata) => {
            report.packages = metadata.packages.len();
            report.violations.extend(arrows::check(&metadata, root, &read));
            report.violations.extend(core_io::check_manifest(&metadata, root, &read));
            report.violations.extend(licences::check(&metadata, licences::EXCEPTIONS, root, &read));
            report.violations.extend(manifests::check_members(&metadata, root, &read));
            report.violations.extend(docs::check(&metadata, files.text("ARCHITECTURE.md")));
        }
        Err(what) => report.violations.push(Violation {
            rule: "metadata",
            file: "Cargo.toml".to_owned(),
            line: 1,
            what,
            remedy: "repair the manifests, or update Cargo.lock with `cargo update --workspace`".to_owned(),
        }),
    }
    report.violations.extend(manifests::check_workspace(&read));
    report.violations.extend(manifests::check_lock(&files));
    report.violations.extend(core_io::check_source(&rust));
    let lengths = lengths::check(&rust, files.text(lengths::RATCHET).unwrap_or_default());
    report.violations.extend(lengths.violations);
    report.notes.extend(lengths.notes);
    report.violations.extend(words::check_rust(&rust));
    report.violations.extend(words::check_text(files.texts()));
    report
}

/// Runs every rule, prints what it found and returns the number of violations.
pub(crate) fn run_and_print(root: &Path) -> usize {
    let report = check(root);
    for note in &report.notes {
        println!("tidy: note: {note}");
    }
    for violation in &report.violations {
        println!("{violation}");
    }
    let count = report.violations.len();
    let plural = if count == 1 { "" } else { "s" };
    println!("tidy: {} files, {} packages, {count} violation{plural}", report.files, report.packages);
    count
}

#[cfg(test)]
mod tests;
