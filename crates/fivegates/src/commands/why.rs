//! `fivegates why`: from the record alone, what became of a call.

use std::io::Write;

use fivegates_session::journal::types;
use fivegates_session::{CallMatch, Damage, Reader, Seq, Session, SessionId};

use crate::error::CliError;
use crate::escape;
use crate::report::output::{Format, Stop, finish, json_line, shown};
use crate::report::read::{Found, calls_of_id};
use crate::report::{self, CallStory};

/// Calls of one id that are looked for.
const MATCHES_MAX: u32 = 200;
/// Other calls of the same id that are listed.
const OTHERS_MAX: usize = 10;
/// Characters of a name in a line.
const NAME_CHARS_MAX: usize = 60;

/// Tells what became of a call: in `session`, which may be the beginning of an id and name one of several calls by its
/// place (`01J…:14`), or else in the newest session that has such a call. Of several calls the newest is told, and how to
/// select the others.
///
/// # Errors
/// [`Kind::Failed`](crate::error::Kind::Failed) when there is no such call or session, or when rows of the call cannot be
/// read (what can is told); [`Kind::Record`](crate::error::Kind::Record) when nothing can be read.
pub(crate) fn run(
    reader: &Reader,
    call_id: &str,
    session: Option<&str>,
    out: &mut dyn Write,
    format: Format,
) -> Result<(), CliError> {
    let result = tell(reader, call_id, session, out, format);
    finish(result, out)
}

fn tell(
    reader: &Reader,
    call_id: &str,
    session: Option<&str>,
    out: &mut dyn Write,
    format: Format,
) -> Result<(), Stop> {
    let (session, pinned) = match session {
        Some(selected) => select(reader, selected)?,
        None => (newest(reader, call_id)?, None),
    };
    let Found { mut stories, damage, .. } = calls_of_id(reader, session, call_id, pinned)?;
    let at = match pinned {
        Some(seq) => stories.iter().position(|story| story.seq == seq),
        None => stories.len().checked_sub(1),
    };
    let Some(story) = at.map(|at| stories.remove(at)) else {
        return Err(missing(call_id, Some((session, pinned)), &damage).into());
    };
    match format {
        Format::Text(style) => {
            out.write_all(report::whole(&story, style).as_bytes())?;
            others(reader, &story, out)?;
        }
        Format::Json => json_line(out, &report::object(&story))?,
    }
    if damage.is_empty() {
        return Ok(());
    }
    let first = damage.first().map(shown).unwrap_or_default();
    Err(CliError::failed(format!("the story may be incomplete: {first}")).into())
}

/// Reads `SESSION` or `SESSION:SEQ`.
fn select(reader: &Reader, selected: &str) -> Result<(SessionId, Option<Seq>), Stop> {
    let (prefix, place) = selected.split_once(':').map_or((selected, None), |(id, seq)| (id, Some(seq)));
    let unreadable = |place: &str| {
        let place = escape::line(place, NAME_CHARS_MAX);
        CliError::usage(format!("`{place}` is not the place of an event: expected a number after the colon"))
            .hint("`fivegates why CALL_ID` lists the calls of this id and how to select each")
    };
    let seq = |place: &str| place.parse().ok().and_then(Seq::new).ok_or_else(|| unreadable(place));
    let pinned = place.map(seq).transpose()?;
    let Session { id, .. } = reader.session(prefix)?;
    Ok((id, pinned))
}

/// The newest session that has a call of this id; one that has lost the call itself counts when there is no other.
fn newest(reader: &Reader, call_id: &str) -> Result<SessionId, Stop> {
    let mut damage = Vec::new();
    for event_type in [Some(types::TOOL_CALL), None] {
        for found in reader.find_calls(call_id, event_type, MATCHES_MAX)? {
            match found {
                Ok(found) => return Ok(found.session),
                Err(row) => damage.push(row),
            }
        }
    }
    Err(missing(call_id, None, &damage).into())
}

fn missing(call_id: &str, place: Option<(SessionId, Option<Seq>)>, damage: &[Damage]) -> CliError {
    let call_id = escape::line(call_id, NAME_CHARS_MAX);
    if let Some(row) = damage.first() {
        return CliError::record(format!("the call `{call_id}` cannot be read: {}", shown(row)));
    }
    let message = match place {
        None => format!("the record holds no call `{call_id}`"),
        Some((session, None)) => format!("session `{session}` holds no call `{call_id}`"),
        Some((session, Some(seq))) => {
            format!("session `{session}` holds no call `{call_id}` that begins at event {seq}")
        }
    };
    CliError::failed(message)
        .hint("`fivegates log` lists the sessions, `fivegates log SESSION` the calls of one")
}

/// Lists the other calls of the same id, the newest first.
fn others(reader: &Reader, told: &CallStory, out: &mut dyn Write) -> Result<(), Stop> {
    let found = reader.find_calls(&told.id, Some(types::TOOL_CALL), MATCHES_MAX)?;
    let mut found: Vec<CallMatch> = found.into_iter().flatten().collect();
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count >= MATCHES_MAX);
    found.retain(|other| (other.session, other.seq) != (told.session, told.seq));
    // Sessions come newest first, their events in order.
    for of_session in found.chunk_by_mut(|one, next| one.session == next.session) {
        of_session.reverse();
    }
    if found.is_empty() {
        return Ok(());
    }
    let (count, s) = (found.len(), if found.len() == 1 { "" } else { "s" });
    let more = if is_full { " or more" } else { "" };
    writeln!(out, "\n{count}{more} other call{s} of this id:")?;
    for other in found.iter().take(OTHERS_MAX) {
        let tool = escape::line(&tool_of(reader, other), NAME_CHARS_MAX);
        let (session, seq, when) = (other.session, other.seq, report::rfc3339(other.time_ms));
        writeln!(out, "  {when}  --session {session}:{seq}  {tool}")?;
    }
    if count > OTHERS_MAX {
        writeln!(
            out,
            "  … ({} more: `fivegates log SESSION` lists the calls of a session)",
            count - OTHERS_MAX
        )?;
    }
    Ok(())
}

fn tool_of(reader: &Reader, call: &CallMatch) -> String {
    let before = call.seq.get().checked_sub(1).and_then(Seq::new);
    let page = reader.events(call.session, before, 1);
    let event = page.ok().and_then(|mut page| page.events.pop()?.ok());
    let data = event.and_then(|event| fivegates_core::json::parse(&event.data).ok());
    let name = data.and_then(|data| Some(data.get("name")?.as_str()?.to_owned()));
    name.unwrap_or_else(|| "(tool not recorded)".to_owned())
}
