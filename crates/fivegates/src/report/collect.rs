//! From events to stories.
//!
//! The record is taken to be a stranger's: members may be missing or of another type, events may be unknown or out of
//! order. What is odd is noted in the story, and the rest of it is told.

use fivegates_core::json::{self, Json};
use fivegates_session::journal::types;
use fivegates_session::{Event, Seq};

use super::payload::{flag, number, seq_of, text};
use super::story::{Approval, CallStory, Denied, Ended, Intent, MetStage};

/// Somebody was asked.
pub(crate) const APPROVAL_ASKED: &str = types::APPROVAL_ASKED;
/// Somebody answered, or nobody did.
pub(crate) const APPROVAL_DECIDED: &str = types::APPROVAL_DECIDED;

/// Builds stories of events that are pushed in order.
pub(crate) struct Collector {
    stories: Vec<CallStory>,
    calls_max: usize,
    pinned: Option<Seq>,
    dropped: usize,
    /// Decisions are recorded together with the intent or result that follows, which says whose they are.
    decisions: Vec<Decision>,
}

struct Decision {
    call_id: String,
    verdict: Option<String>,
    digest: Option<String>,
    met: Option<Vec<MetStage>>,
}

impl Collector {
    /// Keeps the newest `calls_max` stories; the one that begins at `pinned` too.
    pub(crate) fn new(calls_max: usize, pinned: Option<Seq>) -> Self {
        Self { stories: Vec::new(), calls_max, pinned, dropped: 0, decisions: Vec::new() }
    }

    /// Takes the next event; those that belong to no call are passed over.
    pub(crate) fn push(&mut self, event: &Event) {
        let Some(call_id) = event.call_id.as_deref() else {
            if event.event_type == APPROVAL_DECIDED {
                let _ = self.stories.iter_mut().rev().any(|story| answer(story, event));
            }
            return;
        };
        let data = json::parse(&event.data);
        let note = data.as_ref().err().map(|error| format!("the data of event {}: {error}", event.seq));
        let data = data.unwrap_or(Json::Null);
        let at = match &*event.event_type {
            types::TOOL_CALL => self.begin(event, call_id, &data),
            types::TOOL_DECISION => {
                let decision = Decision {
                    call_id: call_id.to_owned(),
                    verdict: text(&data, "verdict"),
                    digest: text(&data, "digest"),
                    met: met(&data),
                };
                return self.decisions.push(decision);
            }
            types::TOOL_INTENT => self.intent(event, call_id, &data),
            types::TOOL_RESULT => self.result(event, call_id, &data),
            APPROVAL_ASKED => self.asked(event, call_id, &data),
            APPROVAL_DECIDED => self.decided(event, call_id, &data),
            _ => return,
        };
        if let Some(story) = self.stories.get_mut(at) {
            story.notes.extend(note);
        }
    }

    /// The stories, in the order of their first events, and how many older ones were dropped.
    pub(crate) fn finish(mut self) -> (Vec<CallStory>, usize) {
        for decision in std::mem::take(&mut self.decisions) {
            let open = |story: &CallStory| story.id == decision.call_id && story.verdict.is_none();
            if let Some(story) = self.stories.iter_mut().find(|story| open(story)) {
                decide(story, decision, None);
            }
        }
        (self.stories, self.dropped)
    }

    fn begin(&mut self, event: &Event, call_id: &str, data: &Json) -> usize {
        self.make_room();
        self.stories.push(CallStory {
            id: call_id.to_owned(),
            session: event.session,
            seq: event.seq,
            time_ms: event.time_ms,
            tool: text(data, "name"),
            arguments: text(data, "arguments"),
            parent: text(data, "parentCallId"),
            turn: number(data, "turn"),
            step: number(data, "step"),
            verdict: None,
            approvals: Vec::new(),
            intent: None,
            met: None,
            result: None,
            notes: Vec::new(),
        });
        self.stories.len() - 1
    }

    /// Drops the oldest story that may be dropped when there is no room for another.
    fn make_room(&mut self) {
        if self.stories.len() < self.calls_max {
            return;
        }
        let pinned = self.pinned;
        let free = |story: &&CallStory| Some(story.seq) != pinned;
        let closed = self.stories.iter().position(|story| free(&story) && story.result.is_some());
        if let Some(at) = closed.or_else(|| self.stories.iter().position(|story| free(&story))) {
            self.stories.remove(at);
            self.dropped += 1;
        }
    }

    /// The story that an event belongs to: the oldest with this id that is open, else one that begins with the event.
    fn open(&mut self, event: &Event, call_id: &str, fits: impl Fn(&CallStory) -> bool) -> usize {
        let open = |story: &CallStory| story.id == call_id && story.result.is_none() && fits(story);
        self.stories.iter().position(open).unwrap_or_else(|| {
            let at = self.begin(event, call_id, &Json::Null);
            self.stories[at].notes.push(format!("its `{}` is not on record", types::TOOL_CALL));
            at
        })
    }

