use fivegates_core::gates::{guard_fn, pre_fn};
use fivegates_core::registry::{Listen, Registry};

use super::*;

fn picture(format: PictureFormat) -> String {
    let registry = Registry::new();
    registry.pre_execute(Listen::as_id("permission"), pre_fn(|_| None)).keep();
    registry.guard(Listen::as_id("\"]<b>\u{202e}"), guard_fn(|_| None)).keep();
    draw(&rows(&registry, "terminal", &["bash".to_owned(), "read".to_owned()]), format)
}

#[test]
fn the_text_shows_what_is_mounted_where() {
    let text = picture(PictureFormat::Text);
    assert!(text.contains(
        "▼ GATE 1  tools/pre-execute  allow, deny or ask\n  │                            permission"
    ));
    assert!(text.contains("bash, read") && text.contains("\\u{202e}"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn ids_cannot_break_out_of_the_pictures() {
    let mermaid = picture(PictureFormat::Mermaid);
    assert!(mermaid.contains("#quot;]#lt;b#gt;\\u{202e}\"]"), "{mermaid}");
    let svg = picture(PictureFormat::Svg);
    assert!(svg.contains("&quot;]&lt;b&gt;\\u{202e}</text>"), "{svg}");
    assert!(!svg.contains("<b>"));
}

/// docs/pipeline.md is generated; `cargo xtask docs` writes it anew.
#[test]
fn the_documentation_shows_the_default_configuration() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pipeline.md");
    let written = std::fs::read_to_string(path).unwrap();
    assert_eq!(written, crate::commands::pipeline::document(), "run `cargo xtask docs`");
}
