//! Only `authorize` makes a `Permitted`, and nobody copies one.
use fivegates_core::call::{Call, Permitted};

fn copy(permitted: &Permitted) -> Permitted {
    permitted.clone()
}

fn main() {
    let _: Permitted = Default::default();
    let _ = |call: Call| Permitted { call };
}
