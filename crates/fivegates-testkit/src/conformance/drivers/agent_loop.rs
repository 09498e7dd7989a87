//! The driver `loop`: one turn of the real agent loop on the message `go`, with a scripted model.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use fivegates_agent::provider::{
    BoxFuture, CallText, DeltaSink, Finish, ModelRequest, ModelTurn, Provider, ProviderError,
};
use fivegates_agent::turn::{Agent, AgentConfig, AgentEvent, Watcher};
use fivegates_core::cancel::CancelSource;
use fivegates_core::json::{self, Json};
use fivegates_session::journal::{Entry, MemoryJournal, member, types};

use super::Ran;
use crate::conformance::fields::{Fields, Stop};
use crate::conformance::given::Given;
use crate::conformance::outcome::written;
use crate::conformance::scenario::Scenario;
use crate::conformance::transport;
use crate::conformance::world::World;

/// The fields of a result that this driver states.
const RESULT_FIELDS: [&str; 3] = ["is_error", "code", "content"];

pub(super) async fn run(scenario: &Scenario) -> Result<Ran, Stop> {
    let mut given = Given::read(&scenario.given)?;
    // Overlap is what this driver is about.
    given.trace_calls = true;
    let parallel_max = parallel_max(&given)?;
    let turns = scenario.when.as_array().ok_or_else(|| Stop::malformed("when", "an array of model turns"))?;
    let turns = turns.iter().enumerate().map(|(index, turn)| model_turn(&format!("when[{index}]"), turn));
    let model = Arc::new(Scripted { turns: turns.collect::<Result<_, _>>()?, asked: Mutex::default() });
    let world = World::build(&given)?;
    transport::mount(&world)?;
    let journal = Arc::new(MemoryJournal::new());
    let results = Arc::new(Mutex::new(Vec::new()));
    // The first scope is the agent; without one it gets its own.
    let own = given.scopes.is_empty().then(|| world.registry.scope("agent", None));
    let scope = match (&own, given.scopes.first()) {
        (Some(own), _) => own.id(),
        (None, Some(first)) => world.scope(&first.name)?,
        (None, None) => return Err(Stop::malformed("given.scopes", "at least one scope")),
    };
    let config = AgentConfig { parallel_max, ..AgentConfig::default() };
    let watcher = watcher(&results);
    let (provider, pipeline) = (Arc::clone(&model), world.pipeline()?);
    let mut agent = Agent::new(config, provider, pipeline, Arc::clone(&journal) as Arc<_>, scope, watcher);
    let (caller, cancel) = CancelSource::new();
    world.trace.set_caller(caller);
    world.trace.reach("start");
    agent.run_turn("go", &cancel).await;
    if let Some(part) = world.missing() {
        return Ok(Ran::Missing(part));
    }
    let mut fields = world.trace.fields();
    let events = journal.entries().iter().filter_map(compact).map(Json::from).collect::<Vec<_>>();
    fields.push(("events".to_owned(), Json::array(events)));
    let results = results.lock().unwrap_or_else(PoisonError::into_inner).clone();
    fields.push(("results".to_owned(), Json::array(results)));
    fields.push(("model_requests".to_owned(), Json::from(model.asked())));
    Ok(Ran::Done(fields))
}

fn parallel_max(given: &Given) -> Result<NonZeroUsize, Stop> {
    let Some(asked) = given.max_parallel else {
        return Ok(AgentConfig::default().parallel_max);
    };
    let asked = usize::try_from(asked).ok().and_then(NonZeroUsize::new);
    asked.ok_or_else(|| Stop::malformed("given.max_parallel", "a positive whole number"))
}

/// Writes down every result that was recorded, in the order of the record.
fn watcher(results: &Arc<Mutex<Vec<Json>>>) -> Watcher {
    let results = Arc::clone(results);
    Arc::new(move |event| {
        if let AgentEvent::Result { id, outcome, .. } = event {
            let all = written(outcome);
            let stated = RESULT_FIELDS.into_iter().filter_map(|key| Some((key, all.get(key)?.clone())));
            let call = [("call_id", Json::from(*id))];
            let result = Json::object(call.into_iter().chain(stated));
            results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        }
    })
}

