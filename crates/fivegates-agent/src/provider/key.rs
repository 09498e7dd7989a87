use std::ffi::OsString;
use std::fmt;

use super::{ErrorCode, ProviderError};

/// Bytes of a key; more than that is a mistake, such as a whole file.
const KEY_BYTES_MAX: usize = 8 << 10;

/// Holds a secret key. It prints as `****` and is read only where the request header is made.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes the key from the environment variable `variable`; unset and empty are both `None`.
    ///
    /// Fails with `INVALID_CREDENTIAL` if it cannot be sent in a header.
    pub fn from_env(variable: &str) -> Result<Option<Self>, ProviderError> {
        Self::from_variable(variable, std::env::var_os(variable))
    }

    /// Does the work of [`from_env`](Self::from_env) on a value that the caller looked up.
    pub fn from_variable(variable: &str, value: Option<OsString>) -> Result<Option<Self>, ProviderError> {
        match value {
            None => Ok(None),
            Some(value) if value.is_empty() => Ok(None),
            Some(value) => match value.into_string() {
                Ok(text) => Self::parse(text, variable).map(Some),
                Err(_) => Err(unusable(variable)),
            },
        }
    }

    /// Accepts `text` as a key. `origin` names where it comes from, for the message.
    ///
    /// Fails with `INVALID_CREDENTIAL`, without quoting it, if it is empty, over 8 KiB, or has anything but visible
    /// ASCII characters, such as a line break that came along.
    pub fn parse(text: impl Into<String>, origin: &str) -> Result<Self, ProviderError> {
        let text = text.into();
        let usable =
            !text.is_empty() && text.len() <= KEY_BYTES_MAX && text.bytes().all(|b| b.is_ascii_graphic());
        if usable { Ok(Self(text)) } else { Err(unusable(origin)) }
    }

    /// Returns the secret itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Replaces the key by `****` wherever `text` repeats it.
    pub(crate) fn scrub(&self, text: &str) -> String {
        text.replace(&self.0, "****")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

fn unusable(origin: &str) -> ProviderError {
    ProviderError::new(
        ErrorCode::InvalidCredential,
        format!(
            "the key in `{origin}` has characters that cannot be sent in a header, or is too long; \
             set it again without spaces and line breaks"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_prints_as_stars() {
        let key = ApiKey::parse("sk-secret", "X").unwrap();
        assert_eq!(format!("{key} {key:?} {:?}", Some(&key)), "**** **** Some(****)");
        assert_eq!(key.scrub("bad key sk-secret!"), "bad key ****!");
    }

    #[test]
    fn unusable_keys_are_refused_without_quoting_them() {
        let long = "k".repeat(KEY_BYTES_MAX + 1);
        for text in ["", "sk-se cret", "sk-secret\n", "sk-secrét", "sk-se\u{0}cret", long.as_str()] {
            let error = ApiKey::parse(text, "DEEPSEEK_API_KEY").unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidCredential);
            assert!(error.message.contains("DEEPSEEK_API_KEY"), "{}", error.message);
            assert!(!error.message.contains("sk-se") && !error.message.contains("kkk"), "{}", error.message);
        }
    }

    #[test]
    fn unset_and_empty_variables_are_no_key() {
        assert!(ApiKey::from_variable("V", None).unwrap().is_none());
        assert!(ApiKey::from_variable("V", Some(OsString::new())).unwrap().is_none());
        assert!(ApiKey::from_variable("V", Some("sk-1".into())).unwrap().is_some());
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt;
            let value = OsString::from_vec(vec![0xff, 0xfe]);
            assert_eq!(
                ApiKey::from_variable("V", Some(value)).unwrap_err().code,
                ErrorCode::InvalidCredential
            );
        }
    }
}
