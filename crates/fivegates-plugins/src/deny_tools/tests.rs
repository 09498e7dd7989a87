use fivegates_core::gates::pre_fn;
use fivegates_core::json::Json;

use fivegates_core::decision::PreDecision;

use super::*;
use crate::testing::{Bench, show};

fn rule(id: &str, tool: &str, code: Option<&str>) -> GuardRule {
    GuardRule {
        id: id.to_owned(),
        tool: tool.to_owned(),
        reason: format!("{tool} is off"),
        code: code.map(str::to_owned),
    }
}

fn refused(rules: Vec<GuardRule>) -> String {
    let registry = Registry::new();
    let error = mount(&registry, Config { rules }).unwrap_err();
    assert!(registry.mounted_ids().iter().all(|(_, ids)| ids.is_empty()), "part of it was mounted");
    error.to_string()
}

#[tokio::test]
async fn a_named_tool_is_refused_even_when_it_was_allowed() {
    let bench = Bench::new();
    bench
        .tool("bash", |_| async { Ok(Json::from("ran")) })
        .tool("bash2", |_| async { Ok(Json::from("ran")) });
    let allow = pre_fn(|_| Some(PreDecision::allow_because("trust me")));
    let _allow = bench.registry.pre_execute(Listen::as_id("p"), allow);
    let rules =
        vec![rule("g0", "other", None), rule("g1", "bash", Some("NO_SHELL")), rule("g2", "bash", None)];
    let mounted = mount(&bench.registry, Config { rules }).unwrap();
    let outcome = bench.call("bash").await;
    assert_eq!(show(&outcome), "[-] Error: bash is off");
    let denial = outcome.failure().unwrap().denial().unwrap();
    assert_eq!((denial.by().unwrap().as_str(), denial.code()), ("g1", "NO_SHELL"));
    assert_eq!(denial.kind().as_str(), "guard");
    assert_eq!(show(&bench.call("bash2").await), "ran", "names match exactly");
    let unknown = bench.call("other").await;
    assert_eq!(unknown.failure().unwrap().denial().unwrap().code(), "GUARD_DENIED");
    assert_eq!(bench.log.take(), ["body:bash2"]);
    drop(mounted);
    assert_eq!(show(&bench.call("bash").await), "ran");
}

#[test]
fn rules_that_make_no_sense_are_refused_whole() {
    let twice = refused(vec![rule("g", "a", None), rule("g", "b", None)]);
    assert_eq!(twice, "two guards are called `g`; give each an id of its own");
    assert_eq!(
        refused(vec![rule("g", "a", None), rule("h", " ", None)]),
        "guard `h` has an empty `tool`; give it one"
    );
    assert!(refused(vec![rule("", "a", None)]).contains("empty `id`"));
    assert!(refused(vec![rule("g", "a", Some(""))]).contains("empty `code`"));
    let silent = GuardRule { reason: String::new(), ..rule("g", "a", None) };
    assert!(refused(vec![silent]).contains("empty `reason`"));
}

#[test]
fn rules_are_read_strictly() {
    let read: GuardRule = serde_json::from_str(r#"{"id":"g","tool":"bash","reason":"bash is off"}"#).unwrap();
    assert_eq!(read, rule("g", "bash", None));
    assert!(serde_json::from_str::<GuardRule>(r#"{"id":"g","tool":"bash"}"#).is_err());
    assert!(serde_json::from_str::<GuardRule>(r#"{"id":"g","tool":"b","reason":"r","tools":1}"#).is_err());
}
