//! The `run_code` transport as far as it is there: its contract, without a body.

use std::sync::Arc;

use fivegates_core::call::Invocation;
use fivegates_core::error::ToolError;
use fivegates_core::json::{self, Json};
use fivegates_core::registry::{RUN_CODE, SdkRenderer};
use fivegates_core::tool::{BodyError, Definition};

use super::fields::Stop;
use super::parts::Part;
use super::world::{World, refused};

/// The parameters of `run_code` (R-230).
const PARAMETERS: &str = r#"{"type":"object","properties":{"code":{"type":"string"},"description":{"type":"string"}},"required":["code","description"]}"#;

/// The language of programs in scenarios; they name none.
const LANGUAGE: &str = "scenario";

/// Declares tools by their names.
struct Names;

impl SdkRenderer for Names {
    fn language(&self) -> &str {
        LANGUAGE
    }

    fn render(&self, tools: &[Definition]) -> String {
        tools.iter().map(|tool| format!("{}\n", tool.name())).collect()
    }
}

/// Mounts the transport. A call that reaches its body needs what is not built yet, and says so.
///
/// # Errors
/// The registry refuses it.
pub fn mount(world: &World) -> Result<(), Stop> {
    let parameters = json::parse(PARAMETERS).map_err(|error| refused(RUN_CODE, &error))?;
    let stage = Arc::downgrade(world);
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
    let definition = definition.map_err(|error| refused(RUN_CODE, &error))?;
    let renderer = world.registry.mount_sdk_renderer(Arc::new(Names));
    world.keep(renderer.map_err(|error| refused(LANGUAGE, &error))?);
    let mounted = world.registry.mount_transport(definition, LANGUAGE);
    world.keep(mounted.map_err(|error| refused(RUN_CODE, &error))?);
    Ok(())
}
