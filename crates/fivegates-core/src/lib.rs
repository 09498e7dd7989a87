//! The five gates between a model's tool call and its execution.
//!
//! A call walks one road: **admit** → **authorize** (gate 1, the negotiable chain; gate 2, the guards) → **dispatch**
//! (gate 3, around the tool) → **examine** (gate 4, the review) → **finalize** (gate 5, the tool's last word) →
//! **publish**. [`pipeline`] names the stages in order; [`gates`] has the traits; [`scheduler`] runs batches of calls and
//! records them through [`ports`]. This crate does no I/O.
//!
//! Start with [`prelude`], [`tool::Tool`] and [`pipeline::Pipeline`].

pub mod prelude;

pub mod call;
pub mod tool;

pub mod gates;
pub mod pipeline;
pub mod scheduler;

pub mod decision;
pub mod outcome;
pub mod verdict;

pub mod registry;

pub mod ports;

pub mod cancel;
pub mod content;
pub mod error;
pub mod ids;
pub mod json;
pub mod schema;

/// The examples of README.md, so that they are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
