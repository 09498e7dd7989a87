//! What keeps a `Permitted` from being made cannot be named.
use fivegates_core::call::Seal;

fn main() {
    let _ = Seal::new();
}
