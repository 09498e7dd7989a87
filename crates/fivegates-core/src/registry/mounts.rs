//! Mounting listeners and guards.

use std::sync::Arc;

use super::{Mounted, News, Registration, Registry, State};
use crate::gates::{Around, Guard, Observer, PostExecute, PreExecute};
use crate::ids::{ComponentId, ScopeId};

/// Where in its chain a listener goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Inside those that are there (registration order, R-081).
    #[default]
    Inner,
    /// Outside those that are there (`prepend`).
    Outer,
}

/// How a listener is mounted.
#[derive(Clone, Debug)]
pub struct Listen {
    id: ComponentId,
    scope: Option<ScopeId>,
    place: Place,
}

impl Listen {
    /// Mounts under this id, for all calls, inside those that are there.
    pub fn as_id(id: impl Into<ComponentId>) -> Self {
        Self { id: id.into(), scope: None, place: Place::Inner }
    }

    /// Hears only calls of this scope and of scopes within it.
    #[must_use]
    pub fn in_scope(self, scope: ScopeId) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Goes outside the listeners that are there.
    #[must_use]
    pub fn outermost(self) -> Self {
        Self { place: Place::Outer, ..self }
    }
}

type List<T> = Arc<Vec<Mounted<T>>>;

fn mount<T: ?Sized>(list: &mut List<T>, serial: u64, how: Listen, listener: Arc<T>) {
    let mounted = Mounted { serial, id: how.id, scope: how.scope, listener };
    let list = Arc::make_mut(list);
    match how.place {
        Place::Inner => list.push(mounted),
        Place::Outer => list.insert(0, mounted),
    }
}

/// Takes a listener out and gives back the old list, which is dropped once the lock is released.
fn remove<T: ?Sized>(list: &mut List<T>, serial: u64) -> List<T> {
    let kept = list.iter().filter(|mounted| mounted.serial != serial).cloned().collect();
    std::mem::replace(list, Arc::new(kept))
}

impl Registry {
    /// Mounts a listener of gate 1.
    pub fn pre_execute(&self, how: Listen, listener: impl PreExecute + 'static) -> Registration {
        self.mount::<dyn PreExecute>(how, Arc::new(listener), |state| &mut state.pre)
    }

    /// Mounts a listener of gate 3.
    pub fn around(&self, how: Listen, listener: impl Around + 'static) -> Registration {
        self.mount::<dyn Around>(how, Arc::new(listener), |state| &mut state.around)
    }

    /// Mounts a listener of gate 4.
    pub fn post_execute(&self, how: Listen, listener: impl PostExecute + 'static) -> Registration {
        self.mount::<dyn PostExecute>(how, Arc::new(listener), |state| &mut state.post)
    }

    /// Mounts an observer of results.
    pub fn observe(&self, how: Listen, listener: impl Observer + 'static) -> Registration {
        self.mount::<dyn Observer>(how, Arc::new(listener), |state| &mut state.observers)
    }

    fn mount<T: ?Sized + 'static>(
        &self,
        how: Listen,
        listener: Arc<T>,
        list: fn(&mut State) -> &mut List<T>,
    ) -> Registration {
        let mut state = self.write();
        let serial = state.next();
        mount(list(&mut state), serial, how, listener);
        drop(state);
        self.registration(News::Silent, move |state| remove(list(state), serial))
    }

    /// Mounts a guard in the global layer or in a scope. Guards are asked from the global layer inwards, and a
    /// scope cannot lift those around it.
    pub fn guard(&self, how: Listen, guard: impl Guard + 'static) -> Registration {
        let scope = how.scope;
        let mut state = self.write();
        let serial = state.next();
        let Some(layer) = state.layer_mut(scope) else {
            // The scope is gone, and every call in it is refused.
            return Registration::new(|| {});
        };
        mount(&mut layer.guards, serial, how, Arc::new(guard));
        drop(state);
        self.registration(News::Silent, move |state| {
            state.layer_mut(scope).map(|layer| remove(&mut layer.guards, serial))
        })
    }

    pub(crate) fn pre_list(&self) -> List<dyn PreExecute> {
        Arc::clone(&self.read().pre)
    }

    pub(crate) fn around_list(&self) -> List<dyn Around> {
        Arc::clone(&self.read().around)
    }

    pub(crate) fn post_list(&self) -> List<dyn PostExecute> {
        Arc::clone(&self.read().post)
    }

    pub(crate) fn observer_list(&self) -> List<dyn Observer> {
        Arc::clone(&self.read().observers)
    }

    /// The guards that a call meets, as they are now: global first, then from the farthest scope to the nearest (L-08).
    /// Nothing when one of its scopes is gone: which guards it would meet is not known any more, so it must not run.
    pub(crate) fn guard_lists(&self, scopes: &[ScopeId]) -> Option<Vec<List<dyn Guard>>> {
        let state = self.read();
        let mut lists = vec![Arc::clone(&state.global.guards)];
        for scope in scopes.iter().rev() {
            lists.push(Arc::clone(&state.scopes.get(scope)?.guards));
        }
        Some(lists)
    }

    /// The ids of everything mounted, by stage, in the order in which a call without an agent meets them.
    pub fn mounted_ids(&self) -> Vec<(crate::call::Stage, Vec<ComponentId>)> {
        use crate::call::Stage;
        fn ids<T: ?Sized>(list: &List<T>) -> Vec<ComponentId> {
            list.iter().map(|mounted| mounted.id.clone()).collect()
        }
        let state = self.read();
        let guards = std::iter::once(&state.global).chain(state.scopes.values());
        vec![
            (Stage::PreExecute, ids(&state.pre)),
            (Stage::Guards, guards.flat_map(|layer| ids(&layer.guards)).collect()),
            (Stage::Execute, ids(&state.around)),
            (Stage::PostExecute, ids(&state.post)),
            (Stage::Result, ids(&state.observers)),
        ]
    }
}
