//! Fakes and drivers for tests of Fivegates.
