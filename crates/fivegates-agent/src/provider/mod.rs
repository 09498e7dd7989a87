//! Model providers: one request in, one complete model turn out.
//!
//! A [`Provider`] sends a [`ModelRequest`] to a model and returns its [`ModelTurn`]. While the answer arrives it passes
//! [`Delta`]s to the caller for live output; only the returned turn counts. Two providers are here: [`openai`] speaks the
//! OpenAI-compatible streaming format (DeepSeek, OpenAI, local servers), [`scripted`] plays a file of turns.
//!
//! What a provider never does: it does not parse a call's arguments (the raw text travels on, byte for byte), does not
//! retry, and keeps nothing between turns.

mod types;

mod assembly;
mod error;
mod key;
mod limits;
mod transport;

pub mod openai;
pub mod scripted;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::future::Future;
use std::pin::Pin;

pub use error::{ErrorCode, ProviderError};
pub use key::ApiKey;
pub use limits::Limits;
pub use types::{CallText, Delta, Effort, Finish, Message, ModelRequest, ModelTurn, ToolSchema, Usage};

/// A boxed future, so that a provider can be held as `Arc<dyn Provider>`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Receives what a model has produced so far, in order, for live output.
///
/// It runs on the async thread that reads the answer, so it must not block.
pub type DeltaSink<'a> = dyn FnMut(Delta<'_>) + Send + 'a;

/// Asks a model for its next turn.
pub trait Provider: Send + Sync {
    /// Names the provider as users write it, such as `deepseek` in `--model deepseek:NAME`.
    fn name(&self) -> &str;

    /// Sends `request` and waits for the complete turn, within the provider's [`Limits`].
    ///
    /// Dropping the future cancels the turn and closes its connection. A turn that fails returns no part of what had
    /// arrived, whatever `deltas` was shown; the caller decides whether to ask again
    /// ([`ErrorCode::is_transient`]).
    fn turn<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: &'a mut DeltaSink<'_>,
    ) -> BoxFuture<'a, Result<ModelTurn, ProviderError>>;
}
