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

/// What `/proc` says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    state: u8,
    /// 0 for a process whose parent is outside the namespace.
    pub(super) parent: i32,
    pub(super) group: i32,
}

impl Stat {
    /// Whether it can still do something.
    pub(super) fn is_live(self) -> bool {
        self.state != b'Z' && self.state != b'X'
    }
}

/// Looks through `/proc`: some milliseconds of blocking work.
pub(super) fn members(group: Pid) -> Members {
    let Some(mut all) = processes() else {
        return Members::Unknown;
    };
    let mut seen_any = false;
    let live = all.any(|(_, stat)| {
        seen_any = true;
        stat.group == group.as_raw_pid() && stat.is_live()
    });
    match (live, seen_any) {
        (true, _) => Members::Live,
        (false, true) => Members::Gone,
        (false, false) => Members::Unknown,
    }
}

/// All processes that `/proc` shows, one look each. `None` without a readable `/proc`.
pub(super) fn processes() -> Option<impl Iterator<Item = (Pid, Stat)>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(entries.flatten().filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        // A process that has ended meanwhile has no file any more.
        Some((pid, stat(pid)?))
    }))
}

/// One process; `None` when there is none.
pub(super) fn stat(pid: Pid) -> Option<Stat> {
    parse(&fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?)
}

/// The name before the fields is in parentheses and may itself hold parentheses, blanks and any byte.
fn parse(stat: &[u8]) -> Option<Stat> {
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(&stat[end_of_name + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Stat { state, parent, group })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let stat = |state, parent, group| Some(Stat { state, parent, group });
        assert_eq!(parse(b"7 (sleep) S 1 42 42 0 -1"), stat(b'S', 1, 42));
        assert_eq!(parse(b"7 (a) Z 9 9 (\xff) R 5 42 42 0 -1"), stat(b'R', 5, 42));
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
