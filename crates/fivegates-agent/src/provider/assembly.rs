//! Puts a turn together from pieces, for any dialect (spec §19, assembler).

use super::error::excerpt;
use super::types::{CallText, Delta, Finish, ModelTurn, Usage};
use super::{DeltaSink, ErrorCode, Limits, ProviderError};

/// Bytes of a call's id and of its name: more is no name, and everything that tells of the call repeats it.
pub(in crate::provider) const WORD_BYTES_MAX: usize = 1_024;
/// Bytes of a foreign name or id that an error message shows.
const SHOWN_BYTES_MAX: usize = 80;

/// Collects the pieces of one turn and tells the caller's sink of each.
pub(crate) struct Assembly<'a, 'sink> {
    limits: &'a Limits,
    deltas: &'a mut DeltaSink<'sink>,
    text: String,
    reasoning: String,
    calls: Vec<PartialCall>,
    finish: Option<Finish>,
    usage: Option<Usage>,
}

/// Is one piece of one call. Absent and empty ids and names both mean that this piece does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallPiece<'t> {
    /// The number by which the server tells its calls apart.
    pub(crate) index: u64,
    pub(crate) id: Option<&'t str>,
    pub(crate) name: Option<&'t str>,
    pub(crate) arguments: Option<&'t str>,
}

struct PartialCall {
    index: u64,
    id: Option<String>,
    name: Option<String>,
    arguments: String,
}

impl<'a, 'sink> Assembly<'a, 'sink> {
    pub(crate) fn new(limits: &'a Limits, deltas: &'a mut DeltaSink<'sink>) -> Self {
        let (text, reasoning) = (String::new(), String::new());
        Self { limits, deltas, text, reasoning, calls: Vec::new(), finish: None, usage: None }
    }

    /// Adds visible text.
    pub(crate) fn text(&mut self, piece: &str) -> Result<(), ProviderError> {
        append(&mut self.text, piece, self.limits.text_bytes_max, "the text")?;
        if !piece.is_empty() {
            (self.deltas)(Delta::Text(piece));
        }
        Ok(())
    }

    /// Adds reasoning.
    pub(crate) fn reasoning(&mut self, piece: &str) -> Result<(), ProviderError> {
        append(&mut self.reasoning, piece, self.limits.text_bytes_max, "the reasoning")?;
        if !piece.is_empty() {
            (self.deltas)(Delta::Reasoning(piece));
        }
        Ok(())
    }

    /// Adds a piece of a call. A call's id and name may come late, but may not change: two calls mixed under one index
    /// would run with each other's arguments.
    pub(crate) fn call(&mut self, piece: CallPiece<'_>) -> Result<(), ProviderError> {
        let place = self.place_of(piece.index)?;
        let call = &mut self.calls[place];
        settle_word(&mut call.id, piece.id, piece.index, "id")?;
        let named_now = settle_word(&mut call.name, piece.name, piece.index, "name")?;
        let new = piece.arguments.unwrap_or_default();
        append(&mut call.arguments, new, self.limits.argument_bytes_max, "the argument text of one call")?;

        let Some(name) = &call.name else { return Ok(()) };
        let text = if named_now { call.arguments.as_str() } else { new };
        if named_now {
            (self.deltas)(Delta::CallStarted { index: place, name });
        }
        if !text.is_empty() {
            (self.deltas)(Delta::CallArguments { index: place, text });
        }
        Ok(())
    }

    /// Notes why the model stopped; the first reason counts.
    pub(crate) fn finish(&mut self, finish: Finish) {
        self.finish.get_or_insert(finish);
    }

