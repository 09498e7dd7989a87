//! What a program gets of us: an allow-listed environment, no terminal, no descriptor, and no life beyond ours.

use std::collections::BTreeMap;
use std::future::pending;

use crate::common::{bash, embedder, eventually, is_embedded, is_live, run, spec, stdout};
use fivegates_process::{EnvPolicy, Runner};

fn variables(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once('=')).collect()
}

#[tokio::test]
async fn secrets_of_the_parent_are_not_inherited() {
    let spec = embedder("isolation::prints_the_environment_of_a_program")
        .env("SECRET_X", "leak")
        .env("DEEPSEEK_API_KEY", "leak")
        .env("FIVEGATES_API_KEY", "leak")
        .env("LC_ALL", "C")
        .env("HOME", "/home/somebody");
    let finished = run(spec).await;
    assert_eq!(finished.exit_code, Some(0), "{}", finished.stderr.text().text);
    assert!(!stdout(&finished).contains("leak"), "{}", stdout(&finished));
    let seen = variables(stdout(&finished));
    assert_eq!((seen.get("LC_ALL"), seen.get("HOME")), (Some(&"C"), Some(&"/home/somebody")));
    assert!(seen.contains_key("PATH"));
}

/// The part of the embedder in secrets_of_the_parent_are_not_inherited.
#[tokio::test]
async fn prints_the_environment_of_a_program() {
    if !is_embedded() {
        return;
    }
    assert_eq!(std::env::var("SECRET_X").as_deref(), Ok("leak"), "the embedder has it");
    assert_eq!(std::env::var("FIVEGATES_API_KEY").as_deref(), Ok("leak"));
    println!("{}", stdout(&run(spec("env")).await));
    let greedy = spec("env").env_policy(EnvPolicy::only(["FIVEGATES_*", "PATH"]));
    println!("{}", stdout(&run(greedy).await));
}

#[tokio::test]
async fn explicit_variables_win() {
    let spec = spec("/usr/bin/env").env_policy(EnvPolicy::default().and(["CARGO_*"]));
    let spec = spec.env("FIVEGATES_SESSION_ID", "7").env("PATH", "/x").env_remove("CARGO_PKG_NAME");
    let finished = run(spec).await;
    let seen = variables(stdout(&finished));
    assert_eq!((seen.get("FIVEGATES_SESSION_ID"), seen.get("PATH")), (Some(&"7"), Some(&"/x")));
    assert!(seen.contains_key("CARGO_MANIFEST_DIR") && !seen.contains_key("CARGO_PKG_NAME"));
}

#[tokio::test]
async fn nothing_at_all_is_inherited_if_so_configured() {
    assert_eq!(stdout(&run(spec("env").env_policy(EnvPolicy::nothing())).await), "");
}

#[tokio::test]
async fn there_is_no_terminal_to_ask_at() {
    let finished = run(bash("exec 3</dev/tty").env("LC_ALL", "C")).await;
    assert_eq!(finished.exit_code, Some(1));
    // ENXIO: there is a device and no terminal behind it.
    assert!(
        finished.stderr.text().text.contains("No such device or address"),
        "{}",
        finished.stderr.text().text
    );
}

#[tokio::test]
async fn it_leads_its_own_session_and_group() {
    let finished =
        run(bash("read -r pid name state ppid pgrp session rest </proc/self/stat; echo $$ $pgrp $session"))
            .await;
    let ids: Vec<u32> = stdout(&finished).split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn no_descriptor_of_ours_is_inherited() {
    let file = tempfile::NamedTempFile::new().unwrap();
    // A careless library: a descriptor without close-on-exec.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let finished = run(bash("for fd in /proc/$$/fd/*; do readlink $fd; done")).await;
    assert!(stdout(&finished).starts_with("/dev/null\npipe:["), "{}", stdout(&finished));
    assert!(!stdout(&finished).contains(file.path().to_str().unwrap()), "{}", stdout(&finished));
}

#[tokio::test]
async fn a_program_dies_with_the_process_that_started_it() {
    let finished = run(embedder("isolation::is_killed_while_a_program_runs")).await;
    assert_eq!(finished.signal.map(|signal| signal.number()), Some(9));
    let line = stdout(&finished).lines().find_map(|line| line.split_once("pid=")).unwrap();
    let pid = line.1.trim().parse().unwrap();
    eventually("the program of the killed embedder has ended", || !is_live(pid)).await;
}

/// The part of the embedder in a_program_dies_with_the_process_that_started_it.
#[tokio::test]
async fn is_killed_while_a_program_runs() {
    if !is_embedded() {
        return;
    }
    let script = bash("trap '' TERM HUP; echo $$; exec sleep 1000 >/dev/null 2>&1");
    let observe = |_, chunk: &[u8]| {
        println!("pid={}", str::from_utf8(chunk).unwrap());
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    };
    Runner::new().unwrap().run_observed(script, pending(), observe).await.unwrap();
}
