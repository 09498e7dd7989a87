//! Parts of the system that scenarios need and that are not built yet, and the list that admits them.

use std::collections::BTreeSet;

/// A part that is not built yet. What is built has no place here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The driver `run_code`: code mode with a scripted runtime.
    RunCodeDriver,
    /// The body of `run_code`.
    RunCodeBody,
}

impl Part {
    /// All of them. A part that gets built leaves this list, and with it the pending list.
    pub const ALL: [Self; 2] = [Self::RunCodeDriver, Self::RunCodeBody];

    /// The part as it is written in the pending list.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunCodeDriver => "driver run_code",
            Self::RunCodeBody => "part run-code-body",
        }
    }

    /// Finds the part that a driver of scenarios waits for.
    pub fn of_driver(driver: &str) -> Option<Self> {
        let written = format!("driver {driver}");
        Self::ALL.into_iter().find(|part| part.as_str() == written)
    }
}

/// The list of what may be pending. It can only shrink: an entry that nothing waits for any more is an error.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    parts: BTreeSet<Part>,
    ids: BTreeSet<String>,
}

/// A pending list that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PendingError {
    /// An entry that is neither a missing part nor `id <scenario>`.
    #[error("line {line}: `{entry}` is not pending any more (or never was); remove it")]
    NotPending {
        /// Line in the list, from 1.
        line: usize,
        /// The entry.
        entry: String,
    },
    /// An entry that is there already.
    #[error("line {line}: `{entry}` is listed twice; remove one")]
    Twice {
        /// Line in the list, from 1.
        line: usize,
        /// The entry.
        entry: String,
    },
}

impl Pending {
    /// The list that is part of the project.
    ///
    /// # Errors
    /// An entry is not pending any more.
    pub fn committed() -> Result<Self, PendingError> {
        Self::read(include_str!("../../conformance/pending.txt"))
    }

    /// Reads a list: one entry a line, `#` starts a comment.
    ///
    /// # Errors
    /// An entry is not pending any more, or is there twice.
    pub fn read(text: &str) -> Result<Self, PendingError> {
        let mut pending = Self::default();
        for (index, line) in text.lines().enumerate() {
            let entry = line.split_once('#').map_or(line, |(entry, _)| entry).trim();
            if entry.is_empty() {
                continue;
            }
            let (line, entry) = (index + 1, entry.to_owned());
            let part = Part::ALL.into_iter().find(|part| part.as_str() == entry);
            let new = match (part, entry.strip_prefix("id ")) {
                (Some(part), _) => pending.parts.insert(part),
                (None, Some(id)) => pending.ids.insert(id.trim().to_owned()),
                (None, None) => return Err(PendingError::NotPending { line, entry }),
            };
            if !new {
                return Err(PendingError::Twice { line, entry });
            }
        }
        Ok(pending)
    }

    /// Tells whether a part may be missing.
    pub fn has_part(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// Tells whether a scenario may fail.
    pub fn has_id(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// The entries that name a scenario.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    /// The entries that name a part.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.parts.iter().copied()
    }
}