    /// Notes the token counts; the last ones count, since servers send running totals.
    pub(crate) fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// Ends the turn. No reason given counts as a stop.
    ///
    /// Fails with `EMPTY_RESPONSE` if there is nothing at all, with `MALFORMED_RESPONSE` if a call has no name or two
    /// share an id.
    pub(crate) fn settle(self) -> Result<ModelTurn, ProviderError> {
        let cut = self.finish == Some(Finish::MaxTokens);
        let calls = if cut { Vec::new() } else { complete(self.calls)? };
        let finish = match (cut, calls.is_empty()) {
            (true, _) => Finish::MaxTokens,
            (false, true) => Finish::Stop,
            (false, false) => Finish::ToolCalls,
        };
        if finish == Finish::Stop && self.text.is_empty() && self.reasoning.is_empty() {
            return Err(ProviderError::new(
                ErrorCode::EmptyResponse,
                "the model answered with neither text nor a call; try again",
            ));
        }
        let reasoning = Some(self.reasoning).filter(|text| !text.is_empty());
        Ok(ModelTurn { text: self.text, reasoning, calls, finish, usage: self.usage })
    }

    fn place_of(&mut self, index: u64) -> Result<usize, ProviderError> {
        if let Some(place) = self.calls.iter().rposition(|call| call.index == index) {
            return Ok(place);
        }
        if self.calls.len() >= self.limits.calls_max {
            return Err(ProviderError::new(
                ErrorCode::ResponseTooLarge,
                format!(
                    "the model made more than {} calls in one turn; ask for less at once",
                    self.limits.calls_max
                ),
            ));
        }
        self.calls.push(PartialCall { index, id: None, name: None, arguments: String::new() });
        Ok(self.calls.len() - 1)
    }
}

fn append(to: &mut String, piece: &str, bytes_max: usize, what: &str) -> Result<(), ProviderError> {
    if piece.len() > bytes_max - to.len().min(bytes_max) {
        return Err(ProviderError::new(
            ErrorCode::ResponseTooLarge,
            format!("{what} is longer than {bytes_max} bytes; ask the model for less at once"),
        ));
    }
    to.push_str(piece);
    Ok(())
}

/// Sets `slot` from `word` and tells whether it was set now; a different word than before is an error.
fn settle_word(
    slot: &mut Option<String>,
    word: Option<&str>,
    index: u64,
    what: &str,
) -> Result<bool, ProviderError> {
    match (slot.as_deref(), word.filter(|word| !word.is_empty())) {
        (_, None) => Ok(false),
        (None, Some(word)) => {
            *slot = Some(word.to_owned());
            Ok(true)
        }
        (Some(known), Some(word)) if known == word => Ok(false),
        (Some(known), Some(word)) => Err(malformed(&format!(
            "the {what} of call {index} changed from `{}` to `{}`",
            excerpt(known, SHOWN_BYTES_MAX),
            excerpt(word, SHOWN_BYTES_MAX)
        ))),
    }
}

fn complete(partial: Vec<PartialCall>) -> Result<Vec<CallText>, ProviderError> {
    let mut calls: Vec<CallText> = Vec::with_capacity(partial.len());
    for call in partial {
        let id = call.id.unwrap_or_else(|| format!("call-{}", call.index));
        let Some(name) = call.name else {
            return Err(malformed(&format!("call {} has no name", call.index)));
        };
        if id.len().max(name.len()) > WORD_BYTES_MAX {
            return Err(malformed(&format!(
                "call {} has an id or a name of more than {WORD_BYTES_MAX} bytes",
                call.index
            )));
        }
        if calls.iter().any(|earlier| earlier.id == id) {
            return Err(malformed(&format!("two calls have the id `{}`", excerpt(&id, SHOWN_BYTES_MAX))));
        }
        calls.push(CallText { id, name, arguments: call.arguments });
    }
    Ok(calls)
}

/// Makes a `MALFORMED_RESPONSE` error out of what is wrong.
pub(crate) fn malformed(what: &str) -> ProviderError {
    ProviderError::new(
        ErrorCode::MalformedResponse,
        format!("the model server's answer makes no sense: {what}; try again or use another server"),
    )
}

#[cfg(test)]
mod tests;
