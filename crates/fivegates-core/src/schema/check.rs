//! Checking a value, without recursion over the value.

use super::compile::{Fields, Kind, Node, Others, Schema};
use crate::json::{self, Json};

/// Violations reported for one value; more add nothing a model can use.
const VIOLATIONS_MAX: usize = 64;

impl Schema {
    /// Returns every way in which the value violates the schema, in the order of the value; `root` names the value.
    ///
    /// At most 64 violations are listed. The texts are those of R-053.
    pub fn violations(&self, value: &Json, root: &str) -> Vec<String> {
        check(&self.root, value, root.to_owned(), Style::Value)
    }

    /// Returns every way in which arguments violate the schema: members are named by their path from the root, the root
    /// itself `arguments`.
    pub fn argument_violations(&self, arguments: &Json) -> Vec<String> {
        check(&self.root, arguments, "arguments".to_owned(), Style::Arguments)
    }
}

/// Tells whether a value fits, without saying where it does not. It recurses over the schema, whose depth is limited.
fn fits(node: &Node, value: &Json) -> bool {
    let (kind, options, constant) = match node {
        Node::Any => return true,
        Node::OneOf(branches) => return branches.iter().filter(|branch| fits(branch, value)).count() == 1,
        Node::Typed { kind, options, constant } => (kind, options, constant),
    };
    let is_listed = options.as_ref().is_none_or(|options| options.contains(value));
    if !kind.admits(value) || !is_listed || constant.as_ref().is_some_and(|constant| constant != value) {
        return false;
    }
    match (kind, value) {
        (Kind::Array(Some(items)), Json::Array(array)) => array.items().iter().all(|item| fits(items, item)),
        (Kind::Object(fields), Json::Object(object)) => {
            fields.required.iter().all(|name| object.get(name).is_some())
                && object.entries().iter().all(|(name, value)| match fields.positions.get(name) {
                    Some(position) => fits(&fields.properties[*position].1, value),
                    None => fields.others == Others::Pass,
                })
        }
        _ => true,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// Paths begin with the name of the root.
    Value,
    /// Paths of members leave the root out.
    Arguments,
}

struct Visit<'a> {
    node: &'a Node,
    value: &'a Json,
    path: String,
    is_root: bool,
}

fn check(node: &Node, value: &Json, path: String, style: Style) -> Vec<String> {
    // Most values fit, and then there is nothing to write down.
    if fits(node, value) {
        return Vec::new();
    }
    let mut found = Vec::new();
    // The last entry is visited next, so children are pushed in reverse.
    let mut pending = vec![Step::Visit(Visit { node, value, path, is_root: true })];
    while let Some(step) = pending.pop() {
        if found.len() >= VIOLATIONS_MAX {
            break;
        }
        match step {
            Step::Report(text) => found.push(text),
            Step::Visit(visit) => visit.run(style, &mut pending, &mut found),
        }
    }
    found
}

enum Step<'a> {
    Visit(Visit<'a>),
    Report(String),
}

impl<'a> Visit<'a> {
    fn run(self, style: Style, pending: &mut Vec<Step<'a>>, found: &mut Vec<String>) {
        let path = &self.path;
        let (kind, options, constant) = match self.node {
            Node::Any => return,
            Node::OneOf(branches) => {
                let matched = branches.iter().filter(|branch| fits(branch, self.value)).count();
                if matched != 1 {
                    found.push(format!("\"{path}\" must match exactly one oneOf branch (matched {matched})"));
                }
                return;
            }
            Node::Typed { kind, options, constant } => (kind, options, constant),
        };
        if !kind.admits(self.value) {
            let article =
                if matches!(kind, Kind::Integer | Kind::Array(_) | Kind::Object(_)) { "an" } else { "a" };
            found.push(match kind {
                Kind::Null => format!("\"{path}\" must be null"),
                _ => format!("\"{path}\" must be {article} {}", kind.word()),
            });
            return;
        }
        if let Some(options) = options
            && !options.contains(self.value)
        {
            found.push(format!(
                "\"{path}\" must be one of {}",
                json::compact(&Json::array(options.iter().cloned()))
            ));
        }
        if let Some(constant) = constant
            && constant != self.value
        {
            found.push(format!("\"{path}\" must be {}", json::compact(constant)));
        }
        match (kind, self.value) {
            (Kind::Array(Some(items)), Json::Array(array)) => {
                let visits = array.items().iter().enumerate().rev();
                pending.extend(visits.map(|(at, value)| {
                    Step::Visit(Visit { node: items, value, path: format!("{path}[{at}]"), is_root: false })
                }));
            }
            (Kind::Object(fields), Json::Object(object)) => self.members(fields, object, style, pending),
            _ => {}
        }
    }

    fn members(
        &self,
        fields: &'a Fields,
        object: &'a json::Object,
        style: Style,
        pending: &mut Vec<Step<'a>>,
    ) {
        let at = |name: &str| {
            if self.is_root && style == Style::Arguments {
                name.to_owned()
            } else {
                format!("{}.{name}", self.path)
            }
        };
        let mut steps = Vec::new();
        for name in &fields.required {
            if object.get(name).is_none() {
                steps.push(Step::Report(format!("missing required property \"{}\"", at(name))));
            }
        }
        for (name, value) in object.entries() {
            match fields.positions.get(name) {
                Some(position) => {
                    let node = &fields.properties[*position].1;
                    steps.push(Step::Visit(Visit { node, value, path: at(name), is_root: false }));
                }
                None if fields.others == Others::Refuse => {
                    let path = at(name);
                    let text = format!("\"{path}\" is not a declared property (additionalProperties: false)");
                    steps.push(Step::Report(text));
                }
                None => {}
            }
        }
        pending.extend(steps.into_iter().rev());
    }
}
