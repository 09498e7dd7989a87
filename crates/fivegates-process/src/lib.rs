//! Starts, bounds and kills every program that anything starts.
