//! The driver `json`: whether the lossless snapshot takes a value.

use fivegates_core::json::{self, Json};

use super::Ran;
use crate::conformance::fields::{Fields, Stop};
use crate::conformance::host::Host;
use crate::conformance::scenario::Scenario;

pub(super) fn run(scenario: &Scenario) -> Result<Ran, Stop> {
    Fields::of("given", &scenario.given)?.done()?;
    let Some([item]) = scenario.when.as_array() else {
        return Err(Stop::malformed("when", "an array of one item"));
    };
    let mut fields = Fields::of("when[0]", item)?;
    let accepted = match (fields.get("json"), fields.get("host")) {
        (Some(value), None) => survives(value),
        (None, Some(kind)) => Host::read("when[0].host", kind)?.encode().is_ok_and(|value| survives(&value)),
        _ => return Err(Stop::malformed("when[0]", "an object with `json` or `host`")),
    };
    fields.done()?;
    Ok(Ran::Done(vec![("accepted".to_owned(), Json::from(accepted))]))
}

/// Tells whether a value comes back the same from the codec and from its own text.
fn survives(value: &Json) -> bool {
    let encoded = json::to_json(value).is_ok_and(|encoded| encoded == *value);
    encoded && json::parse(&json::compact(value)).is_ok_and(|parsed| parsed == *value)
}
