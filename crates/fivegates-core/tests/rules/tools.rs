//! Registry, schemas, presentation.

use std::borrow::Cow;

use fivegates_core::registry::{Mode, RegistryError, Restriction};
use fivegates_core::tool::{CallCard, ToolSchema};

use super::*;

fn plain(name: &str) -> Definition {
    tool(name, |_| async { Ok(Json::Null) })
}

fn restriction(allow: Option<&[&str]>, deny: &[&str]) -> Restriction {
    let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
    Restriction { allow: allow.map(names), deny: names(deny) }
}

#[test]
fn r032_run_code_cannot_be_registered_shadowed_or_restricted() {
    let world = world();
    for mode in [Mode::Native, Mode::Code, Mode::Both] {
        world.registry.set_default_mode(mode);
        for scope in [None, Some(world.agent.id())] {
            let error = world.registry.register(scope, plain("run_code")).unwrap_err();
            assert_eq!(error, RegistryError::ReservedName);
        }
        for filter in [restriction(Some(&["run_code"]), &[]), restriction(None, &["run_code"])] {
            let error = world.registry.restrict(Some(world.agent.id()), filter).unwrap_err();
            let text = "tools.restrict() cannot name reserved Code Mode presentation transport \"run_code\"; restrict \
                        end-capability tools instead";
            assert_eq!(error.to_string(), text);
        }
    }
}

#[test]
fn r033_a_deadline_is_positive() {
    let world = world();
    let error = world.registry.register(None, plain("x").with_timeout_ms(0)).unwrap_err();
    assert_eq!(error.to_string(), "tool \"x\" timeoutMs must be a positive finite number");
    world.registry.register(None, plain("x").with_timeout_ms(1)).unwrap().keep();
}

#[test]
fn r034_a_schema_outside_the_subset_makes_no_tool() {
    let odd = Json::object([("type", Json::from("string")), ("pattern", Json::from("^a"))]);
    let body = |_: Invocation| async { Ok::<_, BodyError>(Json::Null) };
    for error in [
        Definition::new("x", "", &open(), &odd, body).unwrap_err(),
        Definition::new("x", "", &odd, &open(), body).unwrap_err(),
    ] {
        let error = ToolError::from(error);
        assert_eq!((error.name(), error.code()), (Some("JsonSchemaError"), Some("UNSUPPORTED_SCHEMA")));
        assert!(error.message().starts_with("unsupported JSON schema: schema"), "{}", error.message());
    }
}

#[test]
fn r038_a_failing_change_observer_rolls_every_kind_of_registration_back() {
    let world = world();
    let at = Some(world.agent.id());
    let watch = world.registry.on_change(|| Err("watcher".into()));
    let failed = RegistryError::Watcher("watcher".into());
    assert_eq!(world.registry.register(at, plain("x")).unwrap_err(), failed);
    assert_eq!(world.registry.restrict(at, restriction(None, &["t"])).unwrap_err(), failed);
    assert_eq!(world.registry.present_as(at, Mode::Both).unwrap_err(), failed);
    assert_eq!(world.registry.mount_transport(plain("run_code"), "python").unwrap_err(), failed);
    drop(watch);
    let names: Vec<_> = world.registry.visible(at).iter().map(|tool| tool.name().to_string()).collect();
    assert_eq!((names, world.registry.mode_of(at)), (vec!["t".to_owned()], Mode::Native));
    world.registry.mount_transport(plain("run_code"), "python").unwrap().keep();
}

#[test]
fn r039_the_nearest_scope_wins_whatever_came_first() {
    for own_first in [true, false] {
        let registry = Registry::new();
        let outer = registry.scope("outer", None);
        let inner = registry.scope("inner", Some(&outer));
        let described = |text: &str| {
            let body = |_: Invocation| async { Ok::<_, BodyError>(Json::Null) };
            Definition::new("x", text, &open(), &open(), body).unwrap()
        };
        let mut layers = [(None, "global"), (Some(outer.id()), "outer"), (Some(inner.id()), "inner")];
        if own_first {
            layers.reverse();
        }
        let registrations: Vec<_> =
            layers.iter().map(|(scope, text)| registry.register(*scope, described(text)).unwrap()).collect();
        let seen = |agent| registry.find(agent, &"x".into()).unwrap().schema().description.to_string();
        assert_eq!(
            [seen(None), seen(Some(outer.id())), seen(Some(inner.id()))],
            ["global", "outer", "inner"]
        );
        drop(registrations);
        assert!(registry.find(Some(inner.id()), &"x".into()).is_none());
    }
}

#[test]
fn r041_a_restriction_needs_a_scope_something_to_restrict_and_names_that_are_inherited() {
    let world = world();
    let at = Some(world.agent.id());
    world.registry.register(None, plain("b")).unwrap().keep();
    world.registry.register(at, plain("own")).unwrap().keep();
    let told = |scope, filter| world.registry.restrict(scope, filter).unwrap_err().to_string();
    assert!(
        told(None, restriction(None, &["t"]))
            .starts_with("tools.restrict() requires a scoped context (agent.ctx): ")
    );
    assert!(told(at, restriction(None, &[])).starts_with("tools.restrict({}) is a no-op: "));
    assert_eq!(
        told(at, restriction(None, &["own"])),
        "tools.restrict() names unknown global tool \"own\"; known global tools: b, t"
    );
    assert_eq!(
        told(at, restriction(Some(&["x", "t"]), &["y"])),
        "tools.restrict() names unknown global tools \"x\", \"y\"; known global tools: b, t"
    );
}

