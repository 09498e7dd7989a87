//! `bash` on real programs.

use std::time::{Duration, Instant};

use fivegates_core::cancel::CancelReason;
use fivegates_core::json::Json;

use crate::common::{Session, code_of, command, is_alone, quoted, read_of, value_of};

/// Command, and what the model reads.
const COMMANDS: &[(&str, &str)] = &[
    ("echo hi", "hi"),
    ("printf hi", "hi"),
    ("true", "(no output)"),
    ("echo out; echo err >&2", "out\n[stderr]\nerr"),
    ("echo err >&2; exit 3", "[stderr]\nerr\n[exit code: 3]"),
    ("exit 255", "(no output)\n[exit code: 255]"),
    ("kill -9 $$", "(no output)\n[killed by signal: SIGKILL]"),
    ("printf '\\n\\n'", "\n"),
    ("-x", "[stderr]\nbash: line 1: -x: command not found\n[exit code: 127]"),
    ("cat", "(no output)"),
    ("pwd", "$W"),
    ("shopt -q login_shell || echo plain", "plain"),
    ("echo $NO_COLOR $TERM $PAGER $GIT_PAGER $FIVEGATES_SHELL $FIVEGATES_SESSION_ID", "1 dumb cat cat 1 s-7"),
    ("(echo x > /dev/tty) 2>/dev/null || echo no terminal", "no terminal"),
    ("printf 'caf\\xc3'", "caf\u{fffd}"),
    ("printf 'a\\0b'", "a\0b"),
];

#[tokio::test]
async fn the_model_reads_output_then_the_end() {
    let session = Session::with(|config| config.session_id = Some("s-7".into()));
    for (text, expected) in COMMANDS {
        session.check("bash", &command(text), "ok", expected).await;
    }
}