    fn intent(&mut self, event: &Event, call_id: &str, data: &Json) -> usize {
        let at = self.open(event, call_id, |story| story.intent.is_none());
        self.take_decision(at, text(data, "digest"));
        self.stories[at].intent = Some(Intent {
            seq: event.seq,
            time_ms: event.time_ms,
            idempotent: flag(data, "idempotent"),
            destructive: flag(data, "destructive"),
        });
        at
    }

    fn result(&mut self, event: &Event, call_id: &str, data: &Json) -> usize {
        let source = data.get("sourceEventSeqs").and_then(|seqs| seqs.as_array()?.first()).and_then(seq_of);
        let named = |story: &CallStory| source.is_none_or(|seq| seq == story.seq);
        let at = self.open(event, call_id, named);
        self.take_decision(at, None);
        let story = &mut self.stories[at];
        // The result tells all that was met, the decision only its beginning.
        story.met = met(data).or_else(|| story.met.take());
        story.tool = story.tool.take().or_else(|| text(data, "name"));
        story.turn = story.turn.or(number(data, "turn"));
        story.step = story.step.or(number(data, "step"));
        let ended = ended(event, data);
        if ended.content.is_none() {
            story.notes.push(format!("event {} does not say what the model was told", event.seq));
        }
        story.result = Some(ended);
        at
    }

    fn take_decision(&mut self, at: usize, digest: Option<String>) {
        let id = &self.stories[at].id;
        if let Some(found) = self.decisions.iter().position(|decision| decision.call_id == *id) {
            let decision = self.decisions.remove(found);
            decide(&mut self.stories[at], decision, digest);
        }
    }

    fn asked(&mut self, event: &Event, call_id: &str, data: &Json) -> usize {
        let at = self.open(event, call_id, |_| true);
        self.stories[at].approvals.push(Approval {
            id: text(data, "id"),
            reason: text(data, "reason"),
            asked_ms: Some(event.time_ms),
            outcome: None,
            by: None,
            decided_ms: None,
        });
        at
    }

    fn decided(&mut self, event: &Event, call_id: &str, data: &Json) -> usize {
        let at = self.open(event, call_id, |_| true);
        if !answer(&mut self.stories[at], event) {
            self.stories[at].approvals.push(Approval {
                id: text(data, "id"),
                reason: None,
                asked_ms: None,
                outcome: text(data, "outcome"),
                by: text(data, "by"),
                decided_ms: Some(event.time_ms),
            });
        }
        at
    }
}

/// Puts an answer to the ask with its id, when the story has one that waits.
pub(super) fn answer(story: &mut CallStory, event: &Event) -> bool {
    let data = json::parse(&event.data).unwrap_or(Json::Null);
    let id = text(&data, "id");
    let waits = |asked: &&mut Approval| asked.id.is_some() && asked.id == id && asked.decided_ms.is_none();
    let Some(asked) = story.approvals.iter_mut().find(waits) else {
        return false;
    };
    asked.outcome = text(&data, "outcome");
    asked.by = text(&data, "by");
    asked.decided_ms = Some(event.time_ms);
    true
}

fn decide(story: &mut CallStory, decision: Decision, intended: Option<String>) {
    if let (Some(decided), Some(intended)) = (&decision.digest, &intended)
        && decided != intended
    {
        story.notes.push("what was decided on is not what was about to run: their digests differ".to_owned());
    }
    story.verdict = decision.verdict;
    story.met = decision.met;
}

fn met(data: &Json) -> Option<Vec<MetStage>> {
    let met = data.get("met")?.as_array()?.iter();
    let unnamed = || "(not recorded)".to_owned();
    Some(
        met.map(|met| MetStage {
            stage: text(met, "stage").unwrap_or_else(unnamed),
            by: text(met, "by"),
            verdict: text(met, "verdict").unwrap_or_else(unnamed),
            code: text(met, "code"),
            reason: text(met, "reason"),
        })
        .collect(),
    )
}

fn ended(event: &Event, data: &Json) -> Ended {
    let blocks = data.get("message").and_then(|message| message.get("content")?.as_array());
    let is_result = |block: &&Json| block.get("type").and_then(Json::as_str) == Some("tool-result");
    let result = blocks.and_then(|blocks| blocks.iter().find(is_result));
    let error = data.get("error");
    let denial = data.get("denial").filter(|denial| denial.as_object().is_some());
    Ended {
        seq: event.seq,
        time_ms: event.time_ms,
        is_error: result
            .and_then(|result| flag(result, "isError"))
            .unwrap_or(error.is_some() || denial.is_some()),
        error_name: error.and_then(|error| text(error, "name")),
        error_code: error.and_then(|error| text(error, "code")),
        denial: denial.map(|denial| Denied {
            kind: text(denial, "kind"),
            by: text(denial, "by"),
            code: text(denial, "code"),
            reason: text(denial, "reason"),
        }),
        content: result
            .and_then(|result| result.get("content"))
            .filter(|content| content.as_array().is_some())
            .cloned(),
        duration_ms: number(data, "durationMs"),
    }
}
