//! The terminal approver on a real pseudo-terminal.

use std::os::fd::OwnedFd;
use std::time::Duration;

use fivegates_core::cancel::CancelReason;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::*;
use crate::approvals::tty::watch;

const QUESTION: &str = "v = view everything: ";

/// The person's side of a pseudo-terminal.
struct Person {
    master: AsyncFd<Arc<OwnedFd>>,
    /// Another opening of the program's side, to see what has arrived there.
    other: OwnedFd,
    seen: Vec<u8>,
    /// Bytes of `seen` that were looked at.
    past: usize,
}

fn open(path: &std::ffi::CStr, flags: OFlags) -> OwnedFd {
    rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | flags, Mode::empty()).unwrap()
}

/// A terminal of 80 × 24 with a person at it, and a pipeline that asks there.
fn terminal() -> (Person, Asking) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let slave = open(&path, OFlags::empty());
    tcsetwinsize(&slave, size).unwrap();
    let other = open(&path, OFlags::empty());
    rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
    let master = watch(Arc::new(master)).unwrap();
    let approver = TerminalApprover::on(slave).unwrap();
    (Person { master, other, seen: Vec::new(), past: 0 }, Asking::new(Arc::new(approver)))
}

impl Person {
    /// Reads until this text comes that was not looked at before.
    async fn sees(&mut self, text: &str) {
        let deadline = Duration::from_secs(20);
        tokio::time::timeout(deadline, self.looks_for(text)).await.unwrap_or_else(|_| {
            panic!("`{text}` does not come after {}", String::from_utf8_lossy(&self.seen))
        });
    }

    async fn looks_for(&mut self, text: &str) {
        loop {
            let rest = &self.seen[self.past..];
            if let Some(at) = rest.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.past += at + text.len();
                return;
            }
            let mut buffer = [0_u8; 4_096];
            let read = |fd: &Arc<OwnedFd>| Ok(rustix::io::read(fd, &mut buffer[..])?);
            let count = self.master.async_io(Interest::READABLE, read).await.unwrap();
            self.seen.extend_from_slice(&buffer[..count]);
        }
    }

    async fn types(&self, text: &str) {
        let write = |fd: &Arc<OwnedFd>| Ok(rustix::io::write(fd, text.as_bytes())?);
        let count = self.master.async_io(Interest::WRITABLE, write).await.unwrap();
        assert_eq!(count, text.len());
    }

    /// Types, and waits until it has arrived on the program's side.
    async fn types_ahead(&self, text: &str) {
        self.types(text).await;
        let mut other = [PollFd::new(&self.other, PollFlags::IN)];
        assert_eq!(poll(&mut other, None).unwrap(), 1);
    }

    fn screen(&self) -> String {
        String::from_utf8(self.seen.clone()).unwrap()
    }
}

async fn ask(asking: &Asking, id: &str) -> String {
    let (_source, cancel) = never();
    end(&asking.call(id, &arguments("echo hi"), &cancel).await).to_owned()
}

#[tokio::test]
async fn only_a_yes_allows() {
    let check = async |answer: &str, ended: &str| {
        let (mut person, asking) = terminal();
        let answers = async {
            person.sees(QUESTION).await;
            person.types(answer).await;
        };
        let (outcome, ()) = tokio::join!(ask(&asking, "c1"), answers);
        assert_eq!(outcome, ended, "{answer:?}");
        let screen = person.screen();
        assert!(screen.contains("command | echo hi\r\n"), "{screen}");
    };
    check("y\n", "ran").await;
    check(" Y \r", "ran").await;
    for no in ["n\n", "N\n", "\n", "\u{4}", "y\u{4}\u{4}"] {
        check(no, "APPROVAL_REJECTED").await;
    }
}

