//! What stands above what, what a value remembers, and the reference.

use insta::assert_snapshot;

use super::*;
use crate::config::keys::KEYS;
use crate::config::value::{Freedom, Input, Raw};

#[test]
fn the_command_line_stands_above_the_project_above_the_user_above_the_default() {
    let place = Place::new()
        .user("[bash]\ntimeout_ms = 5000\ngrace_ms = 500\noutput_bytes_max = 1000\n")
        .project("[bash]\ntimeout_ms = 4000\ngrace_ms = 400\n");
    let config = place.load_with(&set(&["bash.timeout_ms=9000"])).unwrap();
    let Bash { timeout_ms, timeout_ms_max, output_bytes_max, grace_ms } = config.bash;
    assert_eq!((timeout_ms.value.get(), timeout_ms.origin), (9_000, Origin::CommandLine));
    assert_eq!((grace_ms.value.get(), grace_ms.origin), (400, project(&place.project_path())));
    assert_eq!((output_bytes_max.value.get(), output_bytes_max.origin), (1_000, user(&place.user_path())));
    assert_eq!((timeout_ms_max.value.get(), timeout_ms_max.origin), (600_000, Origin::Default));
    assert_eq!(config.files_read, [user(&place.user_path()), project(&place.project_path())]);
}

#[test]
fn guards_of_all_files_stand_together_and_know_their_file() {
    let guard = |tool: &str| format!("[[guard]]\ntool = \"{tool}\"\nreason = \"no {tool}\"\n");
    let place = Place::new()
        .user(format!("{}code = \"NO_BASH\"\n{}", guard("bash"), guard("write")))
        .project(guard("bash"));
    let guards = place.load().unwrap().guards;
    let said = guards.iter().map(|guard| (&*guard.id, &*guard.tool, &*guard.reason, guard.code.as_deref()));
    let expected = [
        ("guard/user/1", "bash", "no bash", Some("NO_BASH")),
        ("guard/user/2", "write", "no write", None),
        ("guard/project/1", "bash", "no bash", None),
    ];
    assert!(said.eq(expected), "{guards:?}");
    assert_eq!(guards[2].origin, project(&place.project_path()));
}

#[test]
fn relative_paths_start_from_the_file_or_the_working_directory() {
    let place = Place::new().user("[record]\npath = \"r.sqlite\"\n[model]\nuse = \"scripted:m.json\"\n");
    let folder = place.user_path().parent().unwrap().to_owned();
    let config = place.load().unwrap();
    assert_eq!(config.record.path.value.unwrap(), folder.join("r.sqlite"));
    assert_eq!(config.model.choice.value.unwrap(), ModelChoice::Scripted { file: folder.join("m.json") });
    let overrides = Overrides { record_path: Some("o.sqlite".into()), ..set(&["model.use=scripted:/m"]) };
    let config = place.load_with(&overrides).unwrap();
    assert_eq!(config.record.path.value.unwrap(), place.sources.cwd.join("o.sqlite"));
    assert_eq!(config.model.choice.value.unwrap(), ModelChoice::Scripted { file: "/m".into() });
}

#[test]
fn a_lowered_bound_takes_the_older_value_down_with_it() {
    let place = Place::new().project("[bash]\ntimeout_ms_max = 1000\n[deadline]\nmax_ms = 2000\n");
    let bash = place.load().unwrap().bash;
    assert_eq!(
        (bash.timeout_ms.value.get(), bash.timeout_ms.origin),
        (1_000, project(&place.project_path()))
    );
    let place = place.user("[deadline]\ndefault_ms = 5000\n");
    let deadline = place.load().unwrap().deadline;
    assert_eq!(deadline.default_ms.value.map(Within::get), Some(2_000));
    assert_eq!(deadline.default_ms.origin, project(&place.project_path()));
}

