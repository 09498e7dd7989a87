//! The `run_code` transport as far as it is there: its contract, without a body.

use fivegates_core::call::Invocation;
use fivegates_core::error::ToolError;
use fivegates_core::json::{self, Json};
use fivegates_core::registry::RUN_CODE;
use fivegates_core::tool::{BodyError, Definition};

use super::fields::Stop;
use super::parts::Part;
use super::world::{World, refused};

/// The parameters of `run_code` (R-230).
const PARAMETERS: &str = r#"{"type":"object","properties":{"code":{"type":"string"},"description":{"type":"string"}},"required":["code","description"]}"#;

/// Mounts the transport. A call that reaches its body needs what is not built yet, and says so.
///
/// # Errors
/// The registry refuses it.
pub fn mount(world: &World) -> Result<(), Stop> {
    let parameters = json::parse(PARAMETERS).map_err(|error| refused(RUN_CODE, &error))?;
    let stage = std::sync::Arc::downgrade(world);
    let body = move |_: Invocation| {
        let stage = stage.clone();
        async move {
            if let Some(stage) = stage.upgrade() {
                stage.lacks(Part::RunCodeBody);
            }
            Err::<Json, BodyError>(ToolError::new("no code runtime is mounted").into())
        }
    };
    let output = Json::object::<&str>([]);
    let definition =
        Definition::new(RUN_CODE, "Runs a program that calls the tools.", &parameters, &output, body);
    world.keep(world.registry.mount_transport(definition.map_err(|error| refused(RUN_CODE, &error))?));
    Ok(())
}
