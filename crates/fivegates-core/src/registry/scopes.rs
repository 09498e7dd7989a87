//! Scopes: agents, and layers around them.

use std::sync::Arc;

use super::{Layer, Mounted, Registry, State};
use crate::ids::ScopeId;

/// A scope's owner handle. Dropping it removes everything registered in the scope.
pub struct Scope {
    registry: Registry,
    id: ScopeId,
}

/// The right to change a parent link, given to whoever bound it first.
#[derive(Debug)]
pub struct ParentBinding {
    child: ScopeId,
    serial: u64,
}

/// Why scopes cannot be linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// The scope has a parent already.
    #[error(
        "scope key is already bound to a parent; re-linking requires the binding returned by the original bind"
    )]
    AlreadyBound,
    /// The link would lead back to the scope.
    #[error("scope parent link would form a cycle")]
    Cycle,
    /// One of the scopes is gone.
    #[error("the scope no longer exists")]
    Gone,
}

impl Scope {
    /// The scope's identity, for requests and registrations.
    pub fn id(&self) -> ScopeId {
        self.id
    }
}

impl Drop for Scope {
    /// Removes what was registered in the scope. Calls in it, and in scopes within it, are refused from now on: their
    /// guards and restrictions are not known any more.
    fn drop(&mut self) {
        let (layer, listeners) = {
            let mut state = self.registry.write();
            (state.scopes.remove(&self.id), unmount(&mut state, self.id))
        };
        let shows =
            |layer: &Layer| !layer.tools.is_empty() || !layer.restrictions.is_empty() || layer.mode.is_some();
        let had_tools = layer.as_ref().is_some_and(shows);
        super::put_away((layer, listeners));
        if had_tools {
            let _ = self.registry.announce();
        }
    }
}

/// Takes out the listeners that are tagged with a scope, and gives back the old lists.
fn unmount(state: &mut State, scope: ScopeId) -> impl Sized + use<> {
    fn clean<T: ?Sized>(list: &mut Arc<Vec<Mounted<T>>>, scope: ScopeId) -> Option<Arc<Vec<Mounted<T>>>> {
        let tagged = |mounted: &Mounted<T>| mounted.scope == Some(scope);
        if !list.iter().any(tagged) {
            return None;
        }
        let kept = list.iter().filter(|mounted| !tagged(mounted)).cloned().collect();
        Some(std::mem::replace(list, Arc::new(kept)))
    }
    (
        clean(&mut state.pre, scope),
        clean(&mut state.around, scope),
        clean(&mut state.post, scope),
        clean(&mut state.observers, scope),
    )
}

impl Registry {
    /// Makes a scope inside another, or inside the global layer.
    pub fn scope(&self, name: impl Into<Arc<str>>, parent: Option<&Scope>) -> Scope {
        let mut state = self.write();
        let serial = state.next();
        let id = ScopeId(serial);
        let parent = parent.map(|parent| (parent.id, serial));
        state.scopes.insert(id, Layer { name: name.into(), parent, ..Layer::default() });
        drop(state);
        Scope { registry: self.clone(), id }
    }

    /// Puts a scope inside another; this can be done once.
    ///
    /// # Errors
    /// The scope has a parent, the link would form a cycle, or one of them is gone.
    pub fn bind_parent(&self, child: ScopeId, parent: ScopeId) -> Result<ParentBinding, ScopeError> {
        let mut state = self.write();
        if state.scopes.get(&child).ok_or(ScopeError::Gone)?.parent.is_some() {
            return Err(ScopeError::AlreadyBound);
        }
        let serial = link(&mut state, child, parent)?;
        Ok(ParentBinding { child, serial })
    }

    /// Moves a scope to another parent.
    ///
    /// # Errors
    /// The binding is no longer the one in force, the link would form a cycle, or a scope is gone.
    pub fn rebind_parent(&self, binding: &mut ParentBinding, parent: ScopeId) -> Result<(), ScopeError> {
        let mut state = self.write();
        let bound = state.scopes.get(&binding.child).ok_or(ScopeError::Gone)?.parent;
        if bound.is_none_or(|(_, serial)| serial != binding.serial) {
            return Err(ScopeError::AlreadyBound);
        }
        binding.serial = link(&mut state, binding.child, parent)?;
        Ok(())
    }

    /// The name of a scope.
    pub fn scope_name(&self, scope: ScopeId) -> Option<Arc<str>> {
        self.read().scopes.get(&scope).map(|layer| Arc::clone(&layer.name))
    }

    /// The scopes of an agent, nearest first, shared by everything that one call mounts.
    pub(crate) fn scopes_of(&self, agent: Option<ScopeId>) -> Arc<[ScopeId]> {
        match agent {
            None => Arc::default(),
            Some(_) => self.read().chain(agent).into(),
        }
    }
}

fn link(state: &mut State, child: ScopeId, parent: ScopeId) -> Result<u64, ScopeError> {
    if !state.scopes.contains_key(&parent) {
        return Err(ScopeError::Gone);
    }
    if state.chain(Some(parent)).contains(&child) {
        return Err(ScopeError::Cycle);
    }
    let serial = state.next();
    let layer = state.scopes.get_mut(&child).ok_or(ScopeError::Gone)?;
    layer.parent = Some((parent, serial));
    Ok(serial)
}
