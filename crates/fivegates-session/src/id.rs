use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use thiserror::Error;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 26;

/// Names a session: 26 characters of Crockford base 32 (a ULID).
///
/// The first ten characters are the milliseconds since 1970, the other sixteen are random, so ids sort by the time at
/// which they were made and two processes never make the same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId([u8; LENGTH]);

/// Says why there is no session id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// The text is not the 26 characters of an id.
    #[error(
        "`{text}` is not a session id: expected 26 characters of 0-9 and A-Z without I, L, O and U, \
         as printed by `fivegates log`"
    )]
    Malformed {
        /// The text, cut after 64 characters and escaped.
        text: String,
    },
    /// The operating system gave no random bytes.
    #[error(
        "the operating system gave no random bytes for a session id ({detail}): check that /dev/urandom works"
    )]
    NoRandomness {
        /// What the operating system said.
        detail: String,
    },
}

impl SessionId {
    /// Makes the id of a session that starts now.
    ///
    /// # Errors
    /// [`IdError::NoRandomness`] when the operating system has no random bytes to give.
    pub fn generate() -> Result<Self, IdError> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_ms = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(|error| IdError::NoRandomness { detail: error.to_string() })?;
        Ok(Self::from_parts(time_ms, random))
    }

    /// Makes an id from milliseconds since 1970 (the lower 48 bits count) and 80 random bits.
    #[must_use]
    pub fn from_parts(time_ms: u64, random: [u8; 10]) -> Self {
        let mut bits = [0; 16];
        bits[6..].copy_from_slice(&random);
        let low = u128::from_be_bytes(bits);
        let mut value = (u128::from(time_ms & 0xFFFF_FFFF_FFFF) << 80) | low;
        let mut text = [b'0'; LENGTH];
        for place in text.iter_mut().rev() {
            let [.., last] = value.to_be_bytes();
            *place = ALPHABET[usize::from(last & 31)];
            value >>= 5;
        }
        Self(text)
    }

    /// The 26 characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Always ASCII: both constructors take characters from the alphabet alone.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for SessionId {
    type Err = IdError;

    /// Reads an id; small letters count as capitals.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let malformed = || IdError::Malformed {
            text: text.chars().take(64).collect::<String>().escape_debug().to_string(),
        };
        let bytes: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| malformed())?;
        let upper = bytes.map(|byte| byte.to_ascii_uppercase());
        // 26 characters hold 130 bits: the first may use three of its five.
        let known = upper.iter().all(|byte| ALPHABET.contains(byte)) && upper[0] <= b'7';
        if known { Ok(Self(upper)) } else { Err(malformed()) }
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_read_back() {
        let early = SessionId::from_parts(1, [0xFF; 10]);
        let late = SessionId::from_parts(2, [0; 10]);
        assert!(early < late);
        assert_eq!(early.to_string(), "0000000001ZZZZZZZZZZZZZZZZ");
        assert_eq!(SessionId::from_parts(u64::MAX, [0xFF; 10]).as_str(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        for id in [early, late, SessionId::generate().unwrap()] {
            assert_eq!(id.as_str().parse(), Ok(id));
            assert_eq!(id.as_str().to_lowercase().parse(), Ok(id));
        }
    }

    #[test]
    fn generated_ids_differ_and_carry_the_present() {
        let ids: std::collections::BTreeSet<_> = (0..1000).map(|_| SessionId::generate().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        // 01J… began in 2024; an id of 1970 would start with 00.
        assert!(ids.iter().all(|id| id.as_str() > "01J"));
    }

    #[test]
    fn other_texts_are_refused() {
        let too_large = "8ZZZZZZZZZZZZZZZZZZZZZZZZZ";
        let wrong_letter = "0000000001UZZZZZZZZZZZZZZZ";
        let not_ascii = "ééééééééééééé";
        for text in ["", "01", too_large, wrong_letter, not_ascii, &"A".repeat(27)] {
            let error = text.parse::<SessionId>().unwrap_err();
            assert!(matches!(error, IdError::Malformed { .. }), "{text}");
        }
        let error = "\u{1b}[31m".repeat(100).parse::<SessionId>().unwrap_err().to_string();
        assert!(error.len() < 600 && !error.contains('\u{1b}'), "{error}");
    }
}
