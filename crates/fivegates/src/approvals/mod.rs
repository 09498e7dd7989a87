//! Who answers an ask, and what is written about it.
//!
//! [`TerminalApprover`] asks the person at the terminal; [`Unavailable`] stands where there is none. [`Recorded`] goes around
//! either: it applies the policy and writes the pair of events without which no grant is returned.

mod page;
mod recorded;
mod terminal;
mod tty;
mod unavailable;

use std::io::{IsTerminal as _, stderr, stdin};
use std::sync::Arc;

use fivegates_core::ports::Approver;

#[cfg(test)]
pub(crate) use recorded::ApprovalPolicy;
pub(crate) use recorded::Recorded;
pub(crate) use terminal::TerminalApprover;
pub(crate) use unavailable::Unavailable;

/// The id of the person at the terminal in the record.
pub(crate) const TERMINAL_ID: &str = "terminal";

/// What standard input is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stdin {
    /// A person's, when it is a terminal.
    Person,
    /// The calls come through it, so it says nothing about a person.
    Calls,
}

/// The person at the terminal, where there is one to be expected and it can be opened; else nobody.
///
/// A person who does not see stderr would be asked without its context, so it must be the terminal; stdin as well, unless
/// it brings the calls.
pub(crate) fn terminal_or_nobody(input: Stdin) -> Arc<dyn Approver> {
    let expected = stderr().is_terminal() && (input == Stdin::Calls || stdin().is_terminal());
    match expected.then(TerminalApprover::open).flatten() {
        Some(person) => Arc::new(person),
        None => Arc::new(Unavailable::new()),
    }
}

#[cfg(test)]
mod tests;
