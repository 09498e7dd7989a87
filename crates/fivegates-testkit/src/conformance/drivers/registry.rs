//! The driver `registry`: changes of what is mounted, and what they show.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fivegates_core::call::{Arguments, CallRequest};
use fivegates_core::cancel::CancelSource;
use fivegates_core::ids::ScopeId;
use fivegates_core::json::{self, Json};
use fivegates_core::outcome::Ending;
use fivegates_core::registry::{Presentation, Registration, Restriction};

use super::Ran;
use crate::conformance::fields::{Fields, Stop};
use crate::conformance::given::listen::{GuardAct, GuardSpec};
use crate::conformance::given::tool::{Action, ToolSpec};
use crate::conformance::given::{Given, mode, restriction};
use crate::conformance::scenario::Scenario;
use crate::conformance::transport;
use crate::conformance::world::World;

pub(super) async fn run(scenario: &Scenario) -> Result<Ran, Stop> {
    let given = Given::read(&scenario.given)?;
    let world = World::build(&given)?;
    if given.code_runtime {
        transport::mount(&world)?;
    }
    let changes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&changes);
    world.keep(world.registry.on_change(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    let mut bench = Bench { world, named: HashMap::new() };
    let ops = scenario.when.as_array().ok_or_else(|| Stop::malformed("when", "an array of operations"))?;
    let mut outcomes = Vec::with_capacity(ops.len());
    for (index, op) in ops.iter().enumerate() {
        let before = changes.load(Ordering::SeqCst);
        let mut fields = Fields::of(&format!("when[{index}]"), op)?;
        let done = bench.op(&mut fields).await?;
        fields.done()?;
        let (key, value) = match done {
            Ok(value) => ("ok", value),
            Err(text) => ("error", Json::from(text)),
        };
        let count = changes.load(Ordering::SeqCst) - before;
        outcomes.push(Json::object([(key, value), ("changes", Json::from(count))]));
    }
    let fields = vec![("outcomes".to_owned(), Json::array(outcomes))];
    Ok(Ran::Done(fields))
}

/// What the operations work on.
struct Bench {
    world: World,
    /// Registrations that were given a name; none once it was disposed of.
    named: HashMap<String, Option<Registration>>,
}

/// What an operation says: a value, or the registry's refusal.
type Said = Result<Json, String>;

impl Bench {
    async fn op(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        match fields.text("op")? {
            "register" => self.register(fields),
            "dispose" => self.dispose(fields),
            "restrict" => self.restrict(fields),
            "present_as" => self.present_as(fields),
            "guard" => self.guard(fields),
            "bind_parent" => self.bind_parent(fields),
            "schemas" => {
                let agent = self.scope(fields, "agent")?;
                let visible = self.world.registry.visible(agent);
                Ok(Ok(Json::array(visible.iter().map(|tool| Json::from(tool.name().as_str())))))
            }
            "wire" => self.wire(fields),
            "call" => self.call(fields).await,
            "execution_mode" => {
                let agent = self.scope(fields, "agent")?;
                let name = fields.text("name")?.into();
                let arguments = arguments(fields);
                let parallel = self.world.registry.is_parallel(agent, &name, Some(&arguments));
                Ok(Ok(Json::from(if parallel { "parallel" } else { "exclusive" })))
            }
            other => Err(Stop::unknown(&fields.at("op"), other)),
        }
    }

    /// The scope that a member names.
    fn scope(&self, fields: &mut Fields<'_>, key: &'static str) -> Result<Option<ScopeId>, Stop> {
        fields.text_if(key)?.map(|name| self.world.scope(name)).transpose()
    }

    /// Keeps what an operation mounted, under its name when it has one.
    fn mounted(&mut self, fields: &mut Fields<'_>, done: Result<Registration, String>) -> Result<Said, Stop> {
        let name = fields.text_if("as")?;
        Ok(done.map(|registration| {
            match name {
                Some(name) => {
                    self.named.insert(name.to_owned(), Some(registration));
                }
                None => self.world.keep(registration),
            }
            Json::from("ok")
        }))
    }

    fn register(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let name = fields.text("name")?.to_owned();
        let empty = Json::object::<&str>([]);
        let mut rest = Fields::of(&fields.at("tool"), fields.get("tool").unwrap_or(&empty))?;
        let mut tool = ToolSpec::read_rest(name.clone(), &mut rest)?;
        rest.done()?;
        if let Some(scope) = fields.text_if("scope")? {
            tool.scope = Some(scope.to_owned());
        }
        let returns = fields.get("returns").cloned();
        if returns.is_some() || tool.body.is_empty() {
            tool.body = vec![Action::Return(returns.unwrap_or_else(|| Json::from("ok")))];
        }
        let registered = self.world.register(&tool)?;
        let done = registered.map(|()| self.world.take_tool(&name));
        match done {
            Ok(Some(registration)) => self.mounted(fields, Ok(registration)),
            Ok(None) => Err(Stop::Malformed(format!("tool `{name}` went missing"))),
            Err(error) => self.mounted(fields, Err(error)),
        }
    }

    fn dispose(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let name = fields.text("as")?;
        let slot = self.named.get_mut(name);
        let slot = slot.ok_or_else(|| Stop::Malformed(format!("nothing was mounted as `{name}`")))?;
        if let Some(registration) = slot.take() {
            registration.dispose();
        }
        Ok(Ok(Json::from("ok")))
    }

    fn restrict(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let scope = self.scope(fields, "scope")?;
        let filter =
            fields.get("filter").map(|value| restriction(&fields.at("filter"), value)).transpose()?;
        let filter = filter.unwrap_or_else(Restriction::default);
        let done = self.world.registry.restrict(scope, filter).map_err(|error| error.to_string());
        self.mounted(fields, done)
    }

    fn present_as(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let scope = self.scope(fields, "scope")?;
        let mode = mode(&fields.at("mode"), fields.need("mode")?)?;
        let done = self.world.registry.present_as(scope, mode).map_err(|error| error.to_string());
        self.mounted(fields, done)
    }

    fn guard(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let act = fields.text_if("deny")?.map_or(GuardAct::Abstain, |deny| GuardAct::Deny(deny.to_owned()));
        let id = fields.text_if("id")?.unwrap_or("guard").to_owned();
        let scope = fields.text_if("scope")?.map(str::to_owned);
        let registration = self.world.mount_guard(&GuardSpec { id, scope, act })?;
        self.mounted(fields, Ok(registration))
    }

    fn bind_parent(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let (child, parent) = (fields.text("child")?, fields.text("parent")?);
        let (child, parent) = (self.world.scope(child)?, self.world.scope(parent)?);
        let bound = self.world.registry.bind_parent(child, parent);
        Ok(bound.map(|_| Json::from("ok")).map_err(|error| error.to_string()))
    }

    fn wire(&mut self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let agent = self.scope(fields, "agent")?;
        let Presentation { tools, sections } = match self.world.registry.assemble(agent) {
            Ok(presentation) => presentation,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let tools = tools.iter().map(|tool| Json::from(tool.name.as_str()));
        let sections = sections.iter().map(|section| Json::from(section.id));
        Ok(Ok(Json::object([("tools", Json::array(tools)), ("sections", Json::array(sections))])))
    }

    async fn call(&self, fields: &mut Fields<'_>) -> Result<Said, Stop> {
        let (_caller, cancel) = CancelSource::new();
        let id = fields.text_if("id")?.unwrap_or("call");
        let name = fields.text("name")?;
        let agent = self.scope(fields, "agent")?;
        let request = CallRequest::new(id, name, Arguments::Value(arguments(fields)), cancel);
        let request = agent.map_or(request.clone(), |agent| request.with_agent(agent));
        let outcome = self.world.pipeline()?.execute(request).await;
        Ok(Ok(match outcome.ending() {
            Ending::Success(success) => success.value().clone(),
            Ending::Failure(failure) => {
                let code = json::compact(&Json::from(failure.error().code().map(str::to_owned)));
                let code = code.trim_matches('"');
                Json::from(format!("error {code}: {}", failure.error().message()))
            }
        }))
    }
}

fn arguments(fields: &mut Fields<'_>) -> Json {
    fields.get("arguments").cloned().unwrap_or_else(|| Json::object::<&str>([]))
}
