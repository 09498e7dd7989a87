//! Configuration that cannot be used, as it is shown.

use crate::support::{Place, bash, call};
use serde_json::json;

#[test]
fn errors_show_the_line_and_the_column() {
    let place = Place::new();
    let shown = |content: &str| {
        place.file("fivegates.toml", content);
        place.shown(&place.done(&["tools"]))
    };
    insta::assert_snapshot!(shown("permission = \"ask\"\nperm = 3\n"), @r#"
    --- stderr
    fivegates: error: unknown key `perm`
     --> [ROOT]/project/fivegates.toml:2:1
      |
    2 | perm = 3
      | ^^^^
    fivegates: hint: a file may hold `permission`, `[model]`, `[bash]`, `[files]`, `[record]`, `[waits]`, `[limits]`, `[deadline]`, `[[guard]]`
    --- status 2
    "#);
    insta::assert_snapshot!(shown("[bash]\ntimeout_ms = 1\ntimeout_ms = 2\n"), @r#"
    --- stderr
    fivegates: error: duplicate key `timeout_ms`
     --> [ROOT]/project/fivegates.toml:3:1
      |
    3 | timeout_ms = 2
      | ^^^^^^^^^^
    fivegates: hint: say it once
    --- status 2
    "#);
    insta::assert_snapshot!(shown("[bash]\ntimeout_ms = \"soon\"\n"), @r#"
    --- stderr
    fivegates: error: `bash.timeout_ms` cannot be a text in quotes
     --> [ROOT]/project/fivegates.toml:2:14
      |
    2 | timeout_ms = "soon"
      |              ^^^^^^
    fivegates: hint: it takes a whole number from 1 to 86400000
    --- status 2
    "#);
    // A project cannot loosen what holds for its user.
    insta::assert_snapshot!(shown("permission = \"allow\"\n"), @r#"
    --- stderr
    fivegates: error: a project's file may not say this for `permission`
     --> [ROOT]/project/fivegates.toml:1:14
      |
    1 | permission = "allow"
      |              ^^^^^^^
    fivegates: hint: put it into your own `fivegates.toml` in $XDG_CONFIG_HOME/fivegates (or ~/.config/fivegates), or give `--set permission=...`
    --- status 2
    "#);
}

#[test]
fn nothing_runs_with_a_configuration_that_is_wrong() {
    let place = Place::new();
    place.file("fivegates.toml", "permission = \"allow\"\n");
    let done = place.start(&["exec"]).stdin(bash("c1", "touch made")).done().status(2);
    assert!(done.stdout.is_empty(), "{}", done.stdout);
    assert!(!place.work().join("made").exists() && !place.record().exists());
    place.done(&["demo"]).status(2);
    let done = place.done(&["tools", "--set", "bash.nothing=1"]).status(2);
    assert!(!done.stderr.contains("\\n"), "{}", done.stderr);
}

#[test]
fn a_project_tightens_and_the_user_may_loosen() {
    let place = Place::new();
    place.user_config("permission = \"allow\"\n");
    let codes = |arguments: &[&str]| {
        let lines =
            bash("c1", "true") + "\n" + &call("c2", "write", &json!({"file_path": "w", "content": ""}));
        let done = place.start(arguments).stdin(lines).done().status(0);
        let codes = done
            .json_lines()
            .iter()
            .map(|line| line["denial"]["code"].as_str().unwrap_or("-").to_owned())
            .collect::<Vec<_>>();
        codes.join(" ")
    };
    assert_eq!(codes(&["exec"]), "- -");
    place.file("fivegates.toml", "permission = \"read-only\"\n");
    assert_eq!(codes(&["exec"]), "PERMISSION_READ_ONLY PERMISSION_READ_ONLY");
    assert_eq!(codes(&["exec", "--permission", "allow"]), "- -");
    place.file("fivegates.toml", "[[guard]]\ntool = \"bash\"\nreason = \"not here\"\ncode = \"NO_BASH\"\n");
    assert_eq!(codes(&["exec", "--permission", "allow"]), "NO_BASH -");
    place.record_is_readable();
}
