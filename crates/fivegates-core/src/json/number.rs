//! Numbers whose decimal value is exactly what was written.

use std::fmt;

/// A finite JSON number other than negative zero, held without loss (R-001, L-61).
///
/// Whole numbers within the range of `i64` or `u64` are held as such, whatever their spelling (`1.0`, `1e3`); all others as
/// the `f64` whose shortest decimal form is the written value.
#[derive(Clone, Copy, PartialEq)]
pub struct Number(Repr);

#[derive(Clone, Copy, PartialEq)]
enum Repr {
    Int(i64),
    /// Above `i64::MAX` only.
    Unsigned(u64),
    /// Never whole within the range of the other two.
    Float(f64),
}

impl Eq for Number {}

/// Why a number cannot be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The number is `-0`, in whatever spelling.
    #[error("negative zero cannot be represented")]
    NegativeZero,
    /// The number is NaN, infinite or beyond the range of a double.
    #[error("the number is outside the range that can be represented")]
    OutOfRange,
    /// The number has digits that would be lost.
    #[error("the number has more digits than can be represented without loss; pass it as a string")]
    LosesDigits,
}

impl Number {
    /// Holds a floating-point number.
    ///
    /// # Errors
    /// NaN, an infinity or negative zero.
    pub fn from_f64(value: f64) -> Result<Self, NumberError> {
        if !value.is_finite() {
            return Err(NumberError::OutOfRange);
        }
        if value == 0.0 {
            return if value.is_sign_negative() {
                Err(NumberError::NegativeZero)
            } else {
                Ok(Self(Repr::Int(0)))
            };
        }
        Ok(Self(whole(value).unwrap_or(Repr::Float(value))))
    }

    /// Reads a number that has the syntax of JSON.
    ///
    /// # Errors
    /// Negative zero, a number out of range, or one with digits that would be lost.
    pub(super) fn from_json_text(text: &str) -> Result<Self, NumberError> {
        if !text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) {
            if let Ok(int) = text.parse::<i64>() {
                return if int == 0 && text.starts_with('-') {
                    Err(NumberError::NegativeZero)
                } else {
                    Ok(Self(Repr::Int(int)))
                };
            }
            if let Ok(unsigned) = text.parse::<u64>() {
                return Ok(Self(Repr::Unsigned(unsigned)));
            }
        }
        let written = Decimal::read(text);
        if written.digits.is_empty() {
            return if text.starts_with('-') {
                Err(NumberError::NegativeZero)
            } else {
                Ok(Self(Repr::Int(0)))
            };
        }
        if let Some(repr) = written.to_whole() {
            return Ok(Self(repr));
        }
        let value: f64 = text.parse().map_err(|_| NumberError::OutOfRange)?;
        if !value.is_finite() {
            return Err(NumberError::OutOfRange);
        }
        if Decimal::read(&format!("{value:e}")) == written {
            Ok(Self(Repr::Float(value)))
        } else if value == 0.0 {
            Err(NumberError::OutOfRange)
        } else {
            Err(NumberError::LosesDigits)
        }
    }

    /// Returns the number as `i64` when it is one.
    pub fn as_i64(self) -> Option<i64> {
        if let Repr::Int(value) = self.0 { Some(value) } else { None }
    }

    /// Returns the number as `u64` when it is one.
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Repr::Int(value) => u64::try_from(value).ok(),
            Repr::Unsigned(value) => Some(value),
            Repr::Float(_) => None,
        }
    }

    /// Returns the nearest `f64`.
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what the caller asks for")]
    pub fn to_f64(self) -> f64 {
        match self.0 {
            Repr::Int(value) => value as f64,
            Repr::Unsigned(value) => value as f64,
            Repr::Float(value) => value,
        }
    }

    /// Tells whether the number is whole, as the schema type `integer` understands it.
    pub fn is_integer(self) -> bool {
        match self.0 {
            Repr::Int(_) | Repr::Unsigned(_) => true,
            Repr::Float(value) => value.fract() == 0.0,
        }
    }
}

/// Holds a whole double as an integer when it fits one exactly.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "guarded by the range checks")]
fn whole(value: f64) -> Option<Repr> {
    const I64_END: f64 = 9_223_372_036_854_775_808.0;
    const U64_END: f64 = 18_446_744_073_709_551_616.0;
    if value.fract() != 0.0 {
        None
    } else if (-I64_END..I64_END).contains(&value) {
        Some(Repr::Int(value as i64))
    } else if (I64_END..U64_END).contains(&value) {
        Some(Repr::Unsigned(value as u64))
    } else {
        None
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(Repr::Int(value))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(i64::try_from(value).map_or(Repr::Unsigned(value), Repr::Int))
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Number {
    /// Prints the shortest decimal form, in plain notation from 1e-6 up to 1e21 and with an exponent outside that.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Int(value) => fmt::Display::fmt(&value, f),
            Repr::Unsigned(value) => fmt::Display::fmt(&value, f),
            Repr::Float(value) if (1e-6..1e21).contains(&value.abs()) => fmt::Display::fmt(&value, f),
            Repr::Float(value) => fmt::LowerExp::fmt(&value, f),
        }
    }
}

/// A decimal number as its significant digits times a power of ten; zero has no digits.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads a number in the syntax of JSON.
    fn read(text: &str) -> Self {
        let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let sign: i64 = if exponent.starts_with('-') { -1 } else { 1 };
        let magnitude = exponent.trim_start_matches(['+', '-']);
        let written: i64 = sign * magnitude.parse::<i64>().unwrap_or(i64::MAX / 4);
        let mut digits: Vec<u8> = integer.bytes().chain(fraction.bytes()).collect();
        let trailing = digits.iter().rev().take_while(|d| **d == b'0').count();
        digits.truncate(digits.len() - trailing);
        let leading = digits.iter().take_while(|d| **d == b'0').count();
        digits.drain(..leading);
        let shift = i64::try_from(trailing).unwrap_or(i64::MAX / 4)
            - i64::try_from(fraction.len()).unwrap_or(i64::MAX / 4);
        let exponent = if digits.is_empty() { 0 } else { written.saturating_add(shift) };
        Self { negative, digits, exponent }
    }

    /// Returns the whole number this is, when it fits an integer.
    fn to_whole(&self) -> Option<Repr> {
        let zeros = usize::try_from(self.exponent).ok()?;
        if self.digits.len() + zeros > 20 {
            return None;
        }
        let magnitude = self
            .digits
            .iter()
            .map(|digit| u128::from(digit - b'0'))
            .chain(std::iter::repeat_n(0, zeros))
            .fold(0_u128, |value, digit| value * 10 + digit);
        if self.negative {
            let value = i64::try_from(-i128::try_from(magnitude).ok()?).ok()?;
            Some(Repr::Int(value))
        } else {
            let value = u64::try_from(magnitude).ok()?;
            Some(Number::from(value).0)
        }
    }
}
