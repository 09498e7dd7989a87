//! The road as a picture.

use std::fmt::Write as _;

use super::Row;
use crate::escape;

const WIDTH: usize = 560;
const LINE: usize = 18;
const GAP: usize = 22;
const LEFT: usize = 20;

pub(super) fn draw(rows: &[Row]) -> String {
    let height: usize = rows.iter().map(|row| tall(row) + GAP).sum::<usize>() + 2 * (LINE + 2 * GAP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>The road of a call</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut top = GAP;
    label(&mut out, top + LINE, "a model's call, on record");
    top += LINE + GAP;
    for row in rows {
        arrow(&mut out, top - GAP + 6);
        stage(&mut out, top, row);
        top += tall(row) + GAP;
    }
    arrow(&mut out, top - GAP + 6);
    label(&mut out, top + LINE, "the model's next input");
    out.push_str("</svg>\n");
    out
}

fn tall(row: &Row) -> usize {
    LINE * (row.mounted.len() + 1) + 14
}

fn stage(out: &mut String, top: usize, row: &Row) {
    let (fill, height) = (if row.gate.is_some() { "#e8f1fb" } else { "#f6f6f4" }, tall(row));
    let width = WIDTH - 2 * LEFT;
    let _ = writeln!(
        out,
        "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{fill}\" stroke=\"#556\"/>"
    );
    let gate = row.gate.map(|gate| format!("{gate}  ")).unwrap_or_default();
    let (x, baseline) = (LEFT + 12, top + LINE);
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{baseline}\" font-weight=\"bold\">{gate}{}</text>",
        quoted(row.name)
    );
    let right = WIDTH - LEFT - 12;
    let _ = writeln!(
        out,
        "<text x=\"{right}\" y=\"{baseline}\" text-anchor=\"end\" fill=\"#556\">{}</text>",
        quoted(row.about)
    );
    for (at, id) in row.mounted.iter().enumerate() {
        let y = baseline + LINE * (at + 1);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{y}\">{}</text>", x + 16, quoted(id));
    }
}

fn label(out: &mut String, y: usize, text: &str) {
    let _ =
        writeln!(out, "<text x=\"{}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", WIDTH / 2, quoted(text));
}

fn arrow(out: &mut String, top: usize) {
    let (x, end) = (WIDTH / 2, top + GAP - 10);
    let _ = writeln!(out, "<path d=\"M{x} {top} V{end} m-4 -5 l4 5 l4 -5\" fill=\"none\" stroke=\"#556\"/>");
}

fn quoted(text: &str) -> String {
    let shown = escape::line(text, 60);
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
