//! The story of a call as text: whole for `why`, short for a timeline.

use fivegates_core::call::Stage;

use super::page::Page;
use super::road::{Row, What};
use super::story::{Approval, CallStory, Ended, MetStage};
use super::style::{Style, Tone};
use super::time;
use crate::escape::{self, BlockLimits};

/// Columns of the names of stages.
const STAGE_COLUMNS: usize = 22;
/// Columns of the names of facts.
const FACT_COLUMNS: usize = 13;
/// Characters of a name that are shown.
const NAME_CHARS_MAX: usize = 120;
/// Characters of a reason that are shown.
const REASON_CHARS_MAX: usize = 1_000;

const ARGUMENTS: BlockLimits = BlockLimits { chars_max: 4_000, lines_max: 60 };
const CONTENT: BlockLimits = BlockLimits { chars_max: 8_000, lines_max: 120 };
const SHORT_CONTENT: BlockLimits = BlockLimits { chars_max: 300, lines_max: 4 };
const SHORT_ARGUMENTS_CHARS_MAX: usize = 200;

/// Tells the whole story: what was asked for, each stage in order, and what the model was told.
pub(crate) fn whole(story: &CallStory, style: Style) -> String {
    let mut page = Page::new();
    headline(&mut page, story, style);
    facts(&mut page, story);
    match &story.arguments {
        Some(arguments) => {
            page.line("  arguments");
            page.quote(2, arguments, ARGUMENTS);
        }
        None => page.line("  arguments  (not recorded)"),
    }
    page.line("");
    for row in story.road() {
        stage(&mut page, &row, style);
        if row.stage == Stage::Approval.as_str() {
            story.approvals.iter().for_each(|asked| approval(&mut page, story, asked));
        }
    }
    page.line("");
    match &story.result {
        Some(result) => {
            page.line("the model was told:");
            match result.told() {
                Some(told) => page.quote(2, &told, CONTENT),
                None => page.line("  (not recorded)"),
            }
        }
        None => unfinished(&mut page, story),
    }
    page.line("");
    warnings(&mut page, story, style);
    page.into_text().trim_end().to_owned() + "\n"
}

/// Tells the story in a few lines: the call, the stages where somebody acted, and what the model was told.
pub(crate) fn short(story: &CallStory, style: Style) -> String {
    let mut page = Page::new();
    headline(&mut page, story, style);
    if let Some(arguments) = &story.arguments {
        page.hang("  ", 2, &escape::line(arguments, SHORT_ARGUMENTS_CHARS_MAX));
    }
    let rows = story.road();
    for row in rows.iter().filter(|row| matches!(row.what, What::Met(_))) {
        stage(&mut page, row, style);
    }
    for silence in [What::NotReached, What::NotOnRecord] {
        let silent: Vec<_> = rows.iter().filter(|row| row.what == silence).map(|row| row.stage).collect();
        if !silent.is_empty() {
            let head = if silence == What::NotReached { "not reached" } else { "not on record" };
            page.hang(&format!("  {head:<20}"), STAGE_COLUMNS, &silent.join(", "));
        }
    }
    match story.result.as_ref().and_then(Ended::told) {
        Some(told) => {
            page.line("  the model was told:");
            page.quote(2, &told, SHORT_CONTENT);
        }
        None => unfinished(&mut page, story),
    }
    warnings(&mut page, story, style);
    page.into_text()
}

fn headline(page: &mut Page, story: &CallStory, style: Style) {
    let mut ending = story.ending().to_owned();
    if let Some(result) = &story.result {
        if let Some(by) = result.denial.as_ref().and_then(|denial| denial.by.as_deref()) {
            ending = format!("{ending} by `{}`", name(by));
        }
        if let Some(code) = story.code() {
            ending = format!("{ending} [{}]", name(code));
        }
        if let Some(duration_ms) = result.duration_ms {
            ending = format!("{ending} after {duration_ms} ms");
        }
    }
    let tool = story.tool.as_deref().map_or_else(|| "(tool not recorded)".to_owned(), name);
    let text = format!("call `{}` of {tool} {ending}", name(&story.id));
    let mut head = Page::new();
    head.hang("", 0, &text);
    for line in head.into_text().lines() {
        page.line(&style.paint(Tone::Head, line));
    }
}

fn facts(page: &mut Page, story: &CallStory) {
    let mut fact = |label: &str, text: &str| page.hang(&format!("  {label:<11}"), FACT_COLUMNS, text);
    fact("session", &format!("{}, event {}", story.session, story.seq));
    let mut when = time::rfc3339(story.time_ms);
    for (what, number) in [("turn", story.turn), ("step", story.step)] {
        if let Some(number) = number {
            when = format!("{when}, {what} {number}");
        }
    }
    fact("when", &when);
    if let Some(parent) = &story.parent {
        fact("nested in", &format!("`{}`", name(parent)));
    }
    if let Some(denial) = story.result.as_ref().and_then(|result| result.denial.as_ref()) {
        let kind = denial.kind.as_deref().map_or_else(|| "(not recorded)".to_owned(), name);
        let reason = denial.reason.as_ref().map(|reason| escape::line(reason, REASON_CHARS_MAX));
        fact("denial", &[kind].into_iter().chain(reason).collect::<Vec<_>>().join(": "));
    }
    if let Some(error_name) = story.result.as_ref().and_then(|result| result.error_name.as_deref()) {
        fact("error", &name(error_name));
    }
    if let Some(intent) = &story.intent {
        let words = [
            ("destructive", "not destructive", intent.destructive),
            ("idempotent", "not idempotent", intent.idempotent),
        ];
        let words: Vec<_> =
            words.into_iter().filter_map(|(yes, no, is_so)| Some(if is_so? { yes } else { no })).collect();
        let after = time::offset(story.time_ms, intent.time_ms);
        let text = format!("{after}, before the body; {}", words.join(", "));
        fact("intent", &text);
    }
}

