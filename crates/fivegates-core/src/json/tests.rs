use std::collections::BTreeMap;

use super::*;

/// Parses and prints, or gives the error text.
fn check(text: &str, expected: &str) {
    let got = match parse(text) {
        Ok(value) => compact(&value),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(got, expected, "{text}");
}

#[test]
fn accepts_what_it_can_hold() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1.5",
        "\"\"",
        "[]",
        "{}",
        "[1,[2,{\"a\":null}]]",
        "0.1",
        "1e300",
    ] {
        check(text, text);
    }
    check(" { \"b\" : 1 , \"a\" : [ ] } ", "{\"b\":1,\"a\":[]}");
    check("1.0", "1");
    check("1e3", "1000");
    check("100e-2", "1");
    check("0e5", "0");
    check("9007199254740993", "9007199254740993");
    check("18446744073709551615", "18446744073709551615");
    check("1E21", "1e21");
    check("-2.50", "-2.5");
    check(r#""\u0041\n\ud83d\ude00\/""#, "\"A\\n😀/\"");
    check(r#"{"__proto__":1,"toJSON":2}"#, r#"{"__proto__":1,"toJSON":2}"#);
}

#[test]
fn refuses_what_would_be_lost() {
    check("-0", "error: negative zero cannot be represented at line 1 column 1");
    check("[1,-0.0e7]", "error: negative zero cannot be represented at line 1 column 4");
    check("1e400", "error: the number is outside the range that can be represented at line 1 column 1");
    check("1e-400", "error: the number is outside the range that can be represented at line 1 column 1");
    let lost = "the number has more digits than can be represented without loss; pass it as a string";
    check("12345678901234567890123", &format!("error: {lost} at line 1 column 1"));
    check("0.1000000000000000055511151231257827", &format!("error: {lost} at line 1 column 1"));
    check(r#"{"a":1,"a":2}"#, "error: duplicate key `a` at line 1 column 8");
    check(r#"{"cmd":1,"\u0063md":2}"#, "error: duplicate key `cmd` at line 1 column 10");
    check(r#"["\ud800"]"#, "error: lone surrogate escape in a string at line 1 column 5");
    check(r#"["\udc00\ud800"]"#, "error: lone surrogate escape in a string at line 1 column 5");
}

#[test]
fn refuses_what_is_not_json() {
    check("", "error: the JSON text ends too early at line 1 column 1");
    check("{\"path\": \"a", "error: the JSON text ends too early at line 1 column 12");
    check("[1,]", "error: expected a JSON value at line 1 column 4");
    check("[1 2]", "error: expected `,` or `]` at line 1 column 4");
    check("{\"a\" 1}", "error: expected `:` at line 1 column 6");
    check("{\"a\":1,}", "error: expected a key in double quotes at line 1 column 8");
    check("{\n \"a\":tru}", "error: expected a JSON value at line 2 column 6");
    check("1 2", "error: unexpected text after the JSON value at line 1 column 3");
    check("01", "error: unexpected text after the JSON value at line 1 column 2");
    check("1.", "error: expected a digit at line 1 column 3");
    check("NaN", "error: expected a JSON value at line 1 column 1");
    check("\"a\u{1}\"", "error: unescaped control character in a string at line 1 column 3");
    check("\"\\x\"", "error: invalid escape in a string at line 1 column 3");
}

#[test]
fn duplicate_keys_are_found_in_large_objects() {
    let members: Vec<String> = (0..1_000).map(|n| format!("\"k{n}\":{n}")).collect();
    let value = parse(&format!("{{{}}}", members.join(","))).unwrap();
    assert_eq!(value.get("k777").and_then(Json::as_number).and_then(Number::as_i64), Some(777));
    assert!(value.get("k1000").is_none());
    let error = parse(&format!("{{{},\"k5\":0}}", members.join(","))).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::DuplicateKey("k5".into()));
}

#[test]
fn depth_costs_no_stack() {
    let depth = 200_000;
    let text = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(parse(&text).unwrap_err().kind, ParseErrorKind::TooDeep(DEPTH_MAX_DEFAULT));
    let value = parse_with(&text, ParseLimits { depth_max: depth }).unwrap();
    assert_eq!(compact(&value), text);
    assert!(pretty(&value, 0).len() > text.len());
    let twin = value.clone();
    assert!(value == parse_with(&text, ParseLimits { depth_max: depth }).unwrap());
    drop(value);
    assert_eq!(canonical(&twin), text);
    let object = format!("{}1{}", "{\"a\":".repeat(8_000), "}".repeat(8_000));
    assert_eq!(compact(&parse(&object).unwrap()), object);
}

#[test]
fn prints_canonically_and_prettily() {
    let value = parse(r#"{"b":[1,{}],"a":{"d":"x","c":[]}}"#).unwrap();
    assert_eq!(canonical(&value), r#"{"a":{"c":[],"d":"x"},"b":[1,{}]}"#);
    let expected =
        "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"d\": \"x\",\n    \"c\": []\n  }\n}";
    assert_eq!(pretty(&value, 2), expected);
    assert_eq!(value, parse(r#"{"a":{"c":[],"d":"x"},"b":[1,{}]}"#).unwrap());
    assert_ne!(value, parse(r#"{"a":{"c":[],"d":"y"},"b":[1,{}]}"#).unwrap());
}

#[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
struct Typed {
    name: String,
    count: u64,
    ratio: f64,
    kind: Kind,
    more: Option<Vec<i8>>,
    free: Json,
    map: BTreeMap<String, bool>,
}

#[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Plain,
    With { x: i32 },
}

#[test]
fn typed_values_cross_whole() {
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let typed = Typed {
        name: "n".into(),
        count: u64::MAX,
        ratio: 0.5,
        kind: Kind::With { x: -3 },
        more: Some(vec![1, -1]),
        free: parse(&deep).unwrap(),
        map: BTreeMap::from([("k".into(), true)]),
    };
    let json = to_json(&typed).unwrap();
    assert_eq!(json.get("free").unwrap(), &typed.free);
    assert_eq!(from_json::<Typed>(&json).unwrap(), typed);
    let plain: Kind = from_json(&parse("\"plain\"").unwrap()).unwrap();
    assert_eq!(plain, Kind::Plain);
    let foreign: Json = serde_json::from_str("{\"a\":[1,2.5,null]}").unwrap();
    assert_eq!(serde_json::to_string(&foreign).unwrap(), "{\"a\":[1,2.5,null]}");
}

#[test]
fn typed_values_that_lose_are_refused() {
    assert!(to_json(&f64::NAN).is_err());
    assert!(to_json(&f64::INFINITY).is_err());
    assert!(to_json(&-0.0_f64).is_err());
    assert!(to_json(&i128::MAX).is_err());
    assert!(from_json::<u8>(&Json::from(300_i64)).is_err());
    let nested = parse(&format!("{}{}", "[".repeat(500), "]".repeat(500))).unwrap();
    assert!(from_json::<serde_json::Value>(&nested).is_err());
}

proptest::proptest! {
    #[test]
    fn print_then_parse_is_identity(text in "\\PC*", number in proptest::num::f64::NORMAL, int in proptest::num::i64::ANY) {
        let value = Json::object([
            (text.as_str(), Json::string(text.as_str())),
            ("number", Number::from_f64(number).map_or(Json::Null, Json::Number)),
            ("int", Json::from(int)),
        ]);
        proptest::prop_assert_eq!(&parse(&compact(&value)).unwrap(), &value);
        proptest::prop_assert_eq!(&parse(&pretty(&value, 2)).unwrap(), &value);
        proptest::prop_assert_eq!(parse(&canonical(&value)).unwrap(), value);
    }

    #[test]
    fn agrees_with_a_plain_parser_on_shape(text in "[\\[\\]{}\",:0-9a-z\\\\ .eE+-]{0,24}") {
        let ours = parse(&text);
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        if ours.is_ok() {
            proptest::prop_assert!(theirs.is_ok(), "{}", text);
        }
    }
}
