//! Fakes and drivers for tests of Fivegates.

pub mod conformance;
