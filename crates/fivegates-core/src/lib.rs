//! The five gates between a model's tool call and its execution.
pub mod cancel;
pub mod content;
pub mod decision;
pub mod error;
pub mod ids;
pub mod json;
pub mod outcome;
pub mod schema;
