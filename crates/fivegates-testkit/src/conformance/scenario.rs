//! One scenario as it is written.

use std::collections::BTreeSet;

use fivegates_core::json::Json;

use super::fields::{self, Fields, Stop};

/// A scenario: what is mounted, what is called, and what has to come of it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name in reports.
    pub id: String,
    /// What it is about; the summary counts by area.
    pub area: String,
    /// How it is run.
    pub driver: String,
    /// What is mounted. Each driver reads it in its own way.
    pub given: Json,
    /// What is done.
    pub when: Json,
    /// What the reference system answered.
    pub then: Json,
    /// Where the answer differs on purpose.
    pub divergence: Option<Divergence>,
}

/// How a scenario's answer differs on purpose.
#[derive(Clone, Debug, Default)]
pub struct Divergence {
    /// The rule that says so.
    pub rule: String,
    /// Fields that replace those of the reference.
    pub then: Option<Json>,
    /// Names of fields that are not compared.
    pub loose: BTreeSet<String>,
    /// The scenario has no form here.
    pub unrepresentable: bool,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// A member that is missing, malformed or not known.
    pub fn read(value: &Json) -> Result<Self, Stop> {
        let mut fields = Fields::of("", value)?;
        let scenario = Self {
            id: fields.text("id")?.to_owned(),
            area: fields.text("area")?.to_owned(),
            driver: fields.text("driver")?.to_owned(),
            given: fields.get("given").cloned().unwrap_or_else(|| Json::object::<&str>([])),
            when: fields.need("when")?.clone(),
            then: fields.need("then")?.clone(),
            divergence: fields.get("divergence").map(Divergence::read).transpose()?,
        };
        fields.text_if("title")?;
        fields.text_if("note")?;
        if scenario.then.as_object().is_none() {
            return Err(Stop::malformed("then", "an object"));
        }
        fields.done()?;
        Ok(scenario)
    }

    /// What has to come of it here: the reference's fields, overridden by those of the divergence.
    pub fn expected(&self) -> Vec<(String, Json)> {
        let overriding = self.divergence.as_ref().and_then(|divergence| divergence.then.as_ref());
        let own = |object: Option<&Json>| -> Vec<(String, Json)> {
            let members = object.and_then(Json::as_object).map(|object| object.entries());
            let members = members.unwrap_or_default().iter();
            members.map(|(key, value)| (key.to_string(), value.clone())).collect()
        };
        let overriding = own(overriding);
        let mut expected = own(Some(&self.then));
        expected.retain(|(key, _)| !overriding.iter().any(|(other, _)| other == key));
        expected.extend(overriding);
        expected
    }
}

impl Divergence {
    fn read(value: &Json) -> Result<Self, Stop> {
        let mut fields = Fields::of("divergence", value)?;
        let divergence = Self {
            rule: fields.text("rule")?.to_owned(),
            then: fields.get("then").cloned(),
            loose: fields.each("loose", fields::text)?.into_iter().collect(),
            unrepresentable: fields.flag("unrepresentable")?,
        };
        if divergence.then.as_ref().is_some_and(|then| then.as_object().is_none()) {
            return Err(Stop::malformed("divergence.then", "an object"));
        }
        fields.done()?;
        Ok(divergence)
    }
}
