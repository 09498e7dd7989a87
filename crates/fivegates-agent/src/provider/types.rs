use serde_json::value::RawValue;

/// Holds all that a model is sent for one turn.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// The model's name as its server knows it, such as `deepseek-v4-flash`.
    pub model: String,
    /// The system prompt, sent before all messages.
    pub system: Option<String>,
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The tools the model may call. Empty: none are offered.
    pub tools: Vec<ToolSchema>,
    /// The most tokens the answer may take; `None` leaves it to the server.
    pub max_tokens: Option<u32>,
    /// The sampling temperature; `None` leaves it to the server.
    pub temperature: Option<f64>,
    /// Texts at which the model stops; empty: none.
    pub stop: Vec<String>,
    /// How much the model thinks before it answers; `None` leaves it to the server.
    pub effort: Option<Effort>,
}

/// Says how much a model thinks before it answers (spec §19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// No thinking, where the server can switch it off.
    Off,
    /// A little.
    Low,
    /// More.
    Medium,
    /// Much.
    High,
}

/// Describes one tool to a model.
#[derive(Clone, Debug)]
pub struct ToolSchema {
    /// The name the model calls it by.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// The JSON schema of its arguments, sent exactly as written.
    pub parameters: Box<RawValue>,
}

/// Is one message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What the user (or a plugin on their behalf) says.
    User {
        /// The text.
        text: String,
    },
    /// What the model said in an earlier turn.
    Assistant {
        /// The visible text; may be empty.
        text: String,
        /// Its reasoning, which some servers require back unchanged.
        reasoning: Option<String>,
        /// The calls it made, with their argument text as it was received.
        calls: Vec<CallText>,
    },
    /// The result of one call.
    Tool {
        /// The [`CallText::id`] it answers.
        call_id: String,
        /// The result text. Empty becomes `(no output)` on the wire (spec §19).
        content: String,
    },
}

/// Is a tool call as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallText {
    /// The call's id, unique within its turn. Ids may repeat in later turns.
    pub id: String,
    /// The tool's name, unchecked.
    pub name: String,
    /// The argument text, byte for byte; not necessarily JSON, possibly empty.
    pub arguments: String,
}

/// Is what a model answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelTurn {
    /// The visible text; may be empty.
    pub text: String,
    /// The reasoning, if the server shows it.
    pub reasoning: Option<String>,
    /// The calls, in the order they were begun.
    pub calls: Vec<CallText>,
    /// Why the model stopped. It is [`Finish::ToolCalls`] exactly when `calls` is not empty.
    pub finish: Finish,
    /// The tokens used, if the server says.
    pub usage: Option<Usage>,
}

/// Says why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The answer is complete.
    Stop,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The token limit cut the answer; any calls were dropped, since the last may be cut too (spec §19).
    MaxTokens,
}

impl Finish {
    /// Returns the word used in records and scripts: `stop`, `tool-calls` or `max-tokens` (spec §1).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool-calls",
            Self::MaxTokens => "max-tokens",
        }
    }
}

/// Counts a turn's tokens. The counts are disjoint: their sum is the total (spec §1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that no cache served.
    pub input_tokens: u64,
    /// Output tokens, without reasoning where that is counted apart.
    pub output_tokens: u64,
    /// Input tokens read from the server's cache.
    pub cache_read_tokens: Option<u64>,
    /// Input tokens written to the server's cache.
    pub cache_write_tokens: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// Is a piece of a turn that is still arriving, for display alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More visible text.
    Text(&'a str),
    /// More reasoning.
    Reasoning(&'a str),
    /// A call began. It is dropped after all if the turn fails or ends with [`Finish::MaxTokens`].
    CallStarted {
        /// Its place among the turn's calls, from 0.
        index: usize,
        /// The tool's name.
        name: &'a str,
    },
    /// More argument text of a call that began.
    CallArguments {
        /// The call's place among the turn's calls, from 0.
        index: usize,
        /// The next piece of its argument text.
        text: &'a str,
    },
}
