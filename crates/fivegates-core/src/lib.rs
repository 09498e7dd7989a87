//! The five gates between a model's tool call and its execution.
pub mod json;
