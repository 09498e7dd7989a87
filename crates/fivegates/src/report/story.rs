//! What the record says of one call.

use fivegates_core::content::{self, Block};
use fivegates_core::json::Json;
use fivegates_session::{Seq, SessionId};

use super::road::{self, Row};

/// One call, as far as the record tells. Nothing in it is escaped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallStory {
    /// Its id, as model or caller named it.
    pub(crate) id: String,
    /// The session it is in.
    pub(crate) session: SessionId,
    /// The place of its first event, which names the call in its session.
    pub(crate) seq: Seq,
    /// When that was, in milliseconds since 1970.
    pub(crate) time_ms: i64,
    /// The tool that was asked for.
    pub(crate) tool: Option<String>,
    /// The arguments as they were written; they need not be JSON.
    pub(crate) arguments: Option<String>,
    /// The call in which it is nested.
    pub(crate) parent: Option<String>,
    /// The turn, counted from 1.
    pub(crate) turn: Option<u64>,
    /// The step within the turn, counted from 1.
    pub(crate) step: Option<u64>,
    /// What gates 1 and 2 decided: `permitted` or `refused`.
    pub(crate) verdict: Option<String>,
    /// Who was asked and what they answered.
    pub(crate) approvals: Vec<Approval>,
    /// The note that a body with effects was about to run.
    pub(crate) intent: Option<Intent>,
    /// What it met, in order; none when the record does not say.
    pub(crate) met: Option<Vec<MetStage>>,
    /// How it ended; none while it is under way or when its process ended before.
    pub(crate) result: Option<Ended>,
    /// What is odd about its events.
    pub(crate) notes: Vec<String>,
}

/// One thing that a call met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetStage {
    pub(crate) stage: String,
    pub(crate) by: Option<String>,
    pub(crate) verdict: String,
    pub(crate) code: Option<String>,
    pub(crate) reason: Option<String>,
}

/// A question to a human or machine, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Approval {
    pub(crate) id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) asked_ms: Option<i64>,
    pub(crate) outcome: Option<String>,
    pub(crate) by: Option<String>,
    pub(crate) decided_ms: Option<i64>,
}

/// A body with effects was about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) seq: Seq,
    pub(crate) time_ms: i64,
    pub(crate) idempotent: Option<bool>,
    pub(crate) destructive: Option<bool>,
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) seq: Seq,
    pub(crate) time_ms: i64,
    pub(crate) is_error: bool,
    pub(crate) error_name: Option<String>,
    pub(crate) error_code: Option<String>,
    pub(crate) denial: Option<Denied>,
    /// The blocks that the model was given; none when the record does not say.
    pub(crate) content: Option<Json>,
    pub(crate) duration_ms: Option<u64>,
}

/// Who refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denied {
    pub(crate) kind: Option<String>,
    pub(crate) by: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) reason: Option<String>,
}

impl Ended {
    /// What the model was told, as one text; a block that is no text is named, an odd one shown as JSON.
    pub(crate) fn told(&self) -> Option<String> {
        let blocks = self.content.as_ref()?.as_array()?.iter();
        let blocks: Vec<Block> = blocks
            .map(|block| {
                Block::from_json(block).unwrap_or_else(|odd| Block::text(fivegates_core::json::compact(&odd)))
            })
            .collect();
        Some(content::flatten(&blocks))
    }
}

impl CallStory {
    /// The road of the call: each stage, met or not.
    pub(crate) fn road(&self) -> Vec<Row<'_>> {
        road::rows(self)
    }

    /// How it ended in a word or two: `succeeded`, `denied`, `failed` or `has no result on record`.
    pub(crate) fn ending(&self) -> &'static str {
        match &self.result {
            None => "has no result on record",
            Some(Ended { denial: Some(_), .. }) => "was denied",
            Some(Ended { is_error: true, .. }) => "failed",
            Some(_) => "succeeded",
        }
    }

    /// The code of the denial, else of the error.
    pub(crate) fn code(&self) -> Option<&str> {
        let result = self.result.as_ref()?;
        let denied = result.denial.as_ref().and_then(|denial| denial.code.as_deref());
        denied.or(result.error_code.as_deref())
    }

    /// The texts that are not ours, for a count of what is hidden in them.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &str> {
        let whole = [&self.tool, &self.arguments, &self.parent].into_iter().flatten();
        let met = self.met.iter().flatten().flat_map(|met| {
            [Some(&met.stage), met.by.as_ref(), Some(&met.verdict), met.code.as_ref(), met.reason.as_ref()]
        });
        let asked = self.approvals.iter().flat_map(|asked| [&asked.reason, &asked.outcome, &asked.by]);
        let ended = self.result.iter().flat_map(|ended| {
            let denial = ended.denial.iter();
            let denial = denial.flat_map(|denial| [&denial.kind, &denial.by, &denial.code, &denial.reason]);
            denial.chain([&ended.error_name, &ended.error_code])
        });
        std::iter::once(&self.id)
            .chain(whole)
            .chain(met.flatten())
            .chain(asked.flatten())
            .chain(ended.flatten())
            .map(String::as_str)
    }
}
