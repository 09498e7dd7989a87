use fivegates_session::{AppendError, OpenOptions, ReadError, Seq, SessionId, Store, Sync, Verdict};
use rusqlite::Connection;

use crate::support::{Place, event, note, notes, session};

fn numbers(seqs: &[Seq]) -> Vec<i64> {
    seqs.iter().map(|seq| seq.get()).collect()
}

#[tokio::test]
async fn a_session_enters_the_record_with_its_first_event() {
    let place = Place::new();
    let store = place.store();
    let header = session("exec");
    let appender = store.begin(header.clone()).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.sessions(10).unwrap(), []);
    assert!(appender.append_all(Vec::new()).await.unwrap().is_empty());
    assert_eq!(reader.sessions(10).unwrap(), []);

    assert_eq!(appender.append(note(0)).await, Ok(Seq::FIRST));
    assert_eq!(numbers(&appender.append_all(vec![note(1), note(2)]).await.unwrap()), [1, 2]);
    let found = reader.session(header.id.as_str()).unwrap();
    assert_eq!(found.event_count(), 3);
    assert_eq!(
        (found.id, found.kind, found.cwd, found.meta),
        (header.id, header.kind, header.cwd, header.meta)
    );
    assert_eq!(reader.verify(header.id).unwrap(), Verdict::Intact(found.head));
}

#[tokio::test]
async fn an_acknowledged_event_is_seen_by_others_at_once() {
    let place = Place::new();
    let store = place.store();
    let appender = store.begin(session("run")).unwrap();
    let elsewhere = place.path();
    for number in 0..20 {
        let seq = appender.append(note(number)).await.unwrap();
        let count: i64 = Connection::open(&elsewhere)
            .unwrap()
            .query_row("SELECT count(*) FROM event", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, seq.get() + 1);
    }
}

#[tokio::test]
async fn what_cannot_be_recorded_is_refused_before_it_is_queued() {
    let place = Place::new();
    let options = OpenOptions { event_bytes_max: 1000, ..OpenOptions::default() };
    let store = Store::open(place.path(), &options).unwrap();
    let appender = store.begin(session("run")).unwrap();
    for data in ["", "{", "{}{}", "nul", "NaN", "\"\u{0}\"", "{} x"] {
        let error = appender.append(event("tool/call", None, data)).await.unwrap_err();
        assert!(matches!(error, AppendError::NotJson { .. }), "{data}: {error}");
    }
    assert_eq!(appender.append(event("", None, "{}")).await, Err(AppendError::NoType));
    let large = format!("\"{}\"", "x".repeat(1000));
    let error = appender.append_all(vec![note(0), event("tool/result", None, &large)]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a `tool/result` of 1013 bytes is too large for the record: shorten it to 1000 bytes"
    );
    let mut header = session("run");
    header.meta = "meta".into();
    assert!(matches!(store.begin(header), Err(AppendError::NotJson { .. })));
    assert_eq!(store.reader().unwrap().sessions(1).unwrap(), []);
    assert_eq!(appender.append(note(0)).await, Ok(Seq::FIRST));
}

