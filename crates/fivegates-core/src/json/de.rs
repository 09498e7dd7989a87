//! From [`Json`] to typed Rust values.

use std::cell::RefCell;
use std::fmt;

use serde::de::{self, DeserializeOwned, IntoDeserializer, Visitor};

use super::number::Number;
use super::value::Json;

/// Levels a typed value may be nested; a member of type [`Json`] may be nested deeper.
const TYPED_DEPTH_MAX: usize = 128;

/// The name under which a [`Json`] passes through serde whole.
pub(super) const PASS_THROUGH: &str = "$fivegates::Json";

thread_local! {
    /// The value that is passing through, between one call of serde and the next on the same thread.
    pub(super) static PASSING: RefCell<Option<Json>> = const { RefCell::new(None) };
}

/// Why a value does not convert.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonConvertError(pub(super) String);

impl de::Error for JsonConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Converts a value to a typed one.
///
/// # Errors
/// What the type refuses, in the words of its `Deserialize`; also nesting of more than 128 typed levels.
pub fn from_json<T: DeserializeOwned>(value: &Json) -> Result<T, JsonConvertError> {
    T::deserialize(Reader { value, depth: TYPED_DEPTH_MAX })
}

#[derive(Clone, Copy)]
struct Reader<'de> {
    value: &'de Json,
    depth: usize,
}

impl<'de> Reader<'de> {
    fn inner(self, value: &'de Json) -> Self {
        Self { value, depth: self.depth.saturating_sub(1) }
    }
}

impl<'de> de::Deserializer<'de> for Reader<'de> {
    type Error = JsonConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonConvertError> {
        if self.depth == 0 {
            return Err(JsonConvertError(format!("nested deeper than {TYPED_DEPTH_MAX} levels")));
        }
        match self.value {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => visit_number(*number, visitor),
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(array) => {
                let items = array.items().iter().map(move |item| self.inner(item));
                let mut access = de::value::SeqDeserializer::new(items);
                let value = visitor.visit_seq(&mut access)?;
                access.end()?;
                Ok(value)
            }
            Json::Object(object) => {
                let members = object.entries().iter().map(move |(key, value)| (&**key, self.inner(value)));
                let mut access = de::value::MapDeserializer::new(members);
                let value = visitor.visit_map(&mut access)?;
                access.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonConvertError> {
        if matches!(self.value, Json::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonConvertError> {
        if name == PASS_THROUGH {
            PASSING.with(|slot| *slot.borrow_mut() = Some(self.value.clone()));
            return visitor.visit_unit();
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonConvertError> {
        match self.value {
            Json::String(text) => visitor.visit_enum((**text).into_deserializer()),
            Json::Object(object) if object.len() == 1 => {
                let members = object.entries().iter().map(move |(key, value)| (&**key, self.inner(value)));
                visitor.visit_enum(de::value::MapAccessDeserializer::new(de::value::MapDeserializer::new(
                    members,
                )))
            }
            other => Err(JsonConvertError(format!("expected a variant name, got {}", other.kind()))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonConvertError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier
    }
}

impl<'de> IntoDeserializer<'de, JsonConvertError> for Reader<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: Number, visitor: V) -> Result<V::Value, JsonConvertError> {
    if let Some(value) = number.as_i64() {
        visitor.visit_i64(value)
    } else if let Some(value) = number.as_u64() {
        visitor.visit_u64(value)
    } else {
        visitor.visit_f64(number.to_f64())
    }
}

impl<'de> de::Deserialize<'de> for Json {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(PASS_THROUGH, JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(PASSING.with(|slot| slot.borrow_mut().take()).unwrap_or(Json::Null))
    }

    fn visit_none<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: de::Deserializer<'de>>(self, inner: D) -> Result<Json, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_newtype_struct<D: de::Deserializer<'de>>(self, inner: D) -> Result<Json, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::string(value))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::from(items))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = access.next_entry::<String, Json>()? {
            members.push((key.into(), value));
        }
        super::value::Object::new(members).map(Json::Object).map_err(de::Error::custom)
    }
}
