//! A nested call borrows the invocation that it comes from, so that it cannot outlive the body.
use fivegates_core::call::{Arguments, CallRequest, Invocation};

fn keep(invocation: Invocation, arguments: Arguments) -> CallRequest<'static> {
    invocation.nested("n", "tool", arguments)
}

fn main() {}
