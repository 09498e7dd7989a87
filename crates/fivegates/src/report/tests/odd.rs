//! Records that were not written by this program, or not to their end.

use super::support::{Place, append, session_id};
use crate::report::read::{calls_of_id, calls_of_session};
use crate::report::{CallStory, Style, object, short, whole};

async fn stories(events: &[(&str, Option<&str>, &str)]) -> Vec<CallStory> {
    let place = Place::new();
    append(&place.begin(1), events).await;
    let found = calls_of_session(&place.reader(), session_id(1), 10).unwrap();
    for story in &found.stories {
        for text in [whole(story, Style::Plain), short(story, Style::Plain)] {
            let raw = |c: char| c != '\n' && crate::escape::hidden(&c.to_string()) > 0;
            assert!(!text.contains(raw), "{text:?}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
        assert!(fivegates_core::json::parse(&fivegates_core::json::compact(&object(story))).is_ok());
    }
    found.stories
}

const CALL: &str = r#"{"callId":"c1","name":"bash","arguments":"{\"command\":\"make\"}"}"#;
const DECISION: &str = r#"{"callId":"c1","verdict":"permitted","digest":"aa","met":[
    {"stage":"admit","verdict":"admitted"},{"stage":"tools/pre-execute","verdict":"allowed","by":"permission"},
    {"stage":"guards","verdict":"passed"}]}"#;

