//! A place of its own for each test: home, state, configuration and workspace.

use std::fs;
use std::path::{Path, PathBuf};

use fivegates_session::{Store, Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Done, Start};

pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "state", "config", "project"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The record at its usual place.
    pub(crate) fn record(&self) -> PathBuf {
        self.root().join("state/fivegates/record.sqlite")
    }

    /// Writes a file of the workspace.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes the user's configuration.
    pub(crate) fn user_config(&self, content: &str) {
        fs::create_dir_all(self.root().join("config/fivegates")).unwrap();
        fs::write(self.root().join("config/fivegates/fivegates.toml"), content).unwrap();
    }

    /// The program with arguments, at home here.
    pub(crate) fn start(&self, arguments: &[&str]) -> Start {
        self.settle(Start::new(arguments))
    }

    /// A script around the program, at home here.
    pub(crate) fn script(&self, script: &str, arguments: &[&str]) -> Start {
        self.settle(Start::script(script, arguments))
    }

    fn settle(&self, start: Start) -> Start {
        let at = |name: &str| self.root().join(name);
        let start = start.env("HOME", at("home")).env("XDG_STATE_HOME", at("state"));
        start.env("XDG_CONFIG_HOME", at("config")).cwd(self.work())
    }

    pub(crate) fn done(&self, arguments: &[&str]) -> Done {
        self.start(arguments).done()
    }

    /// Feeds lines to `exec`.
    pub(crate) fn exec(&self, mode: &str, lines: &[String]) -> Done {
        self.start(&["exec", "--permission", mode, "-"]).stdin(lines.join("\n") + "\n").done()
    }

    /// Checks that the record at its usual place can be read, whole and by the commands that people use.
    pub(crate) fn record_is_readable(&self) -> Vec<String> {
        self.record_is_readable_at(&self.record())
    }

    pub(crate) fn record_is_readable_at(&self, record: &Path) -> Vec<String> {
        let flag = format!("--record={}", record.display());
        let listed = self.done(&["log", "--json", &flag]).status(0).json_lines();
        self.done(&["log", &flag]).status(0);
        let reader = Store::open_read_only(record).unwrap();
        let mut sessions = Vec::new();
        for session in listed {
            let id = session["session"].as_str().unwrap().to_owned();
            self.done(&["log", &id, &flag]).status(0);
            let found = reader.session(&id).unwrap();
            assert!(matches!(reader.verify(found.id).unwrap(), Verdict::Intact(_)), "{id}");
            sessions.push(id);
        }
        sessions
    }

    /// The events of a session, as `log --json` gives them.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        self.done(&["log", session, "--json"]).status(0).json_lines()
    }

    /// Text with what differs from run to run replaced.
    pub(crate) fn tidy(&self, text: &str) -> String {
        let text = text.replace(&*self.root().to_string_lossy(), "[ROOT]");
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let mut word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            // A place in a session is its id, a colon and a number.
            if word > 26 && rest.as_bytes()[26] == b':' {
                word = 26;
            }
            if word == 0 {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            } else {
                out.push_str(placeholder(&rest[..word], &rest[word..]).unwrap_or(&rest[..word]));
                rest = &rest[word..];
            }
        }
        out
    }

    /// A command's whole answer, for a snapshot.
    pub(crate) fn shown(&self, done: &Done) -> String {
        let Done { status, stdout, stderr } = done;
        self.tidy(&format!("{stdout}--- stderr\n{stderr}--- status {status}\n"))
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '.' | ':' | '-')
}

fn placeholder(word: &str, after: &str) -> Option<&'static str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    match word.len() {
        26 if word.starts_with("01") && word.bytes().all(upper) => Some("[SESSION]"),
        20 if word.ends_with('Z') && word.as_bytes()[10] == b'T' => Some("[TIME]"),
        _ if digits(word) && after.starts_with(" ms") => Some("[N]"),
        _ if word.starts_with('+') && word.trim_end_matches([':', ',']).ends_with('s') => Some("[+T]"),
        _ => None,
    }
}

/// A line that asks for a call.
pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> String {
    json!({"id": id, "name": name, "arguments": arguments}).to_string()
}

/// A line that runs a command.
pub(crate) fn bash(id: &str, command: &str) -> String {
    call(id, "bash", &json!({"command": command, "description": "a command of a test"}))
}

/// Everything below a folder: names, and what files hold.
pub(crate) fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let content = if kind.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if kind.is_dir() {
                open.push(path.clone());
            }
            found.push((path, content));
        }
    }
    found.sort();
    found
}

/// The text that a call's line says the model was told.
pub(crate) fn told(line: &Value) -> String {
    let blocks = line["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}
