//! The road as text of at most 80 columns.

use std::fmt::Write as _;

use super::Row;
use crate::escape;

/// Columns of the widest line.
const COLUMNS: usize = 80;
/// Columns before what is mounted.
const INDENT: usize = 31;

pub(super) fn draw(rows: &[Row]) -> String {
    let mut out = String::from("a model's call: `tool/call` is on record before anything else happens\n");
    for row in rows {
        let gate = row.gate.unwrap_or("");
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  │\n  ▼ {gate:<7} {:<19}{}", row.name, row.about);
        let mut line = String::new();
        for id in &row.mounted {
            let id = escape::line(id, 60);
            if !line.is_empty() && INDENT + line.chars().count() + 2 + id.chars().count() > COLUMNS {
                let _ = writeln!(out, "  │{:>width$}{line},", "", width = INDENT - 3);
                line.clear();
            }
            if !line.is_empty() {
                line.push_str(", ");
            }
            line.push_str(&id);
        }
        if !line.is_empty() {
            let _ = writeln!(out, "  │{:>width$}{line}", "", width = INDENT - 3);
        }
    }
    out.push_str("  │\n  ▼\nthe model's next input\n");
    out
}
