//! Reading what a report is made of. Blocks on the record.

use fivegates_session::{Damage, Page, ReadError, Reader, Seq, SessionId};

use super::collect::{APPROVAL_DECIDED, Collector, answer};
use super::story::CallStory;

/// Events that are asked for at once.
const PAGE_EVENTS: u32 = 500;
/// Stories of one call id in one session that are kept; the newest stay.
const SAME_ID_MAX: usize = 16;
/// Rows that cannot be read and are kept for the report.
const DAMAGE_MAX: usize = 20;

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Stories in the order of their first events.
    pub(crate) stories: Vec<CallStory>,
    /// Rows that could not be read, at most twenty.
    pub(crate) damage: Vec<Damage>,
    /// How many older stories were left out.
    #[cfg_attr(not(test), expect(dead_code, reason = "what is shown so far has room for all of them"))]
    pub(crate) dropped: usize,
}

/// Reads the calls of one id in a session: the newest sixteen, and the one that begins at `pinned`.
///
/// # Errors
/// [`ReadError`] when there is no such session or nothing can be read.
pub(crate) fn calls_of_id(
    reader: &Reader,
    session: SessionId,
    call_id: &str,
    pinned: Option<Seq>,
) -> Result<Found, ReadError> {
    let mut found = collect(Collector::new(SAME_ID_MAX, pinned), |after| {
        reader.call_events(session, call_id, after, PAGE_EVENTS)
    })?;
    for story in &mut found.stories {
        find_answers(reader, story)?;
    }
    Ok(found)
}

/// Reads the calls of a session, the newest `calls_max` of them.
///
/// # Errors
/// [`ReadError`] when there is no such session or nothing can be read.
pub(crate) fn calls_of_session(
    reader: &Reader,
    session: SessionId,
    calls_max: usize,
) -> Result<Found, ReadError> {
    collect(Collector::new(calls_max, None), |after| reader.events(session, after, PAGE_EVENTS))
}

fn collect(
    mut collector: Collector,
    read: impl Fn(Option<Seq>) -> Result<Page, ReadError>,
) -> Result<Found, ReadError> {
    let (mut after, mut damage) = (None, Vec::new());
    loop {
        let page = read(after)?;
        for event in page.events {
            match event {
                Ok(event) => collector.push(&event),
                Err(row) if damage.len() < DAMAGE_MAX => damage.push(row),
                Err(_) => {}
            }
        }
        after = page.next;
        if after.is_none() {
            let (stories, dropped) = collector.finish();
            return Ok(Found { stories, damage, dropped });
        }
    }
}

/// Finds answers to asks in events that do not carry the call's id, between the call and its result.
fn find_answers(reader: &Reader, story: &mut CallStory) -> Result<(), ReadError> {
    let mut after = Some(story.seq);
    while after.is_some() && story.approvals.iter().any(|asked| asked.decided_ms.is_none()) {
        let page = reader.events(story.session, after, PAGE_EVENTS)?;
        for event in page.events.iter().flatten() {
            if story.result.as_ref().is_some_and(|result| event.seq > result.seq) {
                return Ok(());
            }
            if event.event_type == APPROVAL_DECIDED {
                answer(story, event);
            }
        }
        after = page.next;
    }
    Ok(())
}
