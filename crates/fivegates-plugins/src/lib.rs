//! The gates that ship with Fivegates, one folder each.
//!
//! A plugin is a `mount` function that adds listeners or guards to a registry and has no other power. No plugin knows
//! another one; in which order they meet is decided where they are mounted. Dropping what `mount` returns removes the
//! plugin.
pub mod checkpoint;
pub mod deadline;
pub mod deny_tools;
pub mod permission;
pub mod repeat_reminder;

#[cfg(test)]
mod testing;
