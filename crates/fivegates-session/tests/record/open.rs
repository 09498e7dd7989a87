use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use fivegates_session::{OpenOptions, Store, StoreError, Verdict};
use rusqlite::Connection;

use crate::support::{Place, note, notes, session};

/// Opens a file both ways, expects the same error, and that neither it nor anything beside it changed.
fn check_refused(path: &Path, expected: &str) {
    let folder = path.parent().unwrap();
    let before = contents(folder);
    for error in [open_error(path), Store::open_read_only(path).err().unwrap()] {
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(text.contains(&format!("`{}", path.display())), "{text}");
    }
    let names =
        |entries: &[(OsString, _)]| -> Vec<_> { entries.iter().map(|(name, _)| name.clone()).collect() };
    let after = contents(folder);
    assert_eq!(names(&after), names(&before));
    assert!(after == before, "a file was changed");
}

fn open_error(path: &Path) -> StoreError {
    Store::open(path, &OpenOptions::default()).err().unwrap()
}

/// Names, sizes and bytes of everything in a folder.
fn contents(folder: &Path) -> Vec<(OsString, Option<Vec<u8>>)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut entries: Vec<_> = entries.map(|entry| (entry.file_name(), fs::read(entry.path()).ok())).collect();
    entries.sort();
    entries
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_new_record_is_private() {
    let place = Place::new();
    let store = place.store();
    notes(&store, 1).await;
    let file = place.path();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(&file.with_extension("sqlite-wal")), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    assert_eq!(mode(file.parent().unwrap().parent().unwrap()), 0o700);
    drop(store);
    assert_eq!(contents(file.parent().unwrap()).len(), 1, "nothing is left beside the file");
}

#[test]
fn stores_that_start_together_share_one_record() {
    let place = Place::new();
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                let store = place.store();
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(notes(&store, 5));
            });
        }
    });
    // No draft is left, and the last to leave folded the WAL into the file.
    assert_eq!(contents(place.path().parent().unwrap()).len(), 1);
    let sessions = place.reader().sessions(100).unwrap();
    assert_eq!(sessions.len(), 8);
    assert!(sessions.into_iter().all(|session| session.unwrap().event_count() == 5));
}

#[tokio::test]
async fn unusual_names_are_only_names() {
    let place = Place::new();
    for name in ["file:x?mode=memory#%41", ":memory:", "ü \u{1}.sqlite", "-wal"] {
        let path = place.folder.path().join(name);
        let store = Store::open(&path, &OpenOptions::default()).unwrap();
        let appender = notes(&store, 2).await;
        let reader = Store::open_read_only(&path).unwrap();
        assert!(matches!(reader.verify(appender.session()).unwrap(), Verdict::Intact(_)), "{name}");
        drop((store, reader));
        assert!(path.is_file(), "{name}");
    }
}

#[test]
fn what_is_not_a_record_is_refused_and_left_alone() {
    let place = Place::new();
    let at = |name: &str| {
        let folder = place.folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder.join("record.sqlite")
    };
    let path = at("folder");
    fs::create_dir(&path).unwrap();
    check_refused(&path, "is a folder, not a file: name another file");

    let path = at("empty");
    fs::write(&path, "").unwrap();
    check_refused(&path, "is an empty file");

    for (name, content) in [("text", "hello\n".repeat(1000)), ("short", "x".into())] {
        let path = at(name);
        fs::write(&path, content).unwrap();
        check_refused(&path, "is not a record (it is not an SQLite file): name another file");
    }

    let path = at("foreign");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x); PRAGMA application_id = 7")
        .unwrap();
    check_refused(&path, "an SQLite file of another program, application id 0x00000007");

    let path = at("foreign-wal");
    let owner = Connection::open(&path).unwrap();
    owner.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (x)").unwrap();
    check_refused(&path, "an SQLite file of another program, application id 0x00000000");

    let path = at("loop");
    symlink(&path, &path).unwrap();
    check_refused(&path, "check the permissions");

    let path = at("below").join("record.sqlite");
    fs::write(path.parent().unwrap(), "a file where a folder should be").unwrap();
    assert!(matches!(open_error(&path), StoreError::CannotOpen { .. }));
}

#[test]
fn other_versions_are_refused_in_both_directions() {
    let place = Place::new();
    drop(place.store());
    place.tamper("PRAGMA user_version = 2");
    check_refused(&place.path(), "made by a newer fivegates (its schema is 2, this one knows 1)");
    place.tamper("PRAGMA user_version = 0");
    check_refused(&place.path(), "made by an older fivegates (its schema is 0, this one knows 1)");
}

#[test]
fn altered_tables_are_refused() {
    for (sql, expected) in [
        ("DROP TABLE barrier", "`barrier` is missing"),
        ("ALTER TABLE event ADD COLUMN extra TEXT", "`event` is not as this version makes it"),
        (
            "DROP INDEX event_by_call; CREATE TABLE event_by_call (x)",
            "`event_by_call` is not as this version makes it",
        ),
        ("CREATE TABLE \"more\ntables\" (x)", "it holds a table 'more\\ntables'"),
        (
            "CREATE TRIGGER forget AFTER INSERT ON event BEGIN DELETE FROM event; END",
            "it holds a trigger 'forget'",
        ),
    ] {
        let place = Place::new();
        drop(place.store());
        place.tamper(sql);
        let text = open_error(&place.path()).to_string();
        assert!(
            text.contains("was changed by another program") && text.contains(&expected.replace('\'', "\\'")),
            "{text}"
        );
        assert!(matches!(Store::open_read_only(place.path()), Err(StoreError::Altered { .. })));
    }
}

