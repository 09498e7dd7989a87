//! Schemas derived from Rust types, brought into the subset.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::compile::{Schema, SchemaError};
use crate::json;

/// Keywords that the deriving library adds and the subset lacks; the typed conversion enforces what they say.
const DROPPED: &[&str] = &[
    "$schema",
    "$defs",
    "title",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "uniqueItems",
    "multipleOf",
    "default",
];

/// Derives the schema of a tool's arguments; doc comments become the descriptions that the model reads.
///
/// # Errors
/// The type needs what the subset does not have, or is no object.
pub fn parameters_schema_of<T: JsonSchema>() -> Result<Schema, SchemaError> {
    Schema::compile_parameters(&derived::<T>()?)
}

/// Derives the schema of a tool's output.
///
/// # Errors
/// The type needs what the subset does not have.
pub fn output_schema_of<T: JsonSchema>() -> Result<Schema, SchemaError> {
    Schema::compile(&derived::<T>()?)
}

fn derived<T: JsonSchema>() -> Result<json::Json, SchemaError> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut value);
    if let Value::Object(root) = &mut value {
        root.remove("description");
    }
    canonical(&value.to_string())
}

/// Brings the members into one order. The one they come in depends on how the deriving libraries were built, and what a model
/// is sent must not (R-063).
fn canonical(text: &str) -> Result<json::Json, SchemaError> {
    let parsed = json::parse(text).and_then(|value| json::parse(&json::canonical(&value)));
    parsed.map_err(|error| SchemaError(format!("schema is not JSON: {error}")))
}

/// Drops what the subset lacks; an optional member (`["T","null"]`) becomes one of type `T`.
fn simplify(value: &mut Value) {
    let Value::Object(map) = value else {
        if matches!(value, Value::Bool(true)) {
            *value = Value::Object(serde_json::Map::new());
        }
        return;
    };
    for key in DROPPED {
        map.remove(*key);
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &mut types[..] {
            let only = only.take();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(branches)) = map.remove("anyOf") {
        let mut rest: Vec<Value> = branches.into_iter().filter(|branch| branch["type"] != "null").collect();
        match rest.len() {
            1 => {
                if let Value::Object(only) = rest.remove(0) {
                    map.extend(only);
                }
            }
            _ => {
                map.insert("oneOf".to_owned(), Value::Array(rest));
            }
        }
        simplify(value);
        return;
    }
    plain_variants(map);
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key)
            && inner.is_object()
        {
            simplify(inner);
        }
    }
    // A map of typed values is wider than the subset can say; conversion still checks each value.
    if map.get("additionalProperties").is_some_and(Value::is_object) {
        map.remove("additionalProperties");
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(Value::Array(branches)) = map.get_mut("oneOf") {
        branches.iter_mut().for_each(simplify);
    }
}

/// Turns `oneOf` branches that are constants of one string type into one `enum`.
fn plain_variants(map: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(branches)) = map.get("oneOf") else {
        return;
    };
    let words: Vec<Value> = branches.iter().filter_map(|branch| branch.get("const").cloned()).collect();
    let documented = branches.len() == words.len() && words.iter().all(Value::is_string);
    if documented || branches.len() == 1 {
        let only = branches.first().cloned();
        map.remove("oneOf");
        if documented {
            map.insert("type".to_owned(), Value::from("string"));
            map.insert("enum".to_owned(), Value::Array(words));
        } else if let Some(Value::Object(only)) = only {
            map.extend(only);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_members_does_not_depend_on_the_deriving_library() {
        let one =
            canonical(r#"{"type":"object","properties":{"b":{"type":"null"},"a":{}},"required":["b","a"]}"#);
        let other =
            canonical(r#"{"required":["b","a"],"properties":{"a":{},"b":{"type":"null"}},"type":"object"}"#);
        let text = json::compact(&one.unwrap());
        assert_eq!(text, json::compact(&other.unwrap()));
        assert_eq!(
            text,
            r#"{"properties":{"a":{},"b":{"type":"null"}},"required":["b","a"],"type":"object"}"#
        );
    }
}
