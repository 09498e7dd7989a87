//! Tools: registering, finding, restricting and presenting them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Layer, Mode, News, Registered, Registration, Registry, State};
use crate::error::ToolError;
use crate::ids::{ScopeId, ToolName};
use crate::json::Json;
use crate::tool::Definition;

/// The reserved name of the code-mode transport.
pub const RUN_CODE: &str = "run_code";

/// A filter over what a scope inherits (R-041 … R-045).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restriction {
    /// Only these are let through; tools registered later are not.
    pub allow: Option<BTreeSet<ToolName>>,
    /// These are kept back; tools registered later are not.
    pub deny: BTreeSet<ToolName>,
}

impl Restriction {
    fn admits(&self, name: &ToolName) -> bool {
        !self.deny.contains(name) && self.allow.as_ref().is_none_or(|allow| allow.contains(name))
    }
}

/// Why the registry refuses a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The global layer has a tool of that name.
    #[error(
        "tool \"{0}\" is already registered (for a per-agent variant, register through that agent's `agent.ctx` instead)"
    )]
    DuplicateGlobal(ToolName),
    /// The scope has a tool of that name.
    #[error("tool \"{0}\" is already registered in this scope")]
    DuplicateInScope(ToolName),
    /// The name belongs to code mode.
    #[error(
        "tool name \"run_code\" is reserved for the Code Mode presentation transport and cannot be registered or shadowed"
    )]
    ReservedName,
    /// A deadline of zero.
    #[error("tool \"{0}\" timeoutMs must be a positive finite number")]
    BadDeadline(ToolName),
    /// A name that is empty.
    #[error("a tool needs a name")]
    EmptyName,
    /// A restriction without a scope.
    #[error(
        "tools.restrict() requires a scoped context (agent.ctx): a context-global filter would hide tools from everyone"
    )]
    RestrictionNeedsScope,
    /// A restriction that filters nothing.
    #[error(
        "tools.restrict({{}}) is a no-op: pass `allow` and/or `deny` (an empty filter is almost always a materialized-empty-config bug)"
    )]
    EmptyRestriction,
    /// A restriction of the code-mode transport.
    #[error(
        "tools.restrict() cannot name reserved Code Mode presentation transport \"run_code\"; restrict end-capability tools instead"
    )]
    RestrictsTransport,
    /// A restriction that names what the scope does not inherit.
    #[error("tools.restrict() names unknown global tool{} {}; known global tools: {}", plural(.unknown), quoted(.unknown), listed(.known))]
    RestrictsUnknown {
        /// The names that are not known, in the order given.
        unknown: Vec<ToolName>,
        /// The names that are, sorted.
        known: Vec<ToolName>,
    },
    /// A presentation without a scope.
    #[error(
        "tools.presentAs() requires a scoped context (agent.ctx): a context-global presentation is the `mode` config field on the tools row"
    )]
    PresentationNeedsScope,
    /// A second presentation for one scope.
    #[error(
        "tools.presentAs(\"{}\") conflicts with \"{}\" already declared for this scope; one composition selects one presentation",
        .asked.as_str(), .declared.as_str()
    )]
    PresentationConflict {
        /// The mode asked for.
        asked: Mode,
        /// The mode that is there.
        declared: Mode,
    },
    /// A mode that needs code mode, which is not mounted.
    #[error("tools mode \"{}\" needs a code runtime, and none is mounted", .0.as_str())]
    NoCodeRuntime(Mode),
    /// A second code-mode transport.
    #[error("a code mode transport is mounted already; remove it before mounting another")]
    TransportMounted,
    /// A second renderer for one language.
    #[error("an SDK renderer for language \"{0}\" is mounted already")]
    DuplicateRenderer(Arc<str>),
    /// The runtime's language has no renderer.
    #[error(
        "no SDK renderer registered for runtime language \"{language}\" (known: {})",
        if .known.is_empty() { "none".to_owned() } else { .known.join(", ") }
    )]
    NoSdkRenderer {
        /// The runtime's language.
        language: Arc<str>,
        /// The languages that have one, sorted.
        known: Vec<Arc<str>>,
    },
    /// A renderer panicked.
    #[error("the SDK renderer for language \"{language}\" panicked: {cause}")]
    SdkRendererPanicked {
        /// Its language.
        language: Arc<str>,
        /// What it said.
        cause: String,
    },
    /// The scope is gone.
    #[error("the scope no longer exists")]
    ScopeGone,
    /// A change observer failed; the change was rolled back.
    #[error("{0}")]
    Watcher(ToolError),
}

