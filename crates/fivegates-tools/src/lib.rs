//! The tools that ship with Fivegates, one folder for each family.
