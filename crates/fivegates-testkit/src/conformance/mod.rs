//! Conformance scenarios: read strictly, run against the real core, compared field by field.
//!
//! A scenario that speaks a word the runner does not know fails and names it; nothing is skipped in silence. What cannot
//! be run yet is pending by a committed list that can only shrink.

pub mod act;
pub mod compare;
pub mod drivers;
pub mod fields;
pub mod given;
pub mod host;
pub mod outcome;
pub mod parts;
pub mod plugins;
pub mod report;
pub mod scenario;
pub mod trace;
pub mod transport;
pub mod world;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fivegates_core::json::{self, Json};

use compare::{Comparison, Mismatch, Texts};
use drivers::Ran;
use fields::Stop;
use parts::Pending;
use report::{Line, Report, Verdict};
use scenario::Scenario;

pub use parts::PendingError;

/// Scenarios whose texts name packages of the reference system: only whether there is an error is compared.
const LOOSE_TEXTS: [&str; 3] = ["REG-21", "REG-22", "ASK-12"];

/// Runs every line of a file. A line that is no scenario counts as failed, under the file's name and its line number.
pub fn run_text(name: &str, text: &str, pending: &Pending) -> Report {
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let lines = numbered.map(|(index, line)| {
        let place = format!("{name}:{}", index + 1);
        let read = json::parse(line).map_err(|error| Stop::Malformed(error.to_string()));
        let id = read.as_ref().ok().and_then(|value| value.get("id")).and_then(Json::as_str);
        let id = id.map_or_else(|| place.clone(), str::to_owned);
        match read.as_ref().map_err(Stop::clone).and_then(Scenario::read) {
            Ok(scenario) => {
                Line { verdict: run_scenario(&scenario, pending), id: scenario.id, area: scenario.area }
            }
            Err(stop) => {
                let verdict =
                    Verdict::refused("scenario", "one scenario a line", format!("{stop} ({place})"));
                Line { id, area: "(unreadable)".to_owned(), verdict }
            }
        }
    });
    Report { lines: lines.collect() }
}

/// Runs one scenario.
pub fn run_scenario(scenario: &Scenario, pending: &Pending) -> Verdict {
    if scenario.divergence.as_ref().is_some_and(|divergence| divergence.unrepresentable) {
        return Verdict::Unrepresentable("by its divergence".to_owned());
    }
    let ran = catch_unwind(AssertUnwindSafe(|| drivers::run(scenario)));
    let verdict = match ran {
        Ok(Ok(ran)) => judge(scenario, ran, pending),
        Ok(Err(Stop::Unrepresentable(why))) => Verdict::Unrepresentable(why),
        Ok(Err(Stop::Malformed(why))) => Verdict::refused("vocabulary", "a scenario that can be run", why),
        Err(_) => Verdict::refused("run", "an end", "a panic"),
    };
    match (verdict, pending.has_id(&scenario.id)) {
        (Verdict::Failed(_), true) => Verdict::Pending(format!("id {}", scenario.id)),
        (Verdict::Passed, true) => {
            Verdict::refused("pending", "a failure", "a pass; remove it from the pending list")
        }
        (verdict, _) => verdict,
    }
}

fn judge(scenario: &Scenario, ran: Ran, pending: &Pending) -> Verdict {
    let fields = match ran {
        Ran::Done(fields) => fields,
        Ran::Missing(part) => return waits_for(part, pending),
    };
    let loose: BTreeSet<String> =
        scenario.divergence.as_ref().map(|divergence| divergence.loose.clone()).unwrap_or_default();
    let texts = if LOOSE_TEXTS.contains(&scenario.id.as_str()) { Texts::Present } else { Texts::Exact };
    let comparison = Comparison { loose, texts };
    let mut found: Vec<Mismatch> = Vec::new();
    for (name, expected) in scenario.expected() {
        match fields.iter().find(|(known, _)| *known == name) {
            Some((_, got)) => found.extend(comparison.run(&name, &expected, got)),
            None if comparison.loose.contains(&name) => {}
            None => found.push(Mismatch {
                field: name,
                expected: json::compact(&expected),
                got: "nothing".to_owned(),
            }),
        }
    }
    if found.is_empty() { Verdict::Passed } else { Verdict::Failed(found) }
}

fn waits_for(part: parts::Part, pending: &Pending) -> Verdict {
    if pending.has_part(part) {
        return Verdict::Pending(part.as_str().to_owned());
    }
    Verdict::refused("pending", "a part that is built", format!("`{}`, which is not", part.as_str()))
}
