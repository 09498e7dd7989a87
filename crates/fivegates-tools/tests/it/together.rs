//! Several calls at once.

use std::sync::Arc;

use fivegates_core::call::{Arguments, Call, CallRequest, Met};
use fivegates_core::cancel::CancelReason;
use fivegates_core::ports::{CallEntry, GateVerdict, OutcomeEntry, PortFuture, Record, RecordError};
use fivegates_core::scheduler::Scheduler;

use crate::common::{Session, code_of, content, file, read_of, swap};

/// Records nothing.
struct Nowhere;

type Done<'a> = PortFuture<'a, Result<(), RecordError>>;

impl Record for Nowhere {
    fn call<'a>(&'a self, _: &'a CallEntry<'a>) -> Done<'a> {
        Box::pin(async { Ok(()) })
    }
    fn decision<'a>(&'a self, _: &'a Call, _: GateVerdict, _: &'a [Met]) -> Done<'a> {
        Box::pin(async { Ok(()) })
    }
    fn intent<'a>(&'a self, _: &'a Call) -> Done<'a> {
        Box::pin(async { Ok(()) })
    }
    fn outcome<'a>(&'a self, _: &'a OutcomeEntry<'a>) -> Done<'a> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_of_one_batch_are_applied_in_order() {
    let session = Session::new();
    session.put("f", "0");
    let scheduler = Scheduler::new(session.pipeline.clone(), Arc::new(Nowhere));
    let mut calls = vec![("r".to_owned(), "read", file("f", &[]))];
    for step in 0..6 {
        let (old, new) = (format!("{step}"), format!("{step}+{}", step + 1));
        calls.push((format!("e{step}"), "edit", swap("f", &old, &new)));
    }
    let requests = calls.iter().map(|(id, tool, arguments)| {
        let arguments = Arguments::Text(arguments.as_str().into());
        CallRequest::new(id.as_str(), *tool, arguments, session.cancel.clone()).with_agent(session.agent.id())
    });
    let report = scheduler.run(requests.collect(), &session.cancel).await;
    for call in &report.calls {
        assert_eq!(code_of(&call.outcome), "ok", "{}: {}", call.id, read_of(&call.outcome));
    }
    assert_eq!(session.get("f"), "0+1+2+3+4+5+6");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_edits_at_once_none_is_lost() {
    let session = Session::new();
    for round in 0..40 {
        session.put("f", "x");
        session.call("read", &file("f", &[])).await;
        let (left, right) = (swap("f", "x", "left"), swap("f", "x", "right"));
        let (left, right) = tokio::join!(
            tokio::spawn(
                session.pipeline.execute(session.request("edit", &left).with_agent(session.agent.id()))
            ),
            tokio::spawn(
                session.pipeline.execute(session.request("edit", &right).with_agent(session.agent.id()))
            ),
        );
        let (left, right) = (left.unwrap(), right.unwrap());
        let (winner, loser) = if left.is_error() { ("right", &left) } else { ("left", &right) };
        assert_eq!(session.get("f"), winner, "round {round}");
        // Which of the two it is depends on whether the loser had begun before the winner was done.
        let code = code_of(loser);
        assert!(["FS_STALE_VERSION", "FS_EDIT_NOT_FOUND"].contains(&code), "{code}");
    }
    session.no_leftovers();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_creators_one_wins() {
    let session = Session::new();
    let agents: Vec<_> = (0..8).map(|at| session.registry.scope(format!("{at}"), None)).collect();
    let mut calls = tokio::task::JoinSet::new();
    for (at, agent) in agents.iter().enumerate() {
        let request = session.request("write", &content("d/f", &at.to_string())).with_agent(agent.id());
        let call = session.pipeline.execute(request);
        calls.spawn(async move { (at, call.await) });
    }
    let outcomes = calls.join_all().await;
    let winners: Vec<_> = outcomes.iter().filter(|(_, outcome)| !outcome.is_error()).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(session.get("d/f"), winners[0].0.to_string());
    assert!(outcomes.iter().all(|(_, outcome)| ["ok", "FS_NOT_OBSERVED"].contains(&code_of(outcome))));
}

#[tokio::test]
async fn a_cancelled_call_changes_nothing() {
    let session = Session::new();
    session.put("f", "x");
    session.call("read", &file("f", &[])).await;
    session.source.fire(CancelReason::User);
    for (tool, arguments) in [("write", content("f", "y")), ("edit", swap("f", "x", "y"))] {
        let outcome = session.call(tool, &arguments).await;
        assert_eq!(code_of(&outcome), "ABORTED_BEFORE_DISPATCH");
    }
    assert_eq!(session.get("f"), "x");
}
