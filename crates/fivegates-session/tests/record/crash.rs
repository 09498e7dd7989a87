//! The record when the process dies, loses its right to write, or has none.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fivegates_session::{AppendError, OpenOptions, Reader, SessionId, Store, StoreError, Verdict};

use crate::support::{Place, event, note, notes, session};

/// Tells a child, which is this program again, which record to use.
const CHILD: &str = "FIVEGATES_SESSION_TEST_CHILD";

const KILLS: usize = 12;

fn child_path() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// A shell that replaces itself with this test program, running one test as a child.
#[expect(clippy::disallowed_methods, reason = "the test needs a second process of its own to kill")]
fn child(test: &str, preparation: &str, record: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = format!("{preparation}\nexec \"$0\" --exact {test} --nocapture --test-threads 1");
    command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    command.env(CHILD, record).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn random_below(limit: usize) -> usize {
    let id = SessionId::generate().unwrap();
    id.as_str().bytes().skip(20).fold(0, |sum, byte| sum * 31 + usize::from(byte)) % limit
}

/// Appends for ever, in four tasks, and prints each event once it was acknowledged.
fn append_for_ever(record: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = Store::open(record, &OpenOptions::default()).unwrap();
    let shared = store.begin(session("crash")).unwrap();
    // The test harness leaves its own line unfinished.
    println!();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..4 {
            let appender = if task < 2 { shared.clone() } else { store.begin(session("crash")).unwrap() };
            tasks.spawn(async move {
                loop {
                    let data = format!("\"{}\"", SessionId::generate().unwrap());
                    let group = vec![event("one", Some(&data), &data), event("two", Some(&data), &data)];
                    let seqs = if task % 2 == 0 {
                        appender.append_all(group).await.unwrap()
                    } else {
                        vec![appender.append(group[0].clone()).await.unwrap()]
                    };
                    let lines: String =
                        seqs.iter().map(|seq| format!("ack {} {seq} {data}\n", appender.session())).collect();
                    std::io::stdout().lock().write_all(lines.as_bytes()).unwrap();
                }
            });
        }
        tasks.join_next().await.unwrap().unwrap();
    });
}

/// Kills the child after so many acknowledgements; returns all it gave, those still in the pipe too.
fn acknowledged(mut child: Child, count: usize) -> Vec<(SessionId, i64, String)> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acks = Vec::new();
    let mut killed = false;
    // A line that the kill cut in the middle is no acknowledgement.
    while let Some(Ok(line)) = lines.next() {
        if let ["ack", id, seq, data] = line.split(' ').collect::<Vec<_>>()[..]
            && data.len() == 28
        {
            acks.push((id.parse().unwrap(), seq.parse().unwrap(), data.to_owned()));
        }
        if acks.len() >= count && !killed {
            killed = true;
            child.kill().unwrap();
        }
    }
    assert!(killed, "the child ended by itself");
    child.wait().unwrap();
    acks
}

fn all_events(reader: &Reader) -> BTreeMap<(SessionId, i64), (String, String)> {
    let mut found = BTreeMap::new();
    for session in reader.sessions(1000).unwrap() {
        let session = session.unwrap();
        assert_eq!(reader.verify(session.id).unwrap(), Verdict::Intact(session.head));
        let page = reader.events(session.id, None, u32::MAX).unwrap();
        assert_eq!(page.next, None);
        for event in page.events {
            let event = event.unwrap();
            found.insert((session.id, event.seq.get()), (event.event_type, event.data));
        }
    }
    found
}

#[test]
fn every_acknowledged_event_survives_kill_9() {
    if let Some(record) = child_path() {
        return append_for_ever(&record);
    }
    let place = Place::new();
    let mut acks = Vec::new();
    for _ in 0..KILLS {
        let child =
            child("crash::every_acknowledged_event_survives_kill_9", "", &place.path()).spawn().unwrap();
        acks.extend(acknowledged(child, 1 + random_below(300)));
        // Alternately the next to come is a writer or a reader.
        if acks.len() % 2 == 0 {
            drop(place.store());
        }
        let found = all_events(&place.reader());
        for (session, seq, data) in &acks {
            assert_eq!(found.get(&(*session, *seq)).map(|(_, found)| found), Some(data), "{session} {seq}");
        }
        let unpaired = found.iter().filter(|((session, seq), (event_type, data))| {
            event_type == "two" && found.get(&(*session, seq - 1)) != Some(&("one".into(), data.clone()))
        });
        assert_eq!(unpaired.count(), 0, "a group was written in part");
    }
    // A fresh writer goes on where a killed one stopped.
    let store = place.store();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for session in place.reader().sessions(1000).unwrap() {
        let session = session.unwrap();
        let seq = runtime.block_on(store.resume(session.id).append(note(0))).unwrap();
        assert_eq!(seq, session.head.seq.next());
        assert!(matches!(place.reader().verify(session.id).unwrap(), Verdict::Intact(_)));
    }
}

