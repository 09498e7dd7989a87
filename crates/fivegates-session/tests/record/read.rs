use fivegates_session::{Event, Page, ReadError, Seq, Verdict};

use crate::support::{Place, event, note, notes, session};

fn seqs(page: &Page) -> Vec<i64> {
    page.events.iter().map(|event| event.as_ref().map_or(-1, |event: &Event| event.seq.get())).collect()
}

#[tokio::test]
async fn sessions_are_listed_newest_first() {
    let place = Place::new();
    let store = place.store();
    let mut ids = Vec::new();
    for count in 1..=5 {
        ids.push(notes(&store, count).await.session());
    }
    ids.reverse();
    let reader = place.reader();
    let listed: Vec<_> = reader.sessions(100).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(listed.iter().map(|session| session.id).collect::<Vec<_>>(), ids);
    assert_eq!(listed.iter().map(|session| session.event_count()).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
    assert_eq!(reader.sessions(2).unwrap().len(), 2);
    assert_eq!(reader.sessions(0).unwrap().len(), 0);
}

#[tokio::test]
async fn a_session_is_found_by_a_prefix_that_only_it_has() {
    let place = Place::new();
    let store = place.store();
    for (time_ms, last) in (1..=12).map(|number| (1, number)).chain([(1 << 40, 0)]) {
        let mut header = session("run");
        header.id = fivegates_session::SessionId::from_parts(time_ms, [0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        store.begin(header).unwrap().append(note(0)).await.unwrap();
    }
    let reader = place.reader();
    let found = reader.session("0000000001000000000000000c").unwrap();
    assert_eq!(found.id.as_str(), "0000000001000000000000000C");
    assert_eq!(reader.session("01").unwrap().id.as_str(), "01000000000000000000000000");
    let error = reader.session("00000").unwrap_err();
    let ReadError::Ambiguous { matches, more, .. } = &error else { panic!("{error}") };
    assert_eq!((matches.len(), *more, matches[0].as_str()), (10, true, "0000000001000000000000000C"));
    let text = error.to_string();
    assert!(
        text.starts_with("`00000` begins the ids of several sessions (0000000001000000000000000C, "),
        "{text}"
    );
    assert!(text.ends_with(", …): give more of it"), "{text}");
    for wanted in ["02", "0%", "_", "00000000010000000000000001~", "0000000001000000000000000C0", "é"] {
        let error = reader.session(wanted).unwrap_err();
        assert!(matches!(error, ReadError::UnknownSession { .. }), "{wanted}: {error}");
    }
}

#[tokio::test]
async fn events_come_in_pages() {
    let place = Place::new();
    let store = place.store();
    let session = notes(&store, 10).await.session();
    notes(&store, 3).await;
    let reader = place.reader();
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let page = reader.events(session, after, 4).unwrap();
        pages.push(seqs(&page));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pages, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    assert_eq!(reader.events(session, Seq::new(9), 4).unwrap(), Page { events: Vec::new(), next: None });
}

#[tokio::test]
async fn a_page_of_large_events_ends_early() {
    let place = Place::new();
    let store = place.store();
    let appender = store.begin(session("run")).unwrap();
    let large = format!("\"{}\"", "x".repeat(9 << 20));
    for _ in 0..5 {
        appender.append(event("tool/result", None, &large)).await.unwrap();
    }
    let reader = place.reader();
    let page = reader.events(appender.session(), None, 100).unwrap();
    assert_eq!((seqs(&page), page.next), (vec![0, 1], Seq::new(1)));
    let page = reader.events(appender.session(), Seq::new(3), 100).unwrap();
    assert_eq!((seqs(&page), page.next), (vec![4], None));
}

#[tokio::test]
async fn a_call_is_found_in_every_session_that_has_it() {
    let place = Place::new();
    let store = place.store();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let appender = store.begin(session("run")).unwrap();
        for (event_type, call_id) in [
            ("tool/call", Some("c1")),
            ("tool/call", Some("c10")),
            ("approval/asked", Some("c1")),
            ("step/end", None),
            ("tool/result", Some("c1")),
            ("tool/call", Some("c1")),
        ] {
            appender.append(event(event_type, call_id, "{}")).await.unwrap();
        }
        ids.push(appender.session());
    }
    let reader = place.reader();
    let find = |call_id, event_type, limit| -> Vec<_> {
        let found = reader.find_calls(call_id, event_type, limit).unwrap();
        found.into_iter().map(Result::unwrap).map(|found| (found.session, found.seq.get())).collect()
    };
    assert_eq!(find("c1", Some("tool/call"), 100), [(ids[1], 0), (ids[1], 5), (ids[0], 0), (ids[0], 5)]);
    assert_eq!(find("c1", None, 3), [(ids[1], 0), (ids[1], 2), (ids[1], 4)]);
    assert_eq!(find("c2", None, 100), []);
    let page = reader.call_events(ids[0], "c1", None, 3).unwrap();
    assert_eq!((seqs(&page), page.next), (vec![0, 2, 4], Seq::new(4)));
    assert_eq!(seqs(&reader.call_events(ids[0], "c1", page.next, 3).unwrap()), [5]);
}

#[tokio::test]
async fn a_damaged_row_is_named_and_the_rest_is_readable() {
    let place = Place::new();
    let store = place.store();
    let (bad_event, bad_row, fine) = (notes(&store, 4).await, notes(&store, 2).await, notes(&store, 3).await);
    store.close().await.unwrap();
    let (event_id, row_id) = (bad_event.session(), bad_row.session());
    place.tamper(&format!(
        "UPDATE event SET data = CAST(x'ff' AS TEXT), hash = x'01', call_id = 'c1'
            WHERE seq = 1 AND session = (SELECT no FROM session WHERE id = '{event_id}');
         UPDATE event SET prev_hash = x'01'
            WHERE seq = 3 AND session = (SELECT no FROM session WHERE id = '{event_id}');
         UPDATE session SET kind = CAST(x'ff' AS TEXT) WHERE id = '{row_id}'"
    ));
    let reader = place.reader();
    let listed = reader.sessions(10).unwrap();
    assert_eq!(listed.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(
        listed[1].as_ref().unwrap_err().to_string(),
        format!(
            "session `{row_id}` is damaged (its kind is not UTF-8): check it with `fivegates log verify`"
        )
    );
    assert!(matches!(reader.session(row_id.as_str()), Err(ReadError::Damaged(_))));
    assert!(matches!(reader.verify(row_id), Err(ReadError::Damaged(_))));
    assert_eq!(seqs(&reader.events(row_id, None, 10).unwrap()), [0, 1]);

    let page = reader.events(event_id, None, 10).unwrap();
    assert_eq!(seqs(&page), [0, -1, 2, -1]);
    assert_eq!(
        page.events[1].as_ref().unwrap_err().to_string(),
        format!(
            "event 1 of session `{event_id}` is damaged (its data is not UTF-8): check it with `fivegates log verify`"
        )
    );
    assert_eq!(reader.events(event_id, None, 2).unwrap().next, Seq::new(1));
    assert_eq!(reader.find_calls("c1", None, 10).unwrap()[0].as_ref().unwrap().seq.get(), 1);
    assert!(matches!(reader.verify(fine.session()).unwrap(), Verdict::Intact(_)));
}

#[tokio::test]
async fn a_garbled_page_spoils_only_what_is_on_it() {
    let place = Place::new();
    let store = place.store();
    let (early, late) = (notes(&store, 400).await.session(), notes(&store, 400).await.session());
    store.close().await.unwrap();
    drop(place.store());
    // Garble the leaf page that holds the middle of the early session.
    let mut bytes = std::fs::read(place.path()).unwrap();
    let needle = br#"{"number":200}"#;
    let offset = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    let page = offset / 4096 * 4096;
    bytes[page..page + 4096].fill(0xAA);
    std::fs::write(place.path(), bytes).unwrap();
    let reader = place.reader();
    assert_eq!(reader.sessions(10).unwrap().iter().filter(|session| session.is_ok()).count(), 2);
    let page = reader.events(early, None, 1000).unwrap();
    let (last, before) = page.events.split_last().unwrap();
    assert!(before.len() > 50 && before.iter().all(Result::is_ok), "{}", before.len());
    assert!(last.as_ref().unwrap_err().found.contains("malformed"), "{last:?}");
    assert_eq!(page.next, None);
    assert!(matches!(reader.verify(early).unwrap(), Verdict::Broken { .. }));
    assert!(matches!(reader.verify(late).unwrap(), Verdict::Intact(_)));
}
