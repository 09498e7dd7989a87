//! Which model: `deepseek:NAME`, `openai:NAME`, `scripted:FILE`.

use std::sync::Arc;

use fivegates_agent::provider::openai::{OpenAiConfig, OpenAiProvider};
use fivegates_agent::provider::scripted::ScriptedProvider;
use fivegates_agent::provider::{ApiKey, Provider, ProviderError};

use crate::config::ModelChoice;
use crate::error::{CliError, Kind};
use crate::settings::Settings;

/// A model that can be asked.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) provider: Arc<dyn Provider>,
}

/// Makes the provider of the configured model. It is made before anything else, so that a missing key is found first.
pub(crate) fn provider(settings: &Settings) -> Result<Model, CliError> {
    let Some(wanted) = settings.model() else {
        return Err(CliError::usage("no model is chosen").hint(
            "name one with --model deepseek:deepseek-v4-flash, openai:NAME or scripted:FILE, or as `use` under [model]",
        ));
    };
    let (service, name) = match wanted {
        ModelChoice::Scripted { file } => {
            let provider = ScriptedProvider::load(file).map_err(CliError::usage)?;
            return Ok(Model { name: file.display().to_string(), provider: Arc::new(provider) });
        }
        ModelChoice::Served { service, name } => (*service, name),
    };
    let key = ApiKey::from_env(service.key_variable()).map_err(|error| failed(&error))?;
    let config = OpenAiConfig {
        service,
        base_url: settings.base_url().map(str::to_owned),
        key,
        ..OpenAiConfig::default()
    };
    let provider = OpenAiProvider::new(config).map_err(|error| failed(&error))?;
    Ok(Model { name: name.to_owned(), provider: Arc::new(provider) })
}

fn failed(error: &ProviderError) -> CliError {
    CliError::new(Kind::Usage, format!("{}: {error}", error.code.as_str()))
}
