//! Answers that may come at once or later, and the containment of panics.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::decision::DenialKind;
use crate::error::ToolError;
use crate::ids::ComponentId;

/// Why a gate gave no decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateError {
    /// What the model is told, with the identity of a coded error.
    pub error: ToolError,
    /// How the gate failed.
    pub kind: GateErrorKind,
    /// The component that failed.
    pub by: Option<ComponentId>,
}

/// How a gate failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GateErrorKind {
    /// It returned an error.
    Error,
    /// It panicked.
    Panic,
    /// It did not answer in time.
    Timeout,
}

impl GateErrorKind {
    pub(crate) fn denial(self) -> DenialKind {
        match self {
            Self::Error => DenialKind::GateError,
            Self::Panic => DenialKind::GatePanic,
            Self::Timeout => DenialKind::GateTimeout,
        }
    }
}

impl GateError {
    fn put_down_to(self, id: &ComponentId) -> Self {
        Self { by: self.by.or_else(|| Some(id.clone())), ..self }
    }
}

impl From<ToolError> for GateError {
    fn from(error: ToolError) -> Self {
        Self { error, kind: GateErrorKind::Error, by: None }
    }
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for GateError {}

/// Whom an answer is put down to: what kind of component, and which.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) what: &'static str,
    pub(crate) id: &'a ComponentId,
}

impl Owner<'_> {
    pub(crate) fn panicked(self, cause: &(dyn Any + Send)) -> GateError {
        let message = format!("{} \"{}\" panicked: {}", self.what, self.id, panic_text(cause));
        GateError { error: ToolError::new(message), kind: GateErrorKind::Panic, by: Some(self.id.clone()) }
    }

    pub(crate) fn timed_out(self, after_ms: u64) -> GateError {
        let message = format!("{} \"{}\" did not answer within {after_ms}ms", self.what, self.id);
        GateError { error: ToolError::new(message), kind: GateErrorKind::Timeout, by: Some(self.id.clone()) }
    }
}

/// The text of a panic, when it has one.
pub(crate) fn panic_text(cause: &(dyn Any + Send)) -> &str {
    let owned = cause.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Runs foreign code and turns a panic into its text (L-59, L-65).
pub(crate) fn contain<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|cause| {
        let text = panic_text(&*cause).to_owned();
        discard(cause);
        text
    })
}

/// Drops what somebody panicked with. When that panics as well, the second payload is leaked: there is no end to it.
pub(crate) fn discard(cause: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(cause))) {
        Box::leak(second);
    }
}

/// An answer of a gate: ready, or a future. It is itself a future of the answer.
///
/// A panic while it is polled becomes the failure of the component that gave it.
pub struct Reply<'a, T> {
    state: State<'a, T>,
    owner: Option<Owner<'a>>,
    stamp: Option<fn(T, &ComponentId) -> T>,
}

enum State<'a, T> {
    Ready(Option<Result<T, GateError>>),
    Pending(Foreign<'a, T>),
}

/// A future of somebody else's. It is dropped in containment, since dropping is code of theirs too.
struct Foreign<'a, T>(Option<BoxedAnswer<'a, T>>);

type BoxedAnswer<'a, T> = Pin<Box<dyn Future<Output = Result<T, GateError>> + Send + 'a>>;

impl<T> Foreign<'_, T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, GateError>> {
        self.0.as_mut().map_or(Poll::Pending, |future| future.as_mut().poll(cx))
    }
}

impl<T> Drop for Foreign<'_, T> {
    fn drop(&mut self) {
        if let Some(future) = self.0.take() {
            let _ = contain(|| drop(future));
        }
    }
}

impl<'a, T> Reply<'a, T> {
    /// Answers at once.
    pub fn ready(value: T) -> Self {
        Self::done(Ok(value))
    }

    /// Fails at once.
    pub fn error(error: impl Into<GateError>) -> Self {
        Self::done(Err(error.into()))
    }

    /// Answers when the future does.
    pub fn future(future: impl Future<Output = Result<T, GateError>> + Send + 'a) -> Self {
        Self { state: State::Pending(Foreign(Some(Box::pin(future)))), owner: None, stamp: None }
    }

    pub(crate) fn done(result: Result<T, GateError>) -> Self {
        Self { state: State::Ready(Some(result)), owner: None, stamp: None }
    }

    /// Asks a component for its answer, contains its panics and puts the answer down to it. An answer that already is
    /// somebody's (passed on from further in) stays theirs.
    pub(crate) fn of(owner: Owner<'a>, stamp: fn(T, &ComponentId) -> T, ask: impl FnOnce() -> Self) -> Self {
        match catch_unwind(AssertUnwindSafe(ask)) {
            Err(cause) => {
                let failure = owner.panicked(&*cause);
                discard(cause);
                Self::done(Err(failure))
            }
            Ok(reply) if reply.owner.is_some() => reply,
            Ok(Self { state: State::Ready(result), .. }) => {
                let result = result.map(|result| match result {
                    Ok(value) => Ok(stamp(value, owner.id)),
                    Err(failure) => Err(failure.put_down_to(owner.id)),
                });
                // Owned as well, so that a listener further out that passes it on does not claim it.
                Self { state: State::Ready(result), owner: Some(owner), stamp: None }
            }
            Ok(Self { state, .. }) => Self { state, owner: Some(owner), stamp: Some(stamp) },
        }
    }

    /// Answers with what `change` makes of this answer, at once when it is ready. A failure passes unchanged.
    pub fn map<U>(self, change: impl FnOnce(T) -> U + Send + 'a) -> Reply<'a, U>
    where
        T: Send + 'a,
        U: Send + 'a,
    {
        match self.into_ready() {
            Ok(result) => Reply::done(result.map(change)),
            Err(reply) => Reply::future(async move { reply.await.map(change) }),
        }
    }

    /// Returns the answer when it is ready, else the reply itself.
    pub(crate) fn into_ready(mut self) -> Result<Result<T, GateError>, Self> {
        match &mut self.state {
            State::Ready(result) => match result.take() {
                Some(result) => Ok(result),
                None => Err(self),
            },
            State::Pending(_) => Err(self),
        }
    }
}

impl<T> Unpin for Reply<'_, T> {}

impl<T> Future for Reply<'_, T> {
    type Output = Result<T, GateError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let future = match &mut this.state {
            State::Ready(result) => return result.take().map_or(Poll::Pending, Poll::Ready),
            State::Pending(future) => future,
        };
        let Some(owner) = this.owner else {
            return future.poll(cx);
        };
        match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(match (result, this.stamp) {
                (Ok(value), Some(stamp)) => Ok(stamp(value, owner.id)),
                (Err(failure), _) => Err(failure.put_down_to(owner.id)),
                (done, None) => done,
            }),
            Err(cause) => {
                let failure = owner.panicked(&*cause);
                discard(cause);
                // A future that panicked must not be polled again.
                this.state = State::Ready(None);
                Poll::Ready(Err(failure))
            }
        }
    }
}

impl<T> From<Result<T, ToolError>> for Reply<'_, T> {
    fn from(result: Result<T, ToolError>) -> Self {
        Self::done(result.map_err(GateError::from))
    }
}
