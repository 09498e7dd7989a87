//! Developer commands: `cargo xtask test` runs every check in one go, `cargo xtask tidy` the house rules alone.
#![expect(clippy::print_stdout, reason = "a developer command talks on stdout")]

mod command;
mod docs;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--fast]   format, lints, tidy, all tests, doc tests, docs; --fast leaves the last two out
  tidy            the house rules: crate arrows, lengths, licences, words, manifests, ARCHITECTURE.md
  docs            write the generated pages of docs/ anew
";

/// What the command line asked for.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Help,
    Docs,
    Test(test::Extent),
    Tidy,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = workspace_root();
    match parse(&words) {
        Ok(Command::Help) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Command::Docs) => docs::run(&root),
        Ok(Command::Test(extent)) => test::run(&root, extent),
        Ok(Command::Tidy) => {
            if tidy::run_and_print(&root) == 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(what) => {
            print!("xtask: {what}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(words: &[&str]) -> Result<Command, String> {
    match words {
        [] | ["help" | "-h" | "--help", ..] => Ok(Command::Help),
        ["test"] => Ok(Command::Test(test::Extent::Full)),
        ["test", "--fast"] => Ok(Command::Test(test::Extent::Fast)),
        ["tidy"] => Ok(Command::Tidy),
        ["docs"] => Ok(Command::Docs),
        _ => Err(format!("`{}` is not a command; use one of these", words.join(" "))),
    }
}

/// The folder of the root Cargo.toml: the parent of this crate's own folder.
fn workspace_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::{Command, parse};
    use crate::test::Extent;

    #[test]
    fn command_lines() {
        assert_eq!(parse(&[]), Ok(Command::Help));
        assert_eq!(parse(&["--help"]), Ok(Command::Help));
        assert_eq!(parse(&["tidy"]), Ok(Command::Tidy));
        assert_eq!(parse(&["docs"]), Ok(Command::Docs));
        assert_eq!(parse(&["test"]), Ok(Command::Test(Extent::Full)));
        assert_eq!(parse(&["test", "--fast"]), Ok(Command::Test(Extent::Fast)));
        let error = parse(&["test", "--slow"]).unwrap_err();
        assert!(error.contains("`test --slow`"), "{error}");
    }
}
