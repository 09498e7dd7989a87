//! What a model is sent, and what cannot be registered.

use fivegates_core::ids::ToolName;
use fivegates_core::json::{Json, compact, parse};
use fivegates_core::registry::Registry;
use fivegates_core::tool::CallCard;
use fivegates_process::Runner;
use fivegates_tools::{ToolsConfig, register};

use crate::common::Session;

/// Tool, parameter, type, and whether it is required.
const PARAMETERS: &[(&str, &str, &str, bool)] = &[
    ("bash", "command", "string", true),
    ("bash", "description", "string", true),
    ("bash", "timeoutMs", "number", false),
    ("bash", "workdir", "string", false),
    ("edit", "file_path", "string", true),
    ("edit", "old_string", "string", true),
    ("edit", "new_string", "string", true),
    ("edit", "replace_all", "boolean", false),
    ("read", "file_path", "string", true),
    ("read", "offset", "integer", false),
    ("read", "limit", "integer", false),
    ("write", "file_path", "string", true),
    ("write", "content", "string", true),
];

#[tokio::test]
async fn a_model_is_sent_these_parameters_and_no_others() {
    let session = Session::new();
    let mut found = Vec::new();
    for tool in session.registry.wire_tools(None) {
        let required = compact(tool.parameters.get("required").unwrap());
        for (name, schema) in tool.parameters.get("properties").unwrap().as_object().unwrap().entries() {
            let kind = schema.get("type").and_then(Json::as_str).unwrap().to_owned();
            assert!(!schema.get("description").unwrap().as_str().unwrap().contains('\n'));
            let is_required = required.contains(&format!("\"{name}\""));
            found.push((tool.name.as_str().to_owned(), name.to_string(), kind, is_required));
        }
    }
    let mut found: Vec<_> =
        found.iter().map(|(t, n, k, r)| (t.as_str(), n.as_str(), k.as_str(), *r)).collect();
    found.sort_unstable();
    let mut expected = PARAMETERS.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn tools_declare_what_they_do() {
    let session = Session::new();
    let declared = |tool: &str, arguments: &str| {
        let definition = session.registry.find(None, &ToolName::new(tool)).unwrap();
        let arguments = parse(arguments).unwrap();
        let effects = definition.effects(&arguments);
        assert_eq!(definition.timeout_ms(), None);
        (effects.read_only, effects.destructive, effects.open_world, definition.can_parallel(&arguments))
    };
    assert_eq!(declared("read", r#"{"file_path":"a"}"#), (true, false, false, true));
    assert_eq!(declared("write", r#"{"file_path":"a","content":""}"#), (false, true, false, false));
    let edit = r#"{"file_path":"a","old_string":"a","new_string":"b"}"#;
    assert_eq!(declared("edit", edit), (false, true, false, false));
    assert_eq!(declared("bash", r#"{"command":"ls","description":"d"}"#), (false, true, true, false));
    // Arguments that do not fit: the worst is assumed.
    assert_eq!(declared("read", r#"{"file_path":1}"#), (false, true, true, false));
}

#[tokio::test]
async fn calls_are_shown_as_what_they_are() {
    let session = Session::new();
    let card = |tool: &str, arguments: &str| {
        session.registry.find(None, &ToolName::new(tool)).unwrap().card(&parse(arguments).unwrap())
    };
    let terminal = CallCard::Terminal { title: "list".into(), command: "ls".into(), cwd: Some("src".into()) };
    let arguments = r#"{"command":"ls","description":"list","workdir":"src"}"#;
    assert_eq!(card("bash", arguments), Some(terminal));
    let diff =
        CallCard::Diff { title: "edit a".into(), path: "a".into(), old: Some("x".into()), new: "y".into() };
    assert_eq!(card("edit", r#"{"file_path":"a","old_string":"x","new_string":"y"}"#), Some(diff));
    assert_eq!(card("read", r#"{"file_path":1}"#), None);
}

#[tokio::test]
async fn all_tools_come_or_none() {
    let registry = Registry::new();
    let dir = tempfile::tempdir().unwrap();
    let config = || ToolsConfig::new(dir.path());
    let runner = Runner::new().unwrap();
    let first = register(&registry, None, config(), runner.clone()).unwrap();
    assert!(register(&registry, None, config(), runner.clone()).is_err());
    drop(first);
    assert!(registry.visible(None).is_empty());
    let scope = registry.scope("agent", None);
    let tools = register(&registry, Some(scope.id()), config(), runner.clone()).unwrap();
    assert_eq!((registry.visible(None).len(), registry.visible(Some(scope.id())).len()), (0, 4));
    drop(tools);

    let refused = |config: ToolsConfig| {
        register(&registry, None, config, runner.clone()).map(|_| ()).unwrap_err().to_string()
    };
    let nowhere = refused(ToolsConfig::new("/nonexistent/place"));
    let text = "the workspace cannot be used: cannot resolve \"/nonexistent/place\": no such file";
    assert_eq!(nowhere, text);
    let mut small = config();
    small.fs.read_bytes_max = 100;
    let text = "`read_bytes_max` must be at least 8064, which the other limits need";
    assert_eq!(refused(small), text);
    let mut none = config();
    none.bash.timeout_ms = 0;
    assert_eq!(refused(none), "`timeout_ms` must be greater than zero");
    assert!(registry.visible(None).is_empty());
}
