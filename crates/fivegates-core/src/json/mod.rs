//! JSON values that cannot lose anything: parsing, printing, digests and the bridge to serde.
//!
//! A [`Json`] has no NaN, no infinity, no negative zero, no duplicate key and no lone surrogate (R-001, L-53, L-61).
//! Values are immutable and shared, so that freezing and snapshotting cost one reference count. Nothing here
//! recurses on the native stack: parsing, printing, comparing and dropping are loops (R-005, L-37).

mod value;

mod number;

mod parse;

mod print;

mod map;

mod de;
mod ser;

pub use de::{JsonConvertError, from_json};
pub use map::map_strings;
pub use number::{Number, NumberError};
pub use parse::{DEPTH_MAX_DEFAULT, ParseError, ParseErrorKind, ParseLimits, parse, parse_with};
pub use print::{canonical, compact, pretty};
pub use ser::to_json;
pub use value::{Array, Json, Object, ObjectError};

#[cfg(test)]
mod tests;
