//! Stories of calls that went through a pipeline into a store.

use fivegates_core::decision::ApprovalOutcome;

use super::support::{BEGAN_MS, Place, run};
use crate::report::read::calls_of_session;
use crate::report::{CallStory, Style, object, short, whole};

/// Runs one call and tells its story, with times that are always the same.
async fn story(answer: ApprovalOutcome, tool: &str, arguments: &str) -> CallStory {
    let place = Place::new();
    let session = run(&place, answer, &[("c1", tool, arguments)]).await;
    let mut found = calls_of_session(&place.reader(), session, 10).unwrap();
    assert_eq!((found.stories.len(), found.damage.len(), found.dropped), (1, 0, 0));
    let mut story = found.stories.remove(0);
    story.time_ms = BEGAN_MS;
    for asked in &mut story.approvals {
        (asked.asked_ms, asked.decided_ms) = (Some(BEGAN_MS + 10), Some(BEGAN_MS + 3_500));
    }
    if let Some(intent) = &mut story.intent {
        intent.time_ms = BEGAN_MS + 3_501;
    }
    if let Some(result) = &mut story.result {
        (result.time_ms, result.duration_ms) = (BEGAN_MS + 3_502, Some(3_502));
    }
    story
}

fn check_width(text: &str) {
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

async fn check(answer: ApprovalOutcome, tool: &str, arguments: &str) -> String {
    let text = whole(&story(answer, tool, arguments).await, Style::Plain);
    check_width(&text);
    text
}

#[tokio::test]
async fn a_call_that_is_allowed() {
    let text = check(ApprovalOutcome::AllowedOnce, "echo", r#"{"text":"two\nlines"}"#).await;
    insta::assert_snapshot!(text, @r#"
    call `c1` of echo succeeded after 3502 ms
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z, turn 1, step 1
      arguments
      │ {"text":"two\nlines"}

      admit               admitted
      tools/pre-execute   allowed
      approval            nobody was asked
      guards              passed
      tools/execute       passed
      body                ran
      tools/post-execute  accepted by `discretion`
      finalizeContent     unchanged
      egress              no filter
      tools/result        published

    the model was told:
      │ two
      │ lines
    "#);
}

#[tokio::test]
async fn a_call_that_a_person_allows() {
    let text = check(ApprovalOutcome::AllowedOnce, "write", r#"{"text":"x"}"#).await;
    insta::assert_snapshot!(text, @r#"
    call `c1` of write succeeded after 3502 ms
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z, turn 1, step 1
      intent     +3.501s, before the body; destructive, not idempotent
      arguments
      │ {"text":"x"}

      admit               admitted
      tools/pre-execute   asked by `permission`
                          `write` changes files
      approval            allowed-once by `terminal`
                          asked +0.010s: `write` changes files
                          answered +3.500s: allowed-once by `terminal`
      guards              passed
      tools/execute       passed
      body                ran
      tools/post-execute  accepted by `discretion`
      finalizeContent     unchanged
      egress              no filter
      tools/result        published

    the model was told:
      │ x
    "#);
}

#[tokio::test]
async fn a_call_that_a_person_rejects() {
    let text = check(ApprovalOutcome::Rejected, "write", r#"{"text":"x"}"#).await;
    insta::assert_snapshot!(text, @r#"
    call `c1` of write was denied by `terminal` [APPROVAL_REJECTED] after 3502 ms
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z, turn 1, step 1
      denial     approval_rejected: the user rejected tool "write"
      arguments
      │ {"text":"x"}

      admit               admitted
      tools/pre-execute   asked by `permission`
                          `write` changes files
      approval            denied by `terminal` [APPROVAL_REJECTED]
                          the user rejected tool "write"
                          asked +0.010s: `write` changes files
                          answered +3.500s: rejected by `terminal`
      guards              not reached
      tools/execute       not reached
      body                not reached
      tools/post-execute  accepted by `discretion`
      finalizeContent     unchanged
      egress              no filter
      tools/result        published an error

    the model was told:
      │ Error: the user rejected tool "write"
    "#);
}

#[tokio::test]
async fn a_call_that_a_guard_denies() {
    let text = check(ApprovalOutcome::Rejected, "echo", r#"{"text":"rm -rf /"}"#).await;
    insta::assert_snapshot!(text, @r#"
    call `c1` of echo was denied by `no-rm` [NO_RM] after 3502 ms
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z, turn 1, step 1
      denial     guard: `rm -rf` is never run
      arguments
      │ {"text":"rm -rf /"}

      admit               admitted
      tools/pre-execute   allowed
      approval            nobody was asked
      guards              denied by `no-rm` [NO_RM]
                          `rm -rf` is never run
      tools/execute       not reached
      body                not reached
      tools/post-execute  accepted by `discretion`
      finalizeContent     unchanged
      egress              no filter
      tools/result        published an error

    the model was told:
      │ Error: `rm -rf` is never run
    "#);
}

#[tokio::test]
async fn a_failure_that_gate_4_blocks_keeps_its_code_in_the_story() {
    let text = check(ApprovalOutcome::Rejected, "fail", "").await;
    insta::assert_snapshot!(text, @r#"
    call `c1` of fail failed after 3502 ms
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z, turn 1, step 1
      intent     +3.501s, before the body; destructive, not idempotent
      arguments
      (nothing)

      admit               admitted
      tools/pre-execute   allowed
      approval            nobody was asked
      guards              passed
      tools/execute       passed
      body                failed [DISK_FULL]
                          no space left
      tools/post-execute  blocked by `discretion` [DISK_FULL before, no code after]
      finalizeContent     unchanged
      egress              no filter
      tools/result        published an error

    the model was told:
      │ the disk is none of your business
    "#);
}

#[tokio::test]
async fn a_call_that_is_no_json_and_one_of_no_tool() {
    let text = check(ApprovalOutcome::Rejected, "echo", "{\"text\": \u{202e}}").await;
    insta::assert_snapshot!(text, @r#"
    call `c1` of echo failed [INVALID_ARGS] after 3502 ms
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z, turn 1, step 1
      error      ToolArgsError
      arguments
      │ {"text": \u{202e}}

      admit               refused [INVALID_ARGS]
                          invalid arguments: expected a JSON value at line 1 column
                          10
      tools/pre-execute   not reached
      approval            not reached
      guards              not reached
      tools/execute       not reached
      body                not reached
      tools/post-execute  not reached
      finalizeContent     unchanged
      egress              no filter
      tools/result        published an error

    the model was told:
      │ Error: invalid arguments: expected a JSON value at line 1 column 10

    warning: 1 hidden character shown as \u{…}
    "#);
    let text = check(ApprovalOutcome::Rejected, "nope\u{1b}[2J", "{}").await;
    assert!(text.contains("unknown tool \"nope\\u{1b}[2J\"") && !text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn the_short_form_shows_only_what_happened() {
    let told = story(ApprovalOutcome::Rejected, "write", r#"{"text":"x"}"#).await;
    let text = short(&told, Style::Plain);
    check_width(&text);
    insta::assert_snapshot!(text, @r#"
    call `c1` of write was denied by `terminal` [APPROVAL_REJECTED] after 3502 ms
      {"text":"x"}
      admit               admitted
      tools/pre-execute   asked by `permission`
                          `write` changes files
      approval            denied by `terminal` [APPROVAL_REJECTED]
                          the user rejected tool "write"
      tools/post-execute  accepted by `discretion`
      tools/result        published an error
      not reached         guards, tools/execute, body
      the model was told:
      │ Error: the user rejected tool "write"
    "#);
    let coloured = short(&told, Style::Colour);
    assert!(coloured.contains("\u{1b}[31m  approval"), "{coloured:?}");
    let mut bare = coloured;
    for code in ["0", "1", "2", "31", "32", "33"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(bare.lines().map(str::trim_end).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
}

#[tokio::test]
async fn the_object_holds_the_same_facts() {
    let told = story(ApprovalOutcome::AllowedOnce, "write", r#"{"text":"x"}"#).await;
    let object = object(&told);
    let members = object.as_object().unwrap().entries().iter();
    let lines: Vec<_> =
        members.map(|(key, value)| format!("{key}: {}", fivegates_core::json::compact(value))).collect();
    insta::assert_snapshot!(lines.join("\n").replace("},{", "},\n  {"), @r#"
    id: "c1"
    session: "01HF7YAT000400000000000000"
    seq: 0
    time: 1700000000000
    tool: "write"
    arguments: "{\"text\":\"x\"}"
    parentCallId: null
    turn: 1
    step: 1
    verdict: "permitted"
    road: [{"stage":"admit","state":"met","verdict":"admitted"},
      {"stage":"tools/pre-execute","state":"met","verdict":"asked","by":"permission","reason":"`write` changes files"},
      {"stage":"approval","state":"met","verdict":"allowed-once","by":"terminal"},
      {"stage":"guards","state":"met","verdict":"passed"},
      {"stage":"tools/execute","state":"quiet"},
      {"stage":"body","state":"met","verdict":"ran"},
      {"stage":"tools/post-execute","state":"met","verdict":"accepted","by":"discretion"},
      {"stage":"finalizeContent","state":"quiet"},
      {"stage":"egress","state":"quiet"},
      {"stage":"tools/result","state":"met","verdict":"published"}]
    approvals: [{"id":"a1","reason":"`write` changes files","asked":1700000000010,"decided":1700000003500,"outcome":"allowed-once","by":"terminal"}]
    intent: {"seq":4,"time":1700000003501,"idempotent":false,"destructive":true}
    result: {"seq":5,"time":1700000003502,"isError":false,"errorName":null,"errorCode":null,"denial":null,"content":[{"type":"text","text":"x"}],"durationMs":3502}
    told: "x"
    notes: []
    "#);
}

#[tokio::test]
async fn repeated_ids_are_told_apart() {
    let place = Place::new();
    let calls = [("c", "echo", r#"{"text":"first"}"#), ("c", "echo", "{}"), ("d", "write", "{}")];
    let session = run(&place, ApprovalOutcome::AllowedOnce, &calls).await;
    let found = calls_of_session(&place.reader(), session, 10).unwrap();
    let told: Vec<_> = found
        .stories
        .iter()
        .map(|story| (&*story.id, story.ending(), story.code(), story.met.as_ref().map(Vec::len)))
        .collect();
    assert_eq!(
        told,
        [
            ("c", "succeeded", None, Some(6)),
            ("c", "failed", Some("DUPLICATE_CALL_ID"), Some(2)),
            ("d", "succeeded", None, Some(7)),
        ]
    );
    assert!(found.stories.iter().all(|story| story.notes.is_empty()));
    assert_eq!(found.stories[2].approvals[0].outcome.as_deref(), Some("allowed-once"));
}
