//! Stage five: gate 5, the tool's own last word on what the model reads.

use std::sync::Arc;

use super::{Road, Settled};
use crate::call::{Met, Stage};
use crate::outcome::Ending;

/// Runs the finalizer that was captured when the call came in, once (R-180 … R-184).
pub(super) fn finalize(settled: Settled) -> Settled {
    let Settled { call, ending, road } = settled;
    if road == Road::Bare {
        return Settled { call, ending, road };
    }
    let last_word = call.definition().and_then(|definition| definition.finalize(&call, &ending));
    let ending = match last_word {
        None | Some(Ok(None)) => ending,
        Some(Ok(Some(content))) => {
            call.note(Stage::Finalize, None, "content replaced");
            ending.with_content(content)
        }
        Some(Err(error)) => {
            call.note_met(Met {
                stage: Stage::Finalize,
                by: None,
                verdict: "failed",
                code: error.identity().map(|identity| identity.code.clone()),
                reason: Some(Arc::clone(error.shared_message())),
            });
            Ending::failed(error)
        }
    };
    Settled { call, ending, road }
}
