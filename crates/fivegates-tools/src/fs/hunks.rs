//! A change of a file as hunks with three lines of context, for people (spec §9.3).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

use super::FsConfig;

/// Unchanged lines around each change.
const CONTEXT_LINES: usize = 3;
/// After this long the rest of a change is shown as one block: a longer search would only make it prettier.
const SEARCH: Duration = Duration::from_millis(200);

/// One place of a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// Number of its first line in the old text, from 1.
    pub old_start: u64,
    /// Number of its first line in the new text, from 1.
    pub new_start: u64,
    /// Its lines without their ends, each after a space (stays), `-` (goes) or `+` (comes).
    pub lines: Vec<String>,
}

/// A change.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hunks {
    /// The places, as far as the limit allows.
    pub(super) hunks: Vec<Hunk>,
    /// Whether more changed than is shown.
    pub(super) truncated: bool,
}

/// Compares two texts, unless one of them is too long for that.
pub(super) fn compare(old: &str, new: &str, config: &FsConfig) -> Hunks {
    let basis_max = config.diff_basis_bytes_max;
    if old.len() as u64 >= basis_max || new.len() as u64 >= basis_max {
        return Hunks { hunks: Vec::new(), truncated: true };
    }
    let diff = TextDiff::configure().timeout(SEARCH).diff_lines(old, new);
    let mut found = Hunks::default();
    let mut bytes = 0;
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let Some(first) = group.first() else { continue };
        let (old_start, new_start) = (first.old_range().start as u64 + 1, first.new_range().start as u64 + 1);
        let mut hunk = Hunk { old_start, new_start, lines: Vec::new() };
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let value = change.value();
            let line = value.strip_suffix('\n').unwrap_or(value);
            bytes += line.len() + 1;
            if bytes > config.hunks_bytes_max {
                found.truncated = true;
                break;
            }
            hunk.lines.push(format!("{sign}{line}"));
        }
        if !hunk.lines.is_empty() {
            found.hunks.push(hunk);
        }
        if found.truncated {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        old: &str,
        new: &str,
        hunks_bytes_max: usize,
        expected: &[(u64, u64, &[&str])],
        truncated: bool,
    ) {
        let found = compare(old, new, &FsConfig { hunks_bytes_max, ..FsConfig::default() });
        let hunks: Vec<(u64, u64, Vec<&str>)> = found
            .hunks
            .iter()
            .map(|hunk| (hunk.old_start, hunk.new_start, hunk.lines.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(old, new, lines)| (*old, *new, lines.to_vec())).collect();
        assert_eq!((hunks, found.truncated), (expected, truncated));
    }

    #[test]
    fn changes_have_three_lines_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let hunk: &[&str] = &[" 2", " 3", " 4", "-5", "+x", " 6", " 7", " 8"];
        check(old, "1\n2\n3\n4\nx\n6\n7\n8\n9\n", 1000, &[(2, 2, hunk)], false);
        check("", "a\nb", 1000, &[(1, 1, &["+a", "+b"])], false);
        check("a\n", "a\n", 1000, &[], false);
    }

    #[test]
    fn what_is_too_much_is_left_out() {
        check("", "aaa\nbbb\nccc\n", 8, &[(1, 1, &["+aaa", "+bbb"])], true);
        check("", "aaaaaaaaa\n", 8, &[], true);
        check(&"x".repeat(10 << 20), "y", 1000, &[], true);
    }
}
