//! The subset of JSON Schema that tools may use, and the check against it (R-051 … R-054).
//!
//! A [`Schema`] is compiled once, when a tool is registered; what lies outside the subset is refused there
//! (`UNSUPPORTED_SCHEMA`, R-034). Checking never coerces and fills in no defaults.

mod check;
mod compile;
mod derive;

pub use compile::{Schema, SchemaError};
pub use derive::{output_schema_of, parameters_schema_of};

#[cfg(test)]
mod tests;
