//! The totals that test runners print.

use std::iter::Sum;

/// How many tests ran, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    /// Those that failed, hung or could not be started.
    pub(crate) failed: u64,
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            passed: sum.passed + one.passed,
            failed: sum.failed + one.failed,
        })
    }
}

/// The totals in one line of output, if it is a runner's summary.
pub(crate) fn parse(line: &str) -> Option<Totals> {
    parse_nextest(line).or_else(|| parse_libtest(line))
}

/// Reads `Summary [   1.2s] 4 tests run: 2 passed (1 slow), 1 failed, 1 timed out, 3 skipped`.
fn parse_nextest(line: &str) -> Option<Totals> {
    let rest = line.trim_start().strip_prefix("Summary [")?;
    let (_, counts) = rest.split_once("run:")?;
    Some(count(counts.split(',')))
}

/// Reads `test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
fn parse_libtest(line: &str) -> Option<Totals> {
    let rest = line.trim_start().strip_prefix("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    Some(count(counts.split(';')))
}

fn count<'a>(parts: impl Iterator<Item = &'a str>) -> Totals {
    let mut totals = Totals::default();
    for part in parts {
        let Some((number, what)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match what.split('(').next().unwrap_or_default().trim() {
            "passed" => totals.passed += number,
            "failed" | "timed out" | "exec failed" => totals.failed += number,
            _ => {}
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::{Totals, parse};

    #[track_caller]
    fn check(line: &str, expected: Option<(u64, u64)>) {
        assert_eq!(parse(line), expected.map(|(passed, failed)| Totals { passed, failed }), "{line}");
    }

    #[test]
    fn nextest_lines() {
        check("     Summary [   0.003s] 2 tests run: 2 passed, 0 skipped", Some((2, 0)));
        check(
            "     Summary [  12.003s] 9 tests run: 5 passed (1 slow, 1 flaky, 1 leaky), 2 failed, 1 timed out, 1 exec failed, 3 skipped",
            Some((5, 4)),
        );
        check(
            "     Summary [   1.000s] 3/7 tests run: 2 passed, 1 failed (1 due to being leaky), 0 skipped",
            Some((2, 1)),
        );
        check("     Summary [   0.000s] 0 tests run: 0 passed, 4 skipped", Some((0, 0)));
    }

    #[test]
    fn cargo_test_lines() {
        check(
            "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s",
            Some((4, 0)),
        );
        check("test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out", Some((1, 3)));
    }

    #[test]
    fn other_lines() {
        for line in ["", "running 4 tests", "test a ... ok", "Summary of changes", "4 passed, 1 failed"] {
            check(line, None);
        }
    }

    #[test]
    fn totals_add_up() {
        let all = [Totals { passed: 1, failed: 2 }, Totals { passed: 3, failed: 4 }];
        assert_eq!(all.into_iter().sum::<Totals>(), Totals { passed: 4, failed: 6 });
    }
}
