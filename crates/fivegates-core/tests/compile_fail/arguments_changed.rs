//! The arguments of a call on its way cannot be changed.
use fivegates_core::call::Call;
use fivegates_core::json::Json;

fn change(call: &Call) {
    if let Some(arguments) = call.arguments() {
        *arguments = Json::Null;
    }
}

fn main() {}
