//! Gates made of plain functions, for what needs no future.

use super::{Guard, Observer, PostExecute, PostNext, PreExecute, PreNext, Reply};
use crate::call::Call;
use crate::decision::{Denial, PostDecision, PreDecision};
use crate::error::ToolError;
use crate::outcome::{Ending, Outcome};

/// Makes a pre-execute listener of a function that decides, or returns nothing to delegate.
pub fn pre_fn(
    decide: impl Fn(&Call) -> Option<PreDecision> + Send + Sync + 'static,
) -> impl PreExecute + 'static {
    PreFn(decide)
}

struct PreFn<F>(F);

impl<F: Fn(&Call) -> Option<PreDecision> + Send + Sync> PreExecute for PreFn<F> {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> Reply<'a, PreDecision> {
        (self.0)(call).map_or_else(|| next.run(), Reply::ready)
    }
}

/// Makes a guard of a function that refuses, or returns nothing to abstain.
pub fn guard_fn(check: impl Fn(&Call) -> Option<Denial> + Send + Sync + 'static) -> impl Guard + 'static {
    GuardFn(check)
}

struct GuardFn<F>(F);

impl<F: Fn(&Call) -> Option<Denial> + Send + Sync> Guard for GuardFn<F> {
    fn check<'a>(&'a self, call: &'a Call) -> Reply<'a, Option<Denial>> {
        Reply::ready((self.0)(call))
    }
}

/// Makes a post-execute listener of a function that decides, or returns nothing to delegate.
pub fn post_fn(
    review: impl Fn(&Call, &Ending) -> Option<PostDecision> + Send + Sync + 'static,
) -> impl PostExecute + 'static {
    PostFn(review)
}

struct PostFn<F>(F);

impl<F: Fn(&Call, &Ending) -> Option<PostDecision> + Send + Sync> PostExecute for PostFn<F> {
    fn review<'a>(
        &'a self,
        call: &'a Call,
        ending: &'a Ending,
        next: PostNext<'a>,
    ) -> Reply<'a, PostDecision> {
        (self.0)(call, ending).map_or_else(|| next.run(), Reply::ready)
    }
}

/// Makes an observer of a function.
pub fn observer_fn(
    observe: impl Fn(&Call, &Outcome) -> Result<(), ToolError> + Send + Sync + 'static,
) -> impl Observer + 'static {
    ObserverFn(observe)
}

struct ObserverFn<F>(F);

impl<F: Fn(&Call, &Outcome) -> Result<(), ToolError> + Send + Sync> Observer for ObserverFn<F> {
    fn observe(&self, call: &Call, outcome: &Outcome) -> Result<(), ToolError> {
        (self.0)(call, outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Arguments, CallRequest, Stage};
    use crate::cancel::CancelSource;
    use crate::pipeline::Pipeline;
    use crate::registry::{Listen, Registry};

    /// Delegates, and answers later.
    struct Later;

    impl PreExecute for Later {
        fn decide<'a>(&'a self, _: &'a Call, next: PreNext<'a>) -> Reply<'a, PreDecision> {
            Reply::future(next.run())
        }
    }

    /// Tells who allowed a call that meets the listener `inner` behind two that only delegate.
    async fn who_allowed(decision: Option<PreDecision>) -> Option<String> {
        let registry = Registry::new();
        registry.pre_execute(Listen::as_id("at once"), pre_fn(|_| None)).keep();
        registry.pre_execute(Listen::as_id("later"), Later).keep();
        registry.pre_execute(Listen::as_id("inner"), pre_fn(move |_| decision.clone())).keep();
        let (seen, mut who) = tokio::sync::mpsc::unbounded_channel();
        let observer = observer_fn(move |call, _| {
            let met = call.met().into_iter().find(|met| met.stage == Stage::PreExecute).unwrap();
            seen.send(met.by.map(|by| by.to_string())).unwrap();
            Ok(())
        });
        registry.observe(Listen::as_id("o"), observer).keep();
        let request = CallRequest::new("c1", "none", Arguments::Text("{}".into()), CancelSource::new().1);
        Pipeline::builder(registry).build().execute(request).await;
        who.recv().await.unwrap()
    }

    #[tokio::test]
    async fn who_only_delegates_has_decided_nothing() {
        assert_eq!(who_allowed(None).await, None);
        assert_eq!(who_allowed(Some(PreDecision::allow())).await.as_deref(), Some("inner"));
    }
}
