//! Gate 3 and the body.

use fivegates_core::content::Context;
use fivegates_core::gates::Attempt;
use fivegates_core::tool::Effects;

use super::*;

#[tokio::test]
async fn r025_a_nested_call_has_a_pipeline_of_its_own() {
    let world = world();
    let seen = world.observe();
    let pipeline = world.pipeline();
    let outer = tool("outer", move |invocation| {
        let pipeline = pipeline.clone();
        async move {
            let inner = invocation.nested("c2", "t", Arguments::Text("{}".into()));
            Ok(Json::from(pipeline.execute(inner).await.is_error()))
        }
    });
    world.registry.register(None, outer).unwrap().keep();
    world.call("outer").await;
    let met = |at: usize| -> Vec<&str> {
        seen.lock().unwrap()[at].1.iter().map(|met| met.stage.as_str()).collect()
    };
    let whole = ["admit", "tools/pre-execute", "guards", "body", "tools/post-execute", "tools/result"];
    assert_eq!((met(0), met(1)), (whole.to_vec(), whole.to_vec()));
}

#[tokio::test]
async fn r123_a_wrapper_sees_failures_as_results() {
    let world = world();
    world.registry.register(None, tool("fails", |_| async { Err("broken".into()) })).unwrap().keep();
    let log = world.log.clone();
    let looks = around(move |_, mut next| {
        let log = log.clone();
        Reply::future(async move {
            let attempt = next.run().await?;
            let ending = attempt.ending();
            log.add(format!("{} {}", ending.is_error(), ending.code().unwrap_or("-")));
            Ok(attempt.into())
        })
    });
    world.registry.around(Listen::as_id("w"), looks).keep();
    for name in ["fails", "none"] {
        world.call(name).await;
    }
    assert_eq!(world.log.take(), ["true -", "true UNKNOWN_TOOL"]);
}

/// Keeps the first attempt that it sees, and answers every later call with it.
fn caches(kept: Arc<Mutex<Option<Attempt>>>) -> impl Around + 'static {
    around(move |call, mut next| {
        let first = call.id().as_str() == "c0";
        let kept = Arc::clone(&kept);
        Reply::future(async move {
            if !first {
                let cached = kept.lock().unwrap().take();
                return Ok(cached.map_or_else(|| Answer::value(Json::Null), Answer::from));
            }
            let attempt = next.run().await?;
            *kept.lock().unwrap() = Some(attempt);
            Ok(Answer::value(Json::from("first")))
        })
    })
}

#[tokio::test]
async fn r126_a_result_of_another_execution_is_checked_like_any_value() {
    let world = world();
    let text = Json::object([("type", Json::from("string"))]);
    let number = Json::object([("type", Json::from("number"))]);
    let body = |_: Invocation| async { Ok::<_, BodyError>(Json::from("cached")) };
    let source = Definition::new("source", "", &open(), &text, body).unwrap();
    let same = Definition::new("same", "", &open(), &text, body).unwrap();
    let same = same.with_render(|_, value| Ok(vec![Block::text(format!("rendered anew: {value}"))]));
    let other = Definition::new("other", "", &open(), &number, body).unwrap();
    for definition in [source, same, other] {
        world.registry.register(None, definition).unwrap().keep();
    }
    let kept: Arc<Mutex<Option<Attempt>>> = Arc::default();
    world.registry.around(Listen::as_id("cache"), caches(Arc::clone(&kept))).keep();
    let mut outcomes = Vec::new();
    for (id, name) in [("c0", "source"), ("c1", "same"), ("c0", "source"), ("c2", "other")] {
        let request = CallRequest::new(id, name, Arguments::Text("{}".into()), world.cancel.clone());
        outcomes.push(world.pipeline().execute(request).await);
    }
    assert_eq!(flatten(outcomes[1].content()), "rendered anew: \"cached\"");
    assert_eq!(outcomes[3].code(), Some("INVALID_TOOL_OUTPUT"));
}

