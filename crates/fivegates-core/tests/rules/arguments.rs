//! What comes in: arguments, tokens, roots.

use super::*;

/// Runs on a thread with little stack, so that recursion over a deep value would end it.
fn with_little_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(work).unwrap();
    thread.join().unwrap();
}

#[test]
fn r005_a_deep_value_goes_the_whole_road() {
    with_little_stack(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let world = world();
            let echo = tool("echo", |invocation| async move { Ok(invocation.arguments().clone()) });
            let echo = echo.with_meta(|_, value| Ok(Some(value.clone())));
            world.registry.register(None, echo).unwrap().keep();
            let depth = 6_000;
            let text = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            let request =
                CallRequest::new("c", "echo", Arguments::Text(text.as_str().into()), world.cancel.clone());
            let outcome = world.pipeline().execute(request).await;
            assert_eq!(flatten(outcome.content()), text);
            assert!(outcome.success().unwrap().meta().is_some());
        });
    });
}

#[tokio::test]
async fn r010_refused_arguments_meet_no_gate_and_are_on_no_call() {
    let world = world();
    let log = world.log.clone();
    let observer = observer_fn(move |call, _| {
        log.add(format!("result, arguments: {:?}", call.arguments()));
        Ok(())
    });
    world.registry.observe(Listen::as_id("o"), observer).keep();
    let log = world.log.clone();
    let pre = pre_fn(move |_| {
        log.add("pre");
        None
    });
    world.registry.pre_execute(Listen::as_id("p"), pre).keep();
    let request = CallRequest::new("c", "t", Arguments::of(&f64::NAN), world.cancel.clone());
    let outcome = world.pipeline().execute(request).await;
    assert_eq!(message(&outcome), "tool execution arguments must be losslessly JSON-serializable");
    assert_eq!((outcome.code(), world.log.take()), (None, vec!["result, arguments: None".to_owned()]));
}

#[tokio::test]
async fn r010_in_code_mode_too_refused_arguments_are_the_reason() {
    // R-073.
    let world = world();
    world.registry.set_default_mode(fivegates_core::registry::Mode::Code);
    let request = CallRequest::new("c", "t", Arguments::of(&f64::INFINITY), world.cancel.clone());
    let outcome = world.pipeline().execute(request).await;
    assert_eq!(message(&outcome), "tool execution arguments must be losslessly JSON-serializable");
    let collapsed = world.pipeline().execute(world.request("t")).await;
    assert!(message(&collapsed).contains("only `run_code` is callable directly"));
}

#[tokio::test]
async fn l61_text_that_is_not_strict_json_is_refused_before_gates_and_people_for_raw_tools_too() {
    for raw in [false, true] {
        let world = world();
        let definition = saying("u", &world.log);
        let definition = if raw { definition.raw() } else { definition };
        world.registry.register(None, definition).unwrap().keep();
        let log = world.log.clone();
        let pre = pre_fn(move |_| {
            log.add("pre");
            None
        });
        world.registry.pre_execute(Listen::as_id("p"), pre).keep();
        for text in
            ["{", r#"{"a":1,"a":2}"#, r#"{"a":-0}"#, r#"{"a":"\ud800"}"#, "{\"a\":12345678901234567890123}"]
        {
            let request = CallRequest::new("c", "u", Arguments::Text(text.into()), world.cancel.clone());
            let outcome = world.pipeline().execute(request).await;
            assert_eq!(outcome.code(), Some("INVALID_ARGS"), "{text}");
            assert!(message(&outcome).starts_with("invalid arguments: "), "{text}");
        }
        assert!(world.log.take().is_empty());
    }
}

#[tokio::test]
async fn r020_tokens_are_fresh_and_have_no_text() {
    let world = world();
    let tokens: Arc<Mutex<Vec<_>>> = Arc::default();
    let kept = Arc::clone(&tokens);
    let observer = observer_fn(move |call, _| {
        kept.lock().unwrap().push(call.token());
        Ok(())
    });
    world.registry.observe(Listen::as_id("o"), observer).keep();
    for _ in 0..200 {
        world.call("t").await;
    }
    let tokens = tokens.lock().unwrap();
    let distinct: std::collections::HashSet<_> = tokens.iter().collect();
    assert_eq!(distinct.len(), 200, "equal call ids get different tokens");
    assert_eq!(format!("{:?}", tokens[0]), "ExecutionToken(****)");
}

#[tokio::test]
async fn r022_nested_calls_inherit_root_agent_and_signal_and_know_their_parents_token_only() {
    let world = world();
    let seen = Log::default();
    let log = seen.clone();
    let tokens: Arc<Mutex<Vec<_>>> = Arc::default();
    let kept = Arc::clone(&tokens);
    let agent = world.agent.id();
    let pre = pre_fn(move |call| {
        kept.lock().unwrap().push((call.token(), call.parent()));
        log.add(format!("{} of {} agent {}", call.id(), call.root(), call.agent() == Some(agent)));
        None
    });
    world.registry.pre_execute(Listen::as_id("p"), pre).keep();
    for (name, inner) in [("outer", "middle"), ("middle", "t")] {
        let pipeline = world.pipeline();
        let body = move |invocation: Invocation| {
            let pipeline = pipeline.clone();
            async move {
                let nested = invocation.nested(format!("in {inner}"), inner, Arguments::Text("{}".into()));
                pipeline.execute(nested).await;
                Ok(Json::Null)
            }
        };
        world.registry.register(None, tool(name, body)).unwrap().keep();
    }
    world.call("outer").await;
    assert_eq!(seen.take(), ["c1 of c1 agent true", "in middle of c1 agent true", "in t of c1 agent true"]);
    let tokens = tokens.lock().unwrap();
    let parents: Vec<_> = tokens.iter().map(|(_, parent)| *parent).collect();
    assert_eq!(parents, [None, Some(tokens[0].0), Some(tokens[1].0)]);
}
