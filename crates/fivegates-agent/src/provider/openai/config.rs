use reqwest::Url;

use super::super::transport::is_loopback;
use super::super::{ApiKey, ErrorCode, Limits, ProviderError};

/// Where DeepSeek answers.
pub const DEEPSEEK_BASE_URL: &str = "https://api.deepseek.com";
/// The environment variable that holds a DeepSeek key.
pub const DEEPSEEK_KEY_VARIABLE: &str = "DEEPSEEK_API_KEY";
/// Where OpenAI answers.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
/// The environment variable that holds an OpenAI key.
pub const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Names whose format a server follows where they differ. Every service can be spoken to at any base URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// DeepSeek: has the `thinking` switch.
    #[default]
    DeepSeek,
    /// OpenAI, and servers that follow it.
    OpenAi,
}

impl Service {
    /// Returns the name in `--model NAME:MODEL`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeepSeek => "deepseek",
            Self::OpenAi => "openai",
        }
    }

    /// Returns where the service itself answers.
    pub fn base_url(self) -> &'static str {
        match self {
            Self::DeepSeek => DEEPSEEK_BASE_URL,
            Self::OpenAi => OPENAI_BASE_URL,
        }
    }

    /// Returns the environment variable that holds its key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::DeepSeek => DEEPSEEK_KEY_VARIABLE,
            Self::OpenAi => OPENAI_KEY_VARIABLE,
        }
    }
}

/// Says to which hosts an `http` base URL may send a key, which then travels unencrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only to this machine.
    #[default]
    Loopback,
    /// To any host: for a network that is trusted as a whole.
    AnyHost,
}

/// Says which server a provider talks to and how.
#[derive(Clone, Debug, Default)]
pub struct OpenAiConfig {
    /// Whose format to follow.
    pub service: Service,
    /// Where the server answers, without `/chat/completions`; `None`: [`Service::base_url`].
    pub base_url: Option<String>,
    /// The key. Optional only for a loopback host.
    pub key: Option<ApiKey>,
    /// Where plain `http` may be used.
    pub plain_http: PlainHttp,
    /// What one turn may take.
    pub limits: Limits,
}

impl OpenAiConfig {
    /// Parses the base URL and checks that the key may go there.
    pub(super) fn checked_base_url(&self) -> Result<Url, ProviderError> {
        let text = self.base_url.as_deref().unwrap_or(self.service.base_url());
        let base = parse_base_url(text)?;
        let loopback = is_loopback(&base);
        if self.key.is_none() && !loopback {
            return Err(ProviderError::new(
                ErrorCode::MissingCredential,
                format!(
                    "no key for `{}`; set the environment variable `{}`",
                    base.origin().ascii_serialization(),
                    self.service.key_variable()
                ),
            ));
        }
        if base.scheme() == "http" && !loopback && self.plain_http == PlainHttp::Loopback {
            return Err(ProviderError::new(
                ErrorCode::InsecureBaseUrl,
                format!(
                    "the key would travel unencrypted to `{}`; use an `https` base URL",
                    base.origin().ascii_serialization()
                ),
            ));
        }
        Ok(base)
    }
}

/// Accepts an `http` or `https` URL with a host and a path. The text is not quoted where it may hold a password.
fn parse_base_url(text: &str) -> Result<Url, ProviderError> {
    let invalid = |why: &str| {
        let text = format!(
            "the base URL {why}; give one such as `{DEEPSEEK_BASE_URL}` or `http://127.0.0.1:8080/v1`"
        );
        ProviderError::new(ErrorCode::InvalidBaseUrl, text)
    };
    let url = Url::parse(text).map_err(|error| invalid(&format!("cannot be read ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("is neither `http` nor `https`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("has a user name or password in it"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("has a query or fragment"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base_url: Option<&str>, key: Option<&str>, plain_http: PlainHttp, want: Result<&str, &str>) {
        let config = OpenAiConfig {
            base_url: base_url.map(str::to_owned),
            key: key.map(|key| ApiKey::parse(key, "K").unwrap()),
            plain_http,
            ..OpenAiConfig::default()
        };
        match (config.checked_base_url(), want) {
            (Ok(url), Ok(want)) => assert_eq!(url.as_str(), want),
            (Err(error), Err(code)) => {
                assert_eq!(error.code.as_str(), code, "{}", error.message);
                assert!(!error.message.contains("hunter2"), "{}", error.message);
            }
            (got, want) => panic!("{base_url:?}: got {got:?}, want {want:?}"),
        }
    }

    #[test]
    fn base_urls_are_checked_before_a_key_goes_there() {
        use PlainHttp::{AnyHost, Loopback};
        let key = Some("sk-1");
        check(None, key, Loopback, Ok("https://api.deepseek.com/"));
        check(None, None, Loopback, Err("MISSING_CREDENTIAL"));
        check(Some("http://127.0.0.1:8080/v1"), None, Loopback, Ok("http://127.0.0.1:8080/v1"));
        check(Some("http://localhost/v1/"), key, Loopback, Ok("http://localhost/v1/"));
        check(Some("https://other.example/x"), key, Loopback, Ok("https://other.example/x"));
        check(Some("https://other.example/x"), None, Loopback, Err("MISSING_CREDENTIAL"));
        check(Some("http://other.example"), key, Loopback, Err("INSECURE_BASE_URL"));
        check(Some("http://other.example"), key, AnyHost, Ok("http://other.example/"));
        check(Some("http://u:hunter2@localhost"), key, Loopback, Err("INVALID_BASE_URL"));
        check(Some("https://localhost/?key=hunter2"), key, Loopback, Err("INVALID_BASE_URL"));
        check(Some("https://localhost/#hunter2"), key, Loopback, Err("INVALID_BASE_URL"));
        check(Some("ftp://localhost"), key, Loopback, Err("INVALID_BASE_URL"));
        check(Some("localhost:8080"), key, Loopback, Err("INVALID_BASE_URL"));
        check(Some(""), key, Loopback, Err("INVALID_BASE_URL"));
        check(Some("https://"), key, Loopback, Err("INVALID_BASE_URL"));
    }

    #[test]
    fn a_missing_key_names_its_variable() {
        for service in [Service::DeepSeek, Service::OpenAi] {
            let error = OpenAiConfig { service, ..OpenAiConfig::default() }.checked_base_url().unwrap_err();
            assert!(error.message.contains(service.key_variable()), "{}", error.message);
        }
    }
}
