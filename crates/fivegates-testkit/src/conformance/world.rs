//! The real registry and pipeline with everything mounted that a scenario asks for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fivegates_core::cancel::{CancelReason, CancelSource};
use fivegates_core::ids::ScopeId;
use fivegates_core::pipeline::{Pipeline, Waits};
use fivegates_core::registry::{Listen, Mode, Registration, Registry, Scope};
use tokio::sync::watch;

use super::act;
use super::fields::Stop;
use super::given::Given;
use super::given::listen::{GuardSpec, Listener};
use super::given::tool::ToolSpec;
use super::parts::Part;
use super::plugins::{self, Mounted};
use super::trace::Trace;

/// A scenario's world. Dropping it takes everything down again.
pub struct World(Arc<Stage>);

/// What the scripted parts share.
pub struct Stage {
    /// The registry under test.
    pub registry: Registry,
    /// What was seen.
    pub trace: Trace,
    /// Scopes by name, in order.
    scopes: Mutex<Vec<(String, Scope)>>,
    pipeline: Mutex<Option<Pipeline>>,
    gates: Mutex<HashMap<String, watch::Sender<bool>>>,
    wrappers: Mutex<HashMap<String, CancelSource>>,
    tools: Mutex<Vec<(String, Registration)>>,
    mounted: Mutex<Vec<Registration>>,
    plugins: Mutex<Option<Mounted>>,
    missing: Mutex<Option<Part>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Builds what is given.
    ///
    /// # Errors
    /// A name that is not known, or something that the registry refuses.
    pub fn build(given: &Given) -> Result<Self, Stop> {
        let trace = Trace::new(given.cancel_at.clone(), given.trace_calls, given.trace_identity);
        let stage = Arc::new(Stage {
            registry: Registry::new(),
            trace,
            scopes: Mutex::default(),
            pipeline: Mutex::default(),
            gates: Mutex::default(),
            wrappers: Mutex::default(),
            tools: Mutex::default(),
            mounted: Mutex::default(),
            plugins: Mutex::default(),
            missing: Mutex::default(),
        });
        let world = Self(stage);
        world.build_scopes(given)?;
        for tool in &given.tools {
            world.register(tool)?.map_err(|error| refused(&format!("tool `{}`", tool.name), &error))?;
        }
        world.restrict(given)?;
        // Before the listeners: the composition is there before anybody adds to it, so that it is outermost.
        let plugins = plugins::mount(&world, &given.plugins)?;
        *lock(&world.plugins) = Some(plugins);
        world.mount(given)?;
        let mut builder = Pipeline::builder(world.registry.clone()).waits(Waits::NONE);
        if let Some(approval) = &given.approval {
            builder = builder.approver(Arc::new(act::approval::Scripted::new(&world.0, approval.clone())));
        }
        *lock(&world.pipeline) = Some(builder.build());
        Ok(world)
    }

    fn build_scopes(&self, given: &Given) -> Result<(), Stop> {
        for spec in &given.scopes {
            let scope = self.registry.scope(spec.name.as_str(), None);
            lock(&self.scopes).push((spec.name.clone(), scope));
        }
        for spec in &given.scopes {
            if let Some(parent) = &spec.parent {
                let (child, parent) = (self.scope(&spec.name)?, self.scope(parent)?);
                let bound = self.registry.bind_parent(child, parent);
                bound.map_err(|error| refused(&format!("scope `{}`", spec.name), &error))?;
            }
        }
        Ok(())
    }

    fn restrict(&self, given: &Given) -> Result<(), Stop> {
        if given.mode != Mode::Native {
            self.registry.set_default_mode(given.mode);
        }
        for spec in &given.scopes {
            let scope = Some(self.scope(&spec.name)?);
            let refused = |error| refused(&format!("scope `{}`", spec.name), &error);
            if let Some(mode) = spec.mode {
                self.keep(self.registry.present_as(scope, mode).map_err(refused)?);
            }
            for filter in &spec.restrict {
                self.keep(self.registry.restrict(scope, filter.clone()).map_err(refused)?);
            }
        }
        Ok(())
    }

    fn mount(&self, given: &Given) -> Result<(), Stop> {
        for guard in &given.guards {
            self.keep(self.mount_guard(guard)?);
        }
        for spec in &given.pre {
            let listener = act::pre::Scripted::new(&self.0, spec.clone());
            self.keep(self.registry.pre_execute(self.place(spec)?, listener));
        }
        for spec in &given.around {
            let listener = act::around::Scripted::new(&self.0, spec.clone());
            self.keep(self.registry.around(self.place(spec)?, listener));
        }
        for spec in &given.post {
            let listener = act::post::Scripted::new(&self.0, spec.clone());
            self.keep(self.registry.post_execute(self.place(spec)?, listener));
        }
        for spec in &given.result {
            let listener = act::result::Scripted::new(&self.0, spec.clone());
            self.keep(self.registry.observe(self.place(spec)?, listener));
        }
        Ok(())
    }

