//! Files that change place while they are in use, and a disk that takes no more.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use rustix::process::{Resource, getrlimit};

use crate::common::{Session, code_of, content, file, read_of, run_alone, swap};

pub(crate) fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// Swaps two names again and again while `calls` run.
async fn while_swapping(one: &Path, other: &Path, calls: impl Future<Output = ()>) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(calls));
        stop.store(true, Ordering::Relaxed);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_becomes_a_link_leads_nobody_out() {
    let session = Session::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("f"), "secret").unwrap();
    session.put("d/f", "inside");
    let link = session.path("link");
    symlink(outside.path(), &link).unwrap();
    let calls = async {
        for step in 0..300 {
            session.call("read", &file("d/f", &[])).await;
            session.call("write", &content(format!("d/new{step}"), "x")).await;
            session.call("write", &content("d/f", "changed")).await;
            session.call("edit", &swap("d/f", "secret", "changed")).await;
        }
    };
    while_swapping(&session.path("d"), &link, calls).await;
    // Nothing was created or changed outside, not even a staging directory.
    let names: Vec<_> =
        std::fs::read_dir(outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
    assert_eq!(std::fs::read_to_string(outside.path().join("f")).unwrap(), "secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_becomes_a_link_or_a_pipe_is_never_followed_or_waited_for() {
    let session = Session::new();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    session.put("f", "inside");
    let other = session.path("other");
    for round in 0..2 {
        if round == 0 {
            symlink(&secret, &other).unwrap();
        } else {
            make_fifo(&other);
        }
        let calls = async {
            for _ in 0..300 {
                for (tool, arguments) in [
                    ("read", file("f", &[])),
                    ("write", content("f", "inside")),
                    ("edit", swap("f", "inside", "changed")),
                ] {
                    let call = session.call(tool, &arguments);
                    tokio::time::timeout(Duration::from_secs(20), call).await.unwrap();
                }
            }
        };
        let f = session.path("f");
        while_swapping(&f, &other, calls).await;
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
        // Back to a plain file under its own name.
        let _ = std::fs::remove_file(&f);
        let _ = std::fs::remove_file(&other);
        session.put("f", "inside");
    }
    session.no_leftovers();
}

/// Bytes that a file may have in the test below; bash counts in units of 1024.
const FILE_BYTES_MAX: u64 = 8 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_leaves_the_old_content() {
    if getrlimit(Resource::Fsize).current == Some(FILE_BYTES_MAX) {
        return on_a_full_disk().await;
    }
    // A limit on the size of files acts like a disk that takes no more; the signal that comes with it is ignored. This
    // very test is run again under such a limit.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact \"$1\" --nocapture";
    run_alone(script, "hostile::a_full_disk_leaves_the_old_content").await;
}

async fn on_a_full_disk() {
    let session = Session::new();
    session.put("f", "old");
    session.call("read", &file("f", &[])).await;
    let big = "x".repeat(64 << 10);
    for (tool, arguments) in
        [("write", content("f", &big)), ("edit", swap("f", "old", &big)), ("write", content("new", &big))]
    {
        let outcome = session.call(tool, &arguments).await;
        assert_eq!(code_of(&outcome), "FS_IO_ERROR", "{}", read_of(&outcome));
        assert!(read_of(&outcome).ends_with("File too large (os error 27)"), "{}", read_of(&outcome));
    }
    assert_eq!(session.get("f"), "old");
    assert!(!session.path("new").exists());
    session.no_leftovers();
    // What was known of the file is still true.
    assert_eq!(code_of(&session.call("write", &content("f", "new")).await), "ok");
}
