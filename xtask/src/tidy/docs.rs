//! ARCHITECTURE.md names every crate of the workspace.

use super::metadata::Metadata;
use super::{Violation, source};

const RULE: &str = "architecture";
const FILE: &str = "ARCHITECTURE.md";

/// Checks the file's text; nothing stands for a file that is not there.
pub(crate) fn check(metadata: &Metadata, text: Option<&str>) -> Vec<Violation> {
    let violation = |what: String, remedy: &str| Violation {
        rule: RULE,
        file: FILE.to_owned(),
        line: 1,
        what,
        remedy: remedy.to_owned(),
    };
    let Some(text) = text else {
        return vec![violation(
            "the file is missing".to_owned(),
            "write it: the road of a call, one sentence for each crate, the invariants",
        )];
    };
    metadata
        .members()
        .filter(|package| !names(text, &package.name))
        .map(|package| {
            violation(
                format!("crate `{}` is not named", package.name),
                "say in one sentence what is in it and why it is a crate",
            )
        })
        .collect()
}

/// Whether `name` stands in the text by itself; `fivegates` inside `fivegates-core` does not count.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| source::is_word(c) || c == '-';
    text.match_indices(name).any(|(offset, _)| {
        let before = text.get(..offset).and_then(|text| text.chars().next_back());
        let after = text.get(offset + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;
    use crate::tidy::metadata::Metadata;

    fn found(text: Option<&str>) -> Vec<String> {
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": [{ "name": "fivegates", "id": "a" }, { "name": "fivegates-core", "id": "b" },
                         { "name": "serde", "id": "c" }],
            "workspace_members": ["a", "b"],
        }))
        .unwrap();
        check(&metadata, text).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn every_crate_is_looked_for() {
        assert_eq!(found(Some("`fivegates` uses `fivegates-core`.")), Vec::<String>::new());
        assert_eq!(found(Some("only fivegates-core here")), ["crate `fivegates` is not named"]);
        assert_eq!(
            found(Some("fivegates, and fivegates-core-extra")),
            ["crate `fivegates-core` is not named"]
        );
    }

    #[test]
    fn a_missing_file_is_one_error() {
        assert_eq!(found(None), ["the file is missing"]);
    }
}
