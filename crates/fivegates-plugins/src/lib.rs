//! The gates that ship with Fivegates, one folder each.
