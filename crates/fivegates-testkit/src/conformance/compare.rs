//! Comparing what came with what had to come.

use std::collections::BTreeSet;
use std::fmt;

use fivegates_core::json::{self, Json};

/// One field that is not as it had to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Path of the field.
    pub field: String,
    /// What had to come, as JSON text.
    pub expected: String,
    /// What came, as JSON text.
    pub got: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {} got {}", self.field, self.expected, self.got)
    }
}

/// How hard texts are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Texts {
    /// To the letter.
    Exact,
    /// Whether there is one.
    Present,
}

/// What is left out of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names of fields that are not compared, at any depth.
    pub loose: BTreeSet<String>,
    /// How messages are compared.
    pub texts: Texts,
}

/// Fields that hold wording.
const WORDING: [&str; 3] = ["message", "content", "error"];
/// Names of packages of the reference system; a text that holds one cannot be the same here.
const UPSTREAM: [&str; 2] = ["dsh-scope: ", "ctx.codeRuntime"];
/// Beyond this depth a difference is reported as a whole.
const DEPTH_MAX: usize = 8;

impl Comparison {
    /// Returns every field that differs.
    pub fn run(&self, field: &str, expected: &Json, got: &Json) -> Vec<Mismatch> {
        let mut found = Vec::new();
        self.visit(field, Some(expected), Some(got), 0, &mut found);
        found
    }

    fn visit(
        &self,
        field: &str,
        expected: Option<&Json>,
        got: Option<&Json>,
        depth: usize,
        out: &mut Vec<Mismatch>,
    ) {
        let name = field.rsplit('.').next().unwrap_or(field);
        if expected == got || self.loose.contains(name) || self.is_wording(name, expected, got) {
            return;
        }
        match (expected, got) {
            (Some(Json::Object(wanted)), Some(Json::Object(came))) if depth < DEPTH_MAX => {
                let wanted_keys = wanted.entries().iter().map(|(key, _)| key);
                let keys: BTreeSet<_> =
                    wanted_keys.chain(came.entries().iter().map(|(key, _)| key)).collect();
                for key in keys {
                    let path = format!("{field}.{key}");
                    self.visit(&path, wanted.get(key), came.get(key), depth + 1, out);
                }
            }
            (Some(Json::Array(wanted)), Some(Json::Array(came)))
                if depth < DEPTH_MAX
                    && wanted.items().len() == came.items().len()
                    && wanted.items().iter().all(|item| item.as_object().is_some()) =>
            {
                for (index, pair) in wanted.items().iter().zip(came.items()).enumerate() {
                    self.visit(&format!("{field}[{index}]"), Some(pair.0), Some(pair.1), depth + 1, out);
                }
            }
            _ => out.push(Mismatch { field: field.to_owned(), expected: show(expected), got: show(got) }),
        }
    }

    fn is_wording(&self, name: &str, expected: Option<&Json>, got: Option<&Json>) -> bool {
        let (Some(expected), Some(got)) = (expected, got) else {
            return false;
        };
        if !WORDING.contains(&name) {
            return false;
        }
        let upstream = |text: &str| UPSTREAM.iter().any(|package| text.contains(package));
        self.texts == Texts::Present
            || expected.as_str().is_some_and(upstream) && got.as_str().is_some_and(|text| !text.is_empty())
    }
}

fn show(value: Option<&Json>) -> String {
    value.map_or_else(|| "nothing".to_owned(), json::compact)
}
