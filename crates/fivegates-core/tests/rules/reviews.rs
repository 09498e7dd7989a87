//! Gates 4 and 5, publication.

use fivegates_core::content::{Context, text_content};
use fivegates_core::decision::{PostDecisionError, RawPostDecision};

use super::*;

async fn reviewed(world: &World, name: &str, decision: PostDecision) -> Outcome {
    let post = post_fn(move |_, _| Some(decision.clone()));
    let _mounted = world.registry.post_execute(Listen::as_id("post"), post);
    world.call(name).await
}

#[tokio::test]
async fn r163_a_value_that_breaks_the_contract_is_refused() {
    let world = world();
    let text = Json::object([("type", Json::from("string"))]);
    let body = |_: Invocation| async { Ok::<_, BodyError>(Json::from("x")) };
    world.registry.register(None, Definition::new("s", "", &open(), &text, body).unwrap()).unwrap().keep();
    let outcome = reviewed(&world, "s", PostDecision::replace_value(Json::from(1))).await;
    assert_eq!(outcome.code(), Some("INVALID_TOOL_OUTPUT"));
    assert_eq!(message(&outcome), "tool \"s\" returned invalid output: \"value\" must be a string");
}

#[test]
fn l14_foreign_decisions_are_checked_where_they_enter() {
    let content = || Some(text_content("c"));
    let both = RawPostDecision { content: content(), value: Some(Json::Null), ..RawPostDecision::default() };
    let block = RawPostDecision { block: content(), content: content(), ..RawPostDecision::default() };
    assert_eq!(PostDecision::try_from(both), Err(PostDecisionError::BothReplaced));
    assert_eq!(PostDecision::try_from(block), Err(PostDecisionError::BlockReplaces));
    let text = "tools/post-execute accept decision cannot replace both value and content";
    assert_eq!(PostDecisionError::BothReplaced.to_string(), text);
    assert_eq!(PostDecision::try_from(RawPostDecision::default()), Ok(PostDecision::accept()));
}

#[tokio::test]
async fn r164_content_can_be_replaced_when_the_tool_is_gone() {
    let world = world();
    let held = Arc::new(Mutex::new(Some(world.registry.register(None, saying("u", &world.log)).unwrap())));
    let removes = post_fn(move |_, _| {
        drop(held.lock().unwrap().take());
        Some(PostDecision::replace_content(text_content("shown")))
    });
    world.registry.post_execute(Listen::as_id("removes"), removes).keep();
    let outcome = world.call("u").await;
    assert_eq!(flatten(outcome.content()), "shown");
    assert_eq!(outcome.success().unwrap().value(), &Json::from("ran"), "R-169: the value stays");
}

#[tokio::test]
async fn r165_a_blocks_message_names_what_is_no_text() {
    let world = world();
    let image = Json::object([("type", Json::from("image")), ("data", Json::from("AA=="))]);
    let feedback: Content = Arc::from([Block::text("no"), Block::Other(image), Block::text("really")]);
    let outcome = reviewed(&world, "t", PostDecision::block(feedback)).await;
    assert_eq!(message(&outcome), "no\n[image content]\nreally");
    assert_eq!(outcome.content().len(), 3);
    let outcome = reviewed(&world, "t", PostDecision::block(Arc::from([]))).await;
    assert_eq!(message(&outcome), "tool result blocked by post-execute policy");
}

#[tokio::test]
async fn r168_a_denial_can_be_reworded_but_not_undone() {
    let world = world();
    world.registry.guard(Listen::as_id("g"), guard_fn(|_| Some(Denial::new("no")))).keep();
    let outcome = reviewed(&world, "t", PostDecision::replace_content(text_content("softer"))).await;
    assert_eq!((outcome.is_error(), flatten(outcome.content())), (true, "softer".to_owned()));
    assert_eq!(message(&outcome), "no");
    let outcome = reviewed(&world, "t", PostDecision::replace_value(Json::Null)).await;
    assert_eq!(message(&outcome), "tools/post-execute cannot replace the value of a failed result");
    assert!(world.log.take().is_empty());
}

#[tokio::test]
async fn r180_the_finalizer_is_captured_at_entry() {
    let world = world();
    let definition = saying("f", &world.log).with_finalizer(|_, _| Ok(Some(text_content("last word"))));
    let held = Arc::new(Mutex::new(Some(world.registry.register(None, definition).unwrap())));
    let removes = pre_fn(move |_| {
        drop(held.lock().unwrap().take());
        None
    });
    world.registry.pre_execute(Listen::as_id("removes"), removes).keep();
    let outcome = world.call("f").await;
    assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(flatten(outcome.content()), "last word");
}

