//! From the pipeline's record port to events of the log.
//!
//! A [`Journal`] takes what the scheduler reports (calls, decisions, intents, results) and what a turn loop adds (turns,
//! steps, messages). [`SessionJournal`] writes it to the [`Store`](crate::Store); [`MemoryJournal`] keeps it, for tests.

mod entry;
mod memory;
mod session;

use fivegates_core::json::Json;
use fivegates_core::ports::{PortFuture, Record, RecordError};

pub use entry::{Entry, Position, denial_json, met_json};
pub use memory::MemoryJournal;
pub use session::SessionJournal;

/// Writes the events of one session.
pub trait Journal: Record {
    /// Appends one event; resolves once it is committed, with its place in the session.
    fn append(&self, entry: Entry) -> PortFuture<'_, Result<i64, RecordError>>;

    /// Says which turn and step the following calls belong to; calls outside a loop have none.
    fn set_position(&self, position: Option<Position>);
}

/// The type of an event whose payload is this.
pub mod types {
    /// A model's or caller's call, before any gate.
    pub const TOOL_CALL: &str = "tool/call";
    /// What gates 1 and 2 decided.
    pub const TOOL_DECISION: &str = "tool/decision";
    /// A body with effects is about to run (L-50).
    pub const TOOL_INTENT: &str = "tool/intent";
    /// The result of a call.
    pub const TOOL_RESULT: &str = "tool/result";
    /// A turn begins.
    pub const TURN_START: &str = "turn/start";
    /// A turn is over.
    pub const TURN_END: &str = "turn/end";
    /// A step (one model request and its calls) begins.
    pub const STEP_START: &str = "step/start";
    /// A step is over.
    pub const STEP_END: &str = "step/end";
    /// A message that the model reads as the user's.
    pub const USER_MESSAGE: &str = "user/message";
    /// What the model answered.
    pub const ASSISTANT_MESSAGE: &str = "assistant/message";
    /// A human is asked about a call.
    pub const APPROVAL_ASKED: &str = "approval/asked";
    /// What came of asking.
    pub const APPROVAL_DECIDED: &str = "approval/decided";
    /// The policy in force.
    pub const PERMISSION_PRESET: &str = "permission/preset";
}

/// Looks up a member of an object, for readers of payloads.
pub fn member<'a>(value: &'a Json, path: &[&str]) -> Option<&'a Json> {
    path.iter().try_fold(value, |value, key| value.get(key))
}