#[tokio::test]
async fn payloads_and_call_ids_are_kept_byte_for_byte() {
    let place = Place::new();
    let store = place.store();
    let appender = store.begin(session("run")).unwrap();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let cases = [
        (Some(""), "{\"a\":1,\"a\":2}"),
        (Some("nul\0inside"), " 1E400 "),
        (Some("'; DROP TABLE event; --"), "12345678901234567890123.0"),
        (Some("🦀\u{202e}\u{1b}[31m"), r#""\ud83e\udd80 🦀""#),
        (None, "null"),
        (Some("deep"), deep.as_str()),
    ];
    for (call_id, data) in cases {
        appender.append(event("tool/call", call_id, data)).await.unwrap();
    }
    let reader = store.reader().unwrap();
    let page = reader.events(appender.session(), None, 100).unwrap();
    let found: Vec<_> = page.events.iter().map(|event| event.as_ref().unwrap()).collect();
    let found: Vec<_> = found.iter().map(|event| (event.call_id.as_deref(), event.data.as_str())).collect();
    assert_eq!(found, cases);
    assert!(matches!(reader.verify(appender.session()).unwrap(), Verdict::Intact(_)));
    for (call_id, data) in cases.into_iter().filter_map(|(call_id, data)| Some((call_id?, data))) {
        let page = reader.call_events(appender.session(), call_id, None, 10).unwrap();
        assert_eq!(page.events.len(), 1, "{call_id}");
        assert_eq!(page.events[0].as_ref().unwrap().data, data);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_appends_to_one_session_are_numbered_without_gaps() {
    let place = Place::new();
    let store = place.store();
    let appender = store.begin(session("run")).unwrap();
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let appender = appender.clone();
            tokio::spawn(async move {
                let mut seqs = Vec::new();
                for round in 0..25 {
                    seqs.push(appender.append(note(task * 100 + round)).await.unwrap().get());
                }
                assert!(seqs.is_sorted());
                seqs
            })
        })
        .collect();
    let mut seqs = Vec::new();
    for task in tasks {
        seqs.extend(task.await.unwrap());
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (0..400).collect::<Vec<_>>());
    assert!(matches!(store.reader().unwrap().verify(appender.session()).unwrap(), Verdict::Intact(_)));
}

#[tokio::test]
async fn several_stores_append_to_one_file_and_to_one_session() {
    let place = Place::new();
    let (one, two) = (place.store(), place.store());
    let shared = one.begin(session("hook")).unwrap();
    shared.append(note(0)).await.unwrap();
    let same = two.resume(shared.session());
    let own = two.begin(session("run")).unwrap();
    for number in 0..20_usize {
        let (a, b, c) =
            tokio::join!(shared.append(note(number)), same.append(note(number)), own.append(note(number)));
        assert_eq!(a.unwrap().get() + b.unwrap().get(), 4 * i64::try_from(number).unwrap() + 3);
        assert_eq!(c.unwrap().get(), i64::try_from(number).unwrap());
    }
    drop(one);
    assert_eq!(same.append(note(0)).await.unwrap().get(), 41);
    let reader = place.reader();
    for session in [shared.session(), own.session()] {
        assert!(matches!(reader.verify(session).unwrap(), Verdict::Intact(_)));
    }
}

#[tokio::test]
async fn sessions_are_not_mixed_up() {
    let place = Place::new();
    let store = place.store();
    let nobody = SessionId::generate().unwrap();
    let error = store.resume(nobody).append(note(0)).await.unwrap_err();
    assert_eq!(error, AppendError::UnknownSession { session: nobody });
    assert!(matches!(store.reader().unwrap().verify(nobody), Err(ReadError::UnknownSession { .. })));

    let header = session("run");
    store.begin(header.clone()).unwrap().append(note(0)).await.unwrap();
    let mut other = header.clone();
    other.kind = "exec".into();
    let error = store.begin(other).unwrap().append(note(1)).await.unwrap_err();
    assert_eq!(error, AppendError::SessionTaken { session: header.id });
    // The same header again is the same session.
    assert_eq!(store.begin(header).unwrap().append(note(1)).await.unwrap().get(), 1);
}

#[tokio::test]
async fn a_full_file_refuses_visibly_and_keeps_the_chain() {
    let place = Place::new();
    let options = OpenOptions { file_bytes_max: Some(256 << 10), ..OpenOptions::default() };
    let store = Store::open(place.path(), &options).unwrap();
    let appender = store.begin(session("run")).unwrap();
    let big = event("tool/result", None, &format!("\"{}\"", "x".repeat(20_000)));
    let mut written = 0;
    let error = loop {
        match appender.append_all(vec![note(written), big.clone()]).await {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 100, "the limit does not hold");
    };
    assert!(matches!(error, AppendError::Full { .. }), "{error}");
    // In one batch with others, only the one that has no room fails.
    let (small, large, flush) =
        tokio::join!(appender.append(note(0)), appender.append(big), appender.flush());
    assert_eq!(small.unwrap().get(), 2 * i64::try_from(written).unwrap());
    assert!(matches!(large, Err(AppendError::Full { .. })));
    flush.unwrap();
    assert!(matches!(place.reader().verify(appender.session()).unwrap(), Verdict::Intact(_)));
}

#[tokio::test]
async fn a_locked_file_fails_the_append_in_time_and_works_again_later() {
    let place = Place::new();
    let options = OpenOptions { busy_timeout_ms: 20, ..OpenOptions::default() };
    let store = Store::open(place.path(), &options).unwrap();
    let appender = notes(&store, 1).await;
    let other = Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (one, two, flush) = tokio::join!(appender.append(note(1)), appender.append(note(2)), store.flush());
    for result in [one.map(|_| ()), two.map(|_| ()), flush] {
        assert!(matches!(result, Err(AppendError::Busy { .. })), "{result:?}");
    }
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(appender.append(note(1)).await.unwrap().get(), 1);
}

#[tokio::test]
async fn a_removed_or_replaced_file_is_noticed() {
    let place = Place::new();
    let store = place.store();
    let appender = notes(&store, 1).await;
    std::fs::rename(place.path(), place.path().with_extension("moved")).unwrap();
    assert!(matches!(appender.append(note(1)).await, Err(AppendError::Moved { .. })));
    std::fs::write(place.path(), "another").unwrap();
    assert!(matches!(appender.append(note(1)).await, Err(AppendError::Moved { .. })));
    std::fs::rename(place.path().with_extension("moved"), place.path()).unwrap();
    assert_eq!(appender.append(note(1)).await.unwrap().get(), 1);
}

#[tokio::test]
async fn a_damaged_session_refuses_appends_and_leaves_the_others_alone() {
    let place = Place::new();
    let store = place.store();
    let (cut, behind, fine) = (notes(&store, 3).await, notes(&store, 3).await, notes(&store, 3).await);
    place.tamper(&format!("UPDATE session SET head_hash = x'00' WHERE id = '{}'", cut.session()));
    place.tamper(&format!("UPDATE session SET head_seq = 0 WHERE id = '{}'", behind.session()));
    let (one, two, three) = tokio::join!(cut.append(note(3)), behind.append(note(3)), fine.append(note(3)));
    let one = one.unwrap_err().to_string();
    assert!(one.contains("its head_hash has 1 bytes instead of 32"), "{one}");
    let two = two.unwrap_err().to_string();
    assert!(two.contains("there is an event 1 after its head"), "{two}");
    assert_eq!(three.unwrap().get(), 3);
    assert!(matches!(place.reader().verify(fine.session()).unwrap(), Verdict::Intact(_)));
}

#[tokio::test]
async fn closing_writes_what_is_queued_and_refuses_the_rest() {
    let place = Place::new();
    let store = place.store();
    let appender = store.begin(session("run")).unwrap();
    let mut queued = tokio::task::JoinSet::new();
    for number in 0..50 {
        let appender = appender.clone();
        queued.spawn(async move { appender.append(note(number)).await });
    }
    // One turn of this single-threaded runtime puts every append into the queue.
    tokio::task::yield_now().await;
    store.close().await.unwrap();
    let results = queued.join_all().await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(appender.append(note(0)).await, Err(AppendError::Closed));
    assert_eq!(appender.flush().await, Err(AppendError::Closed));
    assert_eq!(place.reader().session("").unwrap().event_count(), 50);
    // The last one to leave folds the WAL into the file.
    drop(place.store());
    assert!(!place.path().with_extension("sqlite-wal").exists());
}

#[tokio::test]
async fn a_small_queue_makes_callers_wait_and_loses_nothing() {
    let place = Place::new();
    let options = OpenOptions { queue_bytes_max: 1, sync: Sync::Full, ..OpenOptions::default() };
    let store = Store::open(place.path(), &options).unwrap();
    let appender = store.begin(session("run")).unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..50 {
        let appender = appender.clone();
        waiting.spawn(async move { appender.append(note(number)).await });
    }
    assert!(waiting.join_all().await.iter().all(Result::is_ok));
    // Dropped while appends still wait for room: they are refused, and nothing hangs.
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..50 {
        let appender = appender.clone();
        waiting.spawn(async move { appender.append(note(number)).await });
    }
    tokio::task::yield_now().await;
    drop(store);
    let results = waiting.join_all().await;
    let written = results.iter().filter(|result| result.is_ok()).count();
    assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(AppendError::Closed))), "{results:?}");
    assert_eq!(place.reader().session("").unwrap().event_count(), 50 + i64::try_from(written).unwrap());
}
