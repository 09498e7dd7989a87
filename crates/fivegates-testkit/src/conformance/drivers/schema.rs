//! The driver `schema`: whether a schema is in the subset, and how values violate it.

use fivegates_core::error::ToolError;
use fivegates_core::json::Json;
use fivegates_core::schema::Schema;

use super::Ran;
use crate::conformance::fields::{Fields, Stop};
use crate::conformance::scenario::Scenario;

pub(super) fn run(scenario: &Scenario) -> Result<Ran, Stop> {
    let mut given = Fields::of("given", &scenario.given)?;
    let source = given.need("schema")?;
    let as_parameters = given.flag("as_parameters")?;
    given.done()?;
    let compiled = if as_parameters { Schema::compile_parameters(source) } else { Schema::compile(source) };
    let mut values = Vec::new();
    for (index, item) in scenario.when.as_array().unwrap_or_default().iter().enumerate() {
        let mut fields = Fields::of(&format!("when[{index}]"), item)?;
        values.push(fields.need("value")?);
        fields.done()?;
    }
    let field = match compiled {
        Ok(schema) => {
            let violations = values
                .into_iter()
                .map(|value| Json::array(schema.violations(value, "value").into_iter().map(Json::from)));
            ("violations".to_owned(), Json::array(violations))
        }
        Err(error) => {
            let error = ToolError::from(error);
            let error = Json::object([
                ("name", Json::from(error.name().map(str::to_owned))),
                ("code", Json::from(error.code().map(str::to_owned))),
                ("message", Json::from(error.message())),
            ]);
            ("error".to_owned(), error)
        }
    };
    Ok(Ran::Done(vec![field]))
}
