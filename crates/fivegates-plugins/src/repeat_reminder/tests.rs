use fivegates_core::cancel::CancelSource;
use fivegates_core::content::{Context, flatten, text_content};
use fivegates_core::decision::{Denial, PostDecision};
use fivegates_core::error::ToolError;
use fivegates_core::gates::{PostExecute, PostNext, Reply, guard_fn, post_fn};
use fivegates_core::json::Json;
use fivegates_core::outcome::{Ending, Outcome};

use super::*;
use crate::testing::{Bench, request, show};

fn thresholds(thresholds: &[u64]) -> Config {
    Config { thresholds: thresholds.to_vec(), ..Config::default() }
}

/// A bench with the plugin and the tools `e` and `f`.
fn bench(config: Config) -> (Bench, Mounted) {
    let bench = Bench::new();
    for name in ["e", "f"] {
        bench.tool(name, |_| async { Ok(Json::from("ok")) });
    }
    let mounted = mount(&bench.registry, config).unwrap();
    (bench, mounted)
}

fn kinds(outcome: &Outcome) -> String {
    let kinds = outcome.contexts().iter().map(|context| match Kind::of(context) {
        Some(Kind::Gentle) => "gentle",
        Some(Kind::Detailed) => "detailed",
        None => "other",
    });
    kinds.collect::<Vec<_>>().join(" ")
}

