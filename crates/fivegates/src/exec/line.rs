//! One line of input.

use std::borrow::Cow;
use std::fmt;

use fivegates_core::call::Arguments;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Text;

/// Calls that one message may hold.
const CALLS_MAX: usize = 256;

/// Bytes of a call's id and of its name: everything that tells of the call repeats them.
const WORD_BYTES_MAX: usize = 1_024;

/// A call that a line asks for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Arguments,
}

/// Reads a line: one call, or a whole assistant message.
///
/// Arguments are not read here: their text goes on as it is, so that the pipeline refuses what is wrong in it under the
/// call's own id, and the record keeps it byte for byte.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Wanted>, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("the line is not UTF-8: byte {} is invalid", error.valid_up_to() + 1))?;
    let line: Line<'_> = serde_json::from_str(text).map_err(|error| explain(&error))?;
    match line.calls {
        Some(calls) if line.id.is_none() && line.name.is_none() && line.arguments.is_none() => {
            if calls.len() > CALLS_MAX {
                return Err(format!("the message holds {} calls and the limit is {CALLS_MAX}", calls.len()));
            }
            calls.into_iter().map(ToolCall::wanted).collect()
        }
        Some(_) => Err("a line is either one call or a message with `tool_calls`, not both".to_owned()),
        None => line.single().map(|wanted| vec![wanted]),
    }
}

fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // Every input is one line, so only the column says something.
    let what = text.split(" at line ").next().unwrap_or(&text);
    match error.classify() {
        serde_json::error::Category::Eof => "the line ends in the middle of a value".to_owned(),
        _ => format!("{what} (column {})", error.column()),
    }
}

/// A line as it stands.
#[derive(Default)]
struct Line<'a> {
    id: Option<String>,
    name: Option<String>,
    arguments: Option<&'a RawValue>,
    calls: Option<Vec<ToolCall<'a>>>,
    unknown: Option<String>,
}

impl Line<'_> {
    fn single(self) -> Result<Wanted, String> {
        if let Some(unknown) = self.unknown {
            return Err(format!("unknown key `{unknown}`; a call has `id`, `name` and `arguments`"));
        }
        let missing = |key: &str| format!("missing key `{key}`; a call has `id`, `name` and `arguments`");
        let id = self.id.ok_or_else(|| missing("id"))?;
        let name = self.name.ok_or_else(|| missing("name"))?;
        let arguments = self.arguments.ok_or_else(|| missing("arguments"))?;
        finish(id, name, arguments)
    }
}

fn finish(id: String, name: String, arguments: &RawValue) -> Result<Wanted, String> {
    for (key, word) in [("id", &id), ("name", &name)] {
        if word.len() > WORD_BYTES_MAX {
            return Err(format!(
                "`{key}` is {} bytes long and the limit is {WORD_BYTES_MAX} bytes",
                word.len()
            ));
        }
    }
    if id.is_empty() {
        return Err("`id` is empty; each call needs an id of its own".to_owned());
    }
    if name.is_empty() {
        return Err("`name` is empty; each call names its tool".to_owned());
    }
    Ok(Wanted { id, name, arguments: Arguments::Text(raw_text(arguments)?) })
}

/// The raw text of arguments: the content of a string, or the source of anything else.
fn raw_text(arguments: &RawValue) -> Result<Text, String> {
    let source = arguments.get();
    if source.starts_with('"') {
        let text: Cow<'_, str> =
            serde_json::from_str(source).map_err(|error| format!("`arguments`: {}", explain(&error)))?;
        return Ok(Text::from(text));
    }
    Ok(Text::from(source))
}

impl<'de: 'a, 'a> Deserialize<'de> for Line<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineVisitor;

        impl<'de> Visitor<'de> for LineVisitor {
            type Value = Line<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a call or an assistant message, as a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line<'de>, A::Error> {
                let mut line = Line::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match &*key {
                        "id" => set(&mut line.id, "id", map.next_value()?)?,
                        "name" => set(&mut line.name, "name", map.next_value()?)?,
                        "arguments" => set(&mut line.arguments, "arguments", map.next_value()?)?,
                        "tool_calls" => set(&mut line.calls, "tool_calls", map.next_value()?)?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            line.unknown.get_or_insert_with(|| key.into_owned());
                        }
                    }
                }
                Ok(line)
            }
        }

        deserializer.deserialize_map(LineVisitor)
    }
}

fn set<T, E: de::Error>(slot: &mut Option<T>, name: &'static str, value: T) -> Result<(), E> {
    if slot.is_some() {
        return Err(E::duplicate_field(name));
    }
    *slot = Some(value);
    Ok(())
}

/// A call within a message, as chat completions write it.
#[derive(serde::Deserialize)]
struct ToolCall<'a> {
    id: String,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(serde::Deserialize)]
struct Function<'a> {
    name: String,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

impl ToolCall<'_> {
    fn wanted(self) -> Result<Wanted, String> {
        finish(self.id, self.function.name, self.function.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let got = match read(text.as_bytes()) {
            Ok(calls) => {
                let shown =
                    calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments.text()));
                shown.collect::<Vec<_>>().join(" | ")
            }
            Err(problem) => format!("error: {problem}"),
        };
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn calls_in_every_form() {
        check(r#"{"id":"a","name":"t","arguments":{"x": 1}}"#, r#"a t {"x": 1}"#);
        check(r#"{"id":"a","name":"t","arguments":"{\"x\": 1"}"#, r#"a t {"x": 1"#);
        check(r#"{"id":"a","name":"t","arguments":""}"#, "a t ");
        check(r#"{"id":"a","name":"t","arguments":null}"#, "a t null");
        let message = r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"b","function":{"name":"u","arguments":{"y":2}}}]}"#;
        check(message, r#"a t {} | b u {"y":2}"#);
        check(r#"{"role":"assistant","content":"no calls","tool_calls":[]}"#, "");
    }

    #[test]
    fn what_is_no_call_says_why() {
        let keys = "a call has `id`, `name` and `arguments`";
        check("{\"id\":\"a", "error: the line ends in the middle of a value");
        check("nonsense", "error: expected ident (column 2)");
        check(
            "[1]",
            "error: invalid type: sequence, expected a call or an assistant message, as a JSON object (column 0)",
        );
        check("{}", &format!("error: missing key `id`; {keys}"));
        check(r#"{"id":"a","name":"t"}"#, &format!("error: missing key `arguments`; {keys}"));
        check(r#"{"id":"a","name":"t","arguments":{},"x":1}"#, &format!("error: unknown key `x`; {keys}"));
        check(r#"{"id":"a","id":"b","name":"t","arguments":{}}"#, "error: duplicate field `id` (column 18)");
        check(
            r#"{"id":1,"name":"t","arguments":{}}"#,
            "error: invalid type: integer `1`, expected a string (column 7)",
        );
        check(
            r#"{"id":"","name":"t","arguments":{}}"#,
            "error: `id` is empty; each call needs an id of its own",
        );
        check(r#"{"id":"a","name":"","arguments":{}}"#, "error: `name` is empty; each call names its tool");
        assert!(read(b"\xff").is_err());
    }

    #[test]
    fn deep_arguments_pass_as_text() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let calls = read(format!("{{\"id\":\"a\",\"name\":\"t\",\"arguments\":{deep}}}").as_bytes()).unwrap();
        assert_eq!(calls[0].arguments.text().len(), deep.len());
    }
}
