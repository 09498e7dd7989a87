//! Closing what a dead process left open (R-310 … R-318, L-11, L-66).
//!
//! A process that appends to a session holds a [`Live`] mark, which its death releases. Whoever opens the record next
//! finds the mark without a holder and appends what is missing: one result for each recorded call, the end of the step,
//! the end of the turn. Nothing is executed again, and calls that wait for a human stay open.

mod closers;
mod live;
mod run;

pub use closers::{Closer, Seen, Trust, closers};
pub use live::{Live, LiveError};
pub use run::{RepairError, Repaired, repair_abandoned};

#[cfg(test)]
mod tests;
