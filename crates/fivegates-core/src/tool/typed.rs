//! Tools written with typed arguments and output.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{BodyError, CallCard, Definition, Effects, Parameters, ProjectionError, invalid_args, name_of};
use crate::call::{Call, Invocation};
use crate::content::{Block, Content};
use crate::error::ToolError;
use crate::json::{self, Json};
use crate::outcome::Ending;
use crate::schema::{SchemaError, output_schema_of, parameters_schema_of};

/// A tool with typed arguments and output; schemas are derived from the types.
///
/// The doc comments on the fields of `Args` are what the model reads of them.
pub trait Tool: Send + Sync + 'static {
    /// The arguments, an object.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;
    /// The canonical value.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    // ---- model face ----

    /// The name that the model calls.
    fn name(&self) -> Cow<'static, str>;

    /// What the tool does, for the model.
    fn description(&self) -> Cow<'static, str>;

    // ---- execution face ----

    /// Runs the call. `invocation` can only come from a call that passed the gates.
    fn run(
        &self,
        args: Self::Args,
        invocation: &Invocation,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// Renders what the model reads of a value. Unless overridden a string is shown as it is, all else as compact JSON.
    ///
    /// # Errors
    /// A message; the call then fails its output contract.
    fn render(&self, output: &Self::Output) -> Result<Vec<Block>, String> {
        let value = json::to_json(output).map_err(|error| error.to_string())?;
        Ok(super::plain(&value))
    }

    /// Projects a value to private metadata for presentation.
    fn meta(&self, _output: &Self::Output) -> Option<Json> {
        None
    }

    /// Says what a call would do. Unless overridden the worst is assumed (L-64).
    fn effects(&self, _args: &Self::Args) -> Effects {
        Effects::UNKNOWN
    }

    /// Says whether a call may overlap with others.
    fn can_parallel(&self, _args: &Self::Args) -> bool {
        false
    }

    /// The deadline in milliseconds, for the deadline policy.
    fn timeout_ms(&self) -> Option<u64> {
        None
    }

    /// Has the last word on what the model reads, for every outcome. Nothing keeps it.
    ///
    /// # Errors
    /// Replaces the result by that error.
    fn finalize(&self, _call: &Call, _ending: &Ending) -> Result<Option<Content>, ToolError> {
        Ok(None)
    }

    // ---- presentation face ----

    /// Says how a call is shown to people.
    fn card(&self, _args: &Self::Args) -> Option<CallCard> {
        None
    }
}

impl Definition {
    /// Stores a typed tool in erased form.
    ///
    /// # Errors
    /// A type whose schema lies outside the subset.
    pub fn of<T: Tool>(tool: T) -> Result<Self, SchemaError> {
        let tool = Arc::new(tool);
        let parameters = parameters_schema_of::<T::Args>()?;
        let output = output_schema_of::<T::Output>()?;
        let body = {
            let tool = Arc::clone(&tool);
            move |invocation: Invocation| -> super::BodyFuture {
                let tool = Arc::clone(&tool);
                Box::pin(async move {
                    let args =
                        json::from_json(invocation.arguments()).map_err(|error| invalid_args(&error))?;
                    let output = tool.run(args, &invocation).await?;
                    json::to_json(&output).map_err(|_| BodyError::NotLossless)
                })
            }
        };
        let name = name_of(tool.name());
        let description = Arc::from(&*tool.description());
        let definition =
            Self::compiled(name, description, Parameters::Checked(parameters), output, Arc::new(body));
        let definition = Self { timeout_ms: tool.timeout_ms(), ..definition };
        Ok(with_faces(definition, &tool))
    }
}

fn with_faces<T: Tool>(definition: Definition, tool: &Arc<T>) -> Definition {
    let (render, meta, finalize) = (Arc::clone(tool), Arc::clone(tool), Arc::clone(tool));
    let (effects, parallel, card) = (Arc::clone(tool), Arc::clone(tool), Arc::clone(tool));
    definition
        .with_render(move |_, value| {
            let output = typed::<T>(value)?;
            render.render(&output).map_err(ProjectionError::Failed)
        })
        .with_meta(move |_, value| Ok(meta.meta(&typed::<T>(value)?)))
        .with_finalizer(move |call, ending| finalize.finalize(call, ending))
        .with_effects(move |args| {
            json::from_json(args).map_or(Effects::UNKNOWN, |args| effects.effects(&args))
        })
        .with_parallel(move |args| json::from_json(args).is_ok_and(|args| parallel.can_parallel(&args)))
        .with_card(move |args| json::from_json(args).ok().and_then(|args| card.card(&args)))
}

fn typed<T: Tool>(value: &Json) -> Result<T::Output, ProjectionError> {
    json::from_json(value).map_err(|error| ProjectionError::Failed(error.to_string()))
}