    fn place<A>(&self, spec: &Listener<A>) -> Result<Listen, Stop> {
        let mut how = Listen::as_id(spec.id.as_str());
        if let Some(scope) = &spec.scope {
            how = how.in_scope(self.scope(scope)?);
        }
        Ok(if spec.prepend { how.outermost() } else { how })
    }

    /// Registers a tool. The inner error is the registry's.
    ///
    /// # Errors
    /// The scope is not known.
    pub fn register(&self, tool: &ToolSpec) -> Result<Result<(), String>, Stop> {
        let scope = tool.scope.as_deref().map(|scope| self.scope(scope)).transpose()?;
        let definition = match act::tool::define(&self.0, tool) {
            Ok(definition) => definition,
            Err(error) => return Ok(Err(error.to_string())),
        };
        Ok(match self.registry.register(scope, definition) {
            Ok(registration) => {
                lock(&self.tools).push((tool.name.clone(), registration));
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        })
    }

    /// The pipeline under test.
    ///
    /// # Errors
    /// It was taken down.
    pub fn pipeline(&self) -> Result<Pipeline, Stop> {
        self.nested().ok_or_else(|| Stop::Malformed("the scenario is over".to_owned()))
    }
}

/// Says that the registry refused what a scenario takes for granted.
pub fn refused(what: &str, error: &impl std::fmt::Display) -> Stop {
    Stop::Malformed(format!("{what} was refused: {error}"))
}

impl std::ops::Deref for World {
    type Target = Arc<Stage>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The parts hold the stage and the stage holds the parts; each list is emptied outside its lock.
        let parts = (
            std::mem::take(&mut *lock(&self.mounted)),
            std::mem::take(&mut *lock(&self.tools)),
            lock(&self.pipeline).take(),
            lock(&self.plugins).take(),
            std::mem::take(&mut *lock(&self.scopes)),
        );
        drop(parts);
    }
}

impl Stage {
    /// The scope of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn scope(&self, name: &str) -> Result<ScopeId, Stop> {
        let scopes = lock(&self.scopes);
        let found = scopes.iter().find(|(known, _)| known == name);
        found.map(|(_, scope)| scope.id()).ok_or_else(|| Stop::Malformed(format!("unknown scope `{name}`")))
    }

    /// Keeps something mounted for the scenario's time.
    pub fn keep(&self, registration: Registration) {
        lock(&self.mounted).push(registration);
    }

    /// Mounts a guard.
    ///
    /// # Errors
    /// The scope is not known.
    pub fn mount_guard(self: &Arc<Self>, guard: &GuardSpec) -> Result<Registration, Stop> {
        let mut how = Listen::as_id(guard.id.as_str());
        if let Some(scope) = &guard.scope {
            how = how.in_scope(self.scope(scope)?);
        }
        Ok(self.registry.guard(how, act::guard::Scripted::new(self, guard.clone())))
    }

    /// Takes out the registration of a tool that was made last.
    pub fn take_tool(&self, name: &str) -> Option<Registration> {
        let mut tools = lock(&self.tools);
        let place = tools.iter().rposition(|(known, _)| known == name)?;
        Some(tools.remove(place).1)
    }

    /// The pipeline, for nested calls.
    pub fn nested(&self) -> Option<Pipeline> {
        lock(&self.pipeline).clone()
    }

    /// Notes a part that a scenario needs and that is not built yet.
    pub fn lacks(&self, part: Part) {
        lock(&self.missing).get_or_insert(part);
    }

    /// The part that was found missing.
    pub fn missing(&self) -> Option<Part> {
        *lock(&self.missing)
    }

    /// Remembers the signal that a wrapper installed.
    pub fn install(&self, wrapper: &str, source: CancelSource) {
        lock(&self.wrappers).insert(wrapper.to_owned(), source);
    }

    /// Fires the signal that a wrapper installed.
    pub fn abort_wrapper(&self, wrapper: &str) {
        let source = lock(&self.wrappers).get(wrapper).cloned();
        if let Some(source) = source {
            source.fire(CancelReason::Other("wrapper".into()));
        }
    }

    /// Opens a gate.
    pub fn open_gate(&self, name: &str) {
        lock(&self.gates).entry(name.to_owned()).or_default().send_replace(true);
    }

    /// Waits until a gate is open.
    pub async fn wait_gate(&self, name: &str) {
        let mut gate = lock(&self.gates).entry(name.to_owned()).or_default().subscribe();
        // The sender lives as long as the stage.
        let _ = gate.wait_for(|open| *open).await;
    }
}
