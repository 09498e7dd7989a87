mod errors;
mod files;
mod layers;
mod project;

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// A home and a project in a folder of their own.
struct Place {
    folder: tempfile::TempDir,
    sources: Sources,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let cwd = root.join("project/src/deep");
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(root.join("home/.config/fivegates")).unwrap();
        let home = root.join("home").into_os_string();
        let sources = Sources::of(cwd, move |name| (name == "HOME").then(|| home.clone()));
        Self { folder, sources }
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    fn user_path(&self) -> PathBuf {
        self.root().join("home/.config/fivegates/fivegates.toml")
    }

    fn project_path(&self) -> PathBuf {
        self.root().join("project/fivegates.toml")
    }

    fn user(self, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.user_path(), text).unwrap();
        self
    }

    fn project(self, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.project_path(), text).unwrap();
        self
    }

    fn load(&self) -> Result<Config, ConfigError> {
        load(&self.sources, &Overrides::default())
    }

    fn load_with(&self, overrides: &Overrides) -> Result<Config, ConfigError> {
        load(&self.sources, overrides)
    }

    /// What a person is told, with the folder of the test named `/`.
    fn told(&self, result: Result<Config, ConfigError>) -> String {
        let error = match result {
            Ok(_) => return "accepted".to_owned(),
            Err(error) => error,
        };
        let told = format!("{error}\nhint: {}", error.hint());
        told.replace(self.root().to_str().unwrap(), "")
    }
}

/// What a person is told about this text as the user's file.
fn told(text: &str) -> String {
    let place = Place::new().user(text);
    place.told(place.load())
}

fn set(assignments: &[&str]) -> Overrides {
    Overrides { set: assignments.iter().map(|text| (*text).to_owned()).collect(), ..Overrides::default() }
}

fn user(path: &Path) -> Origin {
    Origin::User(Arc::from(path))
}

fn project(path: &Path) -> Origin {
    Origin::Project(Arc::from(path))
}
