//! Values that only a dynamic language has, as far as they have a counterpart here.

use std::sync::Arc;

use fivegates_core::call::Arguments;
use fivegates_core::json::{self, Json};

use super::fields::Stop;

/// A value from outside that has yet to pass the boundary codec.
#[derive(Clone, Debug)]
pub enum Host {
    /// A float as it is; the codec decides.
    Float(f64),
    /// A value that is JSON.
    Json(Json),
}

/// Kinds of which no value can be made here.
const ALIEN: [&str; 20] = [
    "undefined",
    "cycle",
    "date",
    "map",
    "function",
    "bigint",
    "symbol",
    "sparse",
    "undefined_member",
    "class_instance",
    "null_proto",
    "getter_throw",
    "tojson",
    "symbol_key",
    "non_enumerable",
    "array_extra",
    "thrown_string",
    "thrown_object",
    "thrown_message_object",
    "thrown_hostile",
];

/// How many levels the kind `deep` is nested.
const DEEP_LEVELS: usize = 5_000;

impl Host {
    /// Reads a host kind.
    ///
    /// # Errors
    /// The kind has no counterpart, or is not in the vocabulary.
    pub fn read(at: &str, kind: &Json) -> Result<Self, Stop> {
        let kind = kind.as_str().ok_or_else(|| Stop::malformed(at, "a host kind"))?;
        Ok(match kind {
            "nan" => Self::Float(f64::NAN),
            "infinity" => Self::Float(f64::INFINITY),
            "neg_zero" => Self::Float(-0.0),
            "deep" => Self::Json((0..DEEP_LEVELS).fold(Json::array([]), |inner, _| Json::array([inner]))),
            "shared" => {
                let shared = Json::object([("x", Json::from(1))]);
                Self::Json(Json::object([("a", shared.clone()), ("b", shared)]))
            }
            "proto_key" => Self::Json(Json::object([("__proto__", Json::object([("x", Json::from(1))]))])),
            alien if ALIEN.contains(&alien) => {
                return Err(Stop::Unrepresentable(format!("host value `{alien}`")));
            }
            unknown => return Err(Stop::unknown(at, unknown)),
        })
    }

    /// Passes the value through the boundary codec.
    ///
    /// # Errors
    /// The codec refuses it.
    pub fn encode(&self) -> Result<Json, json::JsonConvertError> {
        match self {
            Self::Float(float) => json::to_json(float),
            Self::Json(value) => json::to_json(value),
        }
    }

    /// Makes call arguments of the value, the way code does.
    pub fn arguments(&self) -> Arguments {
        match self {
            Self::Float(float) => Arguments::of(float),
            Self::Json(value) => Arguments::of(value),
        }
    }
}

/// The text of the kind `thrown_string`: a thrown value that is no error.
pub fn thrown(kind: &str) -> Option<Arc<str>> {
    (kind == "thrown_string").then(|| Arc::from("oops"))
}
