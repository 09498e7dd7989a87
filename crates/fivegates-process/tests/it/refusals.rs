//! What cannot be started is refused with its own code, and nothing half-started is left.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::common::{run, spec, try_run};
use fivegates_process::{Program, Spec};

async fn check_refused(spec: Spec, code: &str, text: &str) {
    let error = try_run(spec).await.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

fn file(dir: &Path, name: &str, content: &str, mode: u32) -> String {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_missing_program() {
    check_refused(spec("no-such-program-x"), "PROGRAM_NOT_FOUND", "`no-such-program-x`").await;
    check_refused(spec("/no/such/program"), "PROGRAM_NOT_FOUND", "`/no/such/program`").await;
    check_refused(spec("./no-such-program"), "PROGRAM_NOT_FOUND", "`./no-such-program`").await;
    check_refused(spec("true").env("PATH", "/nowhere"), "PROGRAM_NOT_FOUND", "PATH").await;
    assert_eq!(
        run(spec("true").env_remove("PATH")).await.exit_code,
        Some(0),
        "the usual directories without a PATH"
    );
}

#[tokio::test]
async fn a_name_is_not_looked_up_in_the_working_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/true", dir.path().join("planted")).unwrap();
    for path in ["", ".", ":/nowhere", "./"] {
        let spec = Spec::new(Program::new("planted").unwrap(), dir.path()).env("PATH", path);
        check_refused(spec, "PROGRAM_NOT_FOUND", "`planted`").await;
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_executed() {
    let dir = tempfile::tempdir().unwrap();
    check_refused(
        spec(&file(dir.path(), "plain", "x", 0o644)),
        "PROGRAM_NOT_EXECUTABLE",
        "permission denied",
    )
    .await;
    check_refused(spec("/tmp"), "PROGRAM_NOT_EXECUTABLE", "not a regular file").await;
    let script = file(dir.path(), "script", "#!/no/such/interpreter\n", 0o755);
    check_refused(spec(&script), "PROGRAM_NOT_EXECUTABLE", "interpreter").await;
    let in_path = spec("plain").env("PATH", dir.path());
    check_refused(in_path, "PROGRAM_NOT_EXECUTABLE", "`plain`").await;
}

#[tokio::test]
async fn a_bad_working_directory_is_not_a_missing_program() {
    let dir = tempfile::tempdir().unwrap();
    let file = file(dir.path(), "file", "x", 0o644);
    for cwd in [file.as_str(), "/no/such/dir", ""] {
        for program in ["true", "no-such-program-x"] {
            let spec = Spec::new(Program::new(program).unwrap(), cwd);
            check_refused(spec, "BAD_WORKDIR", &format!("working directory `{cwd}`")).await;
        }
    }
}

#[tokio::test]
async fn arguments_beyond_the_limit_of_the_system() {
    check_refused(spec("true").arg("x".repeat(1_000_000)), "ARGUMENT_LIST_TOO_LONG", "stdin or in a file")
        .await;
    check_refused(spec("true").env("X", "x".repeat(1_000_000)), "ARGUMENT_LIST_TOO_LONG", "`true`").await;
    assert_eq!(run(spec("true").arg("x".repeat(100_000))).await.exit_code, Some(0));
}

#[tokio::test]
async fn what_no_system_call_can_carry() {
    check_refused(spec("true").arg("a\0b"), "NUL_IN_ARGUMENT", "argument 1").await;
    check_refused(Spec::new(Program::new("true").unwrap(), "/\0"), "NUL_IN_ARGUMENT", "working directory")
        .await;
    check_refused(spec("true").env("A=B", "x"), "INVALID_ENVIRONMENT", "`A=B`").await;
    check_refused(spec("true").env("", "x"), "INVALID_ENVIRONMENT", "empty").await;
    check_refused(spec("true").env("A", "x\0"), "INVALID_ENVIRONMENT", "NUL").await;
}
