//! `fivegates log`: the sessions of the record, and the events of one.

use std::io::Write;

use fivegates_core::json::{self, Json};
use fivegates_session::{Damage, Event, Reader, Session};

use crate::error::CliError;
use crate::escape;
use crate::report::output::{Format, Stop, finish, json_line, shown};
use crate::report::{self, Style, Tone};

/// Events that are read at once.
const PAGE_EVENTS: u32 = 500;
/// Characters of a working directory.
const CWD_CHARS_MAX: usize = 200;
/// Characters of a kind or type.
const NAME_CHARS_MAX: usize = 40;

/// Lists up to `sessions_max` sessions, the newest first.
///
/// # Errors
/// [`Kind::Failed`](crate::error::Kind::Failed) when damage was met, after the rest is listed;
/// [`Kind::Record`](crate::error::Kind::Record) when nothing can be read.
pub(crate) fn sessions(
    reader: &Reader,
    sessions_max: u32,
    out: &mut dyn Write,
    format: Format,
) -> Result<(), CliError> {
    let result = list_sessions(reader, sessions_max, out, format);
    finish(result, out)
}

/// Prints the events of the session whose id is or begins with `prefix`, in order.
///
/// # Errors
/// [`Kind::Failed`](crate::error::Kind::Failed) when there is no such session, several, or damage was met, after the
/// rest is printed; [`Kind::Record`](crate::error::Kind::Record) when nothing can be read.
pub(crate) fn events(
    reader: &Reader,
    prefix: &str,
    out: &mut dyn Write,
    format: Format,
) -> Result<(), CliError> {
    let result = list_events(reader, prefix, out, format);
    finish(result, out)
}

fn list_sessions(
    reader: &Reader,
    sessions_max: u32,
    out: &mut dyn Write,
    format: Format,
) -> Result<(), Stop> {
    let mut sessions = reader.sessions(sessions_max.saturating_add(1))?;
    let shown_max = usize::try_from(sessions_max).unwrap_or(usize::MAX);
    let has_more = sessions.len() > shown_max;
    sessions.truncate(shown_max);
    if let Format::Text(style) = format {
        match sessions.is_empty() && !has_more {
            true => writeln!(out, "the record holds no sessions")?,
            false => {
                let head = format!("{:<26}  {:<20}  {:<6} {:>7}  CWD", "SESSION", "WHEN", "KIND", "EVENTS");
                writeln!(out, "{}", style.paint(Tone::Head, &head))?;
            }
        }
    }
    let mut damaged = 0_usize;
    for session in &sessions {
        match (session, format) {
            (Ok(session), Format::Text(_)) => writeln!(out, "{}", session_line(session))?,
            (Ok(session), Format::Json) => json_line(out, &session_object(session))?,
            (Err(damage), format) => {
                damaged += 1;
                write_damage(out, damage, format)?;
            }
        }
    }
    if has_more && matches!(format, Format::Text(_)) {
        writeln!(out, "… older sessions are on record: `--limit N` lists N of them")?;
    }
    met(damaged)
}

fn list_events(reader: &Reader, prefix: &str, out: &mut dyn Write, format: Format) -> Result<(), Stop> {
    let session = reader.session(prefix)?;
    if let Format::Text(style) = format {
        let when = report::rfc3339(session.created_at_ms);
        let kind = escape::line(&session.kind, NAME_CHARS_MAX);
        let head = format!("session {}  {when}  {kind}", session.id);
        writeln!(out, "{}", style.paint(Tone::Head, &head))?;
        if let Some(cwd) = &session.cwd {
            writeln!(out, "in {}", escape::line(cwd, CWD_CHARS_MAX))?;
        }
    }
    let (mut after, mut damaged) = (None, 0_usize);
    loop {
        let page = reader.events(session.id, after, PAGE_EVENTS)?;
        for event in &page.events {
            match (event, format) {
                (Ok(event), Format::Text(style)) => {
                    writeln!(out, "{}", event_line(event, session.created_at_ms, style))?;
                }
                (Ok(event), Format::Json) => json_line(out, &event_object(event))?,
                (Err(damage), format) => {
                    damaged += 1;
                    write_damage(out, damage, format)?;
                }
            }
        }
        after = page.next;
        if after.is_none() {
            return met(damaged);
        }
    }
}

fn session_line(session: &Session) -> String {
    let Session { id, created_at_ms, kind, cwd, .. } = session;
    let (when, kind) = (report::rfc3339(*created_at_ms), escape::line(kind, NAME_CHARS_MAX));
    let cwd = escape::line(cwd.as_deref().unwrap_or_default(), CWD_CHARS_MAX);
    format!("{id}  {when}  {kind:<6} {:>7}  {cwd}", session.event_count()).trim_end().to_owned()
}

fn session_object(session: &Session) -> Json {
    Json::object([
        ("session", Json::from(session.id.as_str())),
        ("time", Json::from(session.created_at_ms)),
        ("kind", Json::from(session.kind.as_str())),
        ("cwd", Json::from(session.cwd.clone())),
        ("events", Json::from(session.event_count())),
        recorded("meta", "metaText", &session.meta),
        ("hash", Json::from(session.head.hash.to_string())),
    ])
}

fn event_line(event: &Event, began_ms: i64, style: Style) -> String {
    let event_type = format!("{:<17}", escape::line(&event.event_type, NAME_CHARS_MAX));
    let event_type = style.paint(Tone::Head, &event_type);
    let offset = report::offset(began_ms, event.time_ms);
    format!("{:>5} {offset:>10}  {event_type}  {}", event.seq, report::summary(event)).trim_end().to_owned()
}

fn event_object(event: &Event) -> Json {
    Json::object([
        ("type", Json::from(event.event_type.as_str())),
        ("seq", Json::from(event.seq.get())),
        ("time", Json::from(event.time_ms)),
        ("session", Json::from(event.session.as_str())),
        ("callId", Json::from(event.call_id.clone())),
        recorded("data", "dataText", &event.data),
        ("hash", Json::from(event.hash.to_string())),
    ])
}

/// Recorded JSON as it is; a text that somebody turned into something else is a string, under a key of its own.
fn recorded(key: &'static str, key_of_text: &'static str, text: &str) -> (&'static str, Json) {
    json::parse(text).map_or_else(|_| (key_of_text, Json::from(text)), |value| (key, value))
}

fn write_damage(out: &mut dyn Write, damage: &Damage, format: Format) -> Result<(), Stop> {
    match format {
        Format::Text(style) => writeln!(out, "{} {}", style.paint(Tone::Bad, "damaged:"), shown(damage))?,
        Format::Json => {
            let members = [
                ("damaged", Json::from(damage.found.as_str())),
                ("session", Json::from(damage.session.as_str())),
                ("seq", Json::from(damage.seq)),
            ];
            json_line(out, &Json::object(members))?;
        }
    }
    Ok(())
}

fn met(damaged: usize) -> Result<(), Stop> {
    let message = match damaged {
        0 => return Ok(()),
        1 => "1 row of the record is damaged".to_owned(),
        count => format!("{count} rows of the record are damaged"),
    };
    Err(CliError::failed(message)
        .hint("what is listed can be trusted no further than its hashes can be checked")
        .into())
}
