//! Only the pipeline mints tokens and admits calls.
use fivegates_core::call::Call;
use fivegates_core::ids::ExecutionToken;

fn main() {
    let _ = ExecutionToken([0; 16]);
    let _ = ExecutionToken::mint();
    let _ = ExecutionToken::null();
    let _: ExecutionToken = Default::default();
    let _ = Call(Default::default());
}
