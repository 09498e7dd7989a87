//! From schema text to a form that can be checked against.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::ToolError;
use crate::json::{self, Json, Object};

/// Levels of nested schemas accepted.
const SCHEMA_DEPTH_MAX: usize = 64;

/// Keywords that only document.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$schema",
    "$id",
];

/// A schema outside the subset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported JSON schema: {0}")]
pub struct SchemaError(pub(super) String);

impl From<SchemaError> for ToolError {
    fn from(error: SchemaError) -> Self {
        Self::coded("JsonSchemaError", "UNSUPPORTED_SCHEMA", error.to_string())
    }
}

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    source: Json,
    pub(super) root: Arc<Node>,
}

/// What a value must be.
#[derive(Debug)]
pub(super) enum Node {
    /// Any lossless value.
    Any,
    /// Exactly one of these.
    OneOf(Vec<Node>),
    /// A value of one type.
    Typed { kind: Kind, options: Option<Vec<Json>>, constant: Option<Json> },
}

#[derive(Debug)]
pub(super) enum Kind {
    String,
    Number,
    Integer,
    Boolean,
    Null,
    Array(Option<Box<Node>>),
    Object(Fields),
}

#[derive(Debug)]
pub(super) struct Fields {
    /// Declared members in the order of the schema.
    pub(super) properties: Vec<(Arc<str>, Node)>,
    pub(super) positions: HashMap<Arc<str>, usize>,
    pub(super) required: Vec<Arc<str>>,
    pub(super) others: Others,
}

/// What happens to members that are not declared.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Others {
    Pass,
    Refuse,
}

impl Schema {
    /// Compiles a schema of any value.
    ///
    /// # Errors
    /// The first place that lies outside the subset.
    pub fn compile(source: &Json) -> Result<Self, SchemaError> {
        let root = node(source, "schema", 0)?;
        Ok(Self { source: source.clone(), root: Arc::new(root) })
    }

    /// Compiles a schema of parameters, whose root must be an object.
    ///
    /// # Errors
    /// The first place that lies outside the subset.
    pub fn compile_parameters(source: &Json) -> Result<Self, SchemaError> {
        let schema = Self::compile(source)?;
        match &*schema.root {
            Node::Typed { kind: Kind::Object(_), .. } => Ok(schema),
            _ => Err(SchemaError(
                "schema.type must be \"object\" (structured output is object-rooted)".to_owned(),
            )),
        }
    }

    /// The schema as it was written; this is what a model is sent.
    pub fn source(&self) -> &Json {
        &self.source
    }
}

fn fail<T>(place: &str, what: &str) -> Result<T, SchemaError> {
    Err(SchemaError(format!("{place}{what}")))
}

fn node(source: &Json, place: &str, depth: usize) -> Result<Node, SchemaError> {
    if depth > SCHEMA_DEPTH_MAX {
        return fail(place, &format!(" is nested deeper than {SCHEMA_DEPTH_MAX} levels"));
    }
    let Json::Object(object) = source else {
        return fail(place, " must be an object");
    };
    for (key, _) in object.entries() {
        known_keyword(key, place)?;
    }
    if let Some(branches) = object.get("oneOf") {
        return one_of(object, branches, place, depth);
    }
    let Some(kind) = object.get("type") else {
        return untyped(object, place);
    };
    let Some(kind) = kind.as_str() else {
        return fail(place, ".type must be a single type string (type arrays are not supported)");
    };
    let kind = match kind {
        "string" => Kind::String,
        "number" => Kind::Number,
        "integer" => Kind::Integer,
        "boolean" => Kind::Boolean,
        "null" => Kind::Null,
        "array" => {
            let items = object.get("items").map(|items| node(items, &format!("{place}.items"), depth + 1));
            Kind::Array(items.transpose()?.map(Box::new))
        }
        "object" => Kind::Object(fields(object, place, depth)?),
        other => return fail(place, &format!(".type \"{other}\" is not a supported type")),
    };
    misplaced(object, &kind, place)?;
    let options = options(object, &kind, place)?;
    let constant = constant(object, &kind, options.as_deref(), place)?;
    Ok(Node::Typed { kind, options, constant })
}

fn known_keyword(key: &str, place: &str) -> Result<(), SchemaError> {
    const KEYWORDS: &[&str] =
        &["type", "oneOf", "properties", "required", "additionalProperties", "items", "enum", "const"];
    if KEYWORDS.contains(&key) || ANNOTATIONS.contains(&key) {
        return Ok(());
    }
    let subset = "type/oneOf/properties/required/additionalProperties/items/enum/const + annotations";
    fail(place, &format!(".{key} is not a supported keyword (subset: {subset})"))
}