/// Makes calls, given as a tool's name with optional arguments, and checks which reminder each draws.
async fn check(bench: &Bench, steps: &[(&str, &str)]) {
    for (at, (call, expected)) in steps.iter().enumerate() {
        let (name, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
        let outcome = bench.call_with(name, arguments).await;
        assert_eq!(kinds(&outcome), *expected, "step {at}: {call}");
        assert_eq!(
            flatten(outcome.content()).starts_with("ok"),
            !outcome.is_error(),
            "the result is not touched"
        );
    }
}

#[tokio::test]
async fn by_default_the_third_the_fifth_and_the_eighth_call_draw_a_reminder() {
    let (bench, _mounted) = bench(Config::default());
    let quiet = ("e", "");
    let loud = ("e", "detailed");
    check(&bench, &[quiet, quiet, ("e", "gentle"), quiet, loud, quiet, quiet, loud, quiet, quiet]).await;
}

#[tokio::test]
async fn a_different_call_starts_anew() {
    let (bench, _mounted) = bench(thresholds(&[2]));
    check(&bench, &[("e", ""), ("f", ""), ("e", ""), ("e", "gentle"), ("e {\"a\":1}", ""), ("e", "")]).await;
    check(&bench, &[("nope", ""), ("nope", "gentle")]).await;
}

#[tokio::test]
async fn the_order_of_members_does_not_matter_at_any_depth() {
    let (bench, _mounted) = bench(thresholds(&[2]));
    let steps = [
        (r#"e {"a":{"x":1,"y":[2,{"p":3,"q":4}]},"b":5}"#, ""),
        (r#"e { "b": 5, "a": {"y":[2,{"q":4,"p":3}],"x":1} }"#, "gentle"),
        (r#"e {"a":{"x":1,"y":[{"p":3,"q":4},2]},"b":5}"#, ""),
    ];
    check(&bench, &steps).await;
}

#[tokio::test]
async fn excluded_tools_are_transparent() {
    let glob = |text: &str| Glob::try_from(text).unwrap();
    let exclude = Config { exclude: vec![glob("f*")], ..thresholds(&[2]) };
    let include = Config { include: vec![glob("e"), glob("x?")], ..thresholds(&[2]) };
    let both = Config { include: vec![glob("*")], exclude: vec![glob("?"), glob("g")], ..thresholds(&[2]) };
    for config in [exclude, include] {
        let (bench, _mounted) = bench(config);
        check(&bench, &[("e", ""), ("f", ""), ("f", ""), ("e", "gentle")]).await;
    }
    let (bench, _mounted) = bench(both);
    check(&bench, &[("e", ""), ("e", ""), ("nope", ""), ("nope", "gentle")]).await;
}

#[tokio::test]
async fn denied_and_failing_calls_count() {
    let (bench, _mounted) = bench(thresholds(&[2]));
    bench.tool("fails", |_| async { Err(ToolError::new("no luck").into()) });
    check(&bench, &[("fails", ""), ("fails", "gentle")]).await;
    let _guard = bench.registry.guard(Listen::as_id("g"), guard_fn(|_| Some(Denial::new("no"))));
    check(&bench, &[("e", ""), ("e", "gentle")]).await;
}

#[tokio::test]
async fn agents_are_counted_apart_and_agentless_calls_not_at_all() {
    let (bench, _mounted) = bench(thresholds(&[2]));
    let other = bench.registry.scope("other", None);
    let call = async |agent| {
        let outcome = bench.pipeline.execute(request(agent, "e", "{}", CancelSource::new().1)).await;
        kinds(&outcome)
    };
    let (one, two) = (Some(bench.agent.id()), Some(other.id()));
    assert_eq!([call(one).await, call(two).await, call(None).await, call(None).await], ["", "", "", ""]);
    assert_eq!([call(one).await, call(None).await, call(two).await], ["gentle", "", "gentle"]);
}

#[tokio::test]
async fn a_user_message_starts_anew_for_its_agent_alone() {
    let (bench, mounted) = bench(thresholds(&[2]));
    let other = bench.registry.scope("other", None);
    check(&bench, &[("e", "")]).await;
    mounted.note_user_message(other.id());
    check(&bench, &[("e", "gentle")]).await;
    mounted.note_user_message(bench.agent.id());
    assert_eq!(mounted.shared.agents(), 0);
    check(&bench, &[("e", ""), ("e", "gentle")]).await;
}

#[tokio::test]
async fn a_reminder_says_what_is_repeated() {
    let (bench, _mounted) = bench(Config { arguments_preview_chars: 8, ..thresholds(&[2, 3]) });
    // Characters, not bytes.
    let arguments = r#"{"t":"äöüß€"}"#;
    bench.call_with("e", arguments).await;
    let gentle = show(&bench.call_with("e", arguments).await);
    assert!(gentle.starts_with("ok +The last tool calls were the same call, repeated."), "{gentle}");
    let detailed = show(&bench.call_with("e", arguments).await);
    let expected = "ok +Tool `e` has now been called 3 times in a row with the same arguments:\n\
                    {\"t\":\"äö… (5 characters omitted)\n";
    assert!(detailed.starts_with(expected), "{detailed}");
}

#[tokio::test]
async fn arguments_are_shown_up_to_five_hundred_characters() {
    let (bench, _mounted) = bench(thresholds(&[2, 3]));
    // `{"t":"…"}` is 8 characters longer than its text.
    for (length, cut) in [(492, "\"}\n"), (493, "… (1 characters omitted)\n")] {
        let arguments = format!("{{\"t\":\"{}\"}}", "x".repeat(length));
        bench.call_with("e", &arguments).await;
        bench.call_with("e", &arguments).await;
        let detailed = show(&bench.call_with("e", &arguments).await);
        assert_eq!(detailed.contains("omitted"), length > 492);
        assert!(detailed.contains(cut), "{detailed}");
    }
}

/// A neighbour further in that decides later.
struct Later(PostDecision);

impl PostExecute for Later {
    fn review<'a>(
        &'a self,
        _: &'a fivegates_core::call::Call,
        _: &'a Ending,
        _: PostNext<'a>,
    ) -> Reply<'a, PostDecision> {
        Reply::future(async {
            tokio::task::yield_now().await;
            Ok(self.0.clone())
        })
    }
}

#[tokio::test]
async fn the_reminder_comes_before_the_contexts_of_the_inner_decision() {
    let inner = |decision: PostDecision| decision.prepend_context(Context::text("n", "inner"));
    let decisions = [
        (PostDecision::accept(), "ok"),
        (PostDecision::replace_content(text_content("okay")), "okay"),
        (PostDecision::block(text_content("blocked")), "[-] blocked"),
    ];
    for (decision, shown) in decisions {
        let (bench, _mounted) = bench(thresholds(&[2]));
        let decision = inner(decision);
        let now = decision.clone();
        let neighbour =
            bench.registry.post_execute(Listen::as_id("n"), post_fn(move |_, _| Some(now.clone())));
        let first = show(&bench.call("e").await);
        assert_eq!(first, format!("{shown} +inner"));
        assert_eq!(kinds(&bench.call("e").await), "gentle other");
        drop(neighbour);
        let _later = bench.registry.post_execute(Listen::as_id("n"), Later(decision));
        assert_eq!(kinds(&bench.call("f").await), "other");
        let second = bench.call("f").await;
        assert_eq!(kinds(&second), "gentle other");
        assert!(show(&second).starts_with(shown));
    }
}

#[tokio::test]
async fn an_inner_failure_stays_a_failure_and_the_call_still_counts() {
    struct Panics;
    impl PostExecute for Panics {
        fn review<'a>(
            &'a self,
            _: &'a fivegates_core::call::Call,
            _: &'a Ending,
            _: PostNext<'a>,
        ) -> Reply<'a, PostDecision> {
            panic!("boom")
        }
    }
    let (bench, _mounted) = bench(thresholds(&[2]));
    let panics = bench.registry.post_execute(Listen::as_id("n"), Panics);
    let broken = show(&bench.call("e").await);
    assert_eq!(broken, "[-] Error: tools/post-execute listener \"n\" panicked: boom");
    drop(panics);
    check(&bench, &[("e", "gentle")]).await;
}

