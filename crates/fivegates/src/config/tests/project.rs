//! A project's file comes from whatever repository one is in: it can make things stricter and nothing else.

use insta::assert_snapshot;

use super::*;
use crate::config::keys::{InProject, KEYS};

/// For each key that may stand in a project's file: stricter than the default, and looser.
const VALUES: &[(&str, &str, &str)] = &[
    ("permission", "\"read-only\"", "\"allow\""),
    ("model.steps_max", "1", "10000"),
    ("model.parallel_max", "1", "64"),
    ("bash.timeout_ms", "1", "600000"),
    ("bash.timeout_ms_max", "1", "86400000"),
    ("bash.output_bytes_max", "1", "64001"),
    ("bash.grace_ms", "1", "3001"),
    ("files.read_lines_max", "1", "2001"),
    ("files.read_bytes_max", "8192", "51201"),
    ("files.text_bytes_max", "1", "67108865"),
    ("waits.pre_execute_ms", "1", "600001"),
    ("waits.approval_ms", "1", "3600001"),
    ("waits.guard_ms", "1", "10001"),
    ("waits.post_execute_ms", "1", "600001"),
    ("limits.arguments_bytes_max", "1024", "268435456"),
];

/// Those whose default is the loosest there is: stricter, and looser than that.
const FROM_LOOSEST: &[(&str, &str, &str)] = &[
    ("record.sync", "\"full\"", "\"normal\""),
    ("deadline.default_ms", "1", "2"),
    ("deadline.max_ms", "1", "2"),
];

fn line(path: &str, value: &str) -> String {
    format!("{path} = {value}\n")
}

#[test]
fn every_key_is_in_one_of_the_tables() {
    for key in KEYS {
        let path = key.path();
        let tabled = VALUES.iter().chain(FROM_LOOSEST).any(|(known, ..)| *known == path);
        assert_eq!(tabled, key.in_project == InProject::Tighten, "{path}");
    }
    let never: Vec<String> =
        KEYS.iter().filter(|key| key.in_project == InProject::Never).map(keys::Key::path).collect();
    assert_eq!(never, ["model.use", "model.base_url", "model.system_prompt", "record.path"]);
}

#[test]
fn a_project_can_tighten_and_not_loosen_any_key() {
    let check = |user: &str, project_says: &str, path: &str, accepted: bool| {
        let place = Place::new().user(user).project(project_says);
        match place.load() {
            Ok(mut config) => {
                assert!(accepted, "{path}: {project_says} over {user}");
                let key = KEYS.iter().find(|key| key.path() == path).unwrap();
                assert_eq!(*(key.slot)(&mut config).origin(), project(&place.project_path()), "{path}");
            }
            Err(error) => {
                assert!(!accepted, "{path}: {error}");
                let text = error.to_string();
                assert!(text.contains(path) && text.contains("project/fivegates.toml:1:"), "{text}");
                assert!(error.hint().contains(&format!("--set {path}=")), "{}", error.hint());
            }
        }
    };
    for (path, strict, loose) in VALUES {
        // Against the default, and against what the user said.
        check("", &line(path, strict), path, true);
        check("", &line(path, loose), path, false);
        check(&line(path, strict), &line(path, loose), path, false);
        // What the user loosened, a project may take back, but not to the full.
        if *path != "bash.timeout_ms" {
            check(&line(path, loose), &line(path, strict), path, true);
        }
    }
    for (path, strict, loose) in FROM_LOOSEST {
        check("", &line(path, strict), path, true);
        check(&line(path, strict), &line(path, loose), path, false);
    }
}

#[test]
fn the_same_as_what_holds_is_accepted_and_stays_whose_it_was() {
    for (path, strict, _) in VALUES.iter().chain(FROM_LOOSEST) {
        let place = Place::new().user(line(path, strict)).project(line(path, strict));
        let mut config = place.load().unwrap();
        let key = KEYS.iter().find(|key| key.path() == *path).unwrap();
        assert_eq!(*(key.slot)(&mut config).origin(), user(&place.user_path()), "{path}");
    }
}

#[test]
fn nothing_that_a_project_may_not_say_is_accepted_from_it() {
    for key in KEYS.iter().filter(|key| key.in_project == InProject::Never) {
        let example = (key.slot)(&mut Config::default()).example();
        let says = line(&key.path(), &example);
        assert!(Place::new().user(&says).load().is_ok(), "{says}");
        // Not even when the user says the same.
        for user in ["", &*says] {
            let place = Place::new().user(user).project(&says);
            let told = place.told(place.load());
            assert!(
                told.starts_with(&format!("`{}` may not stand in a project's file", key.path())),
                "{told}"
            );
            assert!(told.contains(&format!("--set {}=", key.path())), "{told}");
        }
    }
    let place = Place::new().user("permission = \"allow\"\n").project("permission = \"allow\"\n");
    assert!(place.load().is_err());
}

#[test]
fn the_error_says_where_to_put_it() {
    let told = |user: &str, project: &str| {
        let place = Place::new().user(user).project(project);
        place.told(place.load())
    };
    assert_snapshot!(told("", "permission = \"allow\"\n"), @r#"
    a project's file may not say this for `permission`
     --> /project/fivegates.toml:1:14
      |
    1 | permission = "allow"
      |              ^^^^^^^
    hint: put it into your own `fivegates.toml` in $XDG_CONFIG_HOME/fivegates (or ~/.config/fivegates), or give `--set permission=...`
    "#);
    assert_snapshot!(told("permission = \"read-only\"\n", "permission = \"ask\"\n"), @r#"
    a project's file may only tighten `permission`, which the user's `/home/.config/fivegates/fivegates.toml` sets to "read-only"
     --> /project/fivegates.toml:1:14
      |
    1 | permission = "ask"
      |              ^^^^^
    hint: put it into your own `fivegates.toml` in $XDG_CONFIG_HOME/fivegates (or ~/.config/fivegates), or give `--set permission=...`
    "#);
    assert_snapshot!(told("", "[model]\nbase_url = \"https://evil.example/v1\"\n"), @r#"
    `model.base_url` may not stand in a project's file
     --> /project/fivegates.toml:2:1
      |
    2 | base_url = "https://evil.example/v1"
      | ^^^^^^^^
    hint: put it into your own `fivegates.toml` in $XDG_CONFIG_HOME/fivegates (or ~/.config/fivegates), or give `--set model.base_url=...`
    "#);
    assert_snapshot!(told("", "[waits]\nguard_ms = 20_000\n"), @r#"
    a project's file may only tighten `waits.guard_ms`, which the default sets to 10000
     --> /project/fivegates.toml:2:12
      |
    2 | guard_ms = 20_000
      |            ^^^^^^
    hint: put it into your own `fivegates.toml` in $XDG_CONFIG_HOME/fivegates (or ~/.config/fivegates), or give `--set waits.guard_ms=...`
    "#);
}

#[test]
fn the_command_line_may_loosen_what_a_project_tightened() {
    let place = Place::new().project("permission = \"read-only\"\n[bash]\ntimeout_ms_max = 10\n");
    let overrides = Overrides {
        permission: Some(Permission::Allow),
        ..set(&["bash.timeout_ms_max=99", "bash.timeout_ms=50"])
    };
    let config = place.load_with(&overrides).unwrap();
    assert_eq!(config.permission, Setting { value: Permission::Allow, origin: Origin::CommandLine });
    assert_eq!(config.bash.timeout_ms.value.get(), 50);
}
