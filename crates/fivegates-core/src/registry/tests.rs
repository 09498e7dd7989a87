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
    assert!(registry.pre_list().is_empty() && registry.guard_lists(&[id]).is_none());
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

/// Declares names, parameters and outputs.
struct Plain(&'static str);

impl SdkRenderer for Plain {
    fn language(&self) -> &str {
        self.0
    }

    fn render(&self, tools: &[Definition]) -> String {
        let line = |tool: &Definition| {
            let schema = crate::json::compact(&tool.schema().parameters);
            format!("{}{schema} -> {}\n", tool.name(), crate::json::compact(tool.output_schema()))
        };
        tools.iter().map(line).collect()
    }
}

/// A registry with one agent for each mode.
fn modes() -> (Registry, [Scope; 3]) {
    let registry = Registry::new();
    let scopes = [Mode::Native, Mode::Code, Mode::Both].map(|mode| {
        let scope = registry.scope(mode.as_str(), None);
        registry.present_as(Some(scope.id()), mode).unwrap().keep();
        scope
    });
    (registry, scopes)
}

#[test]
fn run_code_is_there_for_agents_in_code_mode_only() {
    let (registry, [native, code, both]) = modes();
    let assembled = registry.assemble_tools(Some(code.id()));
    assert_eq!(assembled.unwrap_err(), RegistryError::NoCodeRuntime(Mode::Code));
    let _renderer = registry.mount_sdk_renderer(Arc::new(Plain("typescript"))).unwrap();
    let transport = registry.mount_transport(tool(RUN_CODE), "typescript").unwrap();
    assert!(registry.find(Some(code.id()), &RUN_CODE.into()).is_some());
    assert!(registry.find(Some(native.id()), &RUN_CODE.into()).is_none());
    assert_eq!(registry.wire_tools(Some(code.id())).len(), 1);
    assert!(registry.find(Some(both.id()), &RUN_CODE.into()).is_some());
    let second = registry.mount_transport(tool(RUN_CODE), "python");
    assert_eq!(second.unwrap_err(), RegistryError::TransportMounted);
    transport.dispose();
    assert!(registry.find(Some(code.id()), &RUN_CODE.into()).is_none());
}

#[test]
fn a_mode_without_its_runtime_or_its_renderer_fails_assembly_and_says_why() {
    let (registry, [native, code, both]) = modes();
    let told = |agent: &Scope| registry.assemble(Some(agent.id())).unwrap_err().to_string();
    assert_eq!(told(&code), "tools mode \"code\" needs a code runtime, and none is mounted");
    assert_eq!(told(&both), "tools mode \"both\" needs a code runtime, and none is mounted");
    assert_eq!(registry.assemble(Some(native.id())), Ok(Presentation::default()));
    let _transport = registry.mount_transport(tool(RUN_CODE), "lua").unwrap();
    assert_eq!(told(&code), "no SDK renderer registered for runtime language \"lua\" (known: none)");
    let _typescript = registry.mount_sdk_renderer(Arc::new(Plain("typescript"))).unwrap();
    let python = registry.mount_sdk_renderer(Arc::new(Plain("python"))).unwrap();
    let text = "no SDK renderer registered for runtime language \"lua\" (known: python, typescript)";
    assert_eq!(told(&both), text);
    let twice = registry.mount_sdk_renderer(Arc::new(Plain("python"))).unwrap_err();
    assert_eq!(twice.to_string(), "an SDK renderer for language \"python\" is mounted already");
    python.dispose();
    assert!(told(&both).ends_with("(known: typescript)"));
}

#[test]
fn prompt_sections_declare_every_visible_tool_and_only_code_mode_says_code_only() {
    let (registry, [native, code, both]) = modes();
    let _renderer = registry.mount_sdk_renderer(Arc::new(Plain("typescript"))).unwrap();
    let _transport = registry.mount_transport(tool(RUN_CODE), "typescript").unwrap();
    let _b = registry.register(None, tool("b")).unwrap();
    let _a = registry.register(None, tool("a")).unwrap();
    let _own = registry.register(Some(code.id()), tool("c")).unwrap();
    let _hidden = registry.restrict(Some(code.id()), deny("b")).unwrap();
    let line = |name: &str| format!("{name}{{\"type\":\"object\"}} -> {{}}\n");
    let sections = |agent: &Scope| registry.prompt_sections(Some(agent.id())).unwrap();
    assert_eq!(sections(&native), []);
    let [rule, sdk] = &sections(&code)[..] else { panic!("two sections") };
    assert_eq!((rule.id, sdk.id), ("tools:code-only", "tools:sdk"));
    assert!(rule.text.contains("run_code"));
    assert_eq!(*sdk.text, line("a") + &line("c"));
    let [rule, sdk] = &sections(&both)[..] else { panic!("two sections") };
    assert_eq!((rule.id, &*rule.text, sdk.id), ("tools:code-only", "", "tools:sdk"));
    assert_eq!(*sdk.text, line("a") + &line("b"));
}

#[test]
fn lists_and_sdk_text_do_not_depend_on_the_order_of_registration() {
    let shown = |names: [&str; 3]| {
        let (registry, [_, _, both]) = modes();
        registry.mount_sdk_renderer(Arc::new(Plain("typescript"))).unwrap().keep();
        registry.mount_transport(tool(RUN_CODE), "typescript").unwrap().keep();
        for name in names {
            registry.register(None, tool(name)).unwrap().keep();
        }
        let by_name = registry.assemble(Some(both.id())).unwrap();
        registry.set_tool_order(["z", "none", "run_code", "b"].map(ToolName::new).to_vec());
        (by_name, registry.assemble(Some(both.id())).unwrap())
    };
    let (by_name, configured) = shown(["a", "b", "z"]);
    assert_eq!(shown(["z", "b", "a"]), (by_name.clone(), configured.clone()));
    let names = |shown: &Presentation| -> Vec<String> {
        shown.tools.iter().map(|tool| tool.name.to_string()).collect()
    };
    assert_eq!(names(&by_name), ["a", "b", "run_code", "z"]);
    assert_eq!(names(&configured), ["z", "run_code", "b", "a"]);
    let sdk = |shown: &Presentation| shown.sections[1].text.clone();
    let first = |text: Arc<str>| text.lines().map(|line| line[..1].to_owned()).collect::<Vec<_>>();
    assert_eq!(first(sdk(&by_name)), ["a", "b", "z"]);
    assert_eq!(first(sdk(&configured)), ["z", "b", "a"]);
}

#[test]
fn a_renderer_that_panics_fails_assembly() {
    struct Panics;
    impl SdkRenderer for Panics {
        fn language(&self) -> &str {
            "typescript"
        }
        fn render(&self, _: &[Definition]) -> String {
            panic!("boom")
        }
    }
    let (registry, [_, code, _]) = modes();
    let _renderer = registry.mount_sdk_renderer(Arc::new(Panics)).unwrap();
    let _transport = registry.mount_transport(tool(RUN_CODE), "typescript").unwrap();
    let error = registry.assemble(Some(code.id())).unwrap_err();
    assert_eq!(error.to_string(), "the SDK renderer for language \"typescript\" panicked: boom");
    assert!(registry.find(Some(code.id()), &RUN_CODE.into()).is_some(), "no lock is left behind");
}

#[test]
fn each_change_of_what_agents_see_is_announced_once() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let registry = Registry::new();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let _watch = registry.on_change(move || {
        seen.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let news = || count.swap(0, Ordering::SeqCst);
    let scope = registry.scope("s", None);
    let at = Some(scope.id());
    assert_eq!(news(), 0);
    let a = registry.register(None, tool("a")).unwrap();
    assert_eq!(news(), 1);
    let filter = registry.restrict(at, deny("a")).unwrap();
    assert_eq!(news(), 1);
    filter.dispose();
    assert_eq!(news(), 1);
    let mode = registry.present_as(at, Mode::Both).unwrap();
    assert_eq!(news(), 1);
    mode.dispose();
    assert_eq!(news(), 1);
    let transport = registry.mount_transport(tool(RUN_CODE), "typescript").unwrap();
    assert_eq!(news(), 1);
    transport.dispose();
    assert_eq!(news(), 1);
    a.dispose();
    assert_eq!(news(), 1);
    let guard = registry.guard(Listen::as_id("g"), crate::gates::guard_fn(|_| None));
    guard.dispose();
    assert!(registry.restrict(at, deny("none")).is_err() && registry.register(None, tool(RUN_CODE)).is_err());
    assert_eq!(news(), 0, "guards and refusals are no change");
    registry.present_as(at, Mode::Code).unwrap().keep();
    assert_eq!(news(), 1);
    drop(scope);
    assert_eq!(news(), 1, "a scope takes its presentation with it");
}