#[tokio::test]
async fn what_is_no_answer_is_asked_again_three_times() {
    let (mut person, asking) = terminal();
    let answers = async {
        for garbage in ["yes\n", "allow\n", "yy\n"] {
            person.sees(QUESTION).await;
            person.types(garbage).await;
            person.sees("that is no answer\r\n").await;
        }
        person.sees("no answer after 3 tries: rejected").await;
    };
    let (outcome, ()) = tokio::join!(ask(&asking, "c1"), answers);
    assert_eq!(outcome, "APPROVAL_REJECTED");

    let (mut person, asking) = terminal();
    let answers = async {
        for answer in ["1\n", "true\n", "v\n", "y\n"] {
            person.sees(QUESTION).await;
            person.types(answer).await;
        }
    };
    let (outcome, ()) = tokio::join!(ask(&asking, "c1"), answers);
    assert_eq!(outcome, "ran");
}

/// A line that was typed before the question appeared answers nothing.
#[tokio::test]
async fn what_was_typed_before_the_question_does_not_count() {
    let (mut person, asking) = terminal();
    person.types_ahead("y\n").await;
    let answers = async {
        person.sees(QUESTION).await;
        person.types("n\n").await;
    };
    let (outcome, ()) = tokio::join!(ask(&asking, "c1"), answers);
    assert_eq!(outcome, "APPROVAL_REJECTED");
}