#[tokio::test]
async fn a_process_that_ended_before_its_call() {
    let intent = r#"{"callId":"c1","digest":"aa","idempotent":false,"destructive":true}"#;
    let events = [
        ("tool/call", Some("c1"), CALL),
        ("tool/decision", Some("c1"), DECISION),
        ("tool/intent", Some("c1"), intent),
    ];
    insta::assert_snapshot!(whole(&stories(&events).await[0], Style::Plain), @r#"
    call `c1` of bash has no result on record
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z
      intent     +0.002s, before the body; destructive, not idempotent
      arguments
      │ {"command":"make"}

      admit               admitted
      tools/pre-execute   allowed by `permission`
      approval            nobody was asked
      guards              passed
      tools/execute       not on record
      body                not on record
      tools/post-execute  not on record
      finalizeContent     not on record
      egress              not on record
      tools/result        not on record

    no result on record: the process ended while this call was under way, or it
    still runs
    an intent is on record: the body may have run, in part or in whole
    "#);
    let text = whole(&stories(&events[..1]).await[0], Style::Plain);
    assert!(text.contains("no intent is on record: a body with effects has not run"), "{text}");
    let text = whole(&stories(&events[..2]).await[0], Style::Plain);
    assert!(text.contains("no intent is on record, though the call was permitted"), "{text}");
}

#[tokio::test]
async fn an_intent_for_something_else_than_was_decided() {
    let events = [
        ("tool/call", Some("c1"), CALL),
        ("tool/decision", Some("c1"), DECISION),
        ("tool/intent", Some("c1"), r#"{"digest":"bb"}"#),
    ];
    let story = &stories(&events).await[0];
    assert_eq!(story.notes, ["what was decided on is not what was about to run: their digests differ"]);
}

#[tokio::test]
async fn results_close_the_call_that_they_name() {
    let result = |seq: &str, told: &str| {
        format!(
            r#"{{"message":{{"content":[{{"type":"tool-result","content":[{{"type":"text","text":"{told}"}}],
            "isError":false}}]}},"met":[],"sourceEventSeqs":[{seq}]}}"#
        )
    };
    let (second, first) = (result("1", "second"), result("0", "first"));
    let events = [
        ("tool/call", Some("c"), r#"{"name":"a"}"#),
        ("tool/call", Some("c"), r#"{"name":"b"}"#),
        ("tool/result", Some("c"), &*second),
        ("tool/result", Some("c"), &*first),
    ];
    let stories = stories(&events).await;
    let told: Vec<_> = stories.iter().map(|story| story.result.as_ref().unwrap().told().unwrap()).collect();
    assert_eq!(told, ["first", "second"]);
}

#[tokio::test]
async fn members_that_are_missing_or_of_another_type() {
    let events = [
        ("tool/call", Some("c1"), "[]"),
        ("no/such-event", Some("c1"), "{}"),
        ("approval/decided", Some("c1"), r#"{"outcome":7}"#),
        ("tool/decision", Some("c1"), r#"{"met":[7,{"stage":"later/stage","verdict":"waved"}]}"#),
        ("tool/result", Some("c1"), r#"{"name":[],"message":{"content":"x"},"denial":{},"durationMs":-1}"#),
        ("tool/result", Some("lost"), r#"{"name":"bash","error":{"code":"X"}}"#),
    ];
    let stories = stories(&events).await;
    insta::assert_snapshot!(whole(&stories[0], Style::Plain), @r#"
    call `c1` of (tool not recorded) was denied
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z
      denial     (not recorded)
      arguments  (not recorded)

      (not recorded)      (not recorded)
      later/stage         waved
      admit               not on record
      tools/pre-execute   not on record
      approval            not on record
                          answered +0.002s: (not recorded)
      guards              not on record
      tools/execute       not on record
      body                not on record
      tools/post-execute  not on record
      finalizeContent     not on record
      egress              not on record
      tools/result        not on record

    the model was told:
      (not recorded)

    warning: event 4 does not say what the model was told
    "#);
    insta::assert_snapshot!(short(&stories[1], Style::Plain), @r#"
    call `lost` of bash failed [X]
      not on record       admit, tools/pre-execute, approval, guards,
                          tools/execute, body, tools/post-execute, finalizeContent,
                          egress, tools/result
      what the model was told is not on record
    warning: its `tool/call` is not on record
    warning: event 5 does not say what the model was told
    "#);
}

#[tokio::test]
async fn hostile_text_is_shown_and_counted() {
    let arguments =
        r#"{"name":"bash\u001b]0;owned\u0007","arguments":"a\r\n  guards              passed\u202e"}"#;
    let result = r#"{"message":{"content":[{"type":"tool-result","isError":true,"content":[
        {"type":"text","text":"\u001b[1A\u001b[2Kthe model was told:\n\u200bnothing"},{"type":"image"},7]}]},
        "denial":{"kind":"guard\n","by":"\u001b[31m","code":"\u0000","reason":"x"},
        "met":[{"stage":"guards\u001b[0m\n  body  ran","verdict":"\u009b2J","reason":"\u2028line"}]}"#;
    let events = [("tool/call", Some("c\u{7}\n1"), arguments), ("tool/result", Some("c\u{7}\n1"), result)];
    insta::assert_snapshot!(whole(&stories(&events).await[0], Style::Plain), @r#"
    call `c\u{7}\n1` of bash\u{1b}]0;owned\u{7} was denied by `\u{1b}[31m` [\u{0}]
      session    01HF7YAT000400000000000000, event 0
      when       2023-11-14T22:13:20Z
      denial     guard\n: x
      arguments
      │ a\u{d}
      │   guards              passed\u{202e}

      guards\u{1b}[0m\n  body  ran
                          \u{9b}2J
                          \u{2028}line
      admit               not on record
      tools/pre-execute   not on record
      approval            not on record
      guards              not on record
      tools/execute       not on record
      body                not on record
      tools/post-execute  not on record
      finalizeContent     not on record
      egress              not on record
      tools/result        not on record

    the model was told:
      │ \u{1b}[1A\u{1b}[2Kthe model was told:
      │ \u{200b}nothing
      │ [image content]
      │ 7

    warning: 13 hidden characters shown as \u{…}
    "#);
}

#[tokio::test]
async fn long_texts_are_cut_with_a_count() {
    let call = format!(r#"{{"name":"bash","arguments":"{}"}}"#, "x".repeat(100_000));
    let story = &stories(&[("tool/call", Some(&*"c".repeat(500)), &call)]).await[0];
    let text = whole(story, Style::Plain);
    assert!(text.contains("… (96000 more characters)") && text.contains("… (380 more characters)"), "{text}");
    assert!(text.lines().count() < 90);
    assert!(short(story, Style::Plain).lines().count() < 16);
    assert_eq!(story.arguments.as_ref().map(String::len), Some(100_000));
}

#[tokio::test]
async fn the_newest_stories_of_an_id_are_kept_and_the_one_asked_for() {
    let place = Place::new();
    let appender = place.begin(1);
    for _ in 0..50 {
        append(&appender, &[("tool/call", Some("c"), "{}"), ("tool/result", Some("c"), "{}")]).await;
    }
    let seqs = |pinned| {
        let pinned = fivegates_session::Seq::new(pinned);
        let found = calls_of_id(&place.reader(), session_id(1), "c", pinned).unwrap();
        assert_eq!((found.stories.len(), found.dropped), (16, 34));
        found.stories.iter().map(|story| story.seq.get()).collect::<Vec<_>>()
    };
    assert_eq!(seqs(98), (34..50).map(|number| number * 2).collect::<Vec<_>>());
    assert_eq!(seqs(4)[..2], [4, 70]);
}
