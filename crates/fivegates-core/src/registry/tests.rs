use super::*;
use crate::json::Json;
use crate::tool::BodyError;

fn tool(name: &str) -> Definition {
    let open = crate::json::parse(r#"{"type":"object"}"#).unwrap();
    Definition::new(name, "", &open, &Json::object::<&str>([]), |_| async { Ok::<_, BodyError>(Json::Null) })
        .unwrap()
}

fn names(registry: &Registry, agent: Option<ScopeId>) -> Vec<String> {
    registry.visible(agent).iter().map(|tool| tool.name().to_string()).collect()
}

fn deny(name: &str) -> Restriction {
    Restriction { allow: None, deny: [ToolName::new(name)].into() }
}

#[test]
fn restrictions_filter_what_is_inherited_and_lift_independently() {
    let registry = Registry::new();
    let outer = registry.scope("outer", None);
    let inner = registry.scope("inner", Some(&outer));
    let _global = registry.register(None, tool("g")).unwrap();
    let _own = registry.register(Some(outer.id()), tool("p")).unwrap();
    let first =
        registry.restrict(Some(outer.id()), Restriction { allow: Some([].into()), deny: [].into() }).unwrap();
    assert_eq!(names(&registry, Some(outer.id())), ["p"]);
    let second = registry.restrict(Some(inner.id()), deny("p")).unwrap();
    assert!(names(&registry, Some(inner.id())).is_empty());
    assert!(registry.find(Some(inner.id()), &"p".into()).is_none());
    first.dispose();
    assert_eq!(names(&registry, Some(inner.id())), ["g"]);
    second.dispose();
    assert_eq!(names(&registry, Some(inner.id())), ["g", "p"]);
}

#[test]
fn a_scope_leaves_nothing_behind() {
    let registry = Registry::new();
    let scope = registry.scope("s", None);
    registry.register(Some(scope.id()), tool("a")).unwrap().keep();
    let how = Listen::as_id("x").in_scope(scope.id());
    registry.pre_execute(how.clone(), crate::gates::pre_fn(|_| None)).keep();
    registry.guard(how, crate::gates::guard_fn(|_| None)).keep();
    let id = scope.id();
    drop(scope);
    assert!(registry.pre_list().is_empty() && registry.guard_lists(&[id]).is_empty());
    assert!(names(&registry, Some(id)).is_empty());
    assert_eq!(registry.register(Some(id), tool("a")).unwrap_err(), RegistryError::ScopeGone);
}

#[test]
fn a_failing_watcher_rolls_back() {
    let registry = Registry::new();
    let watch = registry.on_change(|| Err("no".into()));
    assert_eq!(registry.register(None, tool("a")).unwrap_err().to_string(), "no");
    assert!(names(&registry, None).is_empty());
    drop(watch);
    let _kept = registry.register(None, tool("a")).unwrap();
    assert_eq!(names(&registry, None), ["a"]);
}

#[test]
fn registration_undoes_exactly_itself() {
    let registry = Registry::new();
    let scope = registry.scope("s", None);
    let first = registry.register(Some(scope.id()), tool("a")).unwrap();
    first.dispose();
    let second = registry.register(Some(scope.id()), tool("a")).unwrap();
    assert_eq!(names(&registry, Some(scope.id())), ["a"]);
    drop(second);
    assert!(names(&registry, Some(scope.id())).is_empty());
}

#[test]
fn an_ancestors_restriction_also_filters_the_ancestors_own_tools() {
    let registry = Registry::new();
    let outer = registry.scope("outer", None);
    let inner = registry.scope("inner", Some(&outer));
    let _own = registry.register(Some(outer.id()), tool("p")).unwrap();
    let nothing = Restriction { allow: Some([].into()), deny: [].into() };
    let _filter = registry.restrict(Some(outer.id()), nothing).unwrap();
    assert_eq!(names(&registry, Some(outer.id())), ["p"]);
    assert!(registry.find(Some(outer.id()), &"p".into()).is_some());
    assert!(names(&registry, Some(inner.id())).is_empty());
    assert!(registry.find(Some(inner.id()), &"p".into()).is_none());
}

#[test]
fn run_code_is_there_for_agents_in_code_mode_only() {
    let registry = Registry::new();
    let native = registry.scope("native", None);
    let code = registry.scope("code", None);
    let _mode = registry.present_as(Some(code.id()), Mode::Code).unwrap();
    let assembled = registry.assemble_tools(Some(code.id()));
    assert_eq!(assembled.unwrap_err(), RegistryError::NoCodeRuntime(Mode::Code));
    let _transport = registry.mount_transport(tool(RUN_CODE));
    assert!(registry.find(Some(code.id()), &RUN_CODE.into()).is_some());
    assert!(registry.find(Some(native.id()), &RUN_CODE.into()).is_none());
    assert_eq!(registry.wire_tools(Some(code.id())).len(), 1);
    registry.set_default_mode(Mode::Both);
    assert!(registry.find(Some(native.id()), &RUN_CODE.into()).is_some());
}
