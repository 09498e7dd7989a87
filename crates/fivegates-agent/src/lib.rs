//! The turn loop and the model providers.
//!
//! [`turn::Agent`] asks a [`provider::Provider`], takes the calls of its answer through the scheduler, and goes on until
//! the model answers in text.

pub mod provider;
pub mod turn;
