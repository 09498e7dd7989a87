//! The driver `pipeline`: calls, one after another, through the pipeline.

use fivegates_core::call::{Arguments, CallRequest};
use fivegates_core::cancel::{Cancel, CancelSource};
use fivegates_core::json::Json;
use fivegates_core::pipeline::Pipeline;

use super::Ran;
use crate::conformance::fields::{Fields, Stop};
use crate::conformance::given::Given;
use crate::conformance::host::Host;
use crate::conformance::outcome::written;
use crate::conformance::scenario::Scenario;
use crate::conformance::transport;
use crate::conformance::world::{Stage, World};

pub(super) async fn run(scenario: &Scenario) -> Result<Ran, Stop> {
    let given = Given::read(&scenario.given)?;
    let calls = scenario.when.as_array().ok_or_else(|| Stop::malformed("when", "an array of calls"))?;
    let calls = calls.iter().enumerate().map(|(index, call)| Asked::read(&format!("when[{index}]"), call));
    let calls = calls.collect::<Result<Vec<_>, _>>()?;
    let world = World::build(&given)?;
    transport::mount(&world)?;
    let pipeline = world.pipeline()?;
    let mut results = Vec::with_capacity(calls.len());
    for call in &calls {
        results.push(call.run(&world, &pipeline).await?);
        if let Some(part) = world.missing() {
            return Ok(Ran::Missing(part));
        }
    }
    let mut fields = world.trace.fields();
    fields.push(match <[Json; 1]>::try_from(results) {
        Ok([result]) => ("result".to_owned(), result),
        Err(results) => ("results".to_owned(), Json::array(results)),
    });
    // No session is open in this driver, so that nothing could write an event.
    fields.push(("events".to_owned(), Json::array([])));
    Ok(Ran::Done(fields))
}

/// One call as it is written.
struct Asked {
    id: String,
    name: String,
    arguments: Arguments,
    agent: Option<String>,
}

impl Asked {
    fn read(at: &str, value: &Json) -> Result<Self, Stop> {
        let mut fields = Fields::of(at, value)?;
        let given = (fields.get("arguments"), fields.get("raw_arguments"), fields.get("arguments_host"));
        let arguments = match given {
            (Some(value), None, None) => Arguments::Value(value.clone()),
            (None, Some(Json::String(text)), None) => Arguments::Text(text.clone()),
            (None, None, Some(kind)) => Host::read(&fields.at("arguments_host"), kind)?.arguments(),
            _ => {
                let wanted = "a call with one of `arguments`, `raw_arguments` and `arguments_host`";
                return Err(Stop::malformed(at, wanted));
            }
        };
        let call = Self {
            id: fields.text("id")?.to_owned(),
            name: fields.text("name")?.to_owned(),
            arguments,
            agent: fields.text_if("agent")?.map(str::to_owned),
        };
        fields.done()?;
        Ok(call)
    }

    async fn run(&self, stage: &Stage, pipeline: &Pipeline) -> Result<Json, Stop> {
        let (caller, cancel) = CancelSource::new();
        stage.trace.set_caller(caller);
        let request = self.request(stage, cancel)?;
        stage.trace.reach("start");
        Ok(written(&pipeline.execute(request).await))
    }

    fn request(&self, stage: &Stage, cancel: Cancel) -> Result<CallRequest<'static>, Stop> {
        let request = CallRequest::new(self.id.as_str(), self.name.as_str(), self.arguments.clone(), cancel);
        Ok(match &self.agent {
            Some(agent) => request.with_agent(stage.scope(agent)?),
            None => request,
        })
    }
}
