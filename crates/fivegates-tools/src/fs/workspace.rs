//! Which file a path means.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use super::error::{FsError, Verb};

/// Symbolic links followed on one path; the kernel stops at 40 as well.
const LINKS_MAX: usize = 40;

/// The directory that relative paths start from.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    canonical_root: PathBuf,
}

/// A path without symbolic links, `.`, `..` or doubled slashes: the one form for rules, locks and observations (D1).
///
/// It was true when it was made. Files are opened from it without following any link, so that a link which comes in
/// between is an error rather than another file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CanonicalPath {
    path: PathBuf,
    missing: usize,
    led_out: bool,
}

impl CanonicalPath {
    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a file of this path.
    pub fn exists(&self) -> bool {
        self.missing == 0
    }

    /// Whether a symbolic link inside the workspace led to this path outside of it.
    pub fn led_out(&self) -> bool {
        self.led_out
    }
}

impl Workspace {
    /// Takes a directory; a relative one is taken from the working directory of this process. Blocks on the file system.
    ///
    /// # Errors
    /// It cannot be resolved, does not exist or is no directory.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, FsError> {
        let shown = root.as_ref().to_string_lossy().into_owned();
        let fail = |error| FsError::from_io(Verb::Resolve, &shown, error);
        let root = std::path::absolute(&root).map_err(fail)?;
        let canonical_root = std::fs::canonicalize(&root).map_err(fail)?;
        if !std::fs::metadata(&canonical_root).map_err(fail)?.is_dir() {
            return Err(fail(Errno::NOTDIR.into()));
        }
        Ok(Self { root, canonical_root })
    }

    /// The directory as it was named, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory without symbolic links.
    pub fn canonical_root(&self) -> &Path {
        &self.canonical_root
    }

    /// The absolute path that a path stands for, for people: symbolic links and `..` stay as they are.
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path).components().collect()
    }

    /// Finds out which file a path means, as the kernel would: links are followed first, then `..` goes up from where
    /// they led. What does not exist yet is appended to its deepest existing ancestor (D2, D7). Blocks on the file system.
    ///
    /// # Errors
    /// What the kernel reports on opening the path: no directory where one is needed, `..` after a missing part, no
    /// permission, too many links.
    pub fn canonical(&self, path: impl AsRef<Path>) -> Result<CanonicalPath, FsError> {
        let shown = self.absolute(&path);
        self.walk(&self.root.join(path))
            .map_err(|error| FsError::from_io(Verb::Resolve, &shown.to_string_lossy(), error))
    }

    /// Tells whether a path lies in the workspace, or is it.
    pub fn contains(&self, path: &CanonicalPath) -> bool {
        path.path.starts_with(&self.canonical_root)
    }

    pub(super) fn walk(&self, path: &Path) -> io::Result<CanonicalPath> {
        let mut walk = Walk::from(path);
        let mut from_inside = false;
        while let Some(step) = walk.todo.pop_front() {
            let link = walk.step(step)?;
            from_inside |= link == Stepped::Link && walk.at.starts_with(&self.canonical_root);
        }
        let led_out = from_inside && !walk.at.starts_with(&self.canonical_root);
        Ok(CanonicalPath { path: walk.at, missing: walk.missing, led_out })
    }
}

enum Step {
    Root,
    Up,
    Down(OsString),
}

#[derive(PartialEq)]
enum Stepped {
    Plain,
    /// A link; `at` is still the directory that holds it.
    Link,
}

struct Walk {
    at: PathBuf,
    todo: VecDeque<Step>,
    missing: usize,
    links: usize,
    directory: bool,
}

impl Walk {
    fn from(path: &Path) -> Self {
        Self { at: PathBuf::from("/"), todo: steps(path).collect(), missing: 0, links: 0, directory: true }
    }

    fn step(&mut self, step: Step) -> io::Result<Stepped> {
        match step {
            Step::Root => {
                self.at = PathBuf::from("/");
                self.directory = true;
            }
            // As for the kernel, nothing is above what does not exist.
            Step::Up if self.missing > 0 => return Err(Errno::NOENT.into()),
            Step::Up if !self.directory => return Err(Errno::NOTDIR.into()),
            Step::Up => {
                self.at.pop();
            }
            Step::Down(name) if self.missing > 0 => {
                self.at.push(name);
                self.missing += 1;
            }
            Step::Down(_) if !self.directory => return Err(Errno::NOTDIR.into()),
            Step::Down(name) => return self.down(&name),
        }
        Ok(Stepped::Plain)
    }

