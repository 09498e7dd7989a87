//! From typed Rust values to [`Json`].

use std::fmt;
use std::sync::Arc;

use serde::ser::{self, Serialize};

use super::de::{JsonConvertError, PASS_THROUGH, PASSING};
use super::number::Number;
use super::value::{Json, Object};

/// Converts a typed value.
///
/// # Errors
/// A number that is NaN, infinite, negative zero or beyond 64 bits, a key that is not a string, a duplicate key, or what
/// the type's own `Serialize` reports. Nothing is rounded or dropped.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, JsonConvertError> {
    value.serialize(Writer)
}

impl ser::Error for JsonConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Serialize for Json {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PASSING.with(|slot| *slot.borrow_mut() = Some(self.clone()));
        let done = serializer.serialize_newtype_struct(PASS_THROUGH, &Plain(self));
        PASSING.with(|slot| slot.borrow_mut().take());
        done
    }
}

/// A value as a foreign serializer sees it.
struct Plain<'a>(&'a Json);

impl Serialize for Plain<'_> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => serializer.serialize_i64(value),
                (None, Some(value)) => serializer.serialize_u64(value),
                (None, None) => serializer.serialize_f64(number.to_f64()),
            },
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(array) => serializer.collect_seq(array.items().iter().map(Plain)),
            Json::Object(object) => {
                serializer.collect_map(object.entries().iter().map(|(key, value)| (&**key, Plain(value))))
            }
        }
    }
}

type Written = Result<Json, JsonConvertError>;

struct Writer;

impl ser::Serializer for Writer {
    type Ok = Json;
    type Error = JsonConvertError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    fn serialize_bool(self, value: bool) -> Written {
        Ok(Json::Bool(value))
    }
    fn serialize_i8(self, value: i8) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i16(self, value: i16) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i32(self, value: i32) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i64(self, value: i64) -> Written {
        Ok(Json::from(value))
    }
    fn serialize_u8(self, value: u8) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u16(self, value: u16) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u32(self, value: u32) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u64(self, value: u64) -> Written {
        Ok(Json::from(value))
    }
    fn serialize_f32(self, value: f32) -> Written {
        self.serialize_f64(value.into())
    }
    fn serialize_f64(self, value: f64) -> Written {
        Number::from_f64(value).map(Json::Number).map_err(|error| JsonConvertError(error.to_string()))
    }
    fn serialize_char(self, value: char) -> Written {
        Ok(Json::string(value.to_string()))
    }
    fn serialize_str(self, value: &str) -> Written {
        Ok(Json::string(value))
    }
    fn serialize_bytes(self, value: &[u8]) -> Written {
        Ok(Json::array(value.iter().map(|byte| Json::from(u32::from(*byte)))))
    }
    fn serialize_none(self) -> Written {
        Ok(Json::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Written {
        Ok(Json::Null)
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Written {
        Ok(Json::Null)
    }
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Written {
        Ok(Json::string(variant))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Written {
        if name == PASS_THROUGH
            && let Some(whole) = PASSING.with(|slot| slot.borrow_mut().take())
        {
            return Ok(whole);
        }
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        Ok(Json::object([(variant, value.serialize(self)?)]))
    }
    fn serialize_seq(self, len: Option<usize>) -> Result<Items, JsonConvertError> {
        Ok(Items { items: Vec::with_capacity(len.unwrap_or(0).min(4_096)), variant: None })
    }
    fn serialize_tuple(self, len: usize) -> Result<Items, JsonConvertError> {
        self.serialize_seq(Some(len))
    }
    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Items, JsonConvertError> {
        self.serialize_seq(Some(len))
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Items, JsonConvertError> {
        Ok(Items { items: Vec::new(), variant: Some(variant) })
    }
    fn serialize_map(self, _len: Option<usize>) -> Result<Members, JsonConvertError> {
        Ok(Members { members: Vec::new(), key: None, variant: None })
    }
    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Members, JsonConvertError> {
        self.serialize_map(None)
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Members, JsonConvertError> {
        Ok(Members { members: Vec::new(), key: None, variant: Some(variant) })
    }
}

fn wrap(variant: Option<&'static str>, value: Json) -> Json {
    match variant {
        Some(variant) => Json::object([(variant, value)]),
        None => value,
    }
}

struct Items {
    items: Vec<Json>,
    variant: Option<&'static str>,
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), JsonConvertError> {
        self.items.push(value.serialize(Writer)?);
        Ok(())
    }
    fn finish(self) -> Json {
        wrap(self.variant, Json::from(self.items))
    }
}

/// The four forms of a sequence differ in the name of one method.
macro_rules! sequence {
    ($($form:ident $method:ident),*) => {$(
        impl ser::$form for Items {
            type Ok = Json;
            type Error = JsonConvertError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), JsonConvertError> {
                self.push(value)
            }
            fn end(self) -> Written {
                Ok(self.finish())
            }
        }
    )*};
}
sequence!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

struct Members {
    members: Vec<(Arc<str>, Json)>,
    key: Option<Arc<str>>,
    variant: Option<&'static str>,
}

impl Members {
    fn finish(self) -> Written {
        let object = Object::new(self.members).map_err(|error| JsonConvertError(error.to_string()))?;
        Ok(wrap(self.variant, Json::Object(object)))
    }
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), JsonConvertError> {
        self.members.push((Arc::from(key), value.serialize(Writer)?));
        Ok(())
    }
}

impl ser::SerializeMap for Members {
    type Ok = Json;
    type Error = JsonConvertError;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), JsonConvertError> {
        let key = match key.serialize(Writer)? {
            Json::String(text) => text,
            Json::Number(number) => Arc::from(number.to_string()),
            other => return Err(JsonConvertError(format!("a key must be a string, got {}", other.kind()))),
        };
        self.key = Some(key);
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), JsonConvertError> {
        let key = self.key.take().ok_or_else(|| JsonConvertError("a member without a key".to_owned()))?;
        self.members.push((key, value.serialize(Writer)?));
        Ok(())
    }
    fn end(self) -> Written {
        self.finish()
    }
}

impl ser::SerializeStruct for Members {
    type Ok = Json;
    type Error = JsonConvertError;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), JsonConvertError> {
        self.field(key, value)
    }
    fn end(self) -> Written {
        self.finish()
    }
}

impl ser::SerializeStructVariant for Members {
    type Ok = Json;
    type Error = JsonConvertError;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), JsonConvertError> {
        self.field(key, value)
    }
    fn end(self) -> Written {
        self.finish()
    }
}
