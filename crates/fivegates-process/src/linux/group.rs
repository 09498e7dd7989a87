//! Whether a process group still has a live member.

use std::fs;

use rustix::io::Errno;
use rustix::process::Pid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// None, or zombies alone: they do nothing any more.
    Gone,
    Live,
    /// There is no readable `/proc`.
    Unknown,
}

/// Whether the system knows no process of this group at all, zombies included. One system call.
pub(super) fn is_empty(group: Pid) -> bool {
    rustix::process::test_kill_process_group(group) == Err(Errno::SRCH)
}

/// Looks through `/proc`: some milliseconds of blocking work.
pub(super) fn members(group: Pid) -> Members {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Members::Unknown;
    };
    let mut seen_any = false;
    for entry in entries.flatten() {
        if !entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        // A process that has ended meanwhile has no file any more.
        let Ok(stat) = fs::read(entry.path().join("stat")) else {
            continue;
        };
        match parse(&stat) {
            Some((state, id)) if id == group.as_raw_pid() && state != b'Z' && state != b'X' => {
                return Members::Live;
            }
            Some(_) => seen_any = true,
            None => {}
        }
    }
    if seen_any { Members::Gone } else { Members::Unknown }
}

/// State and group. The name before them is in parentheses and may itself hold parentheses, blanks and any byte.
fn parse(stat: &[u8]) -> Option<(u8, i32)> {
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(&stat[end_of_name + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some((state, group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_group_are_found_behind_any_name() {
        assert_eq!(parse(b"7 (sleep) S 1 42 42 0 -1"), Some((b'S', 42)));
        assert_eq!(parse(b"7 (a) Z 9 9 (\xff) R 1 42 42 0 -1"), Some((b'R', 42)));
        assert_eq!(parse(b"7 (sleep"), None);
        assert_eq!(parse(b"7 (sleep) S 1"), None);
    }

    #[test]
    fn our_own_group_is_live() {
        let group = rustix::process::getpgrp();
        assert_eq!(members(group), Members::Live);
        assert!(!is_empty(group));
    }
}
