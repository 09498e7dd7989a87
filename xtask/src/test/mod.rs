//! `cargo xtask test`: everything that must be true of a change, in one go.
//!
//! Every step uses the same profile and features, so what one compiles the next takes over.

mod summary;

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use summary::Totals;

use crate::{command, tidy};

/// How much to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Full,
    /// Without doc tests and docs.
    Fast,
}

/// One step: its name and what it does.
struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    Cargo(&'static [&'static str]),
    /// A cargo command that runs tests; one that runs none has failed.
    Tests(&'static [&'static str]),
    /// The same for the examples in doc comments, of which there may be none.
    DocTests(&'static [&'static str]),
    Docs(&'static [&'static str]),
    Tidy,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    /// With the exit status to hand on.
    Failed(u8),
}

/// One line of the table at the end.
struct Line {
    name: &'static str,
    end: End,
    took: Duration,
    /// Nothing for a step that runs no tests, and for one that broke off before its summary.
    totals: Option<Totals>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.end {
            End::Passed => "ok",
            End::Failed(_) => "FAILED",
        };
        write!(f, "{:<10} {word:<7} {:>7.1} s", self.name, self.took.as_secs_f64())?;
        match self.totals {
            Some(Totals { passed, failed }) => write!(f, "   {passed} passed, {failed} failed"),
            None => Ok(()),
        }
    }
}

/// The steps in the order in which they run: what is quick and fails most comes first.
fn steps(extent: Extent, nextest: Nextest) -> Vec<Step> {
    const FORMAT: &[&str] = &["fmt", "--all", "--check"];
    const CLIPPY: &[&str] =
        &["clippy", "--workspace", "--all-targets", "--all-features", "--locked", "--", "-D", "warnings"];
    const NEXTEST: &[&str] = &[
        "nextest",
        "run",
        "--workspace",
        "--all-features",
        "--locked",
        "--no-fail-fast",
        "--color",
        "never",
    ];
    const TEST: &[&str] = &[
        "test",
        "--workspace",
        "--all-features",
        "--locked",
        "--lib",
        "--bins",
        "--tests",
        "--no-fail-fast",
        "--color",
        "never",
    ];
    const DOC_TESTS: &[&str] =
        &["test", "--doc", "--workspace", "--all-features", "--locked", "--no-fail-fast", "--color", "never"];
    const DOCS: &[&str] = &["doc", "--workspace", "--all-features", "--locked", "--no-deps"];

    let tests = match nextest {
        Nextest::Present => NEXTEST,
        Nextest::Absent => TEST,
    };
    let mut steps = vec![
        Step { name: "format", action: Action::Cargo(FORMAT) },
        Step { name: "tidy", action: Action::Tidy },
        Step { name: "clippy", action: Action::Cargo(CLIPPY) },
        Step { name: "tests", action: Action::Tests(tests) },
    ];
    if extent == Extent::Full {
        steps.push(Step { name: "doc tests", action: Action::DocTests(DOC_TESTS) });
        steps.push(Step { name: "docs", action: Action::Docs(DOCS) });
    }
    steps
}

/// Whether this machine has cargo-nextest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nextest {
    Present,
    Absent,
}

/// Runs the steps up to the first that fails; the exit status is that step's.
///
/// The last line printed is `N passed, N failed` with the totals of all test steps, or says that no tests ran.
pub(crate) fn run(root: &Path, extent: Extent) -> ExitCode {
    let nextest = find_nextest(root);
    let mut lines = Vec::new();
    for step in steps(extent, nextest) {
        println!("==> {}", step.name);
        let start = Instant::now();
        let (end, totals) = take(&step.action, root);
        let line = Line { name: step.name, end, took: start.elapsed(), totals };
        println!("<== {line}");
        lines.push(line);
        if end != End::Passed {
            break;
        }
    }
    print!("\n{}", table(&lines));
    match lines.last().map(|line| line.end) {
        Some(End::Failed(status)) => ExitCode::from(status),
        _ => ExitCode::SUCCESS,
    }
}

