//! The conformance runner: it passes what is handed, and nothing else.

use fivegates_core::json::{Json, parse};
use fivegates_testkit::conformance::parts::{Part, Pending, PendingError};
use fivegates_testkit::conformance::report::{Counts, Report, Verdict};
use fivegates_testkit::conformance::scenario::{Divergence, Scenario};
use fivegates_testkit::conformance::{run_scenario, run_text};

const SCENARIOS: &str = include_str!("../conformance/scenarios.jsonl");
const RANDOM: &str = include_str!("../conformance/random.jsonl");

/// A call of a tool that returns `hi`, with room for more of everything.
const PLAIN: &str = r#"{"id":"X","area":"x","driver":"pipeline",
    "given":{"tools":[{"name":"echo","output":{"type":"string"},"body":[{"return":"hi"}]TOOL}]GIVEN},
    "when":[{"id":"c1","name":"echo","arguments":{}CALL}],
    "then":{"result":{"is_error":false,"code":null,"value":"hi","content":["hi"],"contexts":[]},"stages_seen":["body:echo"],"events":[]}MORE}"#;

fn plain(more: &[(&str, &str)]) -> String {
    let mut line = PLAIN.replace('\n', "");
    for hole in ["TOOL", "GIVEN", "CALL", "MORE"] {
        let filling = more.iter().find(|(name, _)| *name == hole).map_or("", |(_, filling)| filling);
        line = line.replace(hole, filling);
    }
    line
}

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn pending() -> Pending {
    Pending::committed().unwrap()
}

fn verdict(line: &str) -> Verdict {
    let Report { mut lines } = run_text("file.jsonl", line, &pending());
    assert_eq!(lines.len(), 1);
    lines.remove(0).verdict
}

/// The text of all that failed; empty when nothing did.
fn failure(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Failed(mismatches) => mismatches.iter().map(|mismatch| format!("{mismatch}\n")).collect(),
        _ => String::new(),
    }
}

#[test]
fn the_handed_files_pass() {
    let mut report = run_text("scenarios.jsonl", SCENARIOS, &pending());
    report.lines.extend(run_text("random.jsonl", RANDOM, &pending()).lines);
    let counts = Counts { passed: 629, failed: 0, pending: 29, unrepresentable: 24 };
    assert_eq!(report.counts(), counts, "{report}");
    for id in pending().ids() {
        assert!(report.lines.iter().any(|line| line.id == id), "nothing is called `{id}`");
    }
}

/// Adds something to a field that cannot be right.
fn spoiled(value: &Json) -> Json {
    match value {
        Json::Array(array) => Json::array(array.items().iter().cloned().chain([Json::from("spoiled")])),
        Json::Object(object) => {
            let members = object.entries().iter().cloned();
            Json::object(members.chain([("spoiled".into(), Json::from(1))]))
        }
        Json::Bool(truth) => Json::from(!truth),
        _ => Json::from("spoiled"),
    }
}

#[test]
fn every_field_of_every_scenario_is_compared() {
    let all = SCENARIOS.lines().chain(RANDOM.lines());
    let mut spoilt = 0;
    for line in all {
        let scenario = Scenario::read(&parse(line).unwrap()).unwrap();
        if run_scenario(&scenario, &pending()) != Verdict::Passed {
            continue;
        }
        for (field, expected) in scenario.expected() {
            let mut wrong = scenario.clone();
            let mut divergence = wrong.divergence.take().unwrap_or_default();
            let own = divergence.then.take();
            let own = own.as_ref().and_then(Json::as_object).map(|object| object.entries().to_vec());
            let rest = own.unwrap_or_default().into_iter().filter(|(key, _)| **key != *field);
            divergence.then = Some(Json::object(rest.chain([(field.as_str().into(), spoiled(&expected))])));
            wrong.divergence = Some(divergence);
            let found = failure(&run_scenario(&wrong, &pending()));
            assert!(found.starts_with(&field), "{} {field}: {found}", scenario.id);
            spoilt += 1;
        }
    }
    assert!(spoilt > 1_800, "only {spoilt} fields were looked at");
}

