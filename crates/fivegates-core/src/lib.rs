//! The five gates between a model's tool call and its execution.
pub mod call;
pub mod cancel;
pub mod content;
pub mod decision;
pub mod error;
pub mod gates;
pub mod ids;
pub mod json;
pub mod outcome;
pub mod pipeline;
pub mod ports;
pub mod registry;
pub mod scheduler;
pub mod schema;
pub mod tool;
pub mod verdict;