fn find_nextest(root: &Path) -> Nextest {
    let mut asked = command::cargo(root);
    asked.args(["nextest", "--version"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if asked.status().is_ok_and(|status| status.success()) {
        return Nextest::Present;
    }
    println!("cargo-nextest is not installed; tests run through `cargo test`");
    Nextest::Absent
}

fn take(action: &Action, root: &Path) -> (End, Option<Totals>) {
    match action {
        Action::Tidy => match tidy::run_and_print(root) {
            0 => (End::Passed, None),
            _ => (End::Failed(1), None),
        },
        Action::Cargo(arguments) => (plain(&mut cargo(root, arguments)), None),
        Action::Docs(arguments) => {
            let mut cargo = cargo(root, arguments);
            cargo.env("RUSTDOCFLAGS", "-D warnings");
            (plain(&mut cargo), None)
        }
        Action::Tests(arguments) => require_tests(counted(&mut cargo(root, arguments))),
        Action::DocTests(arguments) => counted(&mut cargo(root, arguments)),
    }
}

fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut cargo = command::cargo(root);
    cargo.args(arguments).stdin(Stdio::null());
    if std::env::var_os("CI").is_some() {
        // Incremental files cost time and disk, and a machine that builds once never gains them back.
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

fn plain(command: &mut Command) -> End {
    match command.status() {
        Ok(status) => end_of(status.code()),
        Err(error) => unstarted(&error),
    }
}

fn unstarted(error: &std::io::Error) -> End {
    println!("cannot start cargo: {error}");
    End::Failed(1)
}

/// A killed program has no status; it counts as 1.
fn end_of(status: Option<i32>) -> End {
    match status {
        Some(0) => End::Passed,
        other => End::Failed(other.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
    }
}

/// Runs a test command, passes its output on as it comes and adds up the totals in it.
fn counted(command: &mut Command) -> (End, Option<Totals>) {
    let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => return (unstarted(&error), None),
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let seen = std::thread::scope(|scope| {
        let errors = scope.spawn(|| stderr.map(|pipe| pass_on(pipe, std::io::stderr())));
        let mut seen = stdout.map(|pipe| pass_on(pipe, std::io::stdout())).unwrap_or_default();
        seen.extend(errors.join().ok().flatten().unwrap_or_default());
        seen
    });
    let end = match child.wait() {
        Ok(status) => end_of(status.code()),
        Err(error) => unstarted(&error),
    };
    (end, (!seen.is_empty()).then(|| seen.into_iter().sum()))
}

/// Turns a success without a single test into a failure: it means that the tests were not found.
fn require_tests((end, totals): (End, Option<Totals>)) -> (End, Option<Totals>) {
    match (end, totals) {
        (End::Passed, None | Some(Totals { passed: 0, .. })) => {
            println!("the command succeeded, but ran no tests");
            (End::Failed(1), totals)
        }
        other => other,
    }
}

/// Copies line by line and returns every summary on the way; stops where either side breaks off.
fn pass_on(from: impl Read, mut to: impl Write) -> Vec<Totals> {
    let mut seen = Vec::new();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        seen.extend(summary::parse(&String::from_utf8_lossy(&line)));
        if to.write_all(&line).and_then(|()| to.flush()).is_err() {
            break;
        }
        line.clear();
    }
    seen
}

/// The table of steps, and the totals as the last line.
fn table(lines: &[Line]) -> String {
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let took: Duration = lines.iter().map(|line| line.took).sum();
    text.push_str(&format!("{:<18} {:>7.1} s\n", "all", took.as_secs_f64()));
    let counted: Vec<Totals> = lines.iter().filter_map(|line| line.totals).collect();
    if let Some(Line { name, end: End::Failed(_), .. }) = lines.last() {
        text.push_str(&format!("stopped at: {name}\n"));
    }
    if counted.is_empty() {
        text.push_str("no tests ran\n");
    } else {
        let Totals { passed, failed } = counted.into_iter().sum();
        text.push_str(&format!("{passed} passed, {failed} failed\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_extent() {
        let names = |extent| steps(extent, Nextest::Absent).iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(names(Extent::Full), ["format", "tidy", "clippy", "tests", "doc tests", "docs"]);
        assert_eq!(names(Extent::Fast), ["format", "tidy", "clippy", "tests"]);
    }

    #[test]
    fn every_build_is_locked_and_of_all_features() {
        for nextest in [Nextest::Present, Nextest::Absent] {
            for step in steps(Extent::Full, nextest) {
                let words = match step.action {
                    Action::Cargo(words)
                    | Action::Tests(words)
                    | Action::DocTests(words)
                    | Action::Docs(words) => words,
                    Action::Tidy => continue,
                };
                if words.first() != Some(&"fmt") {
                    for flag in ["--workspace", "--all-features", "--locked"] {
                        assert!(words.contains(&flag), "{} lacks {flag}", step.name);
                    }
                }
            }
        }
    }

    fn line(name: &'static str, end: End, totals: Option<(u64, u64)>) -> Line {
        let totals = totals.map(|(passed, failed)| Totals { passed, failed });
        Line { name, end, took: Duration::from_millis(1500), totals }
    }

    #[test]
    fn the_last_line_holds_the_totals_of_all_steps() {
        let text = table(&[
            line("format", End::Passed, None),
            line("tests", End::Passed, Some((41, 0))),
            line("doc tests", End::Passed, Some((2, 0))),
        ]);
        assert_eq!(
            text,
            "format     ok          1.5 s\n\
             tests      ok          1.5 s   41 passed, 0 failed\n\
             doc tests  ok          1.5 s   2 passed, 0 failed\n\
             all                    4.5 s\n\
             43 passed, 0 failed\n"
        );
    }

    #[test]
    fn a_failure_is_named_above_the_totals() {
        let text = table(&[line("tests", End::Failed(100), Some((40, 1)))]);
        assert!(text.ends_with("stopped at: tests\n40 passed, 1 failed\n"), "{text}");
        let text = table(&[line("format", End::Failed(1), None)]);
        assert!(text.ends_with("stopped at: format\nno tests ran\n"), "{text}");
    }

    #[test]
    fn a_success_without_tests_is_a_failure() {
        let some = Some(Totals { passed: 1, failed: 0 });
        assert_eq!(require_tests((End::Passed, some)), (End::Passed, some));
        assert_eq!(require_tests((End::Passed, None)).0, End::Failed(1));
        assert_eq!(require_tests((End::Passed, Some(Totals::default()))).0, End::Failed(1));
        assert_eq!(require_tests((End::Failed(4), None)).0, End::Failed(4));
    }

    #[test]
    fn statuses_are_handed_on() {
        assert_eq!(end_of(Some(0)), End::Passed);
        assert_eq!(end_of(Some(101)), End::Failed(101));
        assert_eq!(end_of(None), End::Failed(1));
        assert_eq!(end_of(Some(-1)), End::Failed(1));
    }

    #[test]
    fn output_is_passed_on_unchanged_and_read() {
        let text =
            b"a\n\xff\ntest result: ok. 3 passed; 1 failed; 0 ignored\n  Summary [ 1s] 2 tests run: 2 passed";
        let mut copy = Vec::new();
        let seen = pass_on(text.as_slice(), &mut copy);
        assert_eq!(copy, text);
        assert_eq!(seen, [Totals { passed: 3, failed: 1 }, Totals { passed: 2, failed: 0 }]);
    }
}