/// Members beside a good command and description, the code and the text.
const REFUSED: &[(&str, &str, &str)] = &[
    (r#""command":"""#, "INVALID_ARGS", "Error: invalid command: expected a non-empty string"),
    (r#""command":" \n""#, "INVALID_ARGS", "Error: invalid command: expected a non-empty string"),
    (r#""command":"a\u0000b""#, "INVALID_ARGS", "Error: invalid command: expected no NUL character"),
    (r#""description":" ""#, "INVALID_ARGS", "Error: invalid description: expected a non-empty string"),
    (r#""timeoutMs":0"#, "INVALID_ARGS", "Error: invalid timeoutMs: expected a positive number, got 0"),
    (r#""timeoutMs":-1.5"#, "INVALID_ARGS", "Error: invalid timeoutMs: expected a positive number, got -1.5"),
    (
        r#""timeoutMs":-9007199254740993"#,
        "INVALID_ARGS",
        "Error: invalid timeoutMs: expected a positive number, got -9007199254740993",
    ),
    (r#""timeoutMs":"5""#, "INVALID_ARGS", "Error: invalid arguments: \"timeoutMs\" must be a number"),
    (r#""timeoutMs":null"#, "INVALID_ARGS", "Error: invalid arguments: \"timeoutMs\" must be a number"),
    (r#""workdir":"""#, "INVALID_ARGS", "Error: invalid workdir: expected a non-empty string"),
    (
        r#""workdir":"nope""#,
        "BAD_WORKDIR",
        "Error: working directory `$W/nope` cannot be used: No such file or directory (os error 2); name an existing directory",
    ),
];

#[tokio::test]
async fn bad_values_are_named_and_nothing_runs() {
    let session = Session::new();
    for (member, code, text) in REFUSED {
        let name = member.split(':').next().unwrap();
        let mut members = vec![(*member).to_owned()];
        for (known, value) in [("\"command\"", "\"touch ran\""), ("\"description\"", "\"d\"")] {
            if name != known {
                members.push(format!("{known}:{value}"));
            }
        }
        let arguments = format!("{{{}}}", members.join(","));
        session.check("bash", &arguments, code, text).await;
    }
    assert!(!session.path("ran").exists());
}

#[tokio::test]
async fn workdir_is_taken_from_the_workspace() {
    let session = Session::new();
    session.put("sub/deep/x", "");
    for (workdir, expected) in [("sub", "$W/sub"), ("./sub/deep/", "$W/sub/deep"), ("/", "/")] {
        let arguments = format!(r#"{{"command":"pwd","description":"d","workdir":"{workdir}"}}"#);
        session.check("bash", &arguments, "ok", expected).await;
    }
}

#[tokio::test]
async fn commands_see_only_what_is_allowed_of_our_environment() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "cargo gives its tests a variable to hide");
    let session = Session::with(|config| {
        config.bash.env.insert("GIVEN".into(), "yes".into());
        config.bash.env.insert("TERM".into(), "xterm".into());
    });
    let outcome = session.call("bash", &command("env")).await;
    let allowed = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "TZ",
        "TMPDIR", // inherited
        "NO_COLOR",
        "TERM",
        "PAGER",
        "GIT_PAGER",
        "FIVEGATES_SHELL",
        "GIVEN", // given
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_", // the shell's own
    ];
    let text = read_of(&outcome);
    for line in text.lines() {
        let name = line.split('=').next().unwrap();
        assert!(allowed.contains(&name) || name.starts_with("LC_"), "{line}");
    }
    assert!(text.contains("GIVEN=yes") && text.contains("TERM=dumb") && !text.contains("SESSION_ID"));
}

fn timed(text: &str, timeout_ms: &str) -> String {
    format!(r#"{{"command":{},"description":"d","timeoutMs":{timeout_ms}}}"#, quoted(text))
}

#[tokio::test]
async fn a_deadline_is_said_whatever_the_command_does_about_it() {
    let session = Session::with(|config| {
        config.bash.grace_ms = 150;
        config.bash.timeout_ms = 1200;
        config.bash.timeout_ms_max = 1200;
    });
    let cases = [
        ("sleep 60", "50", "(no output)\n[timed out after 50ms]\n[killed by signal: SIGTERM]"),
        ("echo a; sleep 60", "799.2", "a\n[timed out after 800ms]\n[killed by signal: SIGTERM]"),
        // Asked for too much: the configured most is taken.
        ("sleep 60", "1e300", "(no output)\n[timed out after 1200ms]\n[killed by signal: SIGTERM]"),
        ("trap 'exit 0' TERM; sleep 60 & wait", "800", "(no output)\n[timed out after 800ms]"),
        (
            "trap '' TERM; sleep 60 & wait",
            "800",
            "(no output)\n[timed out after 800ms]\n[killed by signal: SIGKILL]",
        ),
    ];
    for (text, timeout_ms, expected) in cases {
        session.check("bash", &timed(text, timeout_ms), "ok", expected).await;
    }
}

#[tokio::test]
async fn a_grandchild_that_traps_term_is_killed() {
    let session = Session::with(|config| config.bash.grace_ms = 100);
    let text = "bash -c 'trap \"\" TERM; echo $BASHPID > grandchild; while :; do sleep 1; done' & wait";
    let outcome = session.call("bash", &timed(text, "1500")).await;
    let value = value_of(&outcome);
    assert_eq!(value.get("killed").and_then(Json::as_bool), Some(true));
    assert_eq!(value.get("certainty").and_then(Json::as_str), Some("group-gone"));
    let pid = session.get("grandchild");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[tokio::test]
async fn a_process_that_keeps_the_output_open_does_not_pin_the_call() {
    let session = Session::new();
    let started = Instant::now();
    let outcome = session.call("bash", &command("setsid sleep 20 & echo $! > holder; echo hi")).await;
    assert!(started.elapsed() < Duration::from_secs(3));
    session.compare(&outcome, "ok", "hi");
    let value = value_of(&outcome);
    assert_eq!(value.get("certainty").and_then(Json::as_str), Some("survivors-possible"));
    // The survivor is this test's own.
    let pid = session.get("holder").trim().to_owned();
    session.call("bash", &command(&format!("kill -9 {pid}"))).await;
}

#[tokio::test]
async fn endless_output_neither_fills_memory_nor_delays_the_deadline() {
    if !is_alone("bash::endless_output_neither_fills_memory_nor_delays_the_deadline").await {
        return;
    }
    let session = Session::new();
    let before = crate::limits::peak_bytes();
    let started = Instant::now();
    let outcome = session.call("bash", &timed("yes", "1000")).await;
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(4), "{took:?}");
    assert!(crate::limits::peak_bytes() - before < 50 << 20);
    let text = read_of(&outcome);
    let tail = "\n[output truncated; full output: (unavailable)]\n[timed out after 1000ms]\n[killed by signal: SIGTERM]";
    assert!(text.ends_with(tail) && text.len() <= 64_000 + tail.len());
    let omitted = value_of(&outcome).get("stdout").unwrap().get("omittedBytes").unwrap();
    assert!(omitted.as_number().unwrap().as_u64().unwrap() > 1 << 20);
}

#[tokio::test]
async fn output_is_cut_between_characters() {
    for output_bytes_max in 1..=64 {
        let session = Session::with(|config| config.bash.output_bytes_max = output_bytes_max);
        let text = format!("printf '{}'", "é".repeat(32));
        let outcome = session.call("bash", &command(&text)).await;
        let kept = output_bytes_max / 2;
        let mut expected: Vec<String> = Vec::new();
        expected.extend((kept > 0).then(|| "é".repeat(kept)));
        // Exactly as much as is kept is not cut.
        let cut = "[output truncated; full output: (unavailable)]".to_owned();
        expected.extend((output_bytes_max < 64).then_some(cut));
        session.compare(&outcome, "ok", &expected.join("\n"));
        let stdout = value_of(&outcome).get("stdout").unwrap();
        let number = |name: &str| stdout.get(name).unwrap().as_number().unwrap().as_u64().unwrap();
        assert_eq!((number("totalBytes"), number("omittedBytes")), (64, 64 - 2 * kept as u64));
        assert_eq!(stdout.get("invalidUtf8").and_then(Json::as_bool), Some(false));
    }
}

#[tokio::test]
async fn what_is_not_utf8_is_flagged() {
    let session = Session::new();
    let outcome = session.call("bash", &command("head -c 4000 /dev/urandom")).await;
    assert_eq!(code_of(&outcome), "ok");
    let stdout = value_of(&outcome).get("stdout").unwrap();
    assert_eq!(stdout.get("invalidUtf8").and_then(Json::as_bool), Some(true));
}

#[tokio::test]
async fn cancelling_stops_the_command_and_fails_the_call() {
    let session = Session::new();
    let fifo = session.path("started");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let arguments = command("echo $$ > started; sleep 60; touch ran");
    let call = session.call("bash", &arguments);
    let stop = async {
        let pid = tokio::task::spawn_blocking(move || std::fs::read_to_string(fifo).unwrap()).await.unwrap();
        session.source.fire(CancelReason::User);
        pid
    };
    let (outcome, pid) = tokio::join!(call, stop);
    session.compare(&outcome, "ABORTED", "Error: tool call aborted");
    assert_eq!(outcome.failure().unwrap().error().name(), Some("AbortError"));
    assert!(!session.path("ran").exists());
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
}

#[tokio::test]
async fn a_shell_that_cannot_be_started_is_an_error() {
    let session = Session::with(|config| config.bash.shell = "/nonexistent/bash".into());
    let text = "Error: program `/nonexistent/bash` was not found; check its name and the PATH it is run with";
    session.check("bash", &command("true"), "PROGRAM_NOT_FOUND", text).await;
    let session = Session::new();
    let outcome = session.call("bash", &command(&format!("true {}", "x".repeat(200 << 10)))).await;
    assert_eq!(code_of(&outcome), "ARGUMENT_LIST_TOO_LONG");
    assert!(read_of(&outcome).len() < 300);
}

#[tokio::test]
async fn a_result_card_gets_the_facts() {
    let session = Session::new();
    let outcome = session.call("bash", &command("exit 3")).await;
    let meta = outcome.meta().unwrap();
    assert_eq!(meta.get("kind").and_then(Json::as_str), Some("terminal"));
    assert_eq!(meta.get("exitCode").unwrap().as_number().unwrap().as_i64(), Some(3));
    assert_eq!(meta.get("signal"), None);
}
