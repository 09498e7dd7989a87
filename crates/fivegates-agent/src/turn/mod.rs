//! The turn loop: request, calls, results, next request, until the model answers in text (R-300 … R-305).

mod entries;
mod event;
mod watch;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use fivegates_core::call::{Arguments, CallRequest};
use fivegates_core::cancel::{Cancel, CancelReason};
use fivegates_core::content::{Context, flatten};
use fivegates_core::ids::ScopeId;
use fivegates_core::pipeline::Pipeline;
use fivegates_core::ports::RecordError;
use fivegates_core::registry::{Presentation, PromptSection};
use fivegates_core::scheduler::{BatchReport, PARALLEL_MAX_DEFAULT, Scheduler};
use fivegates_session::journal::{Entry, Journal, Position};

use crate::provider::{Delta, Finish, Message, ModelRequest, ModelTurn, Provider, ProviderError, ToolSchema};

pub use event::{AgentEvent, Failure, TurnEnd, Watcher};

/// Steps of one turn accepted unless configured otherwise.
pub const STEPS_MAX_DEFAULT: u32 = 200;

/// How an agent works.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// The model's name as its server knows it.
    pub model: String,
    /// The system prompt.
    pub system: Option<String>,
    /// The most model requests that one turn may make.
    pub steps_max: u32,
    /// Calls of one message that may overlap.
    pub parallel_max: std::num::NonZeroUsize,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            model: String::new(),
            system: None,
            steps_max: STEPS_MAX_DEFAULT,
            parallel_max: PARALLEL_MAX_DEFAULT,
        }
    }
}

/// One agent: its conversation, and what it works with.
pub struct Agent {
    config: AgentConfig,
    provider: Arc<dyn Provider>,
    pipeline: Pipeline,
    scheduler: Scheduler,
    journal: Arc<dyn Journal>,
    scope: ScopeId,
    watcher: Watcher,
    history: Vec<Message>,
    /// Messages for the next request, in order.
    pending: Vec<Context>,
    turn: u32,
}

impl Agent {
    /// Makes an agent in a scope of the pipeline's registry. Everything that happens is written to the journal, and told
    /// to the watcher as it happens.
    pub fn new(
        config: AgentConfig,
        provider: Arc<dyn Provider>,
        pipeline: Pipeline,
        journal: Arc<dyn Journal>,
        scope: ScopeId,
        watcher: Watcher,
    ) -> Self {
        let record = Arc::new(watch::Watched::new(Arc::clone(&journal), Arc::clone(&watcher)));
        let scheduler = Scheduler::new(pipeline.clone(), record).with_parallel_max(config.parallel_max);
        Self {
            config,
            provider,
            pipeline,
            scheduler,
            journal,
            scope,
            watcher,
            history: Vec::new(),
            pending: Vec::new(),
            turn: 0,
        }
    }

    /// Runs one turn on a user's task and returns how it ended.
    ///
    /// When `cancel` fires, the model request is dropped, started calls come to their end, and the turn closes as aborted.
    pub async fn run_turn(&mut self, task: &str, cancel: &Cancel) -> TurnEnd {
        self.turn += 1;
        self.pending.push(Context::text("user", task));
        let end = match self.steps(cancel).await {
            Ok(end) => end,
            Err(error) => TurnEnd::record_failed(&error),
        };
        self.journal.set_position(None);
        let closed = self.journal.append(entries::turn_end(self.turn, &end)).await;
        let end = match closed {
            Err(error) if !matches!(end, TurnEnd::Error(_)) => TurnEnd::record_failed(&error),
            _ => end,
        };
        (self.watcher)(&AgentEvent::TurnEnd { turn: self.turn, end: &end });
        end
    }

