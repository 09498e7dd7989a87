//! Printing without recursion.

use std::fmt::Write as _;

use super::value::Json;

/// Prints compact JSON text, members in the order in which they were written.
pub fn compact(value: &Json) -> String {
    print(value, Layout { indent: None, order: Order::Written })
}

/// Prints JSON text with line breaks and this many spaces for each level.
pub fn pretty(value: &Json, indent_spaces: usize) -> String {
    print(value, Layout { indent: Some(indent_spaces), order: Order::Written })
}

/// Prints the canonical form that digests are taken over: compact, members sorted by the bytes of their keys.
pub fn canonical(value: &Json) -> String {
    print(value, Layout { indent: None, order: Order::Sorted })
}

struct Layout {
    indent: Option<usize>,
    order: Order,
}

#[derive(PartialEq)]
enum Order {
    Written,
    Sorted,
}

/// What is left to print of an open container.
enum Open<'a> {
    Array(std::slice::Iter<'a, Json>),
    Written(std::slice::Iter<'a, (std::sync::Arc<str>, Json)>),
    Sorted(std::vec::IntoIter<&'a (std::sync::Arc<str>, Json)>),
}

fn print(value: &Json, layout: Layout) -> String {
    let mut out = String::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    begin(value, &layout, &mut out, &mut open);
    let mut first = true;
    while let Some(top) = open.last_mut() {
        let (key, next, close) = match top {
            Open::Array(items) => (None, items.next(), ']'),
            Open::Written(members) => split(members.next()),
            Open::Sorted(members) => split(members.next()),
        };
        let Some(next) = next else {
            open.pop();
            if !first {
                line(&layout, open.len(), &mut out);
            }
            out.push(close);
            first = false;
            continue;
        };
        if !first {
            out.push(',');
        }
        line(&layout, open.len(), &mut out);
        if let Some(key) = key {
            quote(key, &mut out);
            out.push_str(if layout.indent.is_some() { ": " } else { ":" });
        }
        let depth = open.len();
        begin(next, &layout, &mut out, &mut open);
        first = open.len() > depth;
    }
    out
}

fn split(member: Option<&(std::sync::Arc<str>, Json)>) -> (Option<&str>, Option<&Json>, char) {
    (member.map(|(key, _)| &**key), member.map(|(_, value)| value), '}')
}

/// Prints a scalar or an empty container whole, or opens a container.
fn begin<'a>(value: &'a Json, layout: &Layout, out: &mut String, open: &mut Vec<Open<'a>>) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{number}");
        }
        Json::String(text) => quote(text, out),
        Json::Array(array) if array.items().is_empty() => out.push_str("[]"),
        Json::Object(object) if object.is_empty() => out.push_str("{}"),
        Json::Array(array) => {
            out.push('[');
            open.push(Open::Array(array.items().iter()));
        }
        Json::Object(object) => {
            out.push('{');
            if layout.order == Order::Written {
                open.push(Open::Written(object.entries().iter()));
            } else {
                let mut members: Vec<_> = object.entries().iter().collect();
                members.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                open.push(Open::Sorted(members.into_iter()));
            }
        }
    }
}

fn line(layout: &Layout, depth: usize, out: &mut String) {
    if let Some(indent) = layout.indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent * depth));
    }
}

/// Prints a JSON string; what needs no escape is copied in runs.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}
