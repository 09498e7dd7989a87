//! The fence of Landlock and seccomp, cell by cell. Each attempt that must fail inside is also made without the fence, where it
//! succeeds: otherwise its failure would show nothing.

use std::future::pending;
use std::path::Path;

use crate::common::{bash, embedder, is_embedded, spec, stdout};
use fivegates_process::{
    Backend, Confinement, Dimension, Enforced, Finished, Mode, Network, RunError, Runner, Spec, UnixSockets,
};

async fn run(spec: Spec) -> Result<Finished, RunError> {
    let runner = Runner::with_helper(env!("CARGO_BIN_EXE_fivegates-supervise")).unwrap();
    runner.run(spec, pending()).await
}

/// Whether this kernel can confine at all; a skipped test says so.
#[expect(clippy::print_stdout, reason = "a helper of tests; the lints see only the test functions")]
async fn can_confine() -> bool {
    match run(spec("true").confine(Confinement::read_only())).await {
        Ok(finished) => finished.is_success(),
        Err(error) => {
            println!("skipped: {error}");
            false
        }
    }
}

fn workspace(root: &Path) -> Confinement {
    let none: [&str; 0] = [];
    Confinement::workspace_write([root]).protected_names(none)
}

/// Runs a script with the directories `ROOT` and `OUT`, the latter with a file, and answers whether it succeeded and the
/// outside is unchanged.
async fn attempt(script: &str, policy: impl Fn(&Path) -> Confinement) -> (bool, bool) {
    let (root, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(out.path().join("file"), "kept").unwrap();
    let spec = bash(script).env("ROOT", root.path()).env("OUT", out.path()).confine(policy(root.path()));
    let finished = run(spec).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(out.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    let unchanged = names == ["file"] && std::fs::read(out.path().join("file")).unwrap() == b"kept";
    (finished.is_success(), unchanged)
}

#[tokio::test]
async fn writing_outside_the_root_fails() {
    if !can_confine().await {
        return;
    }
    for script in [
        r#"echo x > "$OUT/new""#,
        r#"echo x > "$OUT/file""#,
        r#"echo x >> "$OUT/file""#,
        r#"truncate -s 0 "$OUT/file""#,
        r#"rm "$OUT/file""#,
        r#"mkdir "$OUT/dir""#,
        r#"mkfifo "$OUT/fifo""#,
        r#"ln -s / "$OUT/link""#,
        r#"ln -s "$OUT/file" "$ROOT/link" && echo x > "$ROOT/link""#,
        r#"ln -s "$OUT" "$ROOT/dir" && echo x > "$ROOT/dir/new""#,
        r#"ln "$OUT/file" "$ROOT/hard" && echo x > "$ROOT/hard""#,
        r#"echo x > "$ROOT/in" && mv "$ROOT/in" "$OUT/in""#,
        r#"mv "$OUT/file" "$ROOT/file""#,
        r#"cd "$ROOT" && mkdir a && cd a && echo x > "../../$(basename "$OUT")/new""#,
        r#"setsid -w bash -c 'echo x > "$OUT/new"'"#,
    ] {
        assert_eq!(attempt(script, workspace).await, (false, true), "confined: {script}");
        let (succeeded, unchanged) = attempt(script, |_| Confinement::danger_full_access()).await;
        assert!(succeeded && !unchanged, "unconfined: {script}");
    }
}

#[tokio::test]
async fn a_device_of_its_own_cannot_be_made() {
    if !can_confine().await {
        return;
    }
    assert_eq!(attempt(r#"mknod "$ROOT/disk" b 1 0"#, workspace).await, (false, true));
    assert_eq!(attempt(r#"mknod "$ROOT/mem" c 1 1"#, workspace).await, (false, true));
}

#[tokio::test]
async fn work_inside_the_root_succeeds() {
    if !can_confine().await {
        return;
    }
    let script = r#"set -e; cd "$ROOT"; mkdir -p a/b; echo x > a/f; echo y >> a/f; mv a/f a/b/g; ln a/b/g h; ln -s h s
        mkfifo p; truncate -s 1 h; chmod 600 h; rm -r a; echo x > /dev/null; cat "$OUT/file" > copy; echo $(cat copy | wc -c)"#;
    assert_eq!(attempt(script, workspace).await, (true, true));
    assert_eq!(attempt(script, |_| Confinement::read_only()).await, (false, true));
    assert_eq!(
        attempt("echo x > /dev/null && cat \"$OUT/file\"", |_| Confinement::read_only()).await,
        (true, true)
    );
}

/// What the part below found, by name: `ok`, or the number of the error.
async fn attempts(policy: Confinement) -> std::collections::BTreeMap<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let _unix = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let spec = embedder("confined::tries_everything")
        .env("SOCKET", &socket)
        .env("TCP", tcp.local_addr().unwrap().to_string())
        .env("HOST", std::process::id().to_string())
        .confine(policy);
    let finished = run(spec).await.unwrap();
    assert_eq!(finished.exit_code, Some(0), "{}", finished.stderr.text().text);
    let lines = stdout(&finished)
        .lines()
        .filter_map(|line| line.split_once("="))
        .map(|(name, result)| (name.rsplit(' ').next().unwrap().to_owned(), result.to_owned()));
    lines.collect()
}

/// The confined part of the tests below.
#[test]
fn tries_everything() {
    if !is_embedded() {
        return;
    }
    let variable = |name: &str| std::env::var(name).unwrap();
    let host = rustix::process::Pid::from_raw(variable("HOST").parse().unwrap()).unwrap();
    let supervisor = rustix::process::getppid().unwrap();
    let show = |name: &str, result: std::io::Result<()>| match result {
        Ok(()) => println!("\n{name}=ok"),
        Err(error) => println!("\n{name}={}", error.raw_os_error().unwrap()),
    };
    show("tcp", std::net::TcpStream::connect(variable("TCP")).map(drop));
    show("tcp-listen", std::net::TcpListener::bind("127.0.0.1:0").map(drop));
    show("udp", std::net::UdpSocket::bind("127.0.0.1:0").map(drop));
    show("unix", std::os::unix::net::UnixStream::connect(variable("SOCKET")).map(drop));
    show("pair", std::os::unix::net::UnixStream::pair().map(drop));
    show("signal-host", rustix::process::test_kill_process(host).map_err(Into::into));
    show("signal-supervisor", rustix::process::test_kill_process(supervisor).map_err(Into::into));
    show("signal-self", rustix::process::test_kill_process(rustix::process::getpid()).map_err(Into::into));
    show("memory-of-host", std::fs::File::open(format!("/proc/{}/mem", host.as_raw_pid())).map(drop));
    show("environment-of-host", std::fs::read(format!("/proc/{}/environ", host.as_raw_pid())).map(drop));
    for (name, call, first) in [
        ("ptrace", libc::SYS_ptrace, i64::from(libc::PTRACE_TRACEME)),
        ("io-uring", libc::SYS_io_uring_setup, 0),
        ("unshare", libc::SYS_unshare, i64::from(libc::CLONE_NEWUTS)),
        ("raw-socket", libc::SYS_socket, i64::from(libc::AF_PACKET)),
        ("bpf", libc::SYS_bpf, 0),
        ("x32", libc::SYS_getpid | 0x4000_0000, 0),
    ] {
        show(name, system_call(call, first));
    }
    let core = rustix::process::getrlimit(rustix::process::Resource::Core);
    println!("\ncore={:?}", core.maximum);
}

#[expect(unsafe_code, reason = "calls for which there is no safe wrapper, to see them refused")]
fn system_call(number: i64, first: i64) -> std::io::Result<()> {
    // SAFETY: the other arguments are zero, so the kernel touches no memory of ours.
    let result = unsafe { libc::syscall(number, first, 0, 0, 0, 0, 0) };
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[tokio::test]
async fn sockets_signals_and_the_kernel_are_out_of_reach() {
    if !can_confine().await {
        return;
    }
    let inside = attempts(Confinement::read_only()).await;
    let outside = attempts(Confinement::danger_full_access()).await;
    let eperm = libc::EPERM.to_string();
    for name in ["tcp", "tcp-listen", "udp", "unix", "signal-host", "signal-supervisor", "ptrace", "unshare"]
    {
        assert_eq!(inside.get(name), Some(&eperm), "{name} inside");
        // Who is not root cannot unshare anyway.
        assert!(outside[name] == "ok" || name == "unshare", "{name} outside: {}", outside[name]);
    }
    for name in ["io-uring", "bpf", "raw-socket"] {
        assert_eq!(inside.get(name), Some(&eperm), "{name} inside");
    }
    assert_eq!(outside["io-uring"], libc::EFAULT.to_string(), "it is there, and looks for its parameters");
    for name in ["memory-of-host", "environment-of-host"] {
        assert_eq!(inside[name], libc::EACCES.to_string(), "{name} inside");
        assert_eq!(outside[name], "ok", "{name} outside");
    }
    assert_eq!(inside["x32"], libc::ENOSYS.to_string());
    assert_eq!((inside["pair"].as_str(), inside["signal-self"].as_str()), ("ok", "ok"));
    assert_eq!(inside["core"], "Some(0)");
}

#[tokio::test]
async fn sockets_that_are_allowed_work_and_no_others() {
    if !can_confine().await {
        return;
    }
    let eperm = libc::EPERM.to_string();
    let network = attempts(Confinement::read_only().network(Network::On)).await;
    assert_eq!([&network["tcp"], &network["tcp-listen"], &network["udp"]], ["ok"; 3]);
    assert_eq!([&network["unix"], &network["raw-socket"]], [&eperm; 2]);
    let unix = attempts(Confinement::read_only().unix_sockets(UnixSockets::On)).await;
    assert_eq!(unix["unix"], "ok");
    assert_eq!([&unix["tcp"], &unix["udp"]], [&eperm; 2]);
}

async fn check_unavailable(confinement: Confinement, detail: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let mode = confinement.mode();
    let error = run(bash(": > \"$MARK\"").env("MARK", &mark).confine(confinement)).await.unwrap_err();
    assert_eq!(error.code(), "SANDBOX_UNAVAILABLE");
    let text = error.to_string();
    let begin = format!(
        "sandbox mode \"{mode}\" is requested but no sandbox backend is usable on this host; refusing to run the command unconfined. "
    );
    assert!(text.starts_with(&begin) && text.contains(detail), "{text}");
    assert!(!mark.exists(), "nothing ran");
}

#[tokio::test]
async fn what_cannot_be_enforced_keeps_the_program_from_running() {
    if !can_confine().await {
        return;
    }
    check_unavailable(Confinement::workspace_write(["/tmp"]), "`protected-names`").await;
    check_unavailable(workspace(Path::new("/tmp")).denied_reads(["/etc/shadow"]), "`denied-reads`").await;
    check_unavailable(workspace(Path::new("relative")), "`relative`").await;
    check_unavailable(workspace(Path::new("/no/such/root")), "open a root").await;
    for dimension in [Dimension::PrivateTmp, Dimension::Processes, Dimension::ProcessCount] {
        check_unavailable(Confinement::read_only().demand(dimension), dimension.name()).await;
    }
}

#[tokio::test]
async fn what_is_accepted_as_partial_runs_and_is_told() {
    if !can_confine().await {
        return;
    }
    let policy = Confinement::workspace_write(["/tmp"]).accept_partial(Dimension::ProtectedNames);
    let finished = run(spec("true").confine(policy)).await.unwrap();
    let enforcement = finished.enforcement.clone().unwrap();
    assert_eq!((enforcement.mode, enforcement.backend), (Mode::WorkspaceWrite, Backend::Landlock));
    assert!(matches!(enforcement.of(Dimension::ProtectedNames), Enforced::No(_)));
    assert_eq!(enforcement.of(Dimension::WriteOutside), Enforced::Yes);
    assert_eq!(enforcement.of(Dimension::DeniedReads), Enforced::NotAsked);
    assert_eq!(enforcement.dimensions.len(), Dimension::ALL.len());
    assert!(finished.is_success());
}

#[tokio::test]
async fn without_a_supervisor_nothing_confined_runs() {
    let runner = Runner::new().unwrap();
    let error = runner.run(spec("true").confine(Confinement::read_only()), pending()).await.unwrap_err();
    assert_eq!(error.code(), "SANDBOX_UNAVAILABLE", "{error}");
    let open = runner.run(spec("true").confine(Confinement::danger_full_access()), pending()).await.unwrap();
    assert_eq!(open.enforcement.unwrap().backend, Backend::Unconfined);
    assert_eq!(runner.run(spec("true"), pending()).await.unwrap().enforcement, None);
}
