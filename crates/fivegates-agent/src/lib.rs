//! The turn loop and the model providers.

pub mod provider;
