//! Ctrl-C, termination and sudden death while a command runs.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;

use crate::program::{Meeting, Met, Running};
use crate::support::{Place, bash};

/// Starts a call that runs until it is stopped, and a call after it that must never run. What it waits for is a program of
/// its own, which ends by itself once the test is over.
fn under_way(place: &Place, prelude: &str) -> (Running, Met) {
    let meeting = Meeting::new();
    let command = format!("{prelude}{}; cat <&3; echo woke", meeting.hello());
    let mut running = place.start(&["exec", "--permission", "allow"]).spawn();
    running.write(bash("long", &command) + "\n" + &bash("after", "touch made") + "\n");
    let met = meeting.met();
    (running, met)
}

fn is_aborted(place: &Place) {
    let why = place.done(&["why", "long"]).status(0);
    assert!(why.stdout.contains("failed [ABORTED]"), "{}", why.stdout);
    place.done(&["why", "after"]).status(1);
    assert!(!place.work().join("made").exists());
    place.record_is_readable();
}

#[test]
fn an_interrupt_ends_the_body_and_is_recorded() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        let (mut running, met) = under_way(&place, "");
        let before = Instant::now();
        running.signal(signal);
        let line: Value = serde_json::from_str(&running.line()).unwrap();
        assert_eq!((line["id"].as_str(), line["code"].as_str()), (Some("long"), Some("ABORTED")));
        // The input is still open: it does not hold up the end.
        let done = running.ended().status(status);
        assert!(before.elapsed().as_secs() < 15);
        assert!(done.stderr.contains("stopping: waiting for the calls under way"), "{}", done.stderr);
        met.gone();
        is_aborted(&place);
    }
}

#[test]
fn an_interrupt_while_waiting_for_input_ends_at_once() {
    let place = Place::new();
    let mut running = place.start(&["exec", "--permission", "allow"]).spawn();
    running.write(bash("c1", "echo ok") + "\n");
    running.line();
    running.signal(Signal::INT);
    running.ended().status(130);
    place.record_is_readable();
}

#[test]
fn a_second_interrupt_does_not_wait_for_a_stubborn_body() {
    let place = Place::new();
    place.user_config("[bash]\ngrace_ms = 600000\n");
    let (running, met) = under_way(&place, "trap '' TERM INT; ");
    running.signal(Signal::INT);
    // Only once the first is said to be heard is the next one a second one.
    running.wait_for_stderr("stopping: ");
    let before = Instant::now();
    running.signal(Signal::INT);
    running.ended().status(130);
    assert!(before.elapsed().as_secs() < 10, "{:?}", before.elapsed());
    // Nothing of it is left behind, whatever it ignored.
    met.gone();
    no_result(&place);
}

fn no_result(place: &Place) {
    let why = place.done(&["why", "long"]).status(0);
    assert!(why.stdout.contains("no result on record"), "{}", why.stdout);
    assert!(why.stdout.contains("an intent is on record"), "{}", why.stdout);
    assert!(!place.work().join("made").exists());
    place.record_is_readable();
}

#[test]
fn sudden_death_leaves_a_record_that_says_so() {
    let place = Place::new();
    let (running, met) = under_way(&place, "");
    running.signal(Signal::KILL);
    running.ended().status(137);
    no_result(&place);
    // The next one works on with the same record.
    place.exec("allow", &[bash("next", "echo ok")]).status(0);
    assert_eq!(place.record_is_readable().len(), 2);
    // The shell died with the program; what the shell had started ends with the connection.
    drop(met);
}

#[test]
fn an_interrupt_ends_a_turn() {
    let place = Place::new();
    let meeting = Meeting::new();
    let command = format!("{}; cat <&3; echo woke", meeting.hello());
    let call = serde_json::json!({"id": "long", "name": "bash", "arguments": {"command": command, "description": "d"}});
    place.file("t.json", serde_json::json!({"turns": [{"calls": [call]}, {"text": "never"}]}).to_string());
    let running = place.start(&["run", "x", "--model", "scripted:t.json", "--permission", "allow"]).spawn();
    let met = meeting.met();
    running.signal(Signal::INT);
    let done = running.ended().status(130);
    assert!(!done.stdout.contains("never"), "{}", done.stdout);
    met.gone();
    is_aborted(&place);
}
