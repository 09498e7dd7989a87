//! What each agent has seen of which file (spec §9.2). In memory, bounded, never persisted.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fivegates_core::ids::ScopeId;

use super::handle::Version;

/// What an agent last saw of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// Nothing; or so long ago that it was forgotten, which comes to the same.
    Never,
    /// That there is none.
    Absent,
    /// This state of it.
    Present(Version),
}

/// The observations of all agents. A call without an agent sees and remembers nothing.
#[derive(Debug)]
pub(super) struct Observations {
    entries_max: usize,
    state: Mutex<State>,
}

type Key = (ScopeId, Arc<Path>);

#[derive(Debug, Default)]
struct State {
    serial: u64,
    by_key: HashMap<Key, (u64, Seen)>,
    /// Oldest first.
    by_age: BTreeMap<u64, Key>,
}

impl Observations {
    pub(super) fn new(entries_max: usize) -> Self {
        Self { entries_max, state: Mutex::default() }
    }

    pub(super) fn of(&self, agent: Option<ScopeId>, path: &Path) -> Seen {
        let Some(agent) = agent else {
            return Seen::Never;
        };
        let key = (agent, Arc::from(path));
        self.state().by_key.get(&key).map_or(Seen::Never, |(_, seen)| seen.clone())
    }

    /// Replaces what the agent has seen. When the limit is reached, what was seen longest ago is forgotten.
    pub(super) fn record(&self, agent: Option<ScopeId>, path: &Path, seen: Seen) {
        let Some(agent) = agent else {
            return;
        };
        let key: Key = (agent, Arc::from(PathBuf::from(path)));
        let mut state = self.state();
        state.serial += 1;
        let serial = state.serial;
        if let Some((old, _)) = state.by_key.insert(key.clone(), (serial, seen)) {
            state.by_age.remove(&old);
        }
        state.by_age.insert(serial, key);
        while state.by_key.len() > self.entries_max {
            let Some((_, oldest)) = state.by_age.pop_first() else { break };
            state.by_key.remove(&oldest);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents() -> [Option<ScopeId>; 2] {
        let registry = fivegates_core::registry::Registry::new();
        ["a", "b"].map(|name| Some(registry.scope(name, None).id()))
    }

    #[test]
    fn the_oldest_is_forgotten_and_a_renewed_one_is_not_old() {
        let observations = Observations::new(2);
        let [agent, _] = agents();
        let seen = |path: &str| observations.of(agent, Path::new(path));
        for path in ["/a", "/b", "/a", "/c"] {
            observations.record(agent, Path::new(path), Seen::Absent);
        }
        assert_eq!([seen("/a"), seen("/b"), seen("/c")], [Seen::Absent, Seen::Never, Seen::Absent]);
        assert_eq!(observations.state().by_age.len(), 2);
    }

    #[test]
    fn one_agent_sees_nothing_of_another() {
        let observations = Observations::new(2);
        let [one, other] = agents();
        observations.record(one, Path::new("/a"), Seen::Absent);
        observations.record(None, Path::new("/b"), Seen::Absent);
        assert_eq!(observations.of(other, Path::new("/a")), Seen::Never);
        assert_eq!(observations.of(None, Path::new("/b")), Seen::Never);
    }
}