#[test]
fn a_wrong_expectation_is_named_with_both_sides() {
    let line = plain(&[]).replace(r#""value":"hi""#, r#""value":"ho""#);
    assert_eq!(failure(&verdict(&line)), "result.value: expected \"ho\" got \"hi\"\n");
    let line = plain(&[]).replace(r#","contexts":[]"#, "");
    assert_eq!(failure(&verdict(&line)), "result.contexts: expected nothing got []\n");
    let line = plain(&[]).replace(r#""events":[]"#, r#""max_active":1"#);
    assert_eq!(failure(&verdict(&line)), "max_active: expected 1 got nothing\n");
}

#[test]
fn what_is_not_in_the_vocabulary_fails_and_is_named() {
    assert_eq!(verdict(&plain(&[])), Verdict::Passed);
    let cases = [
        ("TOOL", r#","colour":1"#, "unknown key `given.tools[0].colour`"),
        ("TOOL", r#","finalize":{"paint":1}"#, "unknown word `paint` at `given.tools[0].finalize`"),
        (
            "TOOL",
            r#","bodies":{"c1":[{"dance":true}]}"#,
            "unknown word `dance` at `given.tools[0].bodies.c1`",
        ),
        ("TOOL", r#","bodies":{"c1":[{"return_host":"elf"}]}"#, "unknown word `elf`"),
        ("TOOL", r#","timeout_ms":"soon""#, "`given.tools[0].timeout_ms` must be a number of milliseconds"),
        ("GIVEN", r#","weather":"fine""#, "unknown key `given.weather`"),
        ("GIVEN", r#","cancel_at":"lunch""#, "unknown word `lunch` at `given.cancel_at`"),
        ("GIVEN", r#","plugins":{"spill":true}"#, "unknown key `given.plugins.spill`"),
        ("GIVEN", r#","listeners":{"midway":[]}"#, "unknown key `given.listeners.midway`"),
        (
            "GIVEN",
            r#","listeners":{"pre":[{"id":"p","do":"shrug"}]}"#,
            "unknown word `shrug` at `given.listeners.pre[0].do`",
        ),
        (
            "GIVEN",
            r#","listeners":{"post":[{"id":"p","do":{"accept":{"meta":1}}}]}"#,
            "unknown key `given.listeners.post[0].do.accept.meta`",
        ),
        (
            "GIVEN",
            r#","guards":[{"id":"g","do":{"allow":true}}]"#,
            "unknown word `allow` at `given.guards[0].do`",
        ),
        ("GIVEN", r#","guards":[{"id":"g","do":"abstain","scope":"A"}]"#, "unknown scope `A`"),
        ("CALL", r#","agent":"A""#, "unknown scope `A`"),
        ("CALL", r#","mood":"good""#, "unknown key `when[0].mood`"),
        ("MORE", r#","extra":1"#, "unknown key `extra`"),
        ("MORE", r#","divergence":{"rule":"L-00","why":"so"}"#, "unknown key `divergence.why`"),
    ];
    for (hole, filling, named) in cases {
        let found = failure(&verdict(&plain(&[(hole, filling)])));
        assert!(found.contains(named), "{filling}: {found}");
    }
    let found = failure(&verdict(&plain(&[]).replace("pipeline", "teapot")));
    assert!(found.contains("unknown word `teapot` at `driver`"), "{found}");
}

#[test]
fn a_divergence_overrides_loosens_or_takes_out() {
    let line = plain(&[]).replace(r#""stages_seen":["body:echo"]"#, r#""stages_seen":["other"]"#);
    let with = |divergence: &str| {
        verdict(&line.replace(r#","events":[]}}"#, &format!(r#","events":[]}},"divergence":{divergence}}}"#)))
    };
    assert!(failure(&verdict(&line)).starts_with("stages_seen: "));
    assert_eq!(with(r#"{"rule":"L-00","then":{"stages_seen":["body:echo"]}}"#), Verdict::Passed);
    assert_eq!(with(r#"{"rule":"L-00","loose":["stages_seen"],"then":{}}"#), Verdict::Passed);
    let found = failure(&with(r#"{"rule":"L-00","loose":["content"],"then":{"stages_seen":["third"]}}"#));
    assert_eq!(found, "stages_seen: expected [\"third\"] got [\"body:echo\"]\n");
    let found = with(r#"{"rule":"L-00","unrepresentable":true}"#);
    assert!(matches!(found, Verdict::Unrepresentable(_)), "{found:?}");
    assert!(failure(&with(r#"{"rule":"L-00"}"#)).starts_with("stages_seen: "));
}

#[test]
fn loose_texts_are_those_of_the_three_scenarios_alone() {
    let line = plain(&[]).replace(r#""content":["hi"]"#, r#""content":["hello"]"#);
    assert_eq!(failure(&verdict(&line)), "result.content: expected [\"hello\"] got [\"hi\"]\n");
    assert_eq!(verdict(&line.replace(r#""id":"X""#, r#""id":"ASK-12""#)), Verdict::Passed);
    let wrong =
        line.replace(r#""id":"X""#, r#""id":"ASK-12""#).replace("is_error\":false", "is_error\":true");
    assert_eq!(failure(&verdict(&wrong)), "result.is_error: expected true got false\n");
}

#[test]
fn host_values_without_a_counterpart_are_unrepresentable_and_others_are_not() {
    let host = |kind: &str| {
        let call = format!(r#""arguments_host":"{kind}""#);
        verdict(&plain(&[]).replace(r#""arguments":{}"#, &call))
    };
    assert!(matches!(host("undefined"), Verdict::Unrepresentable(_)));
    assert!(matches!(host("thrown_hostile"), Verdict::Unrepresentable(_)));
    for number in ["nan", "infinity", "neg_zero"] {
        assert!(failure(&host(number)).contains("must be losslessly JSON-serializable"), "{number}");
    }
    assert!(failure(&host("deep")).contains("invalid arguments"), "an array is no object");
}

#[test]
fn a_scenario_that_never_ends_fails() {
    let line = plain(&[("TOOL", r#","bodies":{"c1":[{"wait_gate":"nobody"}]}"#)]);
    assert!(failure(&verdict(&line)).contains("never ends"));
}

#[test]
fn the_pending_list_can_only_shrink() {
    let passing = Scenario::read(&parse(&plain(&[])).unwrap()).unwrap();
    let list = Pending::read("id X # not yet\n").unwrap();
    assert!(failure(&run_scenario(&passing, &list)).contains("remove it from the pending list"));
    let failing = Scenario {
        divergence: Some(Divergence {
            then: Some(parse(r#"{"stages_seen":[]}"#).unwrap()),
            ..Divergence::default()
        }),
        ..passing
    };
    assert_eq!(run_scenario(&failing, &list), Verdict::Pending("id X".to_owned()));
    let missing = Scenario { driver: "run_code".to_owned(), divergence: None, ..failing };
    assert_eq!(run_scenario(&missing, &pending()), Verdict::Pending("driver run_code".to_owned()));
    let found = failure(&run_scenario(&missing, &Pending::default()));
    assert!(found.contains("`driver run_code`, which is not"), "{found}");
    let gone = Pending::read("\ndriver pipeline\n").unwrap_err();
    assert_eq!(gone, PendingError::NotPending { line: 2, entry: "driver pipeline".to_owned() });
    assert!(matches!(Pending::read("id A\nid A\n"), Err(PendingError::Twice { line: 2, .. })));
    assert_eq!(pending().parts().collect::<Vec<_>>(), Part::ALL);
}

#[test]
fn lines_that_cannot_be_read_count_as_failed_with_their_number() {
    let text = format!("{}\n\n{{\"id\":\"B\",\n{{\"id\":\"C\"}}\n", plain(&[]));
    let report = run_text("file.jsonl", &text, &pending());
    assert_eq!(report.counts(), Counts { passed: 1, failed: 2, ..Counts::default() });
    let printed = report.to_string();
    assert!(printed.contains("FAIL file.jsonl:3 scenario: "), "{printed}");
    assert!(
        printed
            .contains("FAIL C scenario: expected one scenario a line got `area` is missing (file.jsonl:4)"),
        "{printed}"
    );
    assert_eq!(printed.lines().last(), Some("conformance: 1 passed, 2 failed, 0 pending, 0 unrepresentable"));
}