    async fn steps(&mut self, cancel: &Cancel) -> Result<TurnEnd, RecordError> {
        self.append(entries::turn_start(self.turn)).await?;
        (self.watcher)(&AgentEvent::TurnStart { turn: self.turn });
        for step in 1..=self.config.steps_max {
            let at = Position { turn: self.turn, step };
            self.journal.set_position(Some(at));
            self.append(entries::step_start(at)).await?;
            let end = self.step(at, cancel).await?;
            self.append(entries::step_end(at)).await?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
        Ok(TurnEnd::step_limit(self.config.steps_max))
    }

    /// One model request and the calls it leads to. Returns how the turn ended, when it did.
    async fn step(&mut self, at: Position, cancel: &Cancel) -> Result<Option<TurnEnd>, RecordError> {
        for context in std::mem::take(&mut self.pending) {
            self.append(entries::user_message(at, &context)).await?;
            let text = flatten(&context.content);
            (self.watcher)(&AgentEvent::UserMessage { text: &text });
            self.history.push(Message::User { text });
        }
        let shown = match self.pipeline.registry().assemble(Some(self.scope)) {
            Ok(shown) => shown,
            // A model that is silently shown no tools would make things up.
            Err(error) => return Ok(Some(TurnEnd::tools_failed(&error))),
        };
        let turn = match self.ask(&shown, cancel).await {
            Asked::Turn(turn) => turn,
            Asked::Aborted { heard } => {
                self.append_interrupted(at, &heard).await?;
                return Ok(Some(TurnEnd::Aborted(cancel.reason().unwrap_or(CancelReason::User))));
            }
            Asked::Failed { heard, error } => {
                self.append_interrupted(at, &heard).await?;
                return Ok(Some(TurnEnd::provider_failed(&error)));
            }
        };
        self.append(entries::assistant_message(at, &turn)).await?;
        (self.watcher)(&AgentEvent::Assistant { turn: &turn });
        self.history.push(entries::remembered(&turn));
        if turn.finish == Finish::MaxTokens {
            return Ok(Some(TurnEnd::MaxTokens { text: turn.text }));
        }
        if turn.calls.is_empty() {
            return Ok(Some(TurnEnd::Completed { text: turn.text }));
        }
        let text = turn.text.clone();
        let report = self.call(&turn, cancel).await;
        self.after_calls(report, text, cancel)
    }

    async fn ask(&mut self, shown: &Presentation, cancel: &Cancel) -> Asked {
        let request = ModelRequest {
            model: self.config.model.clone(),
            system: self.system(&shown.sections),
            messages: self.history.clone(),
            tools: offered(&shown.tools),
            ..ModelRequest::default()
        };
        let mut heard = String::new();
        let watcher = Arc::clone(&self.watcher);
        let mut deltas = |delta: Delta<'_>| {
            if let Delta::Text(text) = delta {
                heard.push_str(text);
            }
            watcher(&AgentEvent::Delta(delta));
        };
        let answer = until(cancel, self.provider.turn(&request, &mut deltas)).await;
        match answer {
            Some(Ok(turn)) => Asked::Turn(turn),
            Some(Err(error)) => Asked::Failed { heard, error },
            None => Asked::Aborted { heard },
        }
    }

    /// The configured prompt and, after it, what goes with the tools.
    fn system(&self, sections: &[PromptSection]) -> Option<String> {
        let sections = sections.iter().map(|section| &*section.text);
        let parts = self.config.system.as_deref().into_iter().chain(sections);
        let parts: Vec<&str> = parts.filter(|text| !text.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    async fn call(&self, turn: &ModelTurn, cancel: &Cancel) -> BatchReport {
        let request = |call: &crate::provider::CallText| {
            let arguments = Arguments::Text(Arc::from(call.arguments.as_str()));
            CallRequest::new(call.id.as_str(), call.name.as_str(), arguments, cancel.clone())
                .with_agent(self.scope)
        };
        self.scheduler.run(turn.calls.iter().map(request).collect(), cancel).await
    }

    fn after_calls(
        &mut self,
        report: BatchReport,
        text: String,
        cancel: &Cancel,
    ) -> Result<Option<TurnEnd>, RecordError> {
        for call in &report.calls {
            let content = flatten(call.outcome.content());
            self.history.push(Message::Tool { call_id: call.id.as_str().to_owned(), content });
            // After all results of the batch, in model order.
            self.pending.extend(call.outcome.contexts().iter().cloned());
        }
        let concludes = report.concludes_turn();
        if let Some(error) = report.failure {
            return Err(error);
        }
        if cancel.is_cancelled() {
            // What was queued stays queued until the next turn.
            return Ok(Some(TurnEnd::Aborted(cancel.reason().unwrap_or(CancelReason::User))));
        }
        // A conclusion gives way to what is already queued for the next step.
        Ok((concludes && self.pending.is_empty()).then_some(TurnEnd::Completed { text }))
    }

    async fn append(&self, entry: Entry) -> Result<(), RecordError> {
        self.journal.append(entry).await.map(|_| ())
    }

    /// Records what arrived of an answer that was cut; its calls are not run.
    async fn append_interrupted(&self, at: Position, heard: &str) -> Result<(), RecordError> {
        if heard.trim().is_empty() {
            return Ok(());
        }
        self.append(entries::interrupted_message(at, heard)).await
    }
}

/// What came of a model request.
enum Asked {
    Turn(ModelTurn),
    Aborted { heard: String },
    Failed { heard: String, error: ProviderError },
}

/// What the model may call, as its provider wants it.
fn offered(tools: &[fivegates_core::tool::ToolSchema]) -> Vec<ToolSchema> {
    let schema = |tool: &fivegates_core::tool::ToolSchema| {
        let text = fivegates_core::json::compact(&tool.parameters);
        // A printed value is JSON; a tool whose schema were not would not be offered.
        let parameters = serde_json::value::RawValue::from_string(text).ok()?;
        Some(ToolSchema {
            name: tool.name.as_str().to_owned(),
            description: tool.description.to_string(),
            parameters,
        })
    };
    tools.iter().filter_map(schema).collect()
}

/// Awaits until the signal fires; an answer that is there at the same moment counts.
async fn until<T>(cancel: &Cancel, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut stop = pin!(cancel.cancelled());
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => stop.as_mut().poll(cx).map(|()| None),
    })
    .await
}

#[cfg(test)]
mod tests;
