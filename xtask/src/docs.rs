//! `cargo xtask docs`: the pages that are generated from the program itself. A test of the program keeps them true.

use std::path::Path;
use std::process::ExitCode;

use crate::command::cargo;

/// Each page, and the words after `fivegates` that print it.
const PAGES: &[(&str, &[&str])] = &[("docs/pipeline.md", &["pipeline", "--format", "document"])];

pub(crate) fn run(root: &Path) -> ExitCode {
    for (page, words) in PAGES {
        let printed =
            cargo(root).args(["run", "--quiet", "--package", "fivegates", "--"]).args(*words).output();
        let problem = match printed {
            Ok(output) if output.status.success() => {
                std::fs::write(root.join(page), &output.stdout).err().map(|error| error.to_string())
            }
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            println!("docs: {page} was not written: {problem}");
            return ExitCode::FAILURE;
        }
        println!("docs: wrote {page}");
    }
    ExitCode::SUCCESS
}
