use fivegates_core::decision::{ApprovalOutcome, PreDecision};
use fivegates_core::error::ToolError;
use fivegates_core::gates::{PreExecute, PreNext, Reply, pre_fn};
use fivegates_core::ids::ComponentId;
use fivegates_core::json::Json;
use fivegates_core::outcome::Outcome;
use fivegates_core::pipeline::Pipeline;
use fivegates_core::ports::{ApprovalRequest, Approver};
use fivegates_core::tool::Effects;

use super::*;
use crate::testing::{Bench, Log, show};

/// Answers every ask with yes, and logs what it was asked.
struct Yes {
    id: ComponentId,
    log: Log,
}

impl Approver for Yes {
    fn id(&self) -> &ComponentId {
        &self.id
    }

    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        let (by, reason) = (request.by.map(ComponentId::as_str), request.reason);
        self.log.push(format!("asked by {}: {}", by.unwrap_or("nobody"), reason.unwrap_or("-")));
        Reply::ready(ApprovalOutcome::AllowedOnce)
    }
}

/// A bench in this mode, with a tool that reads, one that writes and one that says nothing of its effects.
fn bench(mode: Mode) -> Bench {
    let mut bench = Bench::new();
    let yes = Yes { id: ComponentId::new("yes"), log: bench.log.clone() };
    bench.pipeline = Pipeline::builder(bench.registry.clone()).approver(std::sync::Arc::new(yes)).build();
    let writes = Effects { read_only: false, destructive: false, idempotent: false, open_world: false };
    let body = |_| async { Ok(Json::from("ran")) };
    bench.add(bench.define("read", body).with_effects(|_| Effects::READ_ONLY));
    bench.add(bench.define("write", body).with_effects(move |_| writes));
    bench.add(bench.define("bash", body));
    // Read-only for some arguments alone.
    let depends =
        move |arguments: &Json| if arguments.get("w").is_some() { writes } else { Effects::READ_ONLY };
    bench.add(bench.define("depends", body).with_effects(depends));
    bench.add(bench.define("broken", body).with_effects(|_| panic!("no effects")));
    mount(&bench.registry, Config { mode }).into_iter().for_each(Registration::keep);
    bench
}

fn denial(outcome: &Outcome) -> (String, String) {
    let denial = outcome.failure().unwrap().denial().unwrap();
    (denial.by().unwrap().to_string(), denial.code().to_owned())
}

