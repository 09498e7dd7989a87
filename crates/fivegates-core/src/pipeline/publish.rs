//! The last stage: filter, freeze, show.

use std::sync::Arc;

use super::{Inner, Road, Settled};
use crate::call::{Call, Stage};
use crate::content::{Block, Content, Context};
use crate::error::ToolError;
use crate::gates::contain;
use crate::json::{self, Json};
use crate::outcome::{Ending, Failure, Outcome, Success};
use crate::ports::Egress;

/// Publishes the result: consumes the call, so that there can be no second time.
pub(super) fn publish(pipeline: &Inner, settled: Settled) -> Outcome {
    let Settled { call, ending, road } = settled;
    let contexts = {
        let mut state = call.state();
        let deferred = std::mem::take(&mut state.deferred);
        let wrapped = std::mem::take(&mut state.wrapped).into_iter().map(|(_, context)| context);
        let mut contexts = deferred;
        contexts.extend(wrapped);
        contexts.append(&mut state.reviewed);
        contexts
    };
    // A call that ended before its gates may be one without a name.
    if road != Road::Bare {
        super::invariants::check(&call);
    }
    let (ending, contexts) = filter(pipeline, &call, ending, contexts);
    call.note(Stage::Result, None, if ending.is_error() { "published an error" } else { "published" });
    let outcome = Outcome::publish(ending, contexts);
    for mounted in pipeline.registry.observer_list().iter().filter(|mounted| mounted.hears(call.scopes())) {
        let seen = contain(|| mounted.listener.observe(&call, &outcome));
        let failed = match seen {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(text) => format!("panicked: {text}"),
        };
        // An observer's failure is a warning and changes nothing.
        let text =
            format!("tool \"{}\" ({}): tools/result observer failed: {failed}", call.name(), call.id());
        let _ = contain(|| (pipeline.warn)(&text));
    }
    outcome
}

/// Applies the egress filters to all that leaves. A filter that fails lets nothing out.
fn filter(pipeline: &Inner, call: &Call, ending: Ending, contexts: Vec<Context>) -> (Ending, Vec<Context>) {
    let (mut ending, mut contexts) = (ending, contexts);
    for (id, egress) in &pipeline.egress {
        let mut changed = false;
        let filtered = contain(|| {
            let mut filter = Filter { egress: &**egress, changed: false };
            let ending = filter.ending(&ending)?;
            let contexts =
                contexts.iter().map(|context| filter.context(context)).collect::<Result<Vec<_>, _>>()?;
            filter.met(call)?;
            changed = filter.changed;
            Ok::<_, ToolError>((ending, contexts))
        });
        let error = match filtered {
            Ok(Ok(both)) => {
                (ending, contexts) = both;
                call.note(Stage::Egress, Some(id), if changed { "redacted" } else { "passed" });
                continue;
            }
            Ok(Err(error)) => error.to_string(),
            Err(text) => format!("panicked: {text}"),
        };
        // Nothing that the filter should have seen leaves, the reasons on the way included.
        for met in &mut call.state().trace {
            met.reason = None;
        }
        call.note(Stage::Egress, Some(id), "failed");
        let text = format!("the result is withheld: egress filter \"{}\" failed: {error}", id);
        let error = ToolError::coded("EgressError", "EGRESS_FAILED", text);
        return (Ending::failed(error), Vec::new());
    }
    (ending, contexts)
}

struct Filter<'a> {
    egress: &'a dyn Egress,
    changed: bool,
}

impl Filter<'_> {
    fn ending(&mut self, ending: &Ending) -> Result<Ending, ToolError> {
        Ok(match ending {
            Ending::Success(success) => Ending::Success(Success {
                value: self.json(&success.value)?,
                content: self.content(&success.content)?,
                meta: success.meta.as_ref().map(|meta| self.json(meta)).transpose()?,
                concludes_turn: success.concludes_turn,
            }),
            Ending::Failure(failure) => Ending::Failure(self.failure(failure)?),
        })
    }

    fn failure(&mut self, failure: &Failure) -> Result<Failure, ToolError> {
        let error = match self.text(failure.error().message())? {
            Some(message) => failure.error().clone().with_message(message),
            None => failure.error().clone(),
        };
        let content = self.content(failure.content())?;
        let mut filtered = Failure::new(error).with_content(content);
        if let Some(meta) = failure.meta() {
            filtered = filtered.with_meta(self.json(meta)?);
        }
        if let Some(denial) = failure.denial() {
            let denial = match self.text(denial.reason())? {
                Some(reason) => denial.with_reason(reason),
                None => denial.clone(),
            };
            filtered = filtered.with_denial(Arc::new(denial));
        }
        Ok(filtered)
    }

    /// Filters the reasons that the call met on its way: they go on record and to observers with the result.
    fn met(&mut self, call: &Call) -> Result<(), ToolError> {
        let mut trace = call.met();
        for met in &mut trace {
            if let Some(reason) = &met.reason
                && let Some(filtered) = self.text(reason)?
            {
                met.reason = Some(Arc::from(filtered));
            }
        }
        call.state().trace = trace;
        Ok(())
    }

    fn context(&mut self, context: &Context) -> Result<Context, ToolError> {
        Ok(Context { source: Arc::clone(&context.source), content: self.content(&context.content)? })
    }

    fn content(&mut self, content: &Content) -> Result<Content, ToolError> {
        let mut blocks = Vec::with_capacity(content.len());
        for block in content.iter() {
            blocks.push(match block {
                Block::Text(text) => {
                    Block::Text(self.text(text)?.map_or_else(|| Arc::clone(text), Arc::from))
                }
                Block::Other(value) => Block::Other(self.json(value)?),
            });
        }
        Ok(blocks.into())
    }

    fn text(&mut self, text: &str) -> Result<Option<String>, ToolError> {
        let replaced = self.egress.text(text)?;
        self.changed |= replaced.is_some();
        Ok(replaced)
    }

    /// Filters every string of a value, keys included, without recursion. A value without a hit is shared, not copied.
    fn json(&mut self, value: &Json) -> Result<Json, ToolError> {
        let mut hits = false;
        let mut pending = vec![value];
        while let (false, Some(value)) = (hits, pending.pop()) {
            match value {
                Json::String(text) => hits = self.text(text)?.is_some(),
                Json::Array(array) => pending.extend(array.items()),
                Json::Object(object) => {
                    for (key, value) in object.entries() {
                        hits |= self.text(key)?.is_some();
                        pending.push(value);
                    }
                }
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
        }
        if hits { json::map_strings(value, &mut |text| self.text(text)) } else { Ok(value.clone()) }
    }
}