    fn down(&mut self, name: &OsString) -> io::Result<Stepped> {
        let next = self.at.join(name);
        let found = match std::fs::symlink_metadata(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.missing = 1;
                self.at = next;
                return Ok(Stepped::Plain);
            }
            found => found?,
        };
        if found.is_symlink() {
            self.links += 1;
            if self.links > LINKS_MAX {
                return Err(Errno::LOOP.into());
            }
            let target = std::fs::read_link(&next)?;
            for step in steps(&target).rev() {
                self.todo.push_front(step);
            }
            return Ok(Stepped::Link);
        }
        self.directory = found.is_dir();
        self.at = next;
        Ok(Stepped::Plain)
    }
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> + '_ {
    path.components().filter_map(|component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Tree {
        dir: tempfile::TempDir,
        workspace: Workspace,
    }

    /// `w/` with `.env`, `a/`, `plain`, links inside, out and to nowhere; `out/` beside it; `alias` → `w`.
    fn tree() -> Tree {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        for path in ["w/a/deep", "out/dir"] {
            std::fs::create_dir_all(base.join(path)).unwrap();
        }
        for path in ["w/.env", "w/plain", "out/secret", "out/dir/x"] {
            std::fs::write(base.join(path), "x").unwrap();
        }
        let links = [
            ("../out/secret", "w/to_secret"),
            ("../out/new", "w/to_new"),
            ("../out/dir", "w/to_dir"),
            ("a/new", "w/to_inner_new"),
            ("a/deep", "w/to_deep"),
            ("loop_b", "w/loop_a"),
            ("loop_a", "w/loop_b"),
            ("w", "alias"),
        ];
        for (target, link) in links {
            symlink(target, base.join(link)).unwrap();
        }
        let workspace = Workspace::new(base.join("alias")).unwrap();
        Tree { dir, workspace }
    }

    /// `expected` is `<path below the base>[ missing][ out]` or the code of the error.
    #[track_caller]
    fn check(tree: &Tree, path: &str, expected: &str) {
        let base = std::fs::canonicalize(tree.dir.path()).unwrap();
        let path = path.replace("$PWD", &base.join("w").to_string_lossy());
        let found = match tree.workspace.canonical(&path) {
            Ok(found) => {
                let below = found.as_path().strip_prefix(&base).unwrap().to_string_lossy().into_owned();
                let missing = if found.exists() { "" } else { " missing" };
                let out = if found.led_out() { " out" } else { "" };
                assert_eq!(tree.workspace.contains(&found), below.starts_with('w'));
                format!("{below}{missing}{out}")
            }
            Err(error) => error.code().to_owned(),
        };
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn every_spelling_has_one_form() {
        let tree = tree();
        for spelling in
            [".env", "./.env", "a/../.env", "$PWD/.env", "a//..//.env", ".env/", ".env/.", "//$PWD//.env"]
        {
            check(&tree, spelling, "w/.env");
        }
        check(&tree, "", "w");
        check(&tree, "..", "");
    }

    #[test]
    fn links_lead_where_the_kernel_would_go() {
        let tree = tree();
        check(&tree, "to_secret", "out/secret out");
        check(&tree, "to_new", "out/new missing out");
        check(&tree, "to_dir/x", "out/dir/x out");
        check(&tree, "to_dir/y/z", "out/dir/y/z missing out");
        check(&tree, "to_dir/../secret", "out/secret out");
        check(&tree, "to_deep/../plain", "w/a/plain missing");
        check(&tree, "to_deep/../../plain", "w/plain");
        check(&tree, "to_inner_new", "w/a/new missing");
        check(&tree, "../out/secret", "out/secret");
        check(&tree, "../alias/plain", "w/plain");
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        let tree = tree();
        check(&tree, "nope/../plain", "FS_NOT_FOUND");
        check(&tree, "plain/x", "FS_NOT_DIRECTORY");
        check(&tree, "plain/../.env", "FS_NOT_DIRECTORY");
        check(&tree, "loop_a", "FS_IO_ERROR");
        check(&tree, &"x".repeat(300), "FS_IO_ERROR");
        assert_eq!(Workspace::new(tree.dir.path().join("w/plain")).unwrap_err().code(), "FS_NOT_DIRECTORY");
        assert_eq!(Workspace::new(tree.dir.path().join("nope")).unwrap_err().code(), "FS_NOT_FOUND");
    }
}