fn stage(page: &mut Page, row: &Row<'_>, style: Style) {
    let mut head = format!("  {:<20}", escape::line(row.stage, NAME_CHARS_MAX));
    if head.chars().count() > STAGE_COLUMNS {
        // No stage of ours: its name gets lines of its own.
        page.hang("  ", 2, head.trim());
        head = " ".repeat(STAGE_COLUMNS);
    }
    let silent = match row.what {
        What::Met(met) => {
            let head = style.paint(tone(met), &head);
            page.hang(&head, STAGE_COLUMNS, &came_of(met));
            if let Some(reason) = &met.reason {
                page.hang(&" ".repeat(STAGE_COLUMNS), STAGE_COLUMNS, &escape::line(reason, REASON_CHARS_MAX));
            }
            return;
        }
        What::Quiet(text) => text,
        What::NotReached => "not reached",
        What::NotOnRecord => "not on record",
    };
    page.line(&style.paint(Tone::Faint, &format!("{head}{silent}")));
}

/// What came of a stage, who decided, and the code.
fn came_of(met: &MetStage) -> String {
    let mut text = name(&met.verdict);
    if let Some(by) = &met.by {
        text = format!("{text} by `{}`", name(by));
    }
    let Some(code) = &met.code else {
        return text;
    };
    let code = name(code);
    // Gate 4 notes the code from before its decision (L-04), all others the code that they gave.
    match (&*met.stage, &*met.verdict) {
        ("tools/post-execute", "blocked") => format!("{text} [{code} before, no code after]"),
        ("tools/post-execute", "failed" | "refused") => format!("{text} [{code} after]"),
        ("tools/post-execute", _) => format!("{text} [{code} before and after]"),
        _ => format!("{text} [{code}]"),
    }
}

fn tone(met: &MetStage) -> Tone {
    match &*met.verdict {
        "asked" | "aborted" | "blocked" | "redacted" | "content replaced" | "value replaced" => Tone::Warn,
        "denied" | "failed" | "panicked" | "timed out" | "refused" | "not run" => Tone::Bad,
        "published an error" => Tone::Bad,
        _ => Tone::Good,
    }
}

/// Who was asked when, and what came back.
fn approval(page: &mut Page, story: &CallStory, approval: &Approval) {
    let at = |time_ms| time::offset(story.time_ms, time_ms);
    let put = |page: &mut Page, text: &str| page.hang(&" ".repeat(STAGE_COLUMNS), STAGE_COLUMNS, text);
    if let Some(asked_ms) = approval.asked_ms {
        let why = approval.reason.as_ref().map(|reason| escape::line(reason, REASON_CHARS_MAX));
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        put(page, &format!("asked {}{why}", at(asked_ms)));
    }
    match approval.decided_ms {
        Some(decided_ms) => {
            let outcome = approval.outcome.as_deref().map_or_else(|| "(not recorded)".to_owned(), name);
            let by = approval.by.as_deref().map_or_else(String::new, |by| format!(" by `{}`", name(by)));
            put(page, &format!("answered {}: {outcome}{by}", at(decided_ms)));
        }
        None => put(page, "no answer on record"),
    }
}

fn unfinished(page: &mut Page, story: &CallStory) {
    if story.result.is_some() {
        return page.line("  what the model was told is not on record");
    }
    let text = "no result on record: the process ended while this call was under way, or it still runs";
    page.hang("", 0, text);
    let text = match (&story.intent, story.verdict.as_deref()) {
        (Some(_), _) => "an intent is on record: the body may have run, in part or in whole",
        (None, Some("permitted")) => {
            "no intent is on record, though the call was permitted: only a body without effects may have run"
        }
        (None, _) => "no intent is on record: a body with effects has not run",
    };
    page.hang("", 0, text);
}

fn warnings(page: &mut Page, story: &CallStory, style: Style) {
    let told = story.result.as_ref().and_then(Ended::told);
    let hidden = story.foreign().chain(told.as_deref()).map(escape::hidden).sum();
    let notes = story.notes.iter().map(|note| escape::line(note, REASON_CHARS_MAX));
    for text in escape::warning(hidden).into_iter().chain(notes) {
        page.hang(&style.paint(Tone::Warn, "warning: "), 9, &text);
    }
}

fn name(text: &str) -> String {
    escape::line(text, NAME_CHARS_MAX)
}