#[tokio::test]
async fn read_only_lets_reads_pass_and_denies_the_rest() {
    let bench = bench(Mode::ReadOnly);
    assert_eq!(show(&bench.call("read").await), "ran");
    assert_eq!(show(&bench.call("depends").await), "ran");
    bench.log.take();
    let write = bench.call("write").await;
    assert_eq!(
        show(&write),
        "[-] Error: tool `write` is denied in permission mode `read-only`: it may change things; \
         `--permission ask` would ask instead"
    );
    assert_eq!(denial(&write), ("permission".to_owned(), "PERMISSION_READ_ONLY".to_owned()));
    for name in ["bash", "broken", "unknown"] {
        let outcome = bench.call(name).await;
        assert_eq!(denial(&outcome).1, DENIED_CODE, "{name}");
        assert!(show(&outcome).contains("destroy things, also beyond this machine"), "{name}");
    }
    assert_eq!(denial(&bench.call_with("depends", r#"{"w":1}"#).await).1, DENIED_CODE);
    assert!(bench.log.take().is_empty(), "no body ran and nobody was asked");
}

#[tokio::test]
async fn ask_lets_reads_pass_and_asks_about_the_rest() {
    let bench = bench(Mode::Ask);
    assert_eq!(show(&bench.call("read").await), "ran");
    assert_eq!(bench.log.take(), ["body:read"]);
    assert_eq!(show(&bench.call("write").await), "ran");
    assert_eq!(show(&bench.call_with("depends", r#"{"w":1}"#).await), "ran");
    let asked = |tool| {
        format!(
            "asked by permission: tool `{tool}` needs approval in permission mode `ask`: it may change things"
        )
    };
    assert_eq!(
        bench.log.take(),
        [asked("write"), "body:write".into(), asked("depends"), "body:depends".into()]
    );
    // Nobody is asked about what can only fail (L-05).
    assert_eq!(show(&bench.call("unknown").await), "[UNKNOWN_TOOL] Error: unknown tool \"unknown\"");
    assert!(bench.log.take().is_empty());
}

#[tokio::test]
async fn an_ask_without_an_approver_is_a_denial_in_the_same_words() {
    let bench = Bench::new();
    bench.tool("bash", |_| async { Ok(Json::from("ran")) });
    let _mounted = mount(&bench.registry, Config::default());
    let shown = show(&bench.call("bash").await);
    assert!(shown.starts_with("[-] Error: tool `bash` needs approval in permission mode `ask`"), "{shown}");
    assert!(bench.log.take().is_empty());
}

#[tokio::test]
async fn allow_lets_all_pass_and_says_so_in_the_record() {
    let bench = bench(Mode::Allow);
    let log = bench.log.clone();
    let observer = fivegates_core::gates::observer_fn(move |call, _| {
        let met = call.met().into_iter().find(|met| met.verdict == "allowed").unwrap();
        log.push(format!("{}: {}", met.by.unwrap(), met.reason.unwrap()));
        Ok(())
    });
    let _observer = bench.registry.observe(Listen::as_id("o"), observer);
    for name in ["read", "write", "bash"] {
        assert_eq!(show(&bench.call(name).await), "ran");
        assert_eq!(bench.log.take(), [format!("body:{name}").as_str(), "permission: permission mode allow"]);
    }
}

/// A neighbour that decides later, not at once.
struct Later(PreDecision);

impl PreExecute for Later {
    fn decide<'a>(&'a self, _: &'a fivegates_core::call::Call, _: PreNext<'a>) -> Reply<'a, PreDecision> {
        Reply::future(async {
            tokio::task::yield_now().await;
            Ok(self.0.clone())
        })
    }
}

#[tokio::test]
async fn the_stricter_of_a_neighbour_and_the_mode_stands() {
    let said = [
        ("allow", PreDecision::allow_because("fine")),
        ("ask", PreDecision::ask_because("sure?")),
        ("deny", PreDecision::deny("no")),
    ];
    // What a call of `write` comes to: who decided, and how.
    let expected = [
        (Mode::ReadOnly, ["permission denied", "permission denied", "n denied"]),
        (Mode::Ask, ["permission asked", "n asked", "n denied"]),
        (Mode::Allow, ["n allowed", "n asked", "n denied"]),
    ];
    for (mode, row) in expected {
        for ((name, decision), expected) in said.iter().zip(row) {
            for later in [true, false] {
                let bench = bench(mode);
                // Mounted later, so further in.
                let how = Listen::as_id("n");
                let _neighbour = if later {
                    bench.registry.pre_execute(how, Later(decision.clone()))
                } else {
                    let decision = decision.clone();
                    bench.registry.pre_execute(how, pre_fn(move |_| Some(decision.clone())))
                };
                let log = Log::default();
                let seen = log.clone();
                let observer = fivegates_core::gates::observer_fn(move |call, _| {
                    let met = call
                        .met()
                        .into_iter()
                        .find(|met| met.stage == fivegates_core::call::Stage::PreExecute);
                    let met = met.unwrap();
                    seen.push(format!("{} {}", met.by.unwrap(), met.verdict));
                    Ok(())
                });
                let _observer = bench.registry.observe(Listen::as_id("o"), observer);
                bench.call("write").await;
                assert_eq!(log.take(), [expected], "{mode} with {name}, later: {later}");
            }
        }
    }
}

#[tokio::test]
async fn a_neighbour_that_fails_denies_in_every_mode() {
    struct Fails;
    impl PreExecute for Fails {
        fn decide<'a>(&'a self, _: &'a fivegates_core::call::Call, _: PreNext<'a>) -> Reply<'a, PreDecision> {
            Reply::error(ToolError::new("gate broke"))
        }
    }
    for mode in Mode::ALL {
        let bench = bench(mode);
        let _fails = bench.registry.pre_execute(Listen::as_id("f"), Fails);
        let panics = bench.call("read").await;
        assert_eq!(show(&panics), "[-] Error: gate broke", "{mode}");
        assert_eq!(denial(&panics), ("f".to_owned(), "GATE_ERROR".to_owned()));
        assert!(bench.log.take().is_empty());
    }
}

#[tokio::test]
async fn it_is_mounted_outside_those_that_are_there() {
    let bench = Bench::new();
    bench.tool("bash", |_| async { Ok(Json::from("ran")) });
    let lax = pre_fn(|_| Some(PreDecision::allow_because("lax")));
    let _lax = bench.registry.pre_execute(Listen::as_id("lax"), lax);
    let _mounted = mount(&bench.registry, Config { mode: Mode::ReadOnly });
    assert_eq!(denial(&bench.call("bash").await).1, DENIED_CODE);
}

#[test]
fn modes_are_read_by_name() {
    for mode in Mode::ALL {
        assert_eq!(mode.as_str().parse(), Ok(mode));
        let quoted = format!("\"{mode}\"");
        assert_eq!(serde_json::from_str::<Mode>(&quoted).unwrap(), mode);
    }
    assert_eq!(Mode::default(), Mode::Ask);
    let unknown = "readonly".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(unknown, "unknown permission mode `readonly`; the modes are `read-only`, `ask` and `allow`");
    for mode in Mode::ALL {
        assert!(unknown.contains(&format!("`{mode}`")));
    }
    assert!("".parse::<Mode>().is_err() && "Allow".parse::<Mode>().is_err());
}
