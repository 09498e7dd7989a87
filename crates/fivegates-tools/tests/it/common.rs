use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fivegates_core::call::{Arguments, CallRequest};
use fivegates_core::cancel::{Cancel, CancelSource};
use fivegates_core::content::flatten;
use fivegates_core::json::{Json, compact};
use fivegates_core::outcome::Outcome;
use fivegates_core::pipeline::Pipeline;
use fivegates_core::registry::{Registration, Registry, Scope};
use fivegates_process::{Program, Runner, Spec};
use fivegates_tools::{ToolsConfig, register};

/// A workspace, its tools, an agent, and a pipeline with no gate mounted.
pub(crate) struct Session {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) registry: Registry,
    pub(crate) pipeline: Pipeline,
    pub(crate) agent: Scope,
    pub(crate) source: CancelSource,
    pub(crate) cancel: Cancel,
    _tools: Vec<Registration>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ToolsConfig)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = ToolsConfig::new(dir.path());
        change(&mut config);
        let registry = Registry::new();
        let tools = register(&registry, None, config, Runner::new().unwrap()).unwrap();
        let agent = registry.scope("agent", None);
        let pipeline = Pipeline::builder(registry.clone()).build();
        let (source, cancel) = CancelSource::new();
        Self { dir, registry, pipeline, agent, source, cancel, _tools: tools }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        std::fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn request(&self, tool: &str, arguments: &str) -> CallRequest<'static> {
        CallRequest::new("c", tool, Arguments::Text(arguments.into()), self.cancel.clone())
    }

    /// Runs a call of the agent; arguments as a model writes them.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Outcome {
        self.pipeline.execute(self.request(tool, arguments).with_agent(self.agent.id())).await
    }

    /// Runs a call and compares its code (`ok` for a success) and all that the model reads. `$W` is the workspace.
    pub(crate) async fn check(&self, tool: &str, arguments: &str, code: &str, text: &str) {
        let outcome = self.call(tool, arguments).await;
        self.compare(&outcome, code, text);
    }

    #[track_caller]
    pub(crate) fn compare(&self, outcome: &Outcome, code: &str, text: &str) {
        let text = text.replace("$W", &self.dir.path().to_string_lossy());
        assert_eq!((code_of(outcome), read_of(outcome)), (code, text));
        self.no_leftovers();
    }

    /// Nothing of a staging directory is left in the workspace.
    #[track_caller]
    pub(crate) fn no_leftovers(&self) {
        let names = std::fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".fivegates-")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

pub(crate) fn code_of(outcome: &Outcome) -> &str {
    if outcome.is_error() { outcome.code().unwrap_or("uncoded") } else { "ok" }
}

pub(crate) fn read_of(outcome: &Outcome) -> String {
    flatten(outcome.content())
}

#[track_caller]
pub(crate) fn value_of(outcome: &Outcome) -> &Json {
    assert!(!outcome.is_error(), "{}", read_of(outcome));
    outcome.success().unwrap().value()
}

/// A text as JSON.
pub(crate) fn quoted(text: impl AsRef<Path>) -> String {
    compact(&Json::from(&*text.as_ref().to_string_lossy()))
}

/// Arguments of `bash` for a command.
pub(crate) fn command(text: &str) -> String {
    format!(r#"{{"command":{},"description":"a test"}}"#, quoted(text))
}

/// Arguments of a file tool: a path, then further members, each `"name":value`.
pub(crate) fn file(path: impl AsRef<Path>, more: &[&str]) -> String {
    let mut members = vec![format!(r#""file_path":{}"#, quoted(path))];
    members.extend(more.iter().map(|member| (*member).to_owned()));
    format!("{{{}}}", members.join(","))
}

/// Arguments of `write`.
pub(crate) fn content(path: impl AsRef<Path>, content: &str) -> String {
    file(path, &[&format!(r#""content":{}"#, quoted(content))])
}

/// Arguments of `edit`.
pub(crate) fn swap(path: impl AsRef<Path>, old: &str, new: &str) -> String {
    let (old, new) = (quoted(old), quoted(new));
    file(path, &[&format!(r#""old_string":{old}"#), &format!(r#""new_string":{new}"#)])
}

/// Tells whether this process runs one test alone, so that its memory is that test's. If not, runs the test in one that does.
pub(crate) async fn is_alone(test: &str) -> bool {
    if std::env::args().any(|argument| argument == "--exact") {
        return true;
    }
    run_alone("exec \"$0\" --exact \"$1\" --nocapture", test).await;
    false
}

/// Runs one test of this program through a script, which is given the program and the test's name.
pub(crate) async fn run_alone(script: &str, test: &str) {
    let program = std::env::current_exe().unwrap();
    let spec = Spec::new(Program::new("bash").unwrap(), "/").args(["-c", script]).arg(program).arg(test);
    let finished = Runner::new().unwrap().run(spec, std::future::pending()).await.unwrap();
    let (stdout, stderr) = (finished.stdout.text().text, finished.stderr.text().text);
    assert!(finished.is_success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}
