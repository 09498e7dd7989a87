//! Stage four: gate 4 reviews the result.

use std::sync::Arc;

use super::dispatch::unless_cancelled;
use super::project::project;
use super::wait::within;
use super::{Inner, Road, Settled};
use crate::call::{Call, Met, Stage};
use crate::content::{Block, Content, Context};
use crate::decision::{PostAction, PostDecision, Redaction, Replace};
use crate::error::{ToolError, own};
use crate::gates::{GateError, Owner, PostChain};
use crate::ids::ComponentId;
use crate::outcome::{Ending, Failure, Success};

/// Asks the post-execute chain and carries out what it decides (R-160 … R-169).
pub(super) async fn examine(pipeline: &Inner, settled: Settled) -> Settled {
    if settled.road != Road::Full {
        return settled;
    }
    let Settled { call, ending, road } = settled;
    let ending = match ask(pipeline, &call, &ending).await {
        Ok(decision) => apply(&call, ending, decision),
        Err(failure) => {
            note(&call, failure.by.as_ref(), "failed", &Err(&failure.error));
            Ending::failed(failure.error)
        }
    };
    // K8.
    let ending = unless_cancelled(&call, ending);
    Settled { call, ending, road }
}

async fn ask(pipeline: &Inner, call: &Call, ending: &Ending) -> Result<PostDecision, GateError> {
    let chain = PostChain::new(pipeline.registry.post_list(), Arc::clone(call.scopes()));
    let reply = match chain.start(call, ending).into_ready() {
        Ok(ready) => return ready,
        Err(reply) => reply,
    };
    match within(pipeline.waits.post_execute_ms, reply).await {
        Ok(decision) => decision,
        Err(after_ms) => {
            let unnamed = ComponentId::new(Stage::PostExecute.as_str());
            let id = chain.last_entered().unwrap_or(&unnamed);
            Err(Owner { what: PostChain::WHAT, id }.timed_out(after_ms))
        }
    }
}

fn apply(call: &Call, ending: Ending, decision: PostDecision) -> Ending {
    let PostDecision { action, contexts, by } = decision;
    let by = by.as_ref();
    match action {
        PostAction::Accept(None) => {
            note(call, by, "accepted", &Ok(&ending));
            accept(call, contexts);
            ending
        }
        PostAction::Accept(Some(Replace::Content(content))) => {
            note(call, by, "content replaced", &Ok(&ending));
            accept(call, contexts);
            ending.with_content(content)
        }
        PostAction::Accept(Some(Replace::Value(value))) => match replace_value(call, &ending, value) {
            Ok(success) => {
                note(call, by, "value replaced", &Ok(&ending));
                accept(call, contexts);
                Ending::Success(success)
            }
            // A refused decision takes its own contexts with it (L-02).
            Err(error) => {
                note(call, by, "refused", &Err(&error));
                Ending::failed(error)
            }
        },
        PostAction::Redact(redaction) => {
            note(call, by, "redacted", &Ok(&ending));
            accept(call, contexts);
            redact(ending, redaction)
        }
        PostAction::Refuse(refusal) => {
            let error = ToolError::new(refusal.to_string());
            note(call, by, "refused", &Err(&error));
            Ending::failed(error)
        }
        PostAction::Block(feedback) => {
            note(call, by, "blocked", &Ok(&ending));
            let mut state = call.state();
            // Only an explicit block drops what the body and the wrappers queued (L-02).
            state.deferred.clear();
            state.wrapped.clear();
            state.reviewed = contexts;
            drop(state);
            block(feedback)
        }
    }
}

fn accept(call: &Call, contexts: Vec<Context>) {
    call.state().reviewed = contexts;
}

fn replace_value(call: &Call, ending: &Ending, value: crate::json::Json) -> Result<Success, ToolError> {
    let Some(success) = ending.success() else {
        return Err(ToolError::new("tools/post-execute cannot replace the value of a failed result"));
    };
    let definition = call.definition().ok_or_else(|| own::unknown_tool(call.name()))?;
    let replaced = project(call, definition, value)?;
    Ok(Success { concludes_turn: success.concludes_turn, ..replaced })
}

/// Replaces all that could show what was redacted; identity, denial and conclusion stay (L-14).
fn redact(ending: Ending, redaction: Redaction) -> Ending {
    let Redaction { value, content, message } = redaction;
    match ending {
        Ending::Success(success) => Ending::Success(Success { value, content, meta: None, ..success }),
        Ending::Failure(failure) => {
            let denial = failure.shared_denial();
            let error = failure.error().clone().with_message(message);
            let redacted = Failure::new(error).with_content(content);
            Ending::Failure(match denial {
                Some(denial) => redacted.with_denial(denial),
                None => redacted,
            })
        }
    }
}

/// A block is an error whose message is the feedback's text.
fn block(feedback: Content) -> Ending {
    let texts: Vec<_> = feedback.iter().map(Block::as_text).collect();
    let joined = texts.join("\n");
    let message = if joined.is_empty() { "tool result blocked by post-execute policy" } else { &joined };
    Ending::Failure(Failure::new(ToolError::new(message)).with_content(feedback))
}

/// Notes the decision with the code from before it, so that an erased code can still be found (L-04).
fn note(call: &Call, by: Option<&ComponentId>, verdict: &'static str, about: &Result<&Ending, &ToolError>) {
    let (code, reason) = match about {
        Ok(ending) => (ending.code().map(|code| code.to_owned().into()), None),
        Err(error) => {
            (error.identity().map(|identity| identity.code.clone()), Some(Arc::clone(error.shared_message())))
        }
    };
    call.note_met(Met { stage: Stage::PostExecute, by: by.cloned(), verdict, code, reason });
}
