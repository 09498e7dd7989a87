//! What came of a file of scenarios.

use std::collections::BTreeMap;
use std::fmt;

use super::compare::Mismatch;

/// What came of one scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything was as it had to be.
    Passed,
    /// Something was not.
    Failed(Vec<Mismatch>),
    /// It waits for this.
    Pending(String),
    /// It has no form here, for this reason.
    Unrepresentable(String),
}

impl Verdict {
    /// Fails a scenario that could not be run at all.
    pub fn refused(field: &str, expected: &str, got: impl Into<String>) -> Self {
        let mismatch = Mismatch { field: field.to_owned(), expected: expected.to_owned(), got: got.into() };
        Self::Failed(vec![mismatch])
    }
}

/// One scenario with what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The scenario's id; for a line that is no scenario, file and line number.
    pub id: String,
    /// The scenario's area.
    pub area: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// How many scenarios came to what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// As they had to be.
    pub passed: usize,
    /// Not so.
    pub failed: usize,
    /// Waiting for a part.
    pub pending: usize,
    /// Without a form here.
    pub unrepresentable: usize,
}

impl Counts {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Pending(_) => self.pending += 1,
            Verdict::Unrepresentable(_) => self.unrepresentable += 1,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, pending, unrepresentable } = self;
        write!(f, "{passed} passed, {failed} failed, {pending} pending, {unrepresentable} unrepresentable")
    }
}

/// What came of all scenarios, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The scenarios.
    pub lines: Vec<Line>,
}

impl Report {
    /// Counts all scenarios.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.lines.iter().for_each(|line| counts.add(&line.verdict));
        counts
    }

    fn areas(&self) -> BTreeMap<&str, Counts> {
        let mut areas: BTreeMap<&str, Counts> = BTreeMap::new();
        for line in &self.lines {
            areas.entry(&line.area).or_default().add(&line.verdict);
        }
        areas
    }
}

/// Failures, then counts by area, then the sum.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            if let Verdict::Failed(mismatches) = &line.verdict {
                for mismatch in mismatches {
                    writeln!(f, "FAIL {} {mismatch}", line.id)?;
                }
            }
        }
        let areas = self.areas();
        let width = areas.keys().map(|area| area.len()).max().unwrap_or_default();
        for (area, counts) in areas {
            writeln!(f, "{area:width$}  {counts}")?;
        }
        writeln!(f, "conformance: {}", self.counts())
    }
}
