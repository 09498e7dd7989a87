//! The road as a Mermaid flow chart.

use std::fmt::Write as _;

use super::Row;
use crate::escape;

pub(super) fn draw(rows: &[Row]) -> String {
    let mut out = String::from("flowchart TD\n    call([\"a model's call, on record\"])\n");
    for (at, row) in rows.iter().enumerate() {
        let gate = row.gate.map(|gate| format!("{gate}: ")).unwrap_or_default();
        let mut label = format!("{gate}{}<br/><i>{}</i>", row.name, row.about);
        for id in &row.mounted {
            let _ = write!(label, "<br/>{}", quoted(id));
        }
        let _ = writeln!(out, "    s{at}[\"{label}\"]");
    }
    out.push_str("    input([\"the model's next input\"])\n");
    let stages = (0..rows.len()).map(|at| format!("s{at}"));
    let road: Vec<String> =
        ["call".to_owned()].into_iter().chain(stages).chain(["input".to_owned()]).collect();
    let _ = writeln!(out, "    {}", road.join(" --> "));
    out
}

/// A text within a quoted label: nothing in it ends the label or starts an element.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in escape::line(text, 200).chars() {
        match c {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            other => out.push(other),
        }
    }
    out
}
