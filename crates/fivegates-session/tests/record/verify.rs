use fivegates_session::{Fault, ReadError, Verdict};

use crate::support::{Place, notes};

/// Tampers with the second of three sessions of ten events, whose row is number 2.
async fn check(tamper: &str, expected: Result<(), (i64, Fault)>) {
    let place = Place::new();
    let store = place.store();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(notes(&store, 10).await.session());
    }
    store.close().await.unwrap();
    place.tamper(tamper);
    let reader = place.reader();
    let found = match reader.verify(ids[1]).unwrap() {
        Verdict::Intact(head) => {
            assert_eq!(head, reader.session(ids[1].as_str()).unwrap().head);
            Ok(())
        }
        Verdict::Broken { seq, fault } => Err((seq.get(), fault)),
    };
    assert_eq!(found, expected, "{tamper}");
    for id in [ids[0], ids[2]] {
        assert!(matches!(reader.verify(id).unwrap(), Verdict::Intact(_)), "{tamper}");
    }
}

#[tokio::test]
async fn an_untouched_session_is_intact() {
    check("", Ok(())).await;
}

#[tokio::test]
async fn an_edited_event_is_found() {
    for (change, fault) in [
        ("data = '{\"number\":40}'", Fault::Edited),
        ("type = 'tool/call'", Fault::Edited),
        ("time_ms = time_ms + 1", Fault::Edited),
        ("call_id = ''", Fault::Edited),
        ("hash = zeroblob(32)", Fault::Edited),
        ("prev_hash = zeroblob(32)", Fault::Edited),
        ("hash = x'00'", Fault::Unreadable { found: "its hash has 1 bytes instead of 32".into() }),
    ] {
        check(&format!("UPDATE event SET {change} WHERE session = 2 AND seq = 4"), Err((4, fault))).await;
    }
}

#[tokio::test]
async fn an_edited_header_is_found() {
    for change in ["kind = 'demo'", "cwd = NULL", "meta = '{}'", "created_at_ms = 0"] {
        check(&format!("UPDATE session SET {change} WHERE no = 2"), Err((0, Fault::HeaderEdited))).await;
    }
}

#[tokio::test]
async fn a_dropped_event_is_found() {
    for seq in [0, 4, 8] {
        check(&format!("DELETE FROM event WHERE session = 2 AND seq = {seq}"), Err((seq, Fault::Dropped)))
            .await;
    }
    // The later ones moved up, and the head with them.
    check(
        "DELETE FROM event WHERE session = 2 AND seq = 4;
         UPDATE event SET seq = seq - 101 WHERE session = 2 AND seq > 4;
         UPDATE event SET seq = seq + 100 WHERE session = 2 AND seq < 0;
         UPDATE session SET head_seq = 8 WHERE no = 2",
        Err((4, Fault::Dropped)),
    )
    .await;
}

#[tokio::test]
async fn exchanged_events_are_found() {
    for (a, b) in [(4, 5), (2, 7), (0, 9)] {
        let swap = format!(
            "UPDATE event SET seq = -1 WHERE session = 2 AND seq = {a};
             UPDATE event SET seq = {a} WHERE session = 2 AND seq = {b};
             UPDATE event SET seq = {b} WHERE session = 2 AND seq = -1"
        );
        check(&swap, Err((a, Fault::Reordered))).await;
    }
}

#[tokio::test]
async fn events_of_another_session_do_not_fit() {
    check(
        "DELETE FROM event WHERE session = 2 AND seq = 4;
         INSERT INTO event SELECT 2, seq, type, time_ms, call_id, data, prev_hash, hash
            FROM event WHERE session = 1 AND seq = 4",
        Err((4, Fault::Edited)),
    )
    .await;
}

#[tokio::test]
async fn an_inserted_event_is_found() {
    check(
        "UPDATE event SET seq = seq + 100 WHERE session = 2 AND seq >= 4;
         UPDATE event SET seq = seq - 99 WHERE session = 2 AND seq >= 100;
         INSERT INTO event SELECT 2, 4, type, time_ms, call_id, data, prev_hash, hash
            FROM event WHERE session = 2 AND seq = 3;
         UPDATE session SET head_seq = 10 WHERE no = 2",
        Err((4, Fault::Reordered)),
    )
    .await;
}

#[tokio::test]
async fn a_cut_tail_is_found() {
    check("DELETE FROM event WHERE session = 2 AND seq >= 7", Err((7, Fault::CutOff))).await;
    check("DELETE FROM event WHERE session = 2", Err((0, Fault::CutOff))).await;
}

#[tokio::test]
async fn a_wrong_head_is_found() {
    check("UPDATE session SET head_seq = 6 WHERE no = 2", Err((7, Fault::HeadDiffers))).await;
    check("UPDATE session SET head_seq = 20 WHERE no = 2", Err((10, Fault::CutOff))).await;
    check("UPDATE session SET head_hash = zeroblob(32) WHERE no = 2", Err((9, Fault::HeadDiffers))).await;
}

#[tokio::test]
async fn a_dropped_session_is_unknown_and_its_calls_are_damage() {
    let place = Place::new();
    let store = place.store();
    let session = notes(&store, 2).await.session();
    store.close().await.unwrap();
    place.tamper(
        "UPDATE event SET call_id = 'c1' WHERE seq = 1; PRAGMA foreign_keys = OFF; DELETE FROM session",
    );
    let reader = place.reader();
    assert!(matches!(reader.verify(session), Err(ReadError::UnknownSession { .. })));
    let found = reader.find_calls("c1", None, 10).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_err());
}