/// A paste that goes on while the question appears is more than an answer; and what is left of it answers nothing.
#[tokio::test]
async fn several_lines_at_once_are_no_answer() {
    let (mut person, asking) = terminal();
    let answers = async {
        person.sees(QUESTION).await;
        person.types_ahead("y\ny\ny\n").await;
        person.sees("that is more than an answer\r\n").await;
        person.sees(QUESTION).await;
        person.types("n\n").await;
    };
    let (outcome, ()) = tokio::join!(ask(&asking, "c1"), answers);
    assert_eq!(outcome, "APPROVAL_REJECTED");
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question_and_a_late_answer_is_nobodys() {
    let (mut person, asking) = terminal();
    let (source, cancel) = CancelSource::new();
    let raw = arguments("echo hi");
    let first = asking.call("c1", &raw, &cancel);
    let stops = async {
        person.sees(QUESTION).await;
        source.fire(CancelReason::User);
        person.sees("the question was withdrawn").await;
        person.types_ahead("y\n").await;
    };
    let (outcome, ()) = tokio::join!(first, stops);
    assert_eq!(end(&outcome), "ABORTED_BEFORE_DISPATCH");
    let answers = async {
        person.sees("c2").await;
        person.sees(QUESTION).await;
        person.types("n\n").await;
    };
    let (outcome, ()) = tokio::join!(ask(&asking, "c2"), answers);
    assert_eq!(outcome, "APPROVAL_REJECTED");
}

#[tokio::test]
async fn two_asks_are_asked_one_after_the_other() {
    let (mut person, asking) = terminal();
    let answers = async {
        person.sees("| c1\r\n").await;
        person.sees(QUESTION).await;
        person.types("y\n").await;
        person.sees("| c2\r\n").await;
        person.sees(QUESTION).await;
        person.types("n\n").await;
    };
    let (first, second, ()) = tokio::join!(ask(&asking, "c1"), ask(&asking, "c2"), answers);
    assert_eq!((&*first, &*second), ("ran", "APPROVAL_REJECTED"));
    let screen = person.screen();
    let (first, second) = screen.split_once("| c2").unwrap();
    assert_eq!((first.matches(QUESTION).count(), second.matches(QUESTION).count()), (1, 1), "{screen}");
}

#[tokio::test]
async fn an_ask_that_waits_can_be_cancelled_and_one_that_is_dropped_makes_room() {
    let (mut person, asking) = terminal();
    let (source, cancel) = CancelSource::new();
    let raw = arguments("echo hi");
    let waits = async {
        let outcome = asking.call("c2", &raw, &cancel).await;
        assert_eq!(end(&outcome), "ABORTED_BEFORE_DISPATCH");
    };
    {
        let open = ask(&asking, "c1");
        let sees = async {
            person.sees(QUESTION).await;
            source.fire(CancelReason::User);
        };
        tokio::select! {
            biased;
            outcome = open => panic!("{outcome}"),
            _ = async { tokio::join!(sees, waits) } => {}
        }
    }
    person.sees("the question was withdrawn").await;
    let answers = async {
        person.sees("c3").await;
        person.sees(QUESTION).await;
        person.types("y\n").await;
    };
    let (outcome, ()) = tokio::join!(ask(&asking, "c3"), answers);
    assert_eq!(outcome, "ran");
    assert!(!person.screen().contains("| c2"));
}

#[tokio::test]
async fn hostile_text_does_not_reach_the_terminal() {
    let (mut person, asking) = terminal();
    let (_source, cancel) = never();
    let hostile = "echo \u{1b}[2J\u{1b}]0;x\u{7}\u{202e}\u{200b}\u{9b}1A\u{7f}\r";
    let raw = arguments(hostile);
    let call = asking.call(hostile, &raw, &cancel);
    let answers = async {
        person.sees("16 hidden characters shown").await;
        person.sees(QUESTION).await;
        person.types("n\n").await;
    };
    let (outcome, ()) = tokio::join!(call, answers);
    assert_eq!(end(&outcome), "APPROVAL_REJECTED");
    let screen = person.screen().replace("\r\n", "\n");
    let raw = screen.chars().find(|c| c.is_control() && *c != '\n' || ['\u{200b}', '\u{202e}'].contains(c));
    assert_eq!(raw, None, "{screen}");
    assert!(screen.contains("| echo \\u{1b}[2J"), "{screen}");
}

#[tokio::test]
async fn huge_arguments_are_counted_and_shown_when_asked_for() {
    let (mut person, asking) = terminal();
    let (_source, cancel) = never();
    let command: String = (0..20_000).map(|line| format!("echo line {line}\n")).collect();
    let raw = arguments(&command);
    let call = asking.call("c1", &raw, &cancel);
    let answers = async {
        person.sees("lines (").await;
        person.sees("bytes) are not shown here: v shows everything").await;
        person.sees(QUESTION).await;
        let first = person.seen.len();
        assert!(first < 24 * 81, "{first}");
        person.types("v\n").await;
        person.sees(" | echo line 0\r\n").await;
        person.sees(" | echo line 19999\r\n").await;
        person.sees(QUESTION).await;
        person.types("y\n").await;
    };
    let (outcome, ()) = tokio::join!(call, answers);
    assert_eq!(end(&outcome), "ran");
}

#[tokio::test]
async fn a_terminal_that_goes_away_allows_nothing() {
    let (mut person, asking) = terminal();
    let goes = async {
        person.sees(QUESTION).await;
        drop(person);
    };
    let (outcome, ()) = tokio::join!(ask(&asking, "c1"), goes);
    assert!(["APPROVAL_REJECTED", "APPROVAL_UNAVAILABLE"].contains(&&*outcome), "{outcome}");
}

/// A terminal that takes no more text does not keep a cancelled call.
#[tokio::test]
async fn a_terminal_that_is_not_read_holds_nobody_up() {
    let (mut person, asking) = terminal();
    let (source, cancel) = CancelSource::new();
    let raw = arguments(&"x\n".repeat(500_000));
    let call = asking.call("c1", &raw, &cancel);
    let stops = async {
        person.sees(QUESTION).await;
        person.types("v\n").await;
        // Megabytes follow, which nobody reads.
        person.sees("command | x").await;
        source.fire(CancelReason::User);
    };
    let (outcome, ()) = tokio::join!(call, stops);
    assert_eq!(end(&outcome), "ABORTED_BEFORE_DISPATCH");
}

#[test]
fn what_is_no_terminal_makes_no_approver() {
    let file = tempfile::tempfile().unwrap();
    assert!(TerminalApprover::on(file.into()).is_none());
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    assert!(TerminalApprover::on(reader).is_none());
}