#[tokio::test]
async fn r131_a_tool_that_is_gone_before_its_body_is_unknown() {
    for replaced in [false, true] {
        let world = world();
        let gone =
            Arc::new(Mutex::new(Some(world.registry.register(None, saying("u", &world.log)).unwrap())));
        let (registry, log) = (world.registry.clone(), world.log.clone());
        let removes = around(move |_, next| {
            drop(gone.lock().unwrap().take());
            if replaced {
                registry.register(None, saying("u", &log)).unwrap().keep();
            }
            next.pass()
        });
        world.registry.around(Listen::as_id("removes"), removes).keep();
        let outcome = world.call("u").await;
        assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"), "also when another took its name: {replaced}");
        assert!(world.log.take().is_empty());
    }
}

#[tokio::test]
async fn r131_a_tool_that_removes_itself_still_yields_its_result() {
    let world = world();
    let held: Arc<Mutex<Option<fivegates_core::registry::Registration>>> = Arc::default();
    let own = Arc::clone(&held);
    let leaves = tool("leaves", move |_| {
        drop(own.lock().unwrap().take());
        async { Ok(Json::from("left")) }
    });
    *held.lock().unwrap() = Some(world.registry.register(None, leaves).unwrap());
    assert_eq!(flatten(world.call("leaves").await.content()), "left");
    assert_eq!(world.call("leaves").await.code(), Some("UNKNOWN_TOOL"));
}

#[tokio::test]
async fn r147_the_conclusion_counts_on_success_only() {
    let world = world();
    for (name, fails) in [("ends", false), ("fails", true)] {
        let body = move |invocation: Invocation| async move {
            invocation.conclude_turn();
            if fails { Err("broken".into()) } else { Ok(Json::Null) }
        };
        world.registry.register(None, tool(name, body)).unwrap().keep();
    }
    assert!(world.call("ends").await.success().unwrap().concludes_turn());
    assert!(world.call("fails").await.success().is_none());
    // A wrapper's success in the place of a failure does not conclude for it.
    let mends = around(|_, mut next| {
        Reply::future(async move {
            next.run().await?;
            Ok(Answer::value(Json::Null))
        })
    });
    world.registry.around(Listen::as_id("mends"), mends).keep();
    for name in ["ends", "fails"] {
        assert!(!world.call(name).await.success().unwrap().concludes_turn(), "{name}");
    }
}

#[tokio::test]
async fn r170_what_is_deferred_after_the_end_of_the_body_is_ignored() {
    let world = world();
    let kept: Arc<Mutex<Option<Invocation>>> = Arc::default();
    let leaks = Arc::clone(&kept);
    let body = move |invocation: Invocation| {
        *leaks.lock().unwrap() = Some(invocation.clone());
        async move {
            invocation.defer_context(Context::text("t", "one"));
            tokio::task::yield_now().await;
            invocation.defer_context(Context::text("t", "two"));
            Ok(Json::Null)
        }
    };
    world.registry.register(None, tool("defers", body)).unwrap().keep();
    let late = Arc::clone(&kept);
    let post = post_fn(move |_, _| {
        let invocation = late.lock().unwrap().clone().unwrap();
        invocation.defer_context(Context::text("t", "too late"));
        invocation.conclude_turn();
        None
    });
    world.registry.post_execute(Listen::as_id("late"), post).keep();
    let outcome = world.call("defers").await;
    assert_eq!(texts(&outcome), ["one", "two"]);
    assert!(!outcome.success().unwrap().concludes_turn());
}

#[tokio::test]
async fn l01_each_attempt_meets_the_same_inner_wrappers_and_only_the_last_ones_contexts_stay() {
    let world = world();
    let runs = Arc::new(Mutex::new(0));
    let count = Arc::clone(&runs);
    let body = move |invocation: Invocation| {
        let run = {
            let mut runs = count.lock().unwrap();
            *runs += 1;
            *runs
        };
        async move {
            invocation.defer_context(Context::text("t", format!("deferred {run}")));
            if run < 3 { Err("again".into()) } else { Ok(Json::Null) }
        }
    };
    world.registry.register(None, tool("flaky", body)).unwrap().keep();
    let retries = around(|_, mut next| {
        Reply::future(async move {
            next.run().await?;
            next.run().await?;
            Ok(Answer::from(next.run().await?))
        })
    });
    let log = world.log.clone();
    let inner = around(move |_, next| {
        log.add("inner");
        next.pass().map(|answer| answer.with_context(Context::text("w", "wrapped")))
    });
    world.registry.around(Listen::as_id("retries"), retries).keep();
    world.registry.around(Listen::as_id("inner"), inner).keep();
    let outcome = world.call("flaky").await;
    assert_eq!(world.log.take(), ["inner", "inner", "inner"]);
    assert_eq!(texts(&outcome), ["deferred 3", "wrapped"]);
}

