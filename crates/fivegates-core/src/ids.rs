//! Names and identities.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// Defines a shared text newtype: one line each.
macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes one of this text.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

text_id! {
    /// Identifies a call within its session, as the model or caller named it.
    CallId;
    /// Names a tool.
    ToolName;
    /// Names a component that decides or observes: a listener, a guard, an approver.
    ComponentId;
}

/// Identifies a scope: an agent, or a layer above several agents.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ScopeId(pub(crate) u64);

/// An unguessable identity of one execution: 128 random bits, local to this process (R-020, R-024, L-54).
///
/// Only the pipeline makes one. It has no textual form, so that it cannot reach a model, a log or a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExecutionToken([u8; 16]);

impl fmt::Debug for ExecutionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExecutionToken(****)")
    }
}

thread_local! {
    /// An extendable hash output seeded from the operating system once for each thread.
    static TOKENS: RefCell<Option<blake3::OutputReader>> = const { RefCell::new(None) };
}

impl ExecutionToken {
    /// The token of calls that meet nobody: those that end before any gate.
    pub(crate) fn null() -> Self {
        Self([0; 16])
    }

    /// Mints a token.
    ///
    /// # Errors
    /// The operating system gave no randomness on the first use in this thread.
    pub(crate) fn mint() -> Result<Self, getrandom::Error> {
        TOKENS.with(|slot| {
            let mut slot = slot.borrow_mut();
            let source = if let Some(source) = slot.as_mut() {
                source
            } else {
                let mut seed = [0_u8; 32];
                getrandom::fill(&mut seed)?;
                slot.insert(blake3::Hasher::new_keyed(&seed).finalize_xof())
            };
            let mut bits = [0_u8; 16];
            source.fill(&mut bits);
            Ok(Self(bits))
        })
    }
}
