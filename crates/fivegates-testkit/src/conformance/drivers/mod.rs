//! How scenarios are run: one module for each driver.
//!
//! A driver reads `given` and `when` in its own way, works the real system through its public interface and returns the
//! fields that `then` is compared with. A new driver is one module, one arm in [`run`], and one [`Part`] less.

mod agent_loop;
mod json;
mod pipeline;
mod registry;
mod repair;
mod schema;

use std::future::Future;
use std::time::Duration;

use fivegates_core::json::Json;

use super::fields::Stop;
use super::parts::Part;
use super::scenario::Scenario;

/// What came of a scenario.
#[derive(Clone, Debug)]
pub enum Ran {
    /// It ran.
    ///
    /// Its fields, by name.
    Done(Vec<(String, Json)>),
    /// It cannot run without a part that is not built yet.
    Missing(Part),
}

/// Runs a scenario.
///
/// # Errors
/// The scenario is not in the vocabulary, has no form here, or never ends.
pub fn run(scenario: &Scenario) -> Result<Ran, Stop> {
    match scenario.driver.as_str() {
        "pipeline" => on_paused_clock(pipeline::run(scenario)),
        "loop" => on_paused_clock(agent_loop::run(scenario)),
        "registry" => on_paused_clock(registry::run(scenario)),
        "json" => json::run(scenario),
        "repair" => repair::run(scenario),
        "schema" => schema::run(scenario),
        other => Part::of_driver(other).map(Ran::Missing).ok_or_else(|| Stop::unknown("driver", other)),
    }
}

/// How long a scenario may take by its own clock, which moves on whenever everybody waits.
const SCENARIO_WAIT_MAX: Duration = Duration::from_secs(3_600);

fn on_paused_clock(work: impl Future<Output = Result<Ran, Stop>>) -> Result<Ran, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| Stop::Malformed(format!("no runtime could be made: {error}")))?;
    let ended = runtime.block_on(async { tokio::time::timeout(SCENARIO_WAIT_MAX, work).await });
    ended.unwrap_or_else(|_| Err(Stop::Malformed("the scenario never ends: everybody waits".to_owned())))
}