fn one_of(object: &Object, branches: &Json, place: &str, depth: usize) -> Result<Node, SchemaError> {
    let branches = branches.as_array().unwrap_or_default();
    if branches.len() < 2 {
        return fail(place, ".oneOf must be an array of at least two schemas");
    }
    if let Some((key, _)) = object.entries().iter().find(|(key, _)| &**key != "oneOf" && !is_annotation(key))
    {
        return fail(place, &format!(".{key} cannot stand beside oneOf"));
    }
    let compiled = branches
        .iter()
        .enumerate()
        .map(|(at, branch)| node(branch, &format!("{place}.oneOf[{at}]"), depth + 1))
        .collect::<Result<_, _>>()?;
    Ok(Node::OneOf(compiled))
}

fn untyped(object: &Object, place: &str) -> Result<Node, SchemaError> {
    match object.entries().iter().find(|(key, _)| !is_annotation(key)) {
        None => Ok(Node::Any),
        Some((key, _)) => fail(place, &format!(".{key} requires schema.type")),
    }
}

fn is_annotation(key: &str) -> bool {
    ANNOTATIONS.contains(&key)
}

/// Refuses keywords that say nothing about this type.
fn misplaced(object: &Object, kind: &Kind, place: &str) -> Result<(), SchemaError> {
    let (is_object, is_array) = (matches!(kind, Kind::Object(_)), matches!(kind, Kind::Array(_)));
    for (key, _) in object.entries() {
        let fits = match &**key {
            "properties" | "required" | "additionalProperties" => is_object,
            "items" => is_array,
            "enum" | "const" => !is_object && !is_array,
            _ => true,
        };
        if !fits {
            return fail(place, &format!(".{key} does not apply to this type"));
        }
    }
    Ok(())
}

fn fields(object: &Object, place: &str, depth: usize) -> Result<Fields, SchemaError> {
    let mut properties = Vec::new();
    match object.get("properties") {
        None => {}
        Some(Json::Object(declared)) => {
            for (name, schema) in declared.entries() {
                let compiled = node(schema, &format!("{place}.properties.{name}"), depth + 1)?;
                properties.push((Arc::clone(name), compiled));
            }
        }
        Some(_) => return fail(place, ".properties must be an object"),
    }
    let positions: HashMap<_, _> =
        properties.iter().enumerate().map(|(at, (name, _))| (Arc::clone(name), at)).collect();
    let mut required = Vec::new();
    match object.get("required") {
        None => {}
        Some(Json::Array(names)) => {
            for name in names.items() {
                let Json::String(name) = name else {
                    return fail(place, ".required must be an array of strings");
                };
                if !positions.contains_key(name) {
                    return fail(place, &format!(".required names \"{name}\" which is not in properties"));
                }
                required.push(Arc::clone(name));
            }
        }
        Some(_) => return fail(place, ".required must be an array of strings"),
    }
    let others = match object.get("additionalProperties") {
        None | Some(Json::Bool(true)) => Others::Pass,
        Some(Json::Bool(false)) => Others::Refuse,
        Some(_) => return fail(place, ".additionalProperties must be a boolean"),
    };
    Ok(Fields { properties, positions, required, others })
}

fn options(object: &Object, kind: &Kind, place: &str) -> Result<Option<Vec<Json>>, SchemaError> {
    let Some(list) = object.get("enum") else {
        return Ok(None);
    };
    let items = list.as_array().unwrap_or_default();
    if items.is_empty() || !items.iter().all(|item| kind.admits(item)) {
        return fail(place, &format!(".enum must be a non-empty array of {} values", kind.word()));
    }
    Ok(Some(items.to_vec()))
}

fn constant(
    object: &Object,
    kind: &Kind,
    options: Option<&[Json]>,
    place: &str,
) -> Result<Option<Json>, SchemaError> {
    let Some(value) = object.get("const") else {
        return Ok(None);
    };
    if !kind.admits(value) {
        return fail(place, &format!(".const must be a {} value", kind.word()));
    }
    if options.is_some_and(|options| !options.contains(value)) {
        return fail(place, &format!(".const must be one of {place}.enum when both are declared"));
    }
    Ok(Some(value.clone()))
}

impl Kind {
    /// Tells whether the value is of this type, whatever is in it.
    pub(super) fn admits(&self, value: &Json) -> bool {
        match self {
            Self::String => matches!(value, Json::String(_)),
            Self::Number => matches!(value, Json::Number(_)),
            Self::Integer => value.as_number().is_some_and(json::Number::is_integer),
            Self::Boolean => matches!(value, Json::Bool(_)),
            Self::Null => matches!(value, Json::Null),
            Self::Array(_) => matches!(value, Json::Array(_)),
            Self::Object(_) => matches!(value, Json::Object(_)),
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}
