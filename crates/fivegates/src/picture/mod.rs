//! `fivegates pipeline`: the stages, and what is mounted in them, generated from the registrations that run.

mod mermaid;
mod svg;
mod text;

use fivegates_core::call::Stage;
use fivegates_core::registry::Registry;

use crate::cli::PictureFormat;

/// One stage of the road, in order.
pub(crate) struct Row {
    /// The stage's name as it stands on record.
    pub(crate) name: &'static str,
    /// `GATE 1` and so on, for the gates.
    pub(crate) gate: Option<&'static str>,
    /// What happens there, in a few words.
    pub(crate) about: &'static str,
    /// What is mounted, in the order in which a call meets it.
    pub(crate) mounted: Vec<String>,
}

/// The road with what is mounted in a registry, and who answers asks.
pub(crate) fn rows(registry: &Registry, approver: &str, tools: &[String]) -> Vec<Row> {
    let mounted = registry.mounted_ids();
    let ids = |stage: Stage| {
        let found = mounted.iter().find(|(at, _)| *at == stage);
        found.map(|(_, ids)| ids.iter().map(|id| id.as_str().to_owned()).collect()).unwrap_or_default()
    };
    let row = |stage: Stage, gate, about, mounted| Row { name: stage.as_str(), gate, about, mounted };
    vec![
        row(Stage::Admit, None, "find the tool, read and freeze the arguments", Vec::new()),
        row(Stage::PreExecute, Some("GATE 1"), "allow, deny or ask", ids(Stage::PreExecute)),
        row(Stage::Approval, None, "only when asked for", vec![approver.to_owned()]),
        row(Stage::Guards, Some("GATE 2"), "deny or abstain", ids(Stage::Guards)),
        row(Stage::Execute, Some("GATE 3"), "around the tool", ids(Stage::Execute)),
        row(Stage::Body, None, "the tool itself", tools.to_vec()),
        row(Stage::PostExecute, Some("GATE 4"), "accept, replace, redact or block", ids(Stage::PostExecute)),
        row(Stage::Finalize, Some("GATE 5"), "the tool's last word", Vec::new()),
        row(Stage::Egress, None, "filters on what leaves", ids(Stage::Egress)),
        row(Stage::Result, None, "frozen, shown, put on record", ids(Stage::Result)),
    ]
}

/// Draws the road.
pub(crate) fn draw(rows: &[Row], format: PictureFormat) -> String {
    match format {
        PictureFormat::Text | PictureFormat::Document => text::draw(rows),
        PictureFormat::Mermaid => mermaid::draw(rows),
        PictureFormat::Svg => svg::draw(rows),
    }
}

#[cfg(test)]
mod tests;
