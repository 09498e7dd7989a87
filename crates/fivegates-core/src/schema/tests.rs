use super::*;
use crate::json::{compact, parse};

fn check(schema: &str, value: &str, expected: &[&str]) {
    let schema = Schema::compile(&parse(schema).unwrap()).unwrap();
    assert_eq!(schema.violations(&parse(value).unwrap(), "value"), expected, "{value}");
}

fn refused(schema: &str, expected: &str) {
    let error = Schema::compile(&parse(schema).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), format!("unsupported JSON schema: {expected}"));
}

#[test]
fn violations_name_the_path() {
    let list = r#"{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;
    check(
        list,
        r#"[{"n":1},{"n":1.5},{},3]"#,
        &[
            "\"value[1].n\" must be an integer",
            "missing required property \"value[2].n\"",
            "\"value[3]\" must be an object",
        ],
    );
    check(r#"{"type":"string","const":"x"}"#, "\"y\"", &["\"value\" must be \"x\""]);
    check(r#"{"type":"number"}"#, "1.0", &[]);
    check(r#"{"type":"array","items":{}}"#, "[1,null]", &[]);
}

#[test]
fn arguments_leave_the_root_out() {
    let schema = parse(r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#).unwrap();
    let schema = Schema::compile_parameters(&schema).unwrap();
    assert_eq!(schema.argument_violations(&parse("\"x\"").unwrap()), ["\"arguments\" must be an object"]);
    assert_eq!(schema.argument_violations(&parse("{\"a\":1}").unwrap()), ["\"a\" must be a string"]);
    assert_eq!(schema.argument_violations(&parse("{}").unwrap()), ["missing required property \"a\""]);
}

#[test]
fn what_lies_outside_is_refused() {
    refused(r#"{"enum":["a"]}"#, "schema.enum requires schema.type");
    refused(r#"{"type":"string","properties":{}}"#, "schema.properties does not apply to this type");
    refused(
        r#"{"type":"object","properties":{"a":{"$ref":"x"}}}"#,
        "schema.properties.a.$ref is not a supported keyword (subset: type/oneOf/properties/required/additionalProperties/items/enum/const + annotations)",
    );
}

#[test]
fn checking_a_deep_value_costs_no_stack() {
    let text = format!("{}{}", "[".repeat(8_000), "]".repeat(8_000));
    check(r#"{"type":"array","items":{}}"#, &text, &[]);
}

/// Arguments for the test below.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only the schema is used")]
struct Args {
    /// The path.
    path: String,
    limit: Option<u32>,
    #[schemars(with = "Option<Vec<Mode>>")]
    modes: Option<Vec<Mode>>,
}

#[derive(schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
enum Mode {
    /// Reads.
    ReadOnly,
    /// Writes.
    Write,
}

#[test]
fn derived_schemas_fit_the_subset() {
    let schema = parameters_schema_of::<Args>().unwrap();
    let expected = r#"{"properties":{"limit":{"type":"integer"},"modes":{"items":{"enum":["read_only","write"],"type":"string"},"type":"array"},"path":{"description":"The path.","type":"string"}},"required":["path"],"type":"object"}"#;
    assert_eq!(crate::json::canonical(schema.source()), expected, "{}", compact(schema.source()));
    output_schema_of::<Vec<std::collections::BTreeMap<String, f64>>>().unwrap();
}