/// One event as a scenario writes it; what scenarios do not speak of is left out.
fn compact(entry: &Entry) -> Option<String> {
    let call = entry.call_id.as_deref().unwrap_or_default();
    let text = |path: &[&str]| member(&entry.data, path).and_then(Json::as_str).unwrap_or_default();
    Some(match entry.event_type {
        types::TURN_START | types::STEP_START | types::STEP_END | types::ASSISTANT_MESSAGE => {
            entry.event_type.to_owned()
        }
        types::TURN_END => format!("turn/end:{}", text(&["reason", "kind"])),
        types::TOOL_CALL => format!("tool/call:{call}"),
        types::TOOL_RESULT => format!("tool/result:{call}:{}", result_word(&entry.data)),
        types::USER_MESSAGE => format!("user/message:{}", user_text(&entry.data)),
        _ => return None,
    })
}

fn result_word(data: &Json) -> &str {
    let blocks = member(data, &["message", "content"]).and_then(Json::as_array).unwrap_or_default();
    let error = blocks.first().and_then(|block| block.get("isError"));
    let code = member(data, &["error", "code"]);
    match (error.and_then(Json::as_bool), code.and_then(Json::as_str)) {
        (Some(false), _) => "ok",
        (_, Some(code)) => code,
        (_, None) => "error",
    }
}

/// A message's text; that of a reminder is free wording and stands as its kind.
fn user_text(data: &Json) -> String {
    let source = member(data, &["message", "source", "plugin"]).and_then(Json::as_str).unwrap_or_default();
    if let Some(kind) = source.strip_prefix("repeat_reminder/") {
        return format!("<reminder:{kind}>");
    }
    let blocks = member(data, &["message", "content"]).and_then(Json::as_array).unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Json::as_str));
    texts.collect::<Vec<_>>().join("\n")
}

/// Answers with its turns one after another, then with `done`.
struct Scripted {
    turns: Vec<ModelTurn>,
    asked: Mutex<usize>,
}

impl Scripted {
    fn asked(&self) -> usize {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scenario"
    }

    fn turn<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _deltas: &'a mut DeltaSink<'_>,
    ) -> BoxFuture<'a, Result<ModelTurn, ProviderError>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = self.turns.get(*asked).cloned().unwrap_or_else(|| spoken("done", Finish::Stop));
        *asked += 1;
        Box::pin(async move { Ok(turn) })
    }
}

fn spoken(text: &str, finish: Finish) -> ModelTurn {
    ModelTurn { text: text.to_owned(), reasoning: None, calls: Vec::new(), finish, usage: None }
}

fn model_turn(at: &str, value: &Json) -> Result<ModelTurn, Stop> {
    let mut fields = Fields::of(at, value)?;
    let calls = fields.each("calls", call)?;
    let text = fields.text_if("text")?.unwrap_or_default();
    let cut = match fields.text_if("finish")? {
        None | Some("tool-calls" | "stop") => false,
        Some("max-tokens" | "max_tokens" | "length") => true,
        Some(other) => return Err(Stop::unknown(&fields.at("finish"), other)),
    };
    fields.done()?;
    // A provider drops the calls of an answer that was cut.
    if cut {
        return Ok(spoken(text, Finish::MaxTokens));
    }
    let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    Ok(ModelTurn { calls, ..spoken(text, finish) })
}

fn call(at: &str, value: &Json) -> Result<CallText, Stop> {
    let mut fields = Fields::of(at, value)?;
    let arguments = match (fields.get("arguments"), fields.text_if("raw_arguments")?) {
        (Some(value), None) => json::compact(value),
        (None, Some(text)) => text.to_owned(),
        _ => return Err(Stop::malformed(at, "a call with one of `arguments` and `raw_arguments`")),
    };
    let call =
        CallText { id: fields.text("id")?.to_owned(), name: fields.text("name")?.to_owned(), arguments };
    fields.done()?;
    Ok(call)
}
