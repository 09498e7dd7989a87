//! The five gates as traits, and the chains that listeners form.
//!
//! A listener answers through a [`Reply`]: at once, without allocating, or later through a future. In a chain the first
//! listener is outermost; it decides by answering, or delegates by running its `next`.

mod chain;
mod reply;
mod simple;

use crate::call::Call;
use crate::decision::{Denial, PostDecision, PreDecision};
use crate::error::ToolError;
use crate::outcome::{Ending, Outcome};

pub use chain::{Answer, Attempt, Next, PostNext, PreNext};
pub(crate) use chain::{AnswerKind, AroundChain, BodyRunner, Listeners, PostChain, PreChain};
pub use reply::{GateError, GateErrorKind, Reply};
pub(crate) use reply::{Owner, contain, discard, panic_text};
pub use simple::{guard_fn, observer_fn, post_fn, pre_fn};

/// Gate 1: the negotiable chain `tools/pre-execute` (R-080 … R-088).
///
/// A failure, a panic or a missing answer denies the call.
pub trait PreExecute: Send + Sync {
    /// Decides, or delegates with `next.run()`.
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> Reply<'a, PreDecision>;
}

/// Gate 2: a monotonic guard. It can refuse or abstain; there is no way to allow (R-100, L-07).
pub trait Guard: Send + Sync {
    /// Returns a denial, or nothing to abstain.
    fn check<'a>(&'a self, call: &'a Call) -> Reply<'a, Option<Denial>>;
}

/// Gate 3: a wrapper around the body, `tools/execute` (R-120 … R-131).
pub trait Around: Send + Sync {
    /// Runs the rest with `next.run()`, any number of times one after another, or answers in its stead.
    fn run<'a>(&'a self, call: &'a Call, next: Next<'a>) -> Reply<'a, Answer>;
}

/// Gate 4: the review `tools/post-execute` (R-160 … R-169).
pub trait PostExecute: Send + Sync {
    /// Decides what happens to the result, or delegates with `next.run()`.
    fn review<'a>(
        &'a self,
        call: &'a Call,
        ending: &'a Ending,
        next: PostNext<'a>,
    ) -> Reply<'a, PostDecision>;
}

/// Watches published results, `tools/result`. It cannot change anything; its failure is a warning.
pub trait Observer: Send + Sync {
    /// Looks at one frozen result.
    ///
    /// # Errors
    /// What went wrong; it is reported as a warning and has no other effect.
    fn observe(&self, call: &Call, outcome: &Outcome) -> Result<(), ToolError>;
}
