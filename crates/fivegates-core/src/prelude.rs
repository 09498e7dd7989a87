//! What most embedders need, under one name: `use fivegates_core::prelude::*`.

pub use crate::call::{Arguments, Call, CallRequest, Invocation};
pub use crate::cancel::{Cancel, CancelReason, CancelSource};
pub use crate::content::{Block, Content, flatten};
pub use crate::decision::{Denial, PostDecision, PreDecision};
pub use crate::error::ToolError;
pub use crate::gates::{guard_fn, observer_fn, post_fn, pre_fn};
pub use crate::json::Json;
pub use crate::pipeline::Pipeline;
pub use crate::registry::{Listen, Registry};
pub use crate::tool::{Definition, Effects, Tool};
