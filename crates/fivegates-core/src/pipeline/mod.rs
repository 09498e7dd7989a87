//! The road of a call. This is the only place from which a tool body can be reached (invariant 1).

mod admit;
mod authorize;
mod dispatch;
mod examine;
mod finalize;
mod invariants;
mod project;
mod publish;
mod wait;

mod execute;

use std::sync::Arc;

use tokio::runtime::Handle;

use crate::call::{Call, CallRequest, Permitted, Request, SandboxPolicy};
use crate::ids::ComponentId;
use crate::outcome::{Ending, Outcome};
use crate::ports::{Approver, Egress};
use crate::registry::Registry;

pub(crate) use admit::{read, unstarted};
pub(crate) use execute::Detachable;
pub use execute::Execute;
pub use wait::Waits;

/// The pipeline; clones share one.
#[derive(Clone)]
pub struct Pipeline(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) registry: Registry,
    /// With its id as it was when the pipeline was built.
    approver: Option<(ComponentId, Arc<dyn Approver>)>,
    egress: Vec<(ComponentId, Arc<dyn Egress>)>,
    sandbox: Option<SandboxPolicy>,
    waits: Waits,
    warn: Arc<dyn Fn(&str) + Send + Sync>,
    arguments_bytes_max: usize,
    parse: crate::json::ParseLimits,
    drains: execute::Drains,
    /// Where a call that was dropped elsewhere is drained.
    runtime: Option<Handle>,
}

/// Bytes of raw argument text accepted unless configured otherwise: 16 MiB.
pub const ARGUMENTS_BYTES_MAX_DEFAULT: usize = 16 << 20;

/// Builds a pipeline.
#[must_use]
pub struct PipelineBuilder(Inner);

impl Pipeline {
    /// Starts building a pipeline over a registry.
    pub fn builder(registry: Registry) -> PipelineBuilder {
        PipelineBuilder(Inner {
            registry,
            approver: None,
            egress: Vec::new(),
            sandbox: None,
            waits: Waits::default(),
            warn: Arc::new(|_| {}),
            arguments_bytes_max: ARGUMENTS_BYTES_MAX_DEFAULT,
            parse: crate::json::ParseLimits::default(),
            drains: execute::Drains::default(),
            runtime: None,
        })
    }

    /// Runs one call through all stages and returns its published result.
    ///
    /// Dropping the future cancels the call; a started body is still polled to its end and its result published (L-60).
    /// Nothing is recorded here: entrances go through the scheduler.
    pub fn execute<'p>(&self, request: CallRequest<'p>) -> Execute<'p> {
        Execute::new(self.clone(), request.inner)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    /// The registry that calls are looked up in.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Waits until every dropped call has come to its end, at most this long. Tells how many have not.
    pub async fn drained(&self, wait: std::time::Duration) -> usize {
        self.0.drains.wait(wait).await
    }
}

impl PipelineBuilder {
    /// Sets who answers asks.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.0.approver = Some((approver.id().clone(), approver));
        self
    }

    /// Adds a filter for what leaves; filters apply in the order in which they were added.
    pub fn egress(mut self, egress: Arc<dyn Egress>) -> Self {
        self.0.egress.push((egress.id().clone(), egress));
        self
    }

    /// Sets from where the digest of the sandbox policy is read. It is part of what is approved: when it has changed by the
    /// time the body is about to run, the body does not run (L-06).
    pub fn sandbox_policy(mut self, digest: impl Fn() -> [u8; 32] + Send + Sync + 'static) -> Self {
        self.0.sandbox = Some(Arc::new(digest));
        self
    }

    /// Sets how long each extension point may take.
    pub fn waits(mut self, waits: Waits) -> Self {
        self.0.waits = waits;
        self
    }

    /// Sets where warnings go, such as the failure of an observer.
    pub fn on_warning(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.0.warn = Arc::new(warn);
        self
    }

    /// Limits the raw argument text of one call, in bytes.
    pub fn arguments_bytes_max(mut self, bytes: usize) -> Self {
        self.0.arguments_bytes_max = bytes;
        self
    }

    /// Finishes. Within a tokio runtime, that runtime also drains calls which are dropped outside of one.
    pub fn build(mut self) -> Pipeline {
        self.0.runtime = Handle::try_current().ok();
        Pipeline(Arc::new(self.0))
    }
}

/// A call that came through gates 1 and 2, or that ended there.
pub(crate) enum Prepared {
    Permitted(Permitted),
    Settled(Settled),
}

impl Prepared {
    pub(crate) fn call(&self) -> &Call {
        match self {
            Self::Permitted(permitted) => &permitted.call,
            Self::Settled(settled) => &settled.call,
        }
    }
}

/// A call that has an ending but has not been published.
pub(crate) struct Settled {
    pub(crate) call: Call,
    pub(crate) ending: Ending,
    pub(crate) road: Road,
}

impl Settled {
    /// Ends a permitted call whose body is not to run after all.
    pub(crate) fn refused(permitted: Permitted, error: crate::error::ToolError) -> Self {
        Self { call: permitted.call, ending: Ending::failed(error), road: Road::Final }
    }
}

/// Which stages an ending still meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Road {
    /// Gate 4, gate 5, publication.
    Full,
    /// Gate 5 and publication ("final": the call failed before or beside its gates).
    Final,
    /// Publication alone (a collapsed call, R-071).
    Bare,
}

/// The road, first to last. The scheduler walks its three parts separately, so that calls can overlap in the middle one.
async fn run(pipeline: &Inner, request: Request) -> Outcome {
    let prepared = prepare(pipeline, request).await;
    let settled = dispatch(pipeline, prepared).await;
    commit(pipeline, settled).await
}

/// Part one, in order: nothing of the tool runs here.
pub(crate) async fn prepare(pipeline: &Inner, request: Request) -> Prepared {
    // First, because all others see the frozen arguments, the token and the definition that it fixes.
    let call = match admit::admit(pipeline, request) {
        Ok(call) => call,
        Err(settled) => return Prepared::Settled(*settled),
    };
    // Gates 1 and 2: the negotiable chain comes first, so that guards also see what a human approved.
    authorize::authorize(pipeline, call).await
}

/// Part two, overlapping: gate 3 and the body, which only a permitted call reaches.
pub(crate) async fn dispatch(pipeline: &Inner, prepared: Prepared) -> Settled {
    match prepared {
        Prepared::Permitted(permitted) => dispatch::dispatch(pipeline, permitted).await,
        Prepared::Settled(settled) => settled,
    }
}

/// Part three, in order: what the model reads is settled here, and nothing can change it afterwards.
pub(crate) async fn commit(pipeline: &Inner, settled: Settled) -> Outcome {
    // Gate 4 comes before the tool's own last word, since a policy may replace what the tool would only shorten.
    let settled = examine::examine(pipeline, settled).await;
    // Gate 5 sees failures and denials too: a tool bounds its output whatever the outcome.
    let settled = finalize::finalize(settled);
    // Last: filtered, frozen, shown. The call is consumed, so it cannot be published twice (L-12).
    publish::publish(pipeline, settled)
}
