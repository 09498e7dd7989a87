//! What is mounted: tools, listeners, guards, restrictions and presentation, in a global layer and in scopes.
//!
//! Every addition is a [`Registration`]: dropping it removes exactly what it added. A call takes what it needs
//! once and keeps it, so a change in between cannot show half of itself.

mod mounts;
mod presentation;
mod scopes;
mod tools;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::gates::{Around, Guard, Observer, PostExecute, PreExecute};
use crate::ids::{ComponentId, ScopeId, ToolName};
use crate::tool::Definition;

pub use mounts::{Listen, Place};
pub use presentation::{CODE_ONLY_SECTION, Mode, Presentation, PromptSection, SDK_SECTION, SdkRenderer};
pub use scopes::{ParentBinding, Scope, ScopeError};
pub use tools::{RUN_CODE, RegistryError, Restriction};

/// The registry; clones share one state.
#[derive(Clone, Default)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: RwLock<State>,
    watchers: RwLock<Vec<(u64, Arc<Watcher>)>>,
}

type Watcher = dyn Fn() -> Result<(), crate::error::ToolError> + Send + Sync;

#[derive(Default)]
struct State {
    serial: u64,
    /// The mode of agents that no scope declares one for.
    mode: Mode,
    /// The `run_code` transport, when code mode is mounted.
    transport: Option<presentation::Transport>,
    renderers: presentation::Renderers,
    /// Names that come first in every list of tools.
    order: Vec<ToolName>,
    global: Layer,
    scopes: HashMap<ScopeId, Layer>,
    pre: Arc<Vec<Mounted<dyn PreExecute>>>,
    around: Arc<Vec<Mounted<dyn Around>>>,
    post: Arc<Vec<Mounted<dyn PostExecute>>>,
    observers: Arc<Vec<Mounted<dyn Observer>>>,
}

/// What one layer holds.
#[derive(Default)]
struct Layer {
    name: Arc<str>,
    parent: Option<(ScopeId, u64)>,
    tools: HashMap<ToolName, Arc<Registered>>,
    guards: Arc<Vec<Mounted<dyn Guard>>>,
    restrictions: Vec<(u64, Arc<Restriction>)>,
    mode: Option<(u64, Mode)>,
}

/// A tool as it was registered; its identity is the address.
pub(crate) struct Registered {
    serial: u64,
    pub(crate) definition: Definition,
}

/// A listener as it was mounted.
pub(crate) struct Mounted<T: ?Sized> {
    serial: u64,
    pub(crate) id: ComponentId,
    scope: Option<ScopeId>,
    pub(crate) listener: Arc<T>,
}

impl<T: ?Sized> Clone for Mounted<T> {
    fn clone(&self) -> Self {
        Self {
            serial: self.serial,
            id: self.id.clone(),
            scope: self.scope,
            listener: Arc::clone(&self.listener),
        }
    }
}

impl<T: ?Sized> Mounted<T> {
    /// Tells whether it hears calls with these scopes.
    pub(crate) fn hears(&self, scopes: &[ScopeId]) -> bool {
        self.scope.is_none_or(|scope| scopes.contains(&scope))
    }
}

/// Something that was added. Dropping it removes exactly that.
#[must_use = "dropping a registration removes what it added; use `keep` to leave it mounted"]
pub struct Registration {
    undo: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Registration {
    fn new(undo: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { undo: Some(Box::new(undo)) }
    }

    /// Removes what was added; the same as dropping.
    pub fn dispose(self) {}

    /// Leaves it mounted as long as the registry lives.
    pub fn keep(mut self) {
        self.undo = None;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            undo();
        }
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("mounted", &self.undo.is_some()).finish()
    }
}

impl Registry {
    /// Makes an empty registry in native mode.
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        // No foreign code runs under this lock (what is taken out is dropped after it), so nothing is left half-changed.
        self.shared.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.shared.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `watcher` after each change of what agents can see.
    ///
    /// When the watcher fails during a registration, that registration is rolled back and the error surfaces.
    pub fn on_change(
        &self,
        watcher: impl Fn() -> Result<(), crate::error::ToolError> + Send + Sync + 'static,
    ) -> Registration {
        let serial = self.write().next();
        let mut watchers = self.shared.watchers.write().unwrap_or_else(PoisonError::into_inner);
        watchers.push((serial, Arc::new(watcher)));
        let shared = Arc::downgrade(&self.shared);
        Registration::new(move || {
            if let Some(shared) = shared.upgrade() {
                let removed = {
                    let mut watchers = shared.watchers.write().unwrap_or_else(PoisonError::into_inner);
                    let at = watchers.iter().position(|(known, _)| *known == serial);
                    at.map(|at| watchers.remove(at))
                };
                put_away(removed);
            }
        })
    }

    /// Announces one change and returns the first failure of a watcher.
    fn announce(&self) -> Result<(), crate::error::ToolError> {
        let watchers: Vec<_> = {
            let watchers = self.shared.watchers.read().unwrap_or_else(PoisonError::into_inner);
            watchers.iter().map(|(_, watcher)| Arc::clone(watcher)).collect()
        };
        let mut first = Ok(());
        for watcher in watchers {
            let done = crate::gates::contain(|| watcher());
            let done = done.unwrap_or_else(|text| Err(format!("a change observer panicked: {text}").into()));
            first = first.and(done);
        }
        first
    }

    /// Makes a registration whose undoing is a change of the state, announced or not.
    fn registration<R>(
        &self,
        news: News,
        undo: impl FnOnce(&mut State) -> R + Send + Sync + 'static,
    ) -> Registration {
        let shared = Arc::downgrade(&self.shared);
        Registration::new(move || {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let registry = Self { shared };
            let removed = undo(&mut registry.write());
            put_away(removed);
            if news == News::Announced {
                // There is nothing to roll back: removal always holds.
                let _ = registry.announce();
            }
        })
    }
}

/// Drops what was taken out of the registry. It may own anything, registrations and panics included, so this happens
/// after the lock is released and contained.
fn put_away<R>(removed: R) {
    let _ = crate::gates::contain(|| drop(removed));
}

/// Whether a change is announced to watchers.
#[derive(Clone, Copy, PartialEq)]
enum News {
    Announced,
    Silent,
}

impl State {
    fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn layer_mut(&mut self, scope: Option<ScopeId>) -> Option<&mut Layer> {
        match scope {
            None => Some(&mut self.global),
            Some(scope) => self.scopes.get_mut(&scope),
        }
    }

    /// The scopes of an agent, nearest first.
    fn chain(&self, agent: Option<ScopeId>) -> Vec<ScopeId> {
        let mut chain = Vec::new();
        let mut at = agent;
        while let Some(scope) = at {
            chain.push(scope);
            at = self.scopes.get(&scope).and_then(|layer| layer.parent).map(|(parent, _)| parent);
        }
        chain
    }
}

#[cfg(test)]
mod tests;
