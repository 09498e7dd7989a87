//! docs/rules.md: every rule has its row, and what is said to hold it is there and holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fivegates_core::json::parse;
use fivegates_testkit::conformance::parts::Pending;
use fivegates_testkit::conformance::report::Verdict;
use fivegates_testkit::conformance::run_scenario;
use fivegates_testkit::conformance::scenario::Scenario;

const RULES: &str = include_str!("../../../docs/rules.md");
const KNOWN: &str = include_str!("../conformance/rules.txt");
const SCENARIOS: &str = include_str!("../conformance/scenarios.jsonl");
const PROMISES: &str = include_str!("../../fivegates-core/tests/promises.rs");

/// One row of the table.
struct Row {
    rule: String,
    lives_in: PathBuf,
    held_by: Vec<Holder>,
}

/// What is said to hold a rule.
#[derive(Debug, PartialEq)]
enum Holder {
    Scenario(String),
    Test { file: PathBuf, name: String },
    Compiler { file: PathBuf },
    Unrepresentable,
    Later,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('`')?.strip_suffix('`')
}

/// Reads one item of the last column.
fn holder(item: &str) -> Result<Holder, String> {
    let reason = |prefix: &str| item.strip_prefix(prefix).map(|why| !why.trim().is_empty());
    if let Some(has_reason) = reason("unrepresentable:") {
        return if has_reason { Ok(Holder::Unrepresentable) } else { Err("a reason is missing".to_owned()) };
    }
    if let Some(has_issue) = reason("later:") {
        return if has_issue { Ok(Holder::Later) } else { Err("when is missing".to_owned()) };
    }
    if let Some(place) = quoted(item) {
        return match place.split_once("::") {
            Some((file, name)) => Ok(Holder::Test { file: file.into(), name: name.to_owned() }),
            None if place.contains("/compile_fail/") => Ok(Holder::Compiler { file: place.into() }),
            None => Err(format!("`{place}` names no test")),
        };
    }
    let is_id = item.split_once('-').is_some_and(|(area, number)| {
        area.len() == 3 && number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    if is_id { Ok(Holder::Scenario(item.to_owned())) } else { Err(format!("`{item}` is not understood")) }
}

/// Reads the rows of all tables.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let is_row = |line: &&str| line.starts_with("| R-") || line.starts_with("| L-");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [rule, short, lives_in, held_by] = cells[..] else {
            return Err(format!("{line}: four cells are needed"));
        };
        if short.is_empty() {
            return Err(format!("{rule} says nothing"));
        }
        let lives_in = quoted(lives_in).ok_or_else(|| format!("{rule} lives nowhere"))?.into();
        let held_by = held_by.split("; ").map(|item| holder(item).map_err(|why| format!("{rule}: {why}")));
        Ok(Row { rule: rule.to_owned(), lives_in, held_by: held_by.collect::<Result<_, _>>()? })
    };
    text.lines().filter(is_row).map(row).collect()
}

/// Tells whether a source has a test function of this name: the attribute may be some lines above it.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_it = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let place = lines.iter().position(|line| is_it(line));
    place.is_some_and(|place| {
        let above =
            lines[..place].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("///"));
        above.clone().any(|line| line.starts_with("#[test") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn every_rule_has_one_row() {
    let known: BTreeSet<&str> = KNOWN.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(known.len(), 208);
    let rows = rows(RULES).unwrap();
    let mut seen = BTreeSet::new();
    for row in &rows {
        assert!(seen.insert(row.rule.as_str()), "{} has two rows", row.rule);
    }
    let missing: Vec<_> = known.difference(&seen).collect();
    let unknown: Vec<_> = seen.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "without a row: {missing:?}; no rule: {unknown:?}");
}

#[test]
fn what_holds_a_rule_is_there() {
    let mut sources: BTreeMap<PathBuf, String> = BTreeMap::new();
    for row in rows(RULES).unwrap() {
        assert!(
            crates().join(&row.lives_in).is_file(),
            "{}: {} is no file",
            row.rule,
            row.lives_in.display()
        );
        for held in &row.held_by {
            match held {
                Holder::Test { file, name } => {
                    let read = || std::fs::read_to_string(crates().join(file)).unwrap_or_default();
                    let source = sources.entry(file.clone()).or_insert_with(read);
                    assert!(has_test(source, name), "{}: no test `{name}` in {}", row.rule, file.display());
                }
                Holder::Compiler { file } => {
                    assert!(crates().join(file).is_file(), "{}: {} is no file", row.rule, file.display());
                    let name = file.file_stem().unwrap().to_string_lossy();
                    assert!(
                        PROMISES.contains(&format!("\"{name}\"")),
                        "{}: nobody compiles {name}",
                        row.rule
                    );
                }
                Holder::Scenario(_) | Holder::Unrepresentable | Holder::Later => {}
            }
        }
    }
}

#[test]
fn the_scenarios_that_hold_rules_pass() {
    let pending = Pending::committed().unwrap();
    let scenarios: BTreeMap<String, Scenario> = SCENARIOS
        .lines()
        .map(|line| Scenario::read(&parse(line).unwrap()).unwrap())
        .map(|scenario| (scenario.id.clone(), scenario))
        .collect();
    let mut verdicts: BTreeMap<&String, Verdict> = BTreeMap::new();
    let rows = rows(RULES).unwrap();
    let mut broken = Vec::new();
    for row in &rows {
        for held in &row.held_by {
            let Holder::Scenario(id) = held else { continue };
            let Some(scenario) = scenarios.get(id) else {
                broken.push(format!("{}: there is no scenario {id}", row.rule));
                continue;
            };
            let verdict = verdicts.entry(id).or_insert_with(|| run_scenario(scenario, &pending));
            if *verdict != Verdict::Passed {
                broken.push(format!("{}: {id} is {verdict:?}", row.rule));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_table_that_says_less_is_refused() {
    assert!(rows("| R-001 | short | `a.rs` |").is_err());
    assert!(rows("| R-001 | short | a.rs | JSN-01 |").is_err());
    for item in ["", "unrepresentable:", "later: ", "`a.rs`", "JSN-1", "somewhere"] {
        assert!(rows(&format!("| R-001 | short | `a.rs` | {item} |")).is_err(), "{item}");
    }
    assert!(
        has_test("#[test]\nfn a() {", "a")
            && !has_test("fn a() {", "a")
            && !has_test("#[test]\nfn ab() {", "a")
    );
}
