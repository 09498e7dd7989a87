//! The files of the project: what git tracks and what it would.

use std::collections::BTreeMap;
use std::path::Path;

use super::SourceFile;
use crate::command;

/// Where the list of files comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Tracked files and new ones that no ignore rule names.
    Git,
    /// Everything in the folder, because git is missing or this is no checkout.
    Walk,
}

/// Every text file of the project, read once. Files that are not UTF-8 are left out.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) origin: Origin,
    /// Whether git tracks Cargo.lock; nothing when git cannot be asked.
    pub(crate) lock_tracked: Option<bool>,
    texts: BTreeMap<String, String>,
}

impl Files {
    pub(crate) fn load(root: &Path) -> Self {
        let listed = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let origin = if listed.is_some() { Origin::Git } else { Origin::Walk };
        let names = listed.unwrap_or_else(|| {
            let mut names = Vec::new();
            walk(root, "", &mut names);
            names
        });
        let read = |name: String| std::fs::read_to_string(root.join(&name)).ok().map(|text| (name, text));
        let lock_tracked = git(root, &["ls-files", "-z", "--", "Cargo.lock"]).map(|names| !names.is_empty());
        Self { origin, lock_tracked, texts: names.into_iter().filter_map(read).collect() }
    }

    /// The text of one file, if the project has it.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Every file with its text, in the order of their paths.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Every Rust file, those that are test modules marked as such.
    pub(crate) fn rust(&self) -> Vec<SourceFile> {
        let is_rust = |path: &str| Path::new(path).extension().is_some_and(|end| end == "rs");
        let mut files: Vec<SourceFile> = self
            .texts()
            .filter(|(path, _)| is_rust(path))
            .map(|(path, text)| SourceFile::new(path, text))
            .collect();
        let roots: Vec<String> = files.iter().flat_map(test_module_paths).collect();
        for file in &mut files {
            file.is_test |= roots.iter().any(|root| {
                file.path
                    .strip_prefix(root.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            });
        }
        files
    }
}

/// The paths, without `.rs`, of the test modules that `file` keeps in files of their own.
fn test_module_paths(file: &SourceFile) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let base = match stem {
        "mod" | "lib" | "main" => folder.to_owned(),
        _ => format!("{folder}/{stem}"),
    };
    file.tests.elsewhere.iter().map(|module| format!("{base}/{module}")).collect()
}

/// Runs git and splits its answer at the NULs; nothing when git is missing or refuses.
fn git(root: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let mut git = command::command("git", root);
    // A container often runs as root in a checkout that belongs to somebody else.
    git.args(["-c", "safe.directory=*"]).args(arguments);
    // The repository is the one at `root`: not one around it, nor the one a hook runs for.
    git.env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root));
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        git.env_remove(name);
    }
    let output = git.output().ok()?;
    let text = output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())?;
    Some(text.split_terminator('\0').map(str::to_owned).collect())
}

fn walk(root: &Path, below: &str, names: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        // Git's own files, and cargo's target folders, which stand at the top.
        if name == ".git" || path == "target" || path.starts_with("target-") {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(root, &path, names),
            Ok(kind) if kind.is_file() => names.push(path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, Origin};

    #[test]
    fn a_folder_without_git_is_walked() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/lib.rs", "#[cfg(test)]\nmod fakes;\nmod wire;\n"),
            ("src/fakes.rs", "fn a() {}\n"),
            ("src/fakes/more.rs", "fn b() {}\n"),
            ("src/wire.rs", "#[cfg(test)]\nmod checks;\n"),
            ("src/wire/checks.rs", "fn c() {}\n"),
            ("src/fakes_not.rs", "fn d() {}\n"),
            ("src/target/linux.rs", "fn e() {}\n"),
            ("target/debug/out.rs", "fn f() {}\n"),
            ("target-arm/out.rs", "fn f() {}\n"),
            (".git/config", "[core]\n"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::write(folder.path().join("src/image.png"), [0xff, 0xfe, 0x00]).unwrap();
        let files = Files::load(folder.path());
        assert!(files.text("target/debug/out.rs").is_none() && files.text("target-arm/out.rs").is_none());
        assert_eq!((files.origin, files.lock_tracked, files.len()), (Origin::Walk, None, 7));
        let tests: Vec<String> =
            files.rust().into_iter().filter(|file| file.is_test).map(|file| file.path).collect();
        assert_eq!(tests, ["src/fakes.rs", "src/fakes/more.rs", "src/wire/checks.rs"]);
    }
}