#[tokio::test]
async fn r181_the_finalizer_runs_once_for_every_outcome() {
    for fault in ["none", "pre", "guard", "body", "output", "post", "block", "cancelled"] {
        let world = world();
        let log = world.log.clone();
        let text = Json::object([("type", Json::from("string"))]);
        let body = move |_: Invocation| async move {
            match fault {
                "body" => Err("body".into()),
                "output" => Ok(Json::from(1)),
                _ => Ok::<_, BodyError>(Json::from("x")),
            }
        };
        let definition = Definition::new("f", "", &open(), &text, body).unwrap();
        let definition = definition.with_finalizer(move |_, ending| {
            log.add(ending.code().unwrap_or("-"));
            Ok(None)
        });
        world.registry.register(None, definition).unwrap().keep();
        let pre = pre_fn(move |_| if fault == "pre" { panic!("pre") } else { None });
        world.registry.pre_execute(Listen::as_id("pre"), pre).keep();
        let guard = guard_fn(move |_| (fault == "guard").then(|| Denial::new("guard")));
        world.registry.guard(Listen::as_id("guard"), guard).keep();
        let post = post_fn(move |_, _| match fault {
            "post" => panic!("post"),
            "block" => Some(PostDecision::block(text_content("blocked"))),
            _ => None,
        });
        world.registry.post_execute(Listen::as_id("post"), post).keep();
        if fault == "cancelled" {
            world.source.fire(CancelReason::User);
        }
        world.call("f").await;
        // It also sees what broke the tool's own contract (R-184).
        let code = match fault {
            "output" => "INVALID_TOOL_OUTPUT",
            "cancelled" => "ABORTED_BEFORE_DISPATCH",
            _ => "-",
        };
        assert_eq!(world.log.take(), [code], "{fault}");
    }
}

#[tokio::test]
async fn r190_one_notification_for_each_execution_after_everything_is_sealed() {
    let world = world();
    let seen = world.observe();
    let outcome = world.call("t").await;
    let seen = seen.lock().unwrap();
    let [(shown, met)] = &seen[..] else { panic!("one notification: {seen:?}") };
    assert_eq!(*shown, outcome);
    assert_eq!(met.last().map(|met| met.stage.as_str()), Some("tools/result"));
}

#[tokio::test]
async fn l04_the_code_that_a_block_erases_stays_in_the_story() {
    let world = world();
    let seen = world.observe();
    let outcome = reviewed(&world, "none", PostDecision::block(text_content("blocked"))).await;
    assert_eq!(outcome.code(), None);
    let seen = seen.lock().unwrap();
    let codes: Vec<_> = seen[0].1.iter().map(|met| (met.stage.as_str(), met.code.as_deref())).collect();
    assert!(codes.contains(&("tools/post-execute", Some("UNKNOWN_TOOL"))), "{codes:?}");
}

#[tokio::test]
async fn l02_only_a_block_drops_what_was_deferred() {
    let world = world();
    let defers = |invocation: Invocation| async move {
        invocation.defer_context(Context::text("t", "deferred"));
        Ok(Json::Null)
    };
    world.registry.register(None, tool("d", defers)).unwrap().keep();
    let own = Context::text("p", "the decision's");
    let block = PostDecision::block(text_content("no")).prepend_context(own.clone());
    assert_eq!(texts(&reviewed(&world, "d", block).await), ["the decision's"]);
    let accept = PostDecision::accept().prepend_context(own);
    assert_eq!(texts(&reviewed(&world, "d", accept).await), ["deferred", "the decision's"]);
}

/// Hides one word.
struct Hides(fivegates_core::ids::ComponentId);

impl fivegates_core::ports::Egress for Hides {
    fn id(&self) -> &fivegates_core::ids::ComponentId {
        &self.0
    }
    fn text(&self, text: &str) -> Result<Option<String>, ToolError> {
        Ok(text.contains("secret").then(|| text.replace("secret", "****")))
    }
}

#[tokio::test]
async fn l63_what_the_finalizer_and_the_contexts_say_is_filtered_too() {
    let world = world();
    let seen = world.observe();
    let body = |invocation: Invocation| async move {
        invocation.defer_context(Context::text("t", "a secret context"));
        Ok(Json::Null)
    };
    let definition = tool("d", body)
        .with_meta(|_, _| Ok(Some(Json::object([("secret key", Json::from("a secret"))]))))
        .with_finalizer(|_, _| Ok(Some(text_content("the secret's last word"))));
    world.registry.register(None, definition).unwrap().keep();
    let pipeline = Pipeline::builder(world.registry.clone()).egress(Arc::new(Hides("hides".into()))).build();
    for agent in [true, false] {
        // A final result, which skips gate 4, is covered as well.
        if !agent {
            world.source.fire(CancelReason::User);
        }
        let outcome = pipeline.execute(world.request("d")).await;
        assert_eq!(flatten(outcome.content()), "the ****'s last word");
        if let Some(success) = outcome.success() {
            assert_eq!(success.meta().unwrap().to_string(), r#"{"**** key":"a ****"}"#);
            assert_eq!(texts(&outcome), ["a **** context"]);
        }
    }
    assert!(!format!("{:?}", seen.lock().unwrap()).contains("secret"), "observers see what left");
}