#[tokio::test]
async fn l02_contexts_stay_whatever_fails_after_them() {
    let defers = |invocation: Invocation| async move {
        invocation.defer_context(Context::text("t", "deferred"));
        Ok(Json::Null)
    };
    for place in ["wrapper", "post", "finalizer", "refused value"] {
        let world = world();
        let definition = tool("d", defers).with_finalizer(move |_, _| match place {
            "finalizer" => Err("finalizer".into()),
            _ => Ok(None),
        });
        let definition = definition.with_render(move |_, value| match value.as_str() {
            Some(_) => Err(fivegates_core::tool::ProjectionError::NotLossless),
            None => Ok(vec![]),
        });
        world.registry.register(None, definition).unwrap().keep();
        let wrapper = around(move |_, mut next| {
            Reply::future(async move {
                let attempt = next.run().await?;
                if place == "wrapper" { Err(ToolError::new("wrapper").into()) } else { Ok(attempt.into()) }
            })
        });
        let _wrapper = world.registry.around(Listen::as_id("w"), wrapper);
        let post = post_fn(move |_, _| match place {
            "post" => panic!("post"),
            "refused value" => Some(
                PostDecision::replace_value(Json::from("x")).prepend_context(Context::text("p", "its own")),
            ),
            _ => None,
        });
        let _post = world.registry.post_execute(Listen::as_id("p"), post);
        let outcome = world.call("d").await;
        assert!(outcome.is_error(), "{place}");
        assert_eq!(texts(&outcome), ["deferred"], "{place}");
    }
}

#[tokio::test]
async fn l21_a_listener_that_unregisters_the_tool_does_not_change_what_checks_the_value() {
    let world = world();
    let text = Json::object([("type", Json::from("string"))]);
    let body = |_: Invocation| async { Ok::<_, BodyError>(Json::from("x")) };
    let definition = Definition::new("s", "", &open(), &text, body).unwrap();
    let held = Arc::new(Mutex::new(Some(world.registry.register(None, definition).unwrap())));
    let removes = post_fn(move |_, _| {
        drop(held.lock().unwrap().take());
        Some(PostDecision::replace_value(Json::from(1)))
    });
    world.registry.post_execute(Listen::as_id("removes"), removes).keep();
    assert_eq!(world.call("s").await.code(), Some("INVALID_TOOL_OUTPUT"), "the captured contract checks it");
}

#[test]
fn l64_effects_that_are_not_declared_are_the_worst() {
    let plain = tool("x", |_| async { Ok(Json::Null) });
    assert_eq!(plain.effects(&Json::Null), Effects::UNKNOWN);
    let Effects { read_only, destructive, idempotent, open_world } = Effects::UNKNOWN;
    assert!(!read_only && destructive && !idempotent && open_world);
    let declared = plain.with_effects(|arguments| match arguments.get("dry") {
        Some(_) => Effects::READ_ONLY,
        None => Effects::UNKNOWN,
    });
    assert_eq!(declared.effects(&Json::object([("dry", Json::Null)])), Effects::READ_ONLY);
    assert_eq!(declared.effects(&open()), Effects::UNKNOWN);
}

#[tokio::test]
async fn a_block_without_a_type_is_the_tools_affair() {
    let world = world();
    let odd = tool("odd", |_| async { Ok(Json::Null) });
    let odd = odd.with_render(|_, _| Ok(vec![Block::Other(Json::Null), Block::text("text")]));
    world.registry.register(None, odd).unwrap().keep();
    let outcome = world.call("odd").await;
    assert!(!outcome.is_error());
    assert_eq!(outcome.content().len(), 2);
}