#[test]
fn r047_only_the_first_binding_can_move_a_scope() {
    let registry = Registry::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| registry.scope(name, None));
    let mut binding = registry.bind_parent(a.id(), b.id()).unwrap();
    assert!(registry.bind_parent(a.id(), c.id()).is_err());
    registry.rebind_parent(&mut binding, c.id()).unwrap();
    registry.rebind_parent(&mut binding, b.id()).unwrap();
    let cycle = registry.bind_parent(b.id(), a.id()).unwrap_err();
    assert_eq!(cycle.to_string(), "scope parent link would form a cycle");
    assert!(registry.rebind_parent(&mut binding, a.id()).is_err(), "a scope is not its own parent");
    registry.register(Some(b.id()), plain("x")).unwrap().keep();
    assert!(registry.find(Some(a.id()), &"x".into()).is_some(), "refused links changed nothing");
}

#[test]
fn r050_a_model_is_sent_three_things_of_a_tool() {
    let definition = plain("x").with_timeout_ms(5).with_card(|_| None).with_parallel(|_| true);
    let ToolSchema { name, description, parameters } = definition.schema();
    assert_eq!((name.as_str(), &*description, parameters), ("x", "", open()));
}

/// What a typed tool takes.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    count: u8,
}

/// Shows its argument, or panics.
struct Typed;

impl Tool for Typed {
    type Args = Args;
    type Output = String;

    fn name(&self) -> Cow<'static, str> {
        "typed".into()
    }
    fn description(&self) -> Cow<'static, str> {
        "".into()
    }
    async fn run(&self, args: Args, _: &Invocation) -> Result<String, ToolError> {
        Ok(args.count.to_string())
    }
    fn card(&self, args: &Args) -> Option<CallCard> {
        assert_ne!(args.count, 13);
        Some(CallCard::Generic { title: args.count.to_string() })
    }
}

#[test]
fn r058_a_card_is_nothing_for_arguments_that_do_not_fit() {
    let definition = Definition::of(Typed).unwrap();
    let card = |count: Json| definition.card(&Json::object([("count", count)]));
    assert_eq!(card(Json::from(7)), Some(CallCard::Generic { title: "7".into() }));
    assert_eq!(
        (card(Json::from("seven")), card(Json::from(13)), definition.card(&Json::Null)),
        (None, None, None)
    );
}

#[test]
fn r062_run_code_is_outside_of_restrictions() {
    let world = world();
    let at = Some(world.agent.id());
    world.registry.mount_transport(plain("run_code"), "python").unwrap().keep();
    world.registry.present_as(at, Mode::Both).unwrap().keep();
    world.registry.restrict(at, restriction(Some(&[]), &[])).unwrap().keep();
    assert!(world.registry.visible(at).is_empty());
    assert!(world.registry.find(at, &"run_code".into()).is_some());
}

#[test]
fn r061_a_presentation_is_declared_once_a_scope_and_never_globally() {
    let world = world();
    let at = Some(world.agent.id());
    let told = |scope, mode| world.registry.present_as(scope, mode).unwrap_err().to_string();
    assert!(told(None, Mode::Code).starts_with("tools.presentAs() requires a scoped context (agent.ctx): "));
    let declared = world.registry.present_as(at, Mode::Both).unwrap();
    let text = "tools.presentAs(\"code\") conflicts with \"both\" already declared for this scope; one composition selects \
                one presentation";
    assert_eq!(told(at, Mode::Code), text);
    declared.dispose();
    assert_eq!(world.registry.mode_of(at), Mode::Native);
    world.registry.present_as(at, Mode::Code).unwrap().keep();
}

#[tokio::test]
async fn l30_what_a_model_is_not_sent_it_cannot_call() {
    let world = world();
    world.registry.register(None, saying("u", &world.log)).unwrap().keep();
    for filter in [restriction(Some(&["u"]), &[]), restriction(None, &["t"])] {
        let _filter = world.registry.restrict(Some(world.agent.id()), filter).unwrap();
        let sent = world.registry.wire_tools(Some(world.agent.id()));
        for name in ["t", "u"] {
            let callable = !world.call(name).await.is_error();
            assert_eq!(callable, sent.iter().any(|tool| tool.name.as_str() == name), "{name}");
        }
    }
    world.registry.present_as(Some(world.agent.id()), Mode::Code).unwrap().keep();
    assert_eq!(world.call("t").await.code(), Some("UNKNOWN_TOOL"));
}

#[tokio::test]
async fn l38_what_is_inherited_is_filtered_and_what_is_own_is_not() {
    let world = world();
    let standing = world.registry.scope("standing", None);
    let child = world.registry.scope("child", Some(&standing));
    world.registry.register(Some(standing.id()), plain("standing")).unwrap().keep();
    world.registry.register(Some(child.id()), plain("own")).unwrap().keep();
    world.registry.restrict(Some(child.id()), restriction(Some(&[]), &[])).unwrap().keep();
    let names = |scope: &Scope| -> Vec<String> {
        world.registry.visible(Some(scope.id())).iter().map(|tool| tool.name().to_string()).collect()
    };
    assert_eq!(
        (names(&child), names(&standing)),
        (vec!["own".to_owned()], vec!["standing".to_owned(), "t".to_owned()])
    );
}
