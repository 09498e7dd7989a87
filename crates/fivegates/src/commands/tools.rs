//! `fivegates tools`: exactly what a model would be sent.

use std::io::Write;

use fivegates_core::json::{Json, compact, pretty};
use fivegates_core::registry::Registry;
use fivegates_process::Runner;

use super::written;
use crate::cli::ToolsArgs;
use crate::error::CliError;
use crate::settings::Settings;

/// Lists the tools, or prints their schemas in the form of chat completions.
pub(crate) fn run(settings: &Settings, args: &ToolsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let registry = Registry::new();
    let runner = Runner::new().map_err(CliError::failed)?;
    let tools = settings.tools(None);
    let _mounted = fivegates_tools::register(&registry, None, tools, runner).map_err(CliError::failed)?;
    let tools = registry.wire_tools(None);
    if args.json {
        let functions = tools.iter().map(|tool| {
            let function = Json::object([
                ("name", Json::from(tool.name.as_str())),
                ("description", Json::from(&*tool.description)),
                ("parameters", tool.parameters.clone()),
            ]);
            Json::object([("type", Json::from("function")), ("function", function)])
        });
        return written(writeln!(out, "{}", pretty(&Json::array(functions), 2)));
    }
    for tool in &tools {
        written(writeln!(out, "{}", tool.name))?;
        written(writeln!(out, "    {}", tool.description.replace('\n', "\n    ")))?;
        let properties = tool.parameters.get("properties").and_then(Json::as_object);
        let required = tool.parameters.get("required").and_then(Json::as_array).unwrap_or_default();
        for (name, schema) in properties.map(|all| all.entries()).unwrap_or_default() {
            let kind = schema.get("type").map_or_else(String::new, |kind| compact(kind).replace('"', ""));
            let needed = if required.iter().any(|wanted| wanted.as_str() == Some(name)) {
                "required"
            } else {
                "optional"
            };
            let about = schema.get("description").and_then(Json::as_str).unwrap_or("");
            written(writeln!(out, "      {name} ({kind}, {needed})  {about}"))?;
        }
        written(writeln!(out))?;
    }
    Ok(())
}