#[test]
fn the_command_line_is_told_what_is_wrong_with_it() {
    let place = Place::new();
    let told = |assignments: &[&str]| place.told(place.load_with(&set(assignments)));
    assert_snapshot!(told(&["bash.timeout_ms"]), @r#"
    `--set bash.timeout_ms` has no `=`
    hint: write `--set bash.timeout_ms=5000`
    "#);
    assert_snapshot!(told(&["bash.timeout=1"]), @r#"
    unknown key `bash.timeout` in `--set`
    hint: the keys of `[bash]` are `timeout_ms`, `timeout_ms_max`, `output_bytes_max`, `grace_ms`
    "#);
    assert_snapshot!(told(&["nope\u{1b}=1"]), @r#"
    unknown key `nope\u{1b}` in `--set`
    hint: a file may hold `permission`, `[model]`, `[bash]`, `[files]`, `[record]`, `[waits]`, `[limits]`, `[deadline]`, `[[guard]]`
    "#);
    assert_snapshot!(told(&["bash.timeout_ms=soon"]), @r#"
    `bash.timeout_ms` is no whole number in `--set`
    hint: it takes a whole number from 1 to 86400000
    "#);
    assert_snapshot!(told(&["bash.timeout_ms=700000"]), @r#"
    `bash.timeout_ms` (700000) is above `bash.timeout_ms_max` (600000, set by the default)
    hint: lower `bash.timeout_ms` or raise `bash.timeout_ms_max`
    "#);
    assert_snapshot!(told(&["permission=ask", "permission=allow"]), @r#"
    the command line says `permission` twice
    hint: give it once
    "#);
    let twice = Overrides { permission: Some(Permission::ReadOnly), ..set(&["permission=allow"]) };
    assert_snapshot!(place.told(place.load_with(&twice)), @r#"
    the command line says `permission` twice
    hint: give it once
    "#);
    assert_snapshot!("deepseek".parse::<ModelChoice>().unwrap_err(), @r#"this names no provider; it takes `"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`"#);
    assert_eq!("allow".parse::<Permission>().unwrap(), Permission::Allow);
}

#[test]
fn the_defaults_are_those_of_the_parts_and_within_their_own_ranges() {
    let mut config = Config::default();
    assert_eq!(config.waits.of_pipeline(), PipelineWaits::default());
    assert_eq!(config.model.steps_max.value.get(), u64::from(STEPS_MAX_DEFAULT));
    assert_eq!(config.model.parallel_max.value.count(), PARALLEL_MAX_DEFAULT.get());
    assert_eq!(config.limits.arguments_bytes_max.value.count(), ARGUMENTS_BYTES_MAX_DEFAULT);
    for key in KEYS {
        let slot = (key.slot)(&mut config);
        let written = slot.written().unwrap_or_else(|| slot.example());
        let value: toml::Value = written.parse().unwrap();
        let raw = value.as_str().map_or(Raw::Number(value.as_integer()), Raw::Text);
        slot.set(&Input { raw, base: Path::new("/") }, &Origin::CommandLine, Freedom::Free).unwrap();
        assert_eq!(*slot.origin(), Origin::CommandLine, "{}", key.path());
    }
}

/// What the reference says is what is read: with its comments taken away it is a file that says the defaults.
#[test]
fn the_reference_is_a_file_with_every_key() {
    let reference = reference();
    let keys = |line: &str| line.starts_with("# ") && line.contains(" = ") || line.starts_with("# [[");
    let file: String = reference
        .lines()
        .map(|line| format!("{}\n", if keys(line) { line.trim_start_matches("# ") } else { line }))
        .collect();
    let place = Place::new().user(&file);
    let config = place.load().unwrap_or_else(|error| panic!("{error}\n{file}"));
    assert_eq!(config.guards.len(), 1);
    let mut found = config;
    let mut default = Config::default();
    for key in KEYS {
        let slot = (key.slot)(&mut found);
        assert_eq!(*slot.origin(), user(&place.user_path()), "{} is not in the reference", key.path());
        if let Some(written) = (key.slot)(&mut default).written() {
            assert_eq!(slot.written(), Some(written), "{}", key.path());
        }
    }
    assert!(reference.lines().all(|line| line.chars().count() <= 120));
    assert_snapshot!(reference.lines().take(22).collect::<Vec<_>>().join("\n"), @r#"
    # fivegates.toml: the nearest one upward from the working directory (the project's), and your own in
    # $XDG_CONFIG_HOME/fivegates or ~/.config/fivegates. The command line stands above the project's file, that
    # above your own. A project's file may come from somebody else: it can only make things stricter.

    # How much a model may do without a person.
    # Takes `"read-only"`, `"ask"` or `"allow"`; in a project's file: only stricter.
    # permission = "ask"

    [model]

    # Which model answers.
    # Takes `"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`; not in a project's file.
    # use = "deepseek:deepseek-chat"  # not set

    # Where the server answers, if not at its own address.
    # Takes a URL such as `"https://api.deepseek.com"` or `"http://127.0.0.1:8080/v1"`; not in a project's file.
    # base_url = "http://127.0.0.1:8080/v1"  # not set

    # What the model is told before anything else.
    # Takes a text of 1 to 65536 bytes; not in a project's file.
    # system_prompt = "You work in the current folder."  # not set
    "#);
}
