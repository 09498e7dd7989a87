//! Scripted tools.

use std::sync::Arc;
use std::time::Duration;

use fivegates_core::call::{Arguments, Call, Invocation};
use fivegates_core::content::{Block, Content, flatten};
use fivegates_core::error::ToolError;
use fivegates_core::json::{self, Json};
use fivegates_core::outcome::{Ending, Outcome};
use fivegates_core::schema::SchemaError;
use fivegates_core::tool::{BodyError, Definition, ProjectionError, Validation};

use super::context;
use crate::conformance::given::tool::{Action, Finalize, Meta, Nested, Parallel, Render, ToolSpec};
use crate::conformance::world::Stage;

/// Defines a tool that does what the scenario says.
///
/// # Errors
/// A schema outside the subset.
pub fn define(stage: &Arc<Stage>, spec: &ToolSpec) -> Result<Definition, SchemaError> {
    let body = {
        let (stage, spec) = (Arc::clone(stage), Arc::new(spec.clone()));
        move |invocation: Invocation| {
            let (stage, spec) = (Arc::clone(&stage), Arc::clone(&spec));
            async move { body(&stage, &spec, &invocation).await }
        }
    };
    let mut definition =
        Definition::new(spec.name.as_str(), spec.description.as_str(), &spec.parameters, &spec.output, body)?;
    if spec.validation == Validation::Raw {
        definition = definition.raw();
    }
    if let Some(timeout_ms) = spec.timeout_ms {
        definition = definition.with_timeout_ms(timeout_ms);
    }
    if let Some(parallel) = spec.parallel.clone() {
        definition = definition.with_parallel(move |arguments| classify(&parallel, arguments));
    }
    Ok(with_projections(stage, spec, definition))
}

fn with_projections(stage: &Arc<Stage>, spec: &ToolSpec, mut definition: Definition) -> Definition {
    let label = format!("render:{}", spec.name);
    // Without a renderer of its own a tool has the default one, unless a scenario listens for it.
    if spec.render.is_some() || stage.trace.listens_for(&label) {
        let (stage, script) = (Arc::clone(stage), spec.render.clone());
        definition = definition.with_render(move |_, value| {
            stage.trace.reach(&label);
            render(script.as_ref(), value)
        });
    }
    if let Some(meta) = spec.meta.clone() {
        definition = definition.with_meta(move |_, value| match &meta {
            Meta::WrapValue => Ok(Some(Json::object([("v", value.clone())]))),
            Meta::Throw(message) => Err(ProjectionError::Failed(message.clone())),
            Meta::Host(host) => host.encode().map(Some).map_err(|_| ProjectionError::NotLossless),
        });
    }
    if let Some(finalize) = spec.finalize.clone() {
        let (stage, label) = (Arc::clone(stage), format!("finalize:{}", spec.name));
        definition = definition.with_finalizer(move |_: &Call, ending: &Ending| {
            stage.trace.see(&label);
            last_word(&finalize, ending)
        });
    }
    definition
}

/// Answers whether a call may overlap: only an answer that is exactly `true` counts.
fn classify(parallel: &Parallel, arguments: &Json) -> bool {
    let answer = match parallel {
        Parallel::Answer(answer) => Some(answer),
        Parallel::Argument(name) => arguments.get(name),
        // As a panic, without the noise of one.
        Parallel::Throw => std::panic::resume_unwind(Box::new("classifier boom")),
    };
    answer == Some(&Json::Bool(true))
}

fn render(script: Option<&Render>, value: &Json) -> Result<Vec<Block>, ProjectionError> {
    let plain = || value.as_str().map_or_else(|| json::compact(value), str::to_owned);
    match script {
        None => Ok(vec![Block::text(plain())]),
        Some(Render::Prefix(prefix)) => Ok(vec![Block::text(format!("{prefix}{}", plain()))]),
        Some(Render::Blocks(blocks)) => Ok(blocks.clone()),
        Some(Render::Throw(message)) => Err(ProjectionError::Failed(message.clone())),
        Some(Render::Host(host)) => {
            let value = host.encode().map_err(|_| ProjectionError::NotLossless)?;
            Ok(vec![Block::from_json(&value).map_err(|_| ProjectionError::NotLossless)?])
        }
    }
}

fn last_word(finalize: &Finalize, ending: &Ending) -> Result<Option<Content>, ToolError> {
    match finalize {
        Finalize::Keep => Ok(None),
        Finalize::Append(text) => {
            let blocks = ending.content().iter().cloned();
            Ok(Some(blocks.chain([Block::text(text.as_str())]).collect()))
        }
        Finalize::Content(content) => Ok(Some(content.clone())),
        Finalize::Throw(error) => Err(error.clone()),
    }
}

async fn body(stage: &Arc<Stage>, spec: &ToolSpec, invocation: &Invocation) -> Result<Json, BodyError> {
    stage.trace.enter_body(invocation.call());
    let returned = act(stage, spec, invocation).await;
    stage.trace.leave_body(invocation.call());
    returned
}

async fn act(stage: &Arc<Stage>, spec: &ToolSpec, invocation: &Invocation) -> Result<Json, BodyError> {
    let mut nested = None;
    for action in spec.body_for(invocation.call().id().as_str()) {
        match action {
            Action::Return(value) => return Ok(value.clone()),
            Action::ReturnArgs => return Ok(invocation.arguments().clone()),
            // What is absent is no JSON value.
            Action::ReturnArg(name) => {
                return invocation.arguments().get(name).cloned().ok_or(BodyError::NotLossless);
            }
            Action::ReturnHost(host) => return host.encode().map_err(|_| BodyError::NotLossless),
            Action::ReturnNested => {
                return nested.as_ref().map(nested_value).ok_or(BodyError::NotLossless);
            }
            Action::Throw(error) => return Err(error.clone().into()),
            Action::SleepMs(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Action::DeferContext(text) => invocation.defer_context(context(text)),
            Action::ConcludeTurn => invocation.conclude_turn(),
            Action::WaitAbort => invocation.cancel().cancelled().await,
            Action::Cancel => stage.trace.cancel(),
            Action::AbortWrapper(id) => stage.abort_wrapper(id),
            Action::Unregister(tool) => drop(stage.take_tool(tool)),
            Action::WaitGate(gate) => stage.wait_gate(gate).await,
            Action::OpenGate(gate) => stage.open_gate(gate),
            Action::Nested(call) => nested = Some(call_nested(stage, invocation, call).await?),
        }
    }
    Err(BodyError::NotLossless)
}

/// The value of a nested call; of a failed one the text that a model would read.
fn nested_value(outcome: &Outcome) -> Json {
    let value = outcome.success().map(|success| success.value().clone());
    value.unwrap_or_else(|| Json::from(flatten(outcome.content())))
}

async fn call_nested(stage: &Stage, invocation: &Invocation, nested: &Nested) -> Result<Outcome, BodyError> {
    let pipeline = stage.nested().ok_or_else(|| ToolError::new("the scenario is over"))?;
    let arguments = Arguments::Value(nested.arguments.clone());
    let request = invocation.nested(nested.id.as_str(), nested.name.as_str(), arguments);
    let outcome = pipeline.execute(request).await;
    if nested.forward_contexts {
        for context in outcome.contexts() {
            invocation.defer_context(context.clone());
        }
    }
    Ok(outcome)
}
