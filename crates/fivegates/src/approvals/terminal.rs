//! Asking the person at the terminal.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::error::ToolError;
use fivegates_core::gates::{GateError, Reply};
use fivegates_core::ids::ComponentId;
use fivegates_core::ports::{ApprovalRequest, Approver};
use tokio::sync::Mutex;

use super::page::{Page, Subject};
use super::tty::{Tty, Typed};

/// Asks that may be open or wait at the same time.
const ASKS_MAX: usize = 256;
/// Answers that are none, before the ask counts as rejected.
const BAD_ANSWERS_MAX: usize = 3;

const QUESTION: &str = "Allow this one call? y = yes, n or Enter = no, v = view everything: ";

/// Asks at a terminal, one question at a time, in the order in which they come.
///
/// Only a line that was typed after the question counts, and only `y` allows. Nothing waits on a thread, so that an ask
/// ends at once when its call is cancelled.
pub(crate) struct TerminalApprover {
    id: ComponentId,
    tty: Tty,
    /// Whose question is on the screen.
    turn: Mutex<()>,
    asks: AtomicUsize,
}

impl TerminalApprover {
    /// Opens the terminal that controls this process; none when there is none. Whether a person is to be expected there
    /// (stdin and stderr are terminals) is for the caller to judge.
    pub(crate) fn open() -> Option<Self> {
        Tty::controlling().map(Self::at)
    }

    /// Takes an open terminal, read and write; none when it is something else. Its file description becomes non-blocking,
    /// so nobody else may use it.
    #[cfg(test)]
    pub(crate) fn on(terminal: std::os::fd::OwnedFd) -> Option<Self> {
        Tty::new(terminal).map(Self::at)
    }

    fn at(tty: Tty) -> Self {
        Self {
            id: ComponentId::new(super::TERMINAL_ID),
            tty,
            turn: Mutex::new(()),
            asks: AtomicUsize::new(0),
        }
    }

    async fn ask(&self, request: &ApprovalRequest<'_>) -> Result<ApprovalOutcome, GateError> {
        let _place = Place::take(&self.asks)?;
        let asked = async {
            let _turn = self.turn.lock().await;
            // Who cannot be reached cannot answer: the terminal is gone.
            self.dialog(request).await.unwrap_or(Ok(ApprovalOutcome::Unavailable))
        };
        tokio::select! {
            biased;
            () = request.cancel.cancelled() => Ok(ApprovalOutcome::Cancelled),
            outcome = asked => outcome,
        }
    }

    /// Shows the call and reads answers until there is one. The outer failure is the terminal's.
    async fn dialog(&self, request: &ApprovalRequest<'_>) -> io::Result<Result<ApprovalOutcome, GateError>> {
        let subject = Subject {
            call: request.call.clone(),
            reason: request.reason.map(str::to_owned),
            by: request.by.cloned(),
        };
        let size = self.tty.size();
        // Arguments can be large, and their layout would hold up everybody else here.
        let laid_out = tokio::task::spawn_blocking(move || Page::new(&subject, size)).await;
        let Ok(page) = laid_out else {
            return Ok(Err(ToolError::new("the call could not be laid out for the terminal").into()));
        };
        let dialog = self.tty.dialog()?;
        let mut open = Open { tty: &self.tty, answered: false };
        let mut show = format!("\nA tool call needs your approval.\n{}", page.screenful());
        let mut bad_answers = 0;
        let outcome = loop {
            dialog.write(&show).await?;
            // What was typed until now was not typed as an answer to this.
            self.tty.forget_typed()?;
            dialog.write(QUESTION).await?;
            match Answer::of(&dialog.read().await?) {
                Answer::Decided(outcome) => break outcome,
                Answer::View => show = format!("\n{}", page.whole()),
                Answer::None(why) => {
                    bad_answers += 1;
                    show = format!("{why}\n");
                }
            }
            if bad_answers == BAD_ANSWERS_MAX {
                dialog.write(&format!("{show}no answer after {BAD_ANSWERS_MAX} tries: rejected\n")).await?;
                break ApprovalOutcome::Rejected;
            }
        };
        open.answered = true;
        Ok(Ok(outcome))
    }
}

/// What a line means.
enum Answer {
    Decided(ApprovalOutcome),
    View,
    /// Nothing, and why.
    None(&'static str),
}

impl Answer {
    /// Doubt never allows: there is one word for yes.
    fn of(typed: &Typed) -> Self {
        match typed {
            Typed::End => Self::Decided(ApprovalOutcome::Rejected),
            Typed::TooMuch => Self::None("that is more than an answer"),
            Typed::Line(line) => match line.trim() {
                "y" | "Y" => Self::Decided(ApprovalOutcome::AllowedOnce),
                "n" | "N" | "" => Self::Decided(ApprovalOutcome::Rejected),
                "v" | "V" => Self::View,
                _ => Self::None("that is no answer"),
            },
        }
    }
}

impl Approver for TerminalApprover {
    fn id(&self) -> &ComponentId {
        &self.id
    }

    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        Reply::future(self.ask(request))
    }
}

/// A place among the asks that are open or wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(asks: &'a AtomicUsize) -> Result<Self, GateError> {
        let place = Self(asks);
        if asks.fetch_add(1, Ordering::Relaxed) >= ASKS_MAX {
            return Err(ToolError::new(format!("more than {ASKS_MAX} questions wait for an answer")).into());
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A question on the screen. When it goes away without an answer, the screen says so, and what was typed for it is
/// nobody's answer.
struct Open<'a> {
    tty: &'a Tty,
    answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let _ = self.tty.forget_typed();
            self.tty.write_now("\nthe question was withdrawn\n");
        }
    }
}