#[test]
fn a_garbled_file_is_refused() {
    let place = Place::new();
    drop(place.store());
    let whole = fs::read(place.path()).unwrap();
    let mut garbled = whole.clone();
    garbled[100..].fill(0x55);
    // Cut in the first page, too, nothing but the header can be told.
    for content in [&garbled[..], &whole[..1000], &whole[..whole.len() / 2]] {
        fs::write(place.path(), content).unwrap();
        for error in [open_error(&place.path()), Store::open_read_only(place.path()).err().unwrap()] {
            assert!(matches!(error, StoreError::Damaged { .. } | StoreError::NotSqlite { .. }), "{error}");
        }
        assert!(fs::read(place.path()).unwrap() == content, "the file was changed");
    }
}

#[tokio::test]
async fn a_file_that_a_killed_checkpoint_left_short_is_whole_with_its_wal() {
    let place = Place::new();
    let store = place.store();
    let appender = notes(&store, 500).await;
    // What is on the disk at this moment, and then the main file as if only its first page had been copied back.
    let wal = fs::read(place.path().with_extension("sqlite-wal")).unwrap();
    let main = fs::read(place.path()).unwrap();
    store.close().await.unwrap();
    let checkpointed = fs::read(place.path()).unwrap();
    assert!(checkpointed.len() > main.len());
    fs::write(place.path(), [&checkpointed[..4096], &main[4096..]].concat()).unwrap();
    fs::write(place.path().with_extension("sqlite-wal"), wal).unwrap();
    assert!(matches!(place.reader().verify(appender.session()).unwrap(), Verdict::Intact(_)));
    let store = place.store();
    assert_eq!(store.resume(appender.session()).append(note(0)).await.unwrap().get(), 500);
}

#[tokio::test]
async fn a_cut_wal_loses_only_its_end() {
    let place = Place::new();
    let store = place.store();
    let session = notes(&store, 30).await.session();
    let wal_path = place.path().with_extension("sqlite-wal");
    let (main, wal) = (fs::read(place.path()).unwrap(), fs::read(&wal_path).unwrap());
    store.close().await.unwrap();
    let mut counts = Vec::new();
    for cut in (0..wal.len()).step_by(1999).chain([wal.len()]) {
        fs::write(place.path(), &main).unwrap();
        fs::write(&wal_path, &wal[..cut]).unwrap();
        let store = place.store();
        let reader = place.reader();
        counts.push(match reader.session(session.as_str()) {
            Ok(found) => {
                assert_eq!(reader.verify(session).unwrap(), Verdict::Intact(found.head));
                let next = store.resume(session).append(note(0)).await.unwrap();
                assert_eq!(next, found.head.seq.next());
                found.event_count()
            }
            Err(_) => 0,
        });
    }
    assert!(counts.is_sorted() && counts[0] == 0 && counts.contains(&15), "{counts:?}");
    assert_eq!(counts.last(), Some(&30));
}

#[tokio::test]
async fn a_record_whose_main_file_is_gone_is_not_begun_anew() {
    let place = Place::new();
    let store = place.store();
    notes(&store, 1).await;
    fs::rename(place.path(), place.folder.path().join("away")).unwrap();
    let error = open_error(&place.path());
    assert!(matches!(error, StoreError::HalfMissing { .. }), "{error}");
    assert!(matches!(Store::open_read_only(place.path()), Err(StoreError::Missing { .. })));
    assert!(!place.path().exists());
}

#[test]
fn a_missing_record_is_not_made_by_a_reader() {
    let place = Place::new();
    let error = Store::open_read_only(place.path()).err().unwrap();
    assert!(matches!(error, StoreError::Missing { .. }));
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_read_only_file_is_read_but_not_written() {
    let place = Place::new();
    let appender = notes(&place.store(), 2).await;
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o400)).unwrap();
    let before = fs::read(place.path()).unwrap();
    assert!(matches!(open_error(&place.path()), StoreError::ReadOnly { .. }));
    assert!(matches!(place.reader().verify(appender.session()).unwrap(), Verdict::Intact(_)));
    assert_eq!(fs::read(place.path()).unwrap(), before);
}

#[tokio::test]
async fn a_reader_follows_a_writer_and_works_without_a_wal() {
    let place = Place::new();
    let store = place.store();
    let appender = store.begin(session("run")).unwrap();
    appender.append(note(0)).await.unwrap();
    let reader = place.reader();
    for number in 1..30 {
        appender.append(note(number)).await.unwrap();
        let count = reader.session(appender.session().as_str()).unwrap().event_count();
        assert_eq!(count, i64::try_from(number).unwrap() + 1);
    }
    store.close().await.unwrap();
    assert_eq!(reader.session("").unwrap().event_count(), 30);
    drop(reader);

    drop(place.store());
    let wal = place.path().with_extension("sqlite-wal");
    assert!(!wal.exists());
    let before = fs::read(place.path()).unwrap();
    assert!(matches!(place.reader().verify(appender.session()).unwrap(), Verdict::Intact(_)));
    assert_eq!(fs::read(place.path()).unwrap(), before);
}

#[tokio::test]
async fn a_flush_leaves_the_chosen_sync_as_it_was() {
    let place = Place::new();
    let store = place.store();
    let appender = notes(&store, 3).await;
    let flushes = || -> i64 {
        let other = Connection::open(place.path()).unwrap();
        other.query_row("SELECT flushes FROM barrier", [], |row| row.get(0)).unwrap()
    };
    store.flush().await.unwrap();
    assert_eq!(flushes(), 1);
    appender.append(note(3)).await.unwrap();
    appender.flush().await.unwrap();
    assert_eq!(flushes(), 2);
}
