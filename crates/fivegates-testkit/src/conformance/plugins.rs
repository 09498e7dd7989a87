//! The real plugins, set as a scenario asks.

use std::sync::Arc;

use fivegates_core::error::ToolError;
use fivegates_core::ports::PortFuture;
use fivegates_core::registry::Registration;
use fivegates_plugins::checkpoint::{self, Flush};
use fivegates_plugins::deadline;
use fivegates_plugins::repeat_reminder::{self, Glob};

use super::fields::Stop;
use super::given::{Plugins, Repeat};
use super::world::{Stage, World, refused};

/// Plugins that are mounted. Dropping it removes them.
#[derive(Debug, Default)]
pub struct Mounted {
    listeners: Vec<Registration>,
    /// Only kept: no user speaks within a scenario.
    _repeat: Option<repeat_reminder::Mounted>,
}

/// Mounts what is asked for.
///
/// # Errors
/// A plugin refuses its settings.
pub fn mount(world: &World, plugins: &Plugins) -> Result<Mounted, Stop> {
    let mut mounted = Mounted::default();
    if plugins.timeout {
        let deadline = deadline::mount(&world.registry, deadline::Config::default());
        mounted.listeners.extend(deadline.map_err(|error| refused("plugin `timeout`", &error))?);
    }
    if let Some(settings) = &plugins.checkpoint {
        let flush = Arc::new(Scripted { stage: Arc::clone(world), throw: settings.throw.clone() });
        let checkpoint = checkpoint::mount(&world.registry, checkpoint::Config::default(), flush);
        mounted.listeners.extend(checkpoint.map_err(|error| refused("plugin `checkpoint`", &error))?);
    }
    if let Some(settings) = &plugins.repeat {
        let reminder = repeat_reminder::mount(&world.registry, repeat(settings)?);
        mounted._repeat = Some(reminder.map_err(|error| refused("plugin `repeat`", &error))?);
    }
    Ok(mounted)
}

fn repeat(settings: &Repeat) -> Result<repeat_reminder::Config, Stop> {
    let globs = |names: &[String]| -> Result<Vec<Glob>, Stop> {
        let globs = names.iter().map(|name| Glob::try_from(name.clone()));
        globs.collect::<Result<_, _>>().map_err(|error| refused("plugin `repeat`", &error))
    };
    let mut config = repeat_reminder::Config::default();
    if let Some(thresholds) = &settings.thresholds {
        config.thresholds.clone_from(thresholds);
    }
    if let Some(include) = &settings.include {
        config.include = globs(include)?;
    }
    config.exclude = globs(&settings.exclude)?;
    Ok(config)
}

/// A flush that does what the scenario says.
struct Scripted {
    stage: Arc<Stage>,
    throw: Option<ToolError>,
}

impl Flush for Scripted {
    fn flush(&self) -> PortFuture<'_, Result<(), ToolError>> {
        self.stage.trace.see("flush");
        let flushed = self.throw.clone().map_or(Ok(()), Err);
        Box::pin(async move { flushed })
    }
}
