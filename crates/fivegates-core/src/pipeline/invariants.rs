//! What must hold of every call, whatever is mounted (R-200, R-201). The types keep most of it; this is the rest.

use crate::call::{Call, Met, Stage};

/// Checks a call that is about to be published, in debug builds and tests.
///
/// A violation is a fault of the pipeline, never of a tool or a listener, so it ends the test run.
pub(super) fn check(call: &Call) {
    if cfg!(debug_assertions) {
        let violation = order(&call.met()).or_else(|| sealed(call));
        debug_assert!(violation.is_none(), "call \"{}\" of \"{}\": {violation:?}", call.id(), call.name());
    }
}

/// Gates in their order, each once: gate 3 may run several attempts, but only as one stage.
fn order(met: &[Met]) -> Option<&'static str> {
    let places =
        |stage: Stage| met.iter().enumerate().filter(move |(_, met)| met.stage == stage).map(|(at, _)| at);
    let first = |stage: Stage| places(stage).next();
    let decided = met.iter().filter(|met| met.stage == Stage::PreExecute).count();
    if decided > 1 {
        return Some("tools/pre-execute repeated for one execution");
    }
    let pre = first(Stage::PreExecute);
    let around = [first(Stage::Execute), first(Stage::Body)].into_iter().flatten().min();
    if let Some(around) = around
        && pre.is_none_or(|pre| pre > around)
    {
        return Some("tools/execute must follow tools/pre-execute");
    }
    if let Some(post) = first(Stage::PostExecute)
        && pre.is_none_or(|pre| pre > post)
    {
        return Some("tools/post-execute must follow tools/pre-execute or tools/execute");
    }
    if first(Stage::Result).is_some() {
        return Some("tools/result repeated for one execution");
    }
    None
}

fn sealed(call: &Call) -> Option<&'static str> {
    if call.id().as_str().is_empty() {
        return Some("tools/result needs a call id");
    }
    if call.name().as_str().is_empty() {
        return Some("tools/result needs a tool name");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stages: &[Stage], expected: Option<&str>) {
        let met =
            |stage: &Stage| Met { stage: *stage, by: None, verdict: "passed", code: None, reason: None };
        assert_eq!(order(&stages.iter().map(met).collect::<Vec<_>>()), expected, "{stages:?}");
    }

    /// Publishes a call that broke the order, and returns what the test run is told.
    #[cfg(debug_assertions)]
    fn told(met: &[Stage]) -> String {
        use crate::call::{Arguments, CallRequest};
        let (_source, cancel) = crate::cancel::CancelSource::new();
        let request = CallRequest::new("c1", "echo", Arguments::NotLossless, cancel);
        let token = crate::ids::ExecutionToken::null();
        let call = Call::new(request.inner, token, std::sync::Arc::default(), None, None, None);
        met.iter().for_each(|stage| call.note(*stage, None, "passed"));
        crate::gates::contain(|| super::check(&call)).unwrap_err()
    }

    #[cfg(debug_assertions)]
    #[test]
    fn a_violation_ends_the_test_run_and_names_the_call_and_the_stage() {
        let text = told(&[Stage::PreExecute, Stage::PreExecute]);
        assert_eq!(text, r#"call "c1" of "echo": Some("tools/pre-execute repeated for one execution")"#);
    }

    #[test]
    fn a_result_has_an_id_and_a_name() {
        use crate::call::{Arguments, CallRequest};
        let check = |id: &str, name: &str, expected: Option<&str>| {
            let (_source, cancel) = crate::cancel::CancelSource::new();
            let request = CallRequest::new(id, name, Arguments::NotLossless, cancel);
            let token = crate::ids::ExecutionToken::null();
            let call = Call::new(request.inner, token, std::sync::Arc::default(), None, None, None);
            assert_eq!(sealed(&call), expected);
        };
        check("c1", "echo", None);
        check("", "echo", Some("tools/result needs a call id"));
        check("c1", "", Some("tools/result needs a tool name"));
    }

    #[test]
    fn the_order_of_the_gates() {
        use Stage::{Admit, Body, Execute, Guards, PostExecute, PreExecute, Result};
        check(&[], None);
        check(&[Admit, PreExecute, Guards, Body, Execute, PostExecute], None);
        check(&[Admit, PreExecute, PreExecute], Some("tools/pre-execute repeated for one execution"));
        check(&[Body, PreExecute], Some("tools/execute must follow tools/pre-execute"));
        check(&[Execute], Some("tools/execute must follow tools/pre-execute"));
        check(&[PostExecute], Some("tools/post-execute must follow tools/pre-execute or tools/execute"));
        check(&[PreExecute, PostExecute, Result], Some("tools/result repeated for one execution"));
    }
}
