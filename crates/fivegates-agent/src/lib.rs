//! The turn loop and the model providers.
