//! Runs files of conformance scenarios against the core.
//!
//! Prints one line for each failure, a summary by area, and the sum as the last line. Exits with 1 when something failed
//! and with 2 when a file cannot be read or nothing was asked for.

use std::io::Write;
use std::process::ExitCode;

use fivegates_testkit::conformance::parts::Pending;
use fivegates_testkit::conformance::report::Report;
use fivegates_testkit::conformance::run_text;

const USAGE: &str = "usage: fivegates-conformance FILE...";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(report) => {
            let written = write!(std::io::stdout().lock(), "{report}");
            if report.counts().failed == 0 && written.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(text) => {
            // Nothing can be done when there is nowhere to say it.
            let _ = writeln!(std::io::stderr().lock(), "{text}");
            ExitCode::from(2)
        }
    }
}

fn run(files: impl Iterator<Item = String>) -> Result<Report, String> {
    let pending = Pending::committed().map_err(|error| format!("pending list: {error}"))?;
    let files: Vec<String> = files.collect();
    if files.is_empty() || files.iter().any(|file| file.starts_with('-')) {
        return Err(USAGE.to_owned());
    }
    let mut report = Report::default();
    for file in files {
        let text =
            std::fs::read_to_string(&file).map_err(|error| format!("cannot read `{file}`: {error}"))?;
        report.lines.extend(run_text(&file, &text, &pending).lines);
    }
    Ok(report)
}
