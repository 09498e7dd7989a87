//! `fivegates demo`.

use crate::program::Done;
use crate::support::Place;

/// Each call of the demonstration, how it went, and its code.
const VERDICTS: [(&str, &str, &str); 6] = [
    ("demo-allowed", "succeeded", ""),
    ("demo-asked", "succeeded", ""),
    ("demo-rejected", "was denied by `demo/stagehand`", "[APPROVAL_REJECTED]"),
    ("demo-guarded", "was denied by `demo/no-recursive-delete`", "[NO_RECURSIVE_DELETE]"),
    ("demo-timeout", "failed", "[TOOL_TIMEOUT]"),
    ("demo-failed", "failed", "[FS_NOT_FOUND]"),
];

fn check(place: &Place, arguments: &[&str], flag: &str) -> Done {
    let temporary = place.root().join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let done = place.start(arguments).env("TMPDIR", &temporary).done().status(0);
    let stories: Vec<&str> = done.stdout.split("\n\ncall ").skip(1).collect();
    assert_eq!(stories.len(), VERDICTS.len(), "{}", done.stdout);
    for (story, (id, verdict, code)) in stories.iter().zip(VERDICTS) {
        // Long headlines are broken into lines.
        let story = story.replace('\n', " ");
        assert!(story.starts_with(&format!("`{id}` of ")), "{story}");
        assert!(story.contains(verdict) && story.contains(code), "{story}");
        assert!(story.contains("the model was told:"), "{story}");
        assert!(done.stderr.contains(&format!("fivegates: {id} (")), "{}", done.stderr);
    }
    let why = format!("\n    fivegates why demo-guarded{flag}\n");
    assert!(done.stdout.contains(&why), "{}", done.stdout);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "the throw-away workspace is gone");
    assert_eq!(std::fs::read_dir(place.work()).unwrap().filter(|e| !is_record(e)).count(), 0);
    // What it says to run is run, word for word, by a shell.
    let printed = done.stdout.lines().filter_map(|line| line.strip_prefix("    fivegates "));
    let printed: Vec<String> = printed.map(|rest| format!("\"$0\" {rest}")).collect();
    assert_eq!(printed.len(), 2);
    let told = place.script(&printed.join(" && "), &[]).done().status(0);
    assert!(told.stdout.contains("recursive deletion is never allowed here"), "{}", told.stdout);
    assert!(told.stdout.contains("turn/end"), "{}", told.stdout);
    done
}

fn is_record(entry: &std::io::Result<std::fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().file_name().to_string_lossy().contains(".sqlite")
}

#[test]
fn every_call_is_shown_with_its_verdict_and_the_printed_commands_work() {
    let place = Place::new();
    check(&place, &["demo"], "");
    assert_eq!(place.record_is_readable().len(), 1);
}

#[test]
fn a_record_elsewhere_is_named_in_the_printed_commands() {
    let place = Place::new();
    for path in [place.root().join("my record.sqlite"), place.root().join("plain.sqlite")] {
        let path = path.display().to_string();
        let flag =
            if path.contains(' ') { format!(" --record '{path}'") } else { format!(" --record {path}") };
        check(&place, &["demo", "--record", &path], &flag);
        place.record_is_readable_at(path.as_ref());
    }
    let relative = place.work().join("here.sqlite").display().to_string();
    check(&place, &["demo", "--record", "here.sqlite"], &format!(" --record {relative}"));
    assert!(!place.record().exists());
}

#[test]
fn what_a_person_configured_to_be_loose_does_not_loosen_the_demonstration() {
    let place = Place::new();
    place.user_config("permission = \"allow\"\n");
    check(&place, &["demo"], "");
}

#[test]
fn the_guarded_call_is_explained() {
    let place = Place::new();
    place.done(&["demo"]).status(0);
    let why = place.done(&["why", "demo-guarded"]);
    insta::assert_snapshot!(place.shown(&why), @r#"
    call `demo-guarded` of bash was denied by `demo/no-recursive-delete`
    [NO_RECURSIVE_DELETE] after [N] ms
      session    [SESSION], event 25
      when       [TIME], turn 1, step 3
      denial     guard: recursive deletion is never allowed here
      arguments
      │ {"command": "ls; rm -rf .", "description": "Clear the directory"}

      admit               admitted
      tools/pre-execute   asked by `permission`
                          tool `bash` needs approval in permission mode `ask`: it
                          may change or destroy things, also beyond this machine
      approval            allowed-once by `demo/stagehand`
                          asked [+T] tool `bash` needs approval in permission
                          mode `ask`: it may change or destroy things, also beyond
                          this machine
                          answered [+T] allowed-once by `demo/stagehand`
      guards              denied by `demo/no-recursive-delete` [NO_RECURSIVE_DELETE]
                          recursive deletion is never allowed here
      tools/execute       not reached
      body                not reached
      tools/post-execute  accepted
      finalizeContent     unchanged
      egress              no filter
      tools/result        published an error

    the model was told:
      │ Error: recursive deletion is never allowed here
    --- stderr
    --- status 0
    "#);
}
