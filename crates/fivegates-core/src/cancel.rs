//! Cancellation with a reason.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use tokio::sync::Notify;

/// Orders firings across sources, so that a fused signal knows which came first.
static FIRED: AtomicU64 = AtomicU64::new(0);

/// Why something was cancelled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CancelReason {
    /// A person asked for it.
    User,
    /// The call or agent above was cancelled.
    Parent,
    /// The owner went away: the caller dropped the call, or the process is closing.
    Disposed,
    /// A deadline of this many milliseconds passed.
    Deadline {
        /// Milliseconds from the start.
        after_ms: u64,
    },
    /// Something else, in words.
    Other(Arc<str>),
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::Parent => f.write_str("parent"),
            Self::Disposed => f.write_str("disposed"),
            Self::Deadline { after_ms } => write!(f, "deadline of {after_ms} ms"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[derive(Default)]
struct Source {
    fired: OnceLock<(u64, CancelReason)>,
    wake: Notify,
}

/// Fires one cancellation. Dropping it fires nothing.
#[derive(Clone)]
pub struct CancelSource(Arc<Source>);

impl CancelSource {
    /// Makes a source and the signal that it fires.
    pub fn new() -> (Self, Cancel) {
        let source = Arc::new(Source::default());
        (Self(Arc::clone(&source)), Cancel { sources: Sources::One([source]) })
    }

    /// Fires; only the first reason counts.
    pub fn fire(&self, reason: CancelReason) {
        let mut first = false;
        self.0.fired.get_or_init(|| {
            first = true;
            (FIRED.fetch_add(1, Ordering::SeqCst), reason)
        });
        if first {
            self.0.wake.notify_waiters();
        }
    }

    /// Tells whether this source has fired.
    pub fn is_fired(&self) -> bool {
        self.0.fired.get().is_some()
    }
}

impl fmt::Debug for CancelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelSource").field(&self.0.fired.get().map(|(_, reason)| reason)).finish()
    }
}

/// A signal that work should stop. Every awaited extension point is given one (L-34).
///
/// A fused signal fires when any of its sources does and carries the reason of the first; it attaches no
/// listener, so nothing is left behind when it is dropped. There is no signal that cannot fire: it takes a
/// [`CancelSource`] to make one.
#[derive(Clone)]
pub struct Cancel {
    sources: Sources,
}

/// Few sources are held in place: most signals fuse the caller's, a dropped call's and a deadline's.
#[derive(Clone)]
enum Sources {
    One([Arc<Source>; 1]),
    Two([Arc<Source>; 2]),
    Three([Arc<Source>; 3]),
    Many(Arc<[Arc<Source>]>),
}

impl Sources {
    fn as_slice(&self) -> &[Arc<Source>] {
        match self {
            Self::One(sources) => sources,
            Self::Two(sources) => sources,
            Self::Three(sources) => sources,
            Self::Many(sources) => sources,
        }
    }

    /// Adds one source, unless it is there.
    fn with(self, source: &Arc<Source>) -> Self {
        if self.as_slice().iter().any(|known| Arc::ptr_eq(known, source)) {
            return self;
        }
        let added = Arc::clone(source);
        match self {
            Self::One([a]) => Self::Two([a, added]),
            Self::Two([a, b]) => Self::Three([a, b, added]),
            Self::Three([a, b, c]) => Self::Many(Arc::from([a, b, c, added])),
            Self::Many(sources) => Self::Many(sources.iter().cloned().chain([added]).collect()),
        }
    }
}

impl Cancel {
    /// Makes a signal that fires when this one or `other` does.
    #[must_use]
    pub fn fuse(&self, other: &Self) -> Self {
        Self { sources: other.all().iter().fold(self.sources.clone(), Sources::with) }
    }

    /// Tells whether the signal has fired.
    pub fn is_cancelled(&self) -> bool {
        self.all().iter().any(|source| source.fired.get().is_some())
    }

    /// Returns the reason of the first firing.
    pub fn reason(&self) -> Option<CancelReason> {
        let first = self.all().iter().filter_map(|source| source.fired.get()).min_by_key(|(order, _)| *order);
        first.map(|(_, reason)| reason.clone())
    }

    /// Waits until the signal fires.
    pub async fn cancelled(&self) {
        let mut waits: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = Vec::new();
        for source in self.all() {
            let mut wake = Box::pin(source.wake.notified());
            wake.as_mut().enable();
            waits.push(wake);
        }
        // Registered above before looking, so that a firing in between is not missed.
        if self.is_cancelled() {
            return;
        }
        poll_fn(|cx| {
            if waits.iter_mut().any(|wait| wait.as_mut().poll(cx).is_ready()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn all(&self) -> &[Arc<Source>] {
        self.sources.as_slice()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.reason()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_fused_signal_carries_the_first_reason() {
        let (a, left) = CancelSource::new();
        let (b, right) = CancelSource::new();
        let fused = left.fuse(&right).fuse(&left);
        assert!(!fused.is_cancelled());
        let waiter = tokio::spawn({
            let fused = fused.clone();
            async move { fused.cancelled().await }
        });
        tokio::task::yield_now().await;
        b.fire(CancelReason::User);
        a.fire(CancelReason::Parent);
        waiter.await.unwrap();
        assert_eq!(fused.reason(), Some(CancelReason::User));
        assert_eq!(left.reason(), Some(CancelReason::Parent));
        fused.cancelled().await;
        b.fire(CancelReason::Disposed);
        assert_eq!(right.reason(), Some(CancelReason::User));
    }
}