/// Appends until the file-size limit of the process makes writing fail, then some more.
fn append_into_the_limit(record: &Path) {
    let store = Store::open(record, &OpenOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let appender = store.begin(session("limit")).unwrap();
    let large = event("tool/result", None, &format!("\"{}\"", "x".repeat(30_000)));
    let mut written = 0;
    let error = loop {
        match runtime.block_on(appender.append(large.clone())) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the limit does not hold");
    };
    assert!(matches!(error, AppendError::Io { .. }), "{error}");
    for _ in 0..3 {
        let (one, two, flush) = runtime.block_on(async {
            tokio::join!(appender.append(large.clone()), appender.append(note(0)), store.flush())
        });
        assert!(matches!(one, Err(AppendError::Io { .. })), "{one:?}");
        written += i64::from(two.is_ok());
        assert!(matches!(flush, Ok(()) | Err(AppendError::Io { .. })), "{flush:?}");
    }
    println!("\nwritten {written}");
}

#[test]
fn a_write_error_fails_the_append_and_nothing_else() {
    if let Some(record) = child_path() {
        return append_into_the_limit(&record);
    }
    let place = Place::new();
    drop(place.store());
    // Blocks of 512 or 1024 bytes, as the shell has it.
    let limit = "trap '' XFSZ; ulimit -f 512";
    let test = "crash::a_write_error_fails_the_append_and_nothing_else";
    let output = child(test, limit, &place.path()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    let written: i64 =
        stdout.lines().find_map(|line| line.strip_prefix("written ")).unwrap().parse().unwrap();
    assert!(written > 0);
    let reader = place.reader();
    let session = reader.session("").unwrap();
    assert_eq!(session.event_count(), written);
    assert_eq!(reader.verify(session.id).unwrap(), Verdict::Intact(session.head));
}

/// Runs without the powers of root.
fn look_without_rights(folder: &Path) {
    for name in ["hidden.sqlite", "closed/record.sqlite"] {
        let path = folder.join(name);
        for error in [
            Store::open(&path, &OpenOptions::default()).err().unwrap(),
            Store::open_read_only(&path).err().unwrap(),
        ] {
            assert!(matches!(error, StoreError::CannotOpen { .. }), "{name}: {error}");
        }
    }
    let error = Store::open(folder.join("fixed/new/record.sqlite"), &OpenOptions::default()).err().unwrap();
    assert!(matches!(error, StoreError::Folder { .. }), "{error}");
    let error = Store::open(folder.join("fixed/new.sqlite"), &OpenOptions::default()).err().unwrap();
    assert!(matches!(error, StoreError::Create { .. }), "{error}");
    // A record in a folder where nothing can be created is still readable.
    let reader = Store::open_read_only(folder.join("fixed/record.sqlite")).unwrap();
    let session = reader.session("").unwrap();
    assert_eq!(reader.verify(session.id).unwrap(), Verdict::Intact(session.head));
    println!("\nlooked");
}

#[tokio::test]
async fn files_without_permission_are_named_and_read_where_possible() {
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    if let Some(folder) = child_path() {
        return look_without_rights(&folder);
    }
    let place = Place::new();
    let folder = place.folder.path();
    let allow = |name: &str, mode| set_permissions(folder.join(name), Permissions::from_mode(mode)).unwrap();
    create_dir(folder.join("fixed")).unwrap();
    create_dir(folder.join("closed")).unwrap();
    for name in ["hidden.sqlite", "closed/record.sqlite", "fixed/record.sqlite"] {
        let store = Store::open(folder.join(name), &OpenOptions::default()).unwrap();
        notes(&store, 3).await;
        store.close().await.unwrap();
    }
    allow("hidden.sqlite", 0o000);
    allow("closed", 0o000);
    allow("fixed/record.sqlite", 0o444);
    allow("fixed", 0o555);
    allow("", 0o755);
    // The child runs from a copy, since the build folder may be closed to it.
    let program = folder.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    allow("program", 0o755);
    let test = "crash::files_without_permission_are_named_and_read_where_possible";
    let mut command = child(
        test,
        &format!("set -- ; cd / && exec '{}' --exact {test} --nocapture", program.display()),
        folder,
    );
    // Root may read everything, so it becomes somebody else first; without its powers, the child is as we are.
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0);
    if is_root {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    allow("closed", 0o755);
    allow("fixed", 0o755);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("looked"), "{stdout}{stderr}");
}
