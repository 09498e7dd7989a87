//! Reads the chunks of a streamed answer.

use serde::Deserialize;

use super::super::assembly::{Assembly, CallPiece, malformed};
use super::super::transport::{Event, WireError, of_error_event, of_event};
use super::super::{ApiKey, ErrorCode, Finish, ProviderError, Usage};
use crate::provider::error::excerpt;

/// Bytes of an unknown finish reason that the message shows.
const REASON_BYTES_MAX: usize = 80;

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    delta: Option<WireDelta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct WireDelta {
    content: Option<String>,
    /// What the model says where it refuses to answer; there is no `content` then.
    refusal: Option<String>,
    reasoning_content: Option<String>,
    /// The name that some local servers use for `reasoning_content`.
    reasoning: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Deserialize)]
struct WireCall {
    index: Option<u64>,
    id: Option<String>,
    function: Option<WireFunction>,
}

#[derive(Deserialize)]
struct WireFunction {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for `prompt_tokens_details.cached_tokens`.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

/// Adds what one event says to the turn.
pub(super) fn apply(
    event: &Event,
    key: Option<&ApiKey>,
    assembly: &mut Assembly<'_, '_>,
) -> Result<(), ProviderError> {
    if event.kind.as_deref() == Some("error")
        && let Some(error) = of_error_event(&event.data, key)
    {
        return Err(error);
    }
    let chunk: Chunk = serde_json::from_str(&event.data).map_err(|error| {
        malformed(&format!("an event is not a chunk ({})", excerpt(&error.to_string(), 200)))
    })?;
    if let Some(error) = chunk.error {
        return Err(of_event(error, key));
    }
    if let Some(usage) = chunk.usage {
        assembly.usage(disjoint(&usage));
    }
    // One answer is asked for, so a second choice is none of ours.
    for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
        apply_choice(choice, assembly)?;
    }
    Ok(())
}

fn apply_choice(choice: Choice, assembly: &mut Assembly<'_, '_>) -> Result<(), ProviderError> {
    if let Some(delta) = choice.delta {
        if let Some(text) = delta.reasoning_content.or(delta.reasoning) {
            assembly.reasoning(&text)?;
        }
        for text in delta.content.iter().chain(&delta.refusal) {
            assembly.text(text)?;
        }
        for call in delta.tool_calls.iter().flatten() {
            let Some(index) = call.index else {
                return Err(malformed("a piece of a tool call has no `index`"));
            };
            let function = call.function.as_ref();
            assembly.call(CallPiece {
                index,
                id: call.id.as_deref(),
                name: function.and_then(|function| function.name.as_deref()),
                arguments: function.and_then(|function| function.arguments.as_deref()),
            })?;
        }
    }
    match choice.finish_reason.as_deref() {
        None | Some("") => {}
        Some("stop") => assembly.finish(Finish::Stop),
        Some("tool_calls") => assembly.finish(Finish::ToolCalls),
        Some("length") => assembly.finish(Finish::MaxTokens),
        Some(reason) => {
            return Err(ProviderError::new(
                ErrorCode::from_finish_reason(reason),
                format!(
                    "the model stopped for the reason `{}`; change the request or try again",
                    excerpt(reason, REASON_BYTES_MAX)
                ),
            ));
        }
    }
    Ok(())
}

/// Takes the cached and the reasoning tokens out of the totals that hold them.
fn disjoint(usage: &WireUsage) -> Usage {
    let details = usage.prompt_tokens_details.as_ref();
    let cached = details.and_then(|details| details.cached_tokens).or(usage.prompt_cache_hit_tokens);
    let reasoning = usage.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens);
    Usage {
        input_tokens: usage.prompt_tokens.unwrap_or_default().saturating_sub(cached.unwrap_or_default()),
        output_tokens: usage
            .completion_tokens
            .unwrap_or_default()
            .saturating_sub(reasoning.unwrap_or_default()),
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: reasoning,
    }
}
