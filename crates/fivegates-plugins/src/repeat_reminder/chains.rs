//! How often each agent has made its last call in a row.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fivegates_core::call::Call;
use fivegates_core::ids::ScopeId;
use fivegates_core::json;

/// One row for each agent, at most so many of a fixed size.
#[derive(Debug)]
pub(super) struct Chains {
    agents_max: usize,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    clock: u64,
    by_agent: HashMap<ScopeId, Row>,
}

#[derive(Debug)]
struct Row {
    identity: [u8; 32],
    count: u64,
    last: u64,
}

impl Chains {
    pub(super) fn new(agents_max: usize) -> Self {
        Self { agents_max, rows: Mutex::default() }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // Nothing that can panic runs under this lock.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and tells how many identical ones in a row it makes.
    pub(super) fn count(&self, agent: ScopeId, identity: [u8; 32]) -> u64 {
        let mut rows = self.rows();
        rows.clock += 1;
        let last = rows.clock;
        if let Some(row) = rows.by_agent.get_mut(&agent) {
            row.count = if row.identity == identity { row.count.saturating_add(1) } else { 1 };
            row.identity = identity;
            row.last = last;
            return row.count;
        }
        if rows.by_agent.len() >= self.agents_max {
            let quietest = rows.by_agent.iter().min_by_key(|(_, row)| row.last).map(|(agent, _)| *agent);
            if let Some(quietest) = quietest {
                rows.by_agent.remove(&quietest);
            }
        }
        rows.by_agent.insert(agent, Row { identity, count: 1, last });
        1
    }

    pub(super) fn forget(&self, agent: ScopeId) {
        self.rows().by_agent.remove(&agent);
    }

    #[cfg(test)]
    pub(super) fn agents(&self) -> usize {
        self.rows().by_agent.len()
    }
}

/// What makes two calls the same: the name, and the arguments whatever the order of their members.
pub(super) fn identity(call: &Call) -> [u8; 32] {
    let name = call.name().as_str().as_bytes();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name);
    hasher.update(call.arguments().map(json::canonical).unwrap_or_default().as_bytes());
    *hasher.finalize().as_bytes()
}
