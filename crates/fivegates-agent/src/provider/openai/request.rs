//! Encodes a request (spec §19, DeepSeek wire).

use reqwest::Url;
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::{CallText, Effort, ErrorCode, Message, ModelRequest, ProviderError};
use super::config::{OPENAI_BASE_URL, Service};

/// What a model reads as the result of a tool that printed nothing (spec §19).
const NO_OUTPUT: &str = "(no output)";

/// Says which fields a server understands where servers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fields {
    /// DeepSeek: `thinking`, `max_tokens`, `reasoning_content`.
    DeepSeek,
    /// OpenAI itself: `max_completion_tokens`, and no `reasoning_content`, which it refuses.
    OpenAi,
    /// A server that follows OpenAI: `max_tokens`, `reasoning_content`.
    Compatible,
}

impl Fields {
    pub(super) fn of(service: Service, base: &Url) -> Self {
        match service {
            Service::DeepSeek => Self::DeepSeek,
            Service::OpenAi if Url::parse(OPENAI_BASE_URL).is_ok_and(|own| own.origin() == base.origin()) => {
                Self::OpenAi
            }
            Service::OpenAi => Self::Compatible,
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Tagged<'static>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tagged<'a> {
    r#type: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

/// Encodes `request` as the JSON body of a streaming chat completion.
pub(super) fn encode(request: &ModelRequest, fields: Fields) -> Result<Vec<u8>, ProviderError> {
    let own_openai = fields == Fields::OpenAi;
    let system = request.system.as_deref().map(|content| WireMessage::System { content });
    let body = Body {
        model: &request.model,
        messages: system
            .into_iter()
            .chain(request.messages.iter().map(|message| wire_message(message, fields)))
            .collect(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: request
            .tools
            .iter()
            .map(|tool| WireTool {
                r#type: "function",
                function: OfferedFunction {
                    name: &tool.name,
                    description: &tool.description,
                    parameters: &tool.parameters,
                },
            })
            .collect(),
        max_tokens: request.max_tokens.filter(|_| !own_openai),
        max_completion_tokens: request.max_tokens.filter(|_| own_openai),
        temperature: request.temperature,
        stop: &request.stop,
        thinking: thinking(request.effort, fields),
        reasoning_effort: reasoning_effort(request.effort, fields),
    };
    serde_json::to_vec(&body).map_err(|error| {
        ProviderError::new(
            ErrorCode::InvalidRequest,
            format!("the request cannot be written as JSON: {error}"),
        )
    })
}

fn wire_message(message: &Message, fields: Fields) -> WireMessage<'_> {
    match message {
        Message::User { text } => WireMessage::User { content: text },
        Message::Assistant { text, reasoning, calls } => WireMessage::Assistant {
            content: text,
            reasoning_content: reasoning.as_deref().filter(|_| fields != Fields::OpenAi),
            tool_calls: calls.iter().map(wire_call).collect(),
        },
        Message::Tool { call_id, content } => WireMessage::Tool {
            tool_call_id: call_id,
            content: if content.is_empty() { NO_OUTPUT } else { content },
        },
    }
}

fn wire_call(call: &CallText) -> WireCall<'_> {
    WireCall {
        id: &call.id,
        r#type: "function",
        function: CalledFunction { name: &call.name, arguments: &call.arguments },
    }
}

/// DeepSeek thinks unless told otherwise; the others have no such switch.
fn thinking(effort: Option<Effort>, fields: Fields) -> Option<Tagged<'static>> {
    let effort = effort.filter(|_| fields == Fields::DeepSeek)?;
    Some(Tagged { r#type: if effort == Effort::Off { "disabled" } else { "enabled" } })
}

fn reasoning_effort(effort: Option<Effort>, fields: Fields) -> Option<&'static str> {
    match effort? {
        Effort::Off if fields == Fields::DeepSeek => None,
        Effort::Off => Some("none"),
        Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ToolSchema;
    use super::*;

    fn check(request: &ModelRequest, fields: Fields, want: &str) {
        assert_eq!(String::from_utf8(encode(request, fields).unwrap()).unwrap(), want);
    }

    #[test]
    fn a_whole_conversation_is_encoded_with_raw_texts_untouched() {
        let schema = r#"{ "type":"object",  "maxLength": 1e2 }"#;
        let call = |id: &str, arguments: &str| CallText {
            id: id.to_owned(),
            name: "read".to_owned(),
            arguments: arguments.to_owned(),
        };
        let request = ModelRequest {
            model: "m".to_owned(),
            system: Some("be brief".to_owned()),
            messages: vec![
                Message::User { text: "hi \"é\"".to_owned() },
                Message::Assistant {
                    text: String::new(),
                    reasoning: Some("hm".to_owned()),
                    calls: vec![call("a", r#"{"n":1E400,"n":1}"#), call("b", "")],
                },
                Message::Tool { call_id: "a".to_owned(), content: String::new() },
                Message::Tool { call_id: "b".to_owned(), content: "out".to_owned() },
            ],
            tools: vec![ToolSchema {
                name: "read".to_owned(),
                description: "reads".to_owned(),
                parameters: RawValue::from_string(schema.to_owned()).unwrap(),
            }],
            ..ModelRequest::default()
        };
        let want = concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"be brief"},"#,
            r#"{"role":"user","content":"hi \"é\""},"#,
            r#"{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":["#,
            r#"{"id":"a","type":"function","function":{"name":"read","arguments":"{\"n\":1E400,\"n\":1}"}},"#,
            r#"{"id":"b","type":"function","function":{"name":"read","arguments":""}}]},"#,
            r#"{"role":"tool","tool_call_id":"a","content":"(no output)"},"#,
            r#"{"role":"tool","tool_call_id":"b","content":"out"}],"#,
            r#""stream":true,"stream_options":{"include_usage":true},"#,
            r#""tools":[{"type":"function","function":{"name":"read","description":"reads","#,
            r#""parameters":{ "type":"object",  "maxLength": 1e2 }}}]}"#,
        );
        check(&request, Fields::DeepSeek, want);
        check(&request, Fields::Compatible, want);
        check(&request, Fields::OpenAi, &want.replace(r#""reasoning_content":"hm","#, ""));
    }

    #[test]
    fn options_go_where_each_server_reads_them() {
        let head = r#"{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}"#;
        let cases = [
            (
                Fields::DeepSeek,
                Effort::High,
                r#","max_tokens":5,"temperature":0.7,"stop":["x"],"thinking":{"type":"enabled"},"reasoning_effort":"high"}"#,
            ),
            (
                Fields::DeepSeek,
                Effort::Off,
                r#","max_tokens":5,"temperature":0.7,"stop":["x"],"thinking":{"type":"disabled"}}"#,
            ),
            (
                Fields::OpenAi,
                Effort::Low,
                r#","max_completion_tokens":5,"temperature":0.7,"stop":["x"],"reasoning_effort":"low"}"#,
            ),
            (
                Fields::Compatible,
                Effort::Off,
                r#","max_tokens":5,"temperature":0.7,"stop":["x"],"reasoning_effort":"none"}"#,
            ),
        ];
        for (fields, effort, tail) in cases {
            let request = ModelRequest {
                model: "m".to_owned(),
                max_tokens: Some(5),
                temperature: Some(0.7),
                stop: vec!["x".to_owned()],
                effort: Some(effort),
                ..ModelRequest::default()
            };
            check(&request, fields, &format!("{head}{tail}"));
        }
        check(
            &ModelRequest { model: "m".to_owned(), ..ModelRequest::default() },
            Fields::DeepSeek,
            &format!("{head}}}"),
        );
    }

    #[test]
    fn openai_itself_is_known_by_its_host() {
        let fields = |service, url: &str| Fields::of(service, &Url::parse(url).unwrap());
        assert_eq!(fields(Service::OpenAi, "https://api.openai.com/v1"), Fields::OpenAi);
        assert_eq!(fields(Service::OpenAi, "http://localhost:1/v1"), Fields::Compatible);
        assert_eq!(fields(Service::DeepSeek, "http://localhost:1/v1"), Fields::DeepSeek);
    }
}
