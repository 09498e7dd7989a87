//! What cannot be written: each file in `compile_fail` breaks one promise of the types, and the compiler's words against it
//! are beside it. `compile_fail/allowed.rs` does the same things in the ways that are open.

#[test]
fn broken_promises_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/compile_fail/allowed.rs");
    for broken in [
        "body_without_permission",
        "invocation_from_outside",
        "permission_from_outside",
        "permission_transferred",
        "seal_from_outside",
        "token_from_outside",
        "outcome_from_outside",
        "outcome_changed",
        "success_from_outside",
        "attempt_from_outside",
        "guard_that_allows",
        "arguments_rewritten",
        "arguments_changed",
        "content_and_value",
        "second_publication",
        "publication_by_others",
        "nested_call_outlives_body",
    ] {
        cases.compile_fail(format!("tests/compile_fail/{broken}.rs"));
    }
}