#[tokio::test]
async fn memory_is_bounded_and_the_quietest_agent_is_forgotten() {
    let (bench, mounted) = bench(Config { agents_max: 2, ..thresholds(&[2]) });
    let scopes: Vec<_> = (0..3).map(|n| bench.registry.scope(format!("s{n}"), None)).collect();
    let call = async |at: usize, name| {
        let cancel = CancelSource::new().1;
        let outcome = bench.pipeline.execute(request(Some(scopes[at].id()), name, "{}", cancel)).await;
        kinds(&outcome)
    };
    // 0 is the oldest, but spoke last; so 1 is the one that goes.
    for (at, name) in [(0, "e"), (1, "e"), (0, "f"), (2, "e")] {
        assert_eq!(call(at, name).await, "");
        assert!(mounted.shared.agents() <= 2);
    }
    assert_eq!([call(0, "f").await, call(2, "e").await, call(1, "e").await], ["gentle", "gentle", ""]);
    assert_eq!(mounted.shared.agents(), 2);
}

#[tokio::test]
async fn dropping_it_removes_it() {
    let (bench, mounted) = bench(thresholds(&[2]));
    check(&bench, &[("e", "")]).await;
    drop(mounted);
    check(&bench, &[("e", ""), ("e", "")]).await;
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |config| mount(&Registry::new(), config).unwrap_err();
    assert_eq!(refused(thresholds(&[])), ConfigError::NoThreshold);
    assert_eq!(refused(thresholds(&[3, 1])), ConfigError::BelowTwo(1));
    assert_eq!(refused(thresholds(&[0])), ConfigError::BelowTwo(0));
    assert_eq!(refused(thresholds(&[5, 3, 5])), ConfigError::Duplicate(5));
    assert_eq!(refused(Config { agents_max: 0, ..Config::default() }), ConfigError::NoAgents);
    let read = |text| serde_json::from_str::<Config>(text).map_err(|error| error.to_string());
    assert_eq!(read("{}"), Ok(Config::default()));
    assert!(read(r#"{"thresholds":[2.5]}"#).unwrap_err().contains("2.5"));
    assert!(read(r#"{"thresholds":[-3]}"#).unwrap_err().contains("-3"));
    assert!(read(r#"{"treshold":[3]}"#).unwrap_err().contains("unknown field `treshold`"));
    assert!(read(r#"{"include":["a{b,c}"]}"#).unwrap_err().contains("only `*` and `?` are special"));
    assert!(read(r#"{"exclude":[""]}"#).unwrap_err().contains("empty"));
}

#[tokio::test]
async fn thresholds_may_come_in_any_order() {
    let (bench, _mounted) = bench(thresholds(&[4, 2]));
    check(&bench, &[("e", ""), ("e", "gentle"), ("e", ""), ("e", "detailed")]).await;
}

#[test]
fn patterns_match_whole_names() {
    let cases = [
        ("read", "read", true),
        ("read", "reads", false),
        ("read", "rea", false),
        ("*", "", true),
        ("mcp__*", "mcp__x__y", true),
        ("mcp__*", "mcp_x", false),
        ("*__read", "a__read__read", true),
        ("*a*b*c", "xxaxxbxxbc", true),
        ("*a*b*c", "xxbxxaxxc", false),
        ("r??d", "read", true),
        ("r??d", "rd", false),
        ("?", "ä", true),
        ("**", "x", true),
        ("a*", "a", true),
        ("a?*", "a", false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(Glob::try_from(pattern).unwrap().matches(name), expected, "{pattern} on {name}");
    }
}

#[test]
fn a_hostile_pattern_ends_soon() {
    let pattern = Glob::try_from("a*".repeat(50) + "b").unwrap();
    assert!(!pattern.matches(&"a".repeat(10_000)));
}