fn plural(names: &[ToolName]) -> &'static str {
    if names.len() == 1 { "" } else { "s" }
}

fn quoted(names: &[ToolName]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

fn listed(names: &[ToolName]) -> String {
    if names.is_empty() {
        return "(none)".to_owned();
    }
    names.iter().map(ToolName::as_str).collect::<Vec<_>>().join(", ")
}

impl Registry {
    /// Registers a tool in the global layer or in a scope, where it shadows the layers around it (R-030 … R-039).
    ///
    /// # Errors
    /// The name is taken, reserved or empty, the deadline is zero, the scope is gone, or a change observer failed.
    pub fn register(
        &self,
        scope: Option<ScopeId>,
        definition: Definition,
    ) -> Result<Registration, RegistryError> {
        let name = definition.name().clone();
        check_definition(&name, &definition)?;
        let mut state = self.write();
        let serial = state.next();
        let layer = state.layer_mut(scope).ok_or(RegistryError::ScopeGone)?;
        if layer.tools.contains_key(&name) {
            return Err(if scope.is_none() {
                RegistryError::DuplicateGlobal(name)
            } else {
                RegistryError::DuplicateInScope(name)
            });
        }
        layer.tools.insert(name.clone(), Arc::new(Registered { serial, definition }));
        drop(state);
        self.announced(move |state| {
            if let Some(layer) = state.layer_mut(scope)
                && layer.tools.get(&name).is_some_and(|registered| registered.serial == serial)
            {
                layer.tools.remove(&name);
            }
        })
    }

    /// Restricts what a scope inherits; several restrictions intersect (R-041 … R-045).
    ///
    /// # Errors
    /// There is no scope, nothing is restricted, `run_code` is named, or a name is not inherited.
    pub fn restrict(
        &self,
        scope: Option<ScopeId>,
        filter: Restriction,
    ) -> Result<Registration, RegistryError> {
        let scope = scope.ok_or(RegistryError::RestrictionNeedsScope)?;
        if filter.allow.is_none() && filter.deny.is_empty() {
            return Err(RegistryError::EmptyRestriction);
        }
        let named: Vec<&ToolName> = filter.allow.iter().flatten().chain(&filter.deny).collect();
        if named.iter().any(|name| name.as_str() == RUN_CODE) {
            return Err(RegistryError::RestrictsTransport);
        }
        let mut state = self.write();
        let inherited: Vec<ToolName> = state.inherited(scope).into_keys().collect();
        let unknown: Vec<ToolName> =
            named.into_iter().filter(|name| !inherited.contains(name)).cloned().collect();
        if !unknown.is_empty() {
            return Err(RegistryError::RestrictsUnknown { unknown, known: inherited });
        }
        let serial = state.next();
        let layer = state.layer_mut(Some(scope)).ok_or(RegistryError::ScopeGone)?;
        layer.restrictions.push((serial, Arc::new(filter)));
        drop(state);
        self.announced(move |state| {
            if let Some(layer) = state.layer_mut(Some(scope)) {
                layer.restrictions.retain(|(known, _)| *known != serial);
            }
        })
    }

    /// Declares how a scope's agents are shown their tools, once for each scope.
    ///
    /// # Errors
    /// There is no scope, or one is declared.
    pub fn present_as(&self, scope: Option<ScopeId>, mode: Mode) -> Result<Registration, RegistryError> {
        let scope = scope.ok_or(RegistryError::PresentationNeedsScope)?;
        let mut state = self.write();
        let serial = state.next();
        let layer = state.layer_mut(Some(scope)).ok_or(RegistryError::ScopeGone)?;
        if let Some((_, declared)) = layer.mode {
            return Err(RegistryError::PresentationConflict { asked: mode, declared });
        }
        layer.mode = Some((serial, mode));
        drop(state);
        self.announced(move |state| {
            if let Some(layer) = state.layer_mut(Some(scope))
                && layer.mode.is_some_and(|(known, _)| known == serial)
            {
                layer.mode = None;
            }
        })
    }

    /// Announces a change that was made; a failing watcher undoes it.
    pub(super) fn announced(
        &self,
        undo: impl FnOnce(&mut State) + Send + Sync + 'static,
    ) -> Result<Registration, RegistryError> {
        match self.announce() {
            Ok(()) => Ok(self.registration(News::Announced, undo)),
            Err(error) => {
                undo(&mut self.write());
                Err(RegistryError::Watcher(error))
            }
        }
    }

    /// Finds the tool that a name means for an agent.
    pub fn find(&self, agent: Option<ScopeId>, name: &ToolName) -> Option<Definition> {
        let chain = self.scopes_of(agent);
        self.resolve(&chain, name).map(|registered| registered.definition.clone())
    }

    pub(crate) fn resolve(&self, scopes: &[ScopeId], name: &ToolName) -> Option<Arc<Registered>> {
        let state = self.read();
        if name.as_str() == RUN_CODE {
            // In native mode there is no such tool.
            let transport = state.transport.as_ref().filter(|_| state.mode_of(scopes) != Mode::Native);
            return transport.map(|transport| Arc::clone(&transport.registered));
        }
        // In a scope that is gone nothing is found: its restrictions are not known any more.
        if scopes.iter().any(|scope| !state.scopes.contains_key(scope)) {
            return None;
        }
        let layers = || scopes.iter().filter_map(|scope| state.scopes.get(scope));
        // A scope's own tools are exempt from every restriction.
        if let Some(own) = layers().next().and_then(|layer| layer.tools.get(name)) {
            return Some(Arc::clone(own));
        }
        let inherited = layers().skip(1).find_map(|layer| layer.tools.get(name));
        let registered = inherited.or_else(|| state.global.tools.get(name))?;
        let admitted = layers().flat_map(|layer| &layer.restrictions).all(|(_, filter)| filter.admits(name));
        admitted.then(|| Arc::clone(registered))
    }

    /// Tells whether a call may overlap with others. Doubt means no.
    pub fn is_parallel(&self, agent: Option<ScopeId>, name: &ToolName, arguments: Option<&Json>) -> bool {
        let scopes = self.scopes_of(agent);
        let (Some(registered), Some(arguments)) = (self.resolve(&scopes, name), arguments) else {
            return false;
        };
        name.as_str() != RUN_CODE
            && self.mode_of(agent) != Mode::Code
            && registered.definition.argument_violations(arguments).is_empty()
            && registered.definition.can_parallel(arguments)
    }
}

fn check_definition(name: &ToolName, definition: &Definition) -> Result<(), RegistryError> {
    if name.as_str() == RUN_CODE {
        return Err(RegistryError::ReservedName);
    }
    if name.as_str().is_empty() {
        return Err(RegistryError::EmptyName);
    }
    if definition.timeout_ms() == Some(0) {
        return Err(RegistryError::BadDeadline(name.clone()));
    }
    Ok(())
}

impl State {
    /// What a chain of scopes sees, by name. What the nearest scope inherits passes the restrictions of all of them (R-042,
    ///
    pub(super) fn visible(&self, chain: &[ScopeId]) -> BTreeMap<ToolName, Arc<Registered>> {
        let tools = |layer: &Layer| -> Vec<(ToolName, Arc<Registered>)> {
            layer.tools.iter().map(|(name, tool)| (name.clone(), Arc::clone(tool))).collect()
        };
        let known: Option<Vec<&Layer>> = chain.iter().map(|scope| self.scopes.get(scope)).collect();
        let Some(layers) = known else {
            return BTreeMap::new();
        };
        let mut seen: BTreeMap<_, _> = tools(&self.global).into_iter().collect();
        for layer in layers.iter().skip(1).rev() {
            seen.extend(tools(layer));
        }
        for layer in &layers {
            filter(&mut seen, &layer.restrictions);
        }
        seen.extend(layers.first().into_iter().flat_map(|layer| tools(layer)));
        seen
    }

    /// What a scope sees of the layers around it, before its own restrictions.
    fn inherited(&self, scope: ScopeId) -> BTreeMap<ToolName, Arc<Registered>> {
        let chain = self.chain(Some(scope));
        self.visible(chain.get(1..).unwrap_or_default())
    }
}

fn filter(seen: &mut BTreeMap<ToolName, Arc<Registered>>, restrictions: &[(u64, Arc<Restriction>)]) {
    seen.retain(|name, _| restrictions.iter().all(|(_, filter)| filter.admits(name)));
}
