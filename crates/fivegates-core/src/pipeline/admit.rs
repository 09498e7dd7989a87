//! Stage one: find the tool, fix the arguments, mint the token.

use std::sync::Arc;

use super::{Inner, Road, Settled};
use crate::call::{Arguments, Call, Met, Request, Stage};
use crate::error::{ToolError, own};
use crate::ids::ExecutionToken;
use crate::json::{self, Json, Object};
use crate::outcome::Ending;
use crate::registry::{Mode, RUN_CODE};

/// Admits a call, or gives its ending when no gate is to see it.
pub(super) fn admit(pipeline: &Inner, mut request: Request) -> Result<Call, Box<Settled>> {
    let scopes = pipeline.registry.scopes_of(request.agent);
    // Captured before anything else, so that later changes of the registry cannot change this call (R-180, L-21).
    let registered = pipeline.registry.resolve(&scopes, &request.name);
    let read = request.read.take().unwrap_or_else(|| read(pipeline, &request.arguments));
    let (arguments, refused) = match read {
        Ok(arguments) => (Some(arguments), None),
        Err(error) => (None, Some(error)),
    };
    let token = ExecutionToken::mint();
    let unminted = token.is_err();
    // A token that could not be minted is never shown: the call ends here.
    let token = token.unwrap_or_else(|_| ExecutionToken::null());
    let call = Call::new(request, token, scopes, registered, arguments, pipeline.sandbox.clone());
    if unminted {
        return Err(end(call, ToolError::new("the operating system gave no randomness"), Road::Bare));
    }
    if call.id().as_str().is_empty() || call.name().as_str().is_empty() {
        return Err(end(call, own::unnamed(), Road::Bare));
    }
    // Before cancellation: a refused argument stays the reason.
    if let Some(error) = refused {
        return Err(end(call, error, Road::Final));
    }
    let aborted = call.cancel().is_cancelled();
    if is_collapsed(pipeline, &call) {
        return Err(match aborted {
            true => end(call, own::aborted_before_dispatch(), Road::Final),
            false => {
                let error = own::collapsed(call.name());
                end(call, error, Road::Bare)
            }
        });
    }
    if aborted {
        return Err(end(call, own::aborted_before_dispatch(), Road::Final));
    }
    call.note(Stage::Admit, None, "admitted");
    Ok(call)
}

/// A call that never starts because its batch was cancelled.
pub(crate) fn unstarted(pipeline: &Inner, request: Request, error: ToolError) -> Settled {
    let scopes = pipeline.registry.scopes_of(request.agent);
    let call = Call::new(request, ExecutionToken::null(), scopes, None, None, None);
    *end(call, error, Road::Bare)
}

fn end(call: Call, error: ToolError, road: Road) -> Box<Settled> {
    call.note_met(Met {
        stage: Stage::Admit,
        by: None,
        verdict: "refused",
        code: error.identity().map(|identity| identity.code.clone()),
        reason: Some(Arc::clone(error.shared_message())),
    });
    Box::new(Settled { call, ending: Ending::failed(error), road })
}

/// In code mode a model may call only `run_code`; its programs call the rest (R-070 … R-075).
fn is_collapsed(pipeline: &Inner, call: &Call) -> bool {
    call.parent().is_none()
        && call.name().as_str() != RUN_CODE
        && call.registered().is_some()
        && pipeline.registry.mode_of(call.agent()) == Mode::Code
}

/// Reads arguments; what is not strict, lossless JSON is refused before gates and people see it (L-61).
pub(crate) fn read(pipeline: &Inner, arguments: &Arguments) -> Result<Json, ToolError> {
    match arguments {
        Arguments::Value(value) => Ok(value.clone()),
        Arguments::NotLossless => Err(own::arguments_not_lossless()),
        Arguments::Text(text) if text.is_empty() => Ok(Json::Object(Object::default())),
        Arguments::Text(text) if text.len() > pipeline.arguments_bytes_max => {
            let (size, limit) = (text.len(), pipeline.arguments_bytes_max);
            Err(own::invalid_args(&format!("the text is {size} bytes long and the limit is {limit} bytes")))
        }
        Arguments::Text(text) => {
            json::parse_with(text, pipeline.parse).map_err(|error| own::invalid_args(&error.to_string()))
        }
    }
}
