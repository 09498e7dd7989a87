//! The value type.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::number::Number;

/// Members up to which an object is searched from the front; larger ones carry a sorted index.
const INDEXED_FROM: usize = 16;

/// A lossless JSON value: immutable, shared, cheap to clone (R-001, R-008, L-53).
#[derive(Clone, Default)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A finite number that is not negative zero.
    Number(Number),
    /// A string of Unicode scalar values.
    String(Arc<str>),
    /// An array.
    Array(Array),
    /// An object; members keep the order in which they were written.
    Object(Object),
}

/// An immutable array. Dropping one of any depth does not recurse.
#[derive(Clone, Default)]
pub struct Array(Option<Arc<Vec<Json>>>);

/// An immutable object with unique keys in the order in which they were written.
#[derive(Clone, Default)]
pub struct Object(Option<Arc<Members>>);

#[derive(Default)]
struct Members {
    entries: Vec<(Arc<str>, Json)>,
    /// Positions in `entries` sorted by key; empty for small objects.
    by_key: Box<[u32]>,
}

/// Why members do not make an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// A key was given twice.
    #[error("duplicate key `{0}`")]
    DuplicateKey(Arc<str>),
    /// More members than an object holds.
    #[error("an object holds at most {} members", u32::MAX)]
    TooManyMembers,
}

impl Json {
    /// Makes a string value.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// Makes an array value.
    pub fn array(items: impl IntoIterator<Item = Json>) -> Self {
        Self::Array(Array::new(items.into_iter().collect()))
    }

    /// Makes an object value of members whose keys are known to differ; a repeated key keeps its first value.
    pub fn object<K: Into<Arc<str>>>(members: impl IntoIterator<Item = (K, Json)>) -> Self {
        let mut entries: Vec<(Arc<str>, Json)> = members.into_iter().map(|(k, v)| (k.into(), v)).collect();
        let mut seen = std::collections::HashSet::with_capacity(entries.len());
        entries.retain(|(key, _)| seen.insert(Arc::clone(key)));
        Self::Object(Object::from_unique(entries))
    }

    /// Returns the text when the value is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the truth value when the value is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the number when the value is one.
    pub fn as_number(&self) -> Option<Number> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// Returns the items when the value is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(array) = self { Some(array.items()) } else { None }
    }

    /// Returns the object when the value is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the member `key` when the value is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// Names the kind of the value as JSON Schema does, with its article: `a string`, `an array`, `null`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl Array {
    /// Makes an array of these items.
    pub fn new(items: Vec<Json>) -> Self {
        Self(if items.is_empty() { None } else { Some(Arc::new(items)) })
    }

    /// The items, in order.
    pub fn items(&self) -> &[Json] {
        self.0.as_ref().map_or(&[], |items| items.as_slice())
    }
}

impl Object {
    /// Makes an object of these members.
    ///
    /// # Errors
    /// A key that occurs twice, or more than `u32::MAX` members.
    pub fn new(entries: Vec<(Arc<str>, Json)>) -> Result<Self, ObjectError> {
        if u32::try_from(entries.len()).is_err() {
            return Err(ObjectError::TooManyMembers);
        }
        let mut seen: HashMap<&str, ()> = HashMap::with_capacity(entries.len());
        for (key, _) in &entries {
            if seen.insert(key, ()).is_some() {
                return Err(ObjectError::DuplicateKey(Arc::clone(key)));
            }
        }
        Ok(Self::from_unique(entries))
    }

    /// Makes an object of members whose keys the caller has checked to be unique and at most `u32::MAX`.
    pub(super) fn from_unique(entries: Vec<(Arc<str>, Json)>) -> Self {
        if entries.is_empty() {
            return Self(None);
        }
        let by_key = if entries.len() > INDEXED_FROM {
            let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
            let mut index: Box<[u32]> = (0..count).collect();
            index.sort_unstable_by(|a, b| entries[*a as usize].0.cmp(&entries[*b as usize].0));
            index
        } else {
            Box::default()
        };
        Self(Some(Arc::new(Members { entries, by_key })))
    }

    /// The members in the order in which they were written.
    pub fn entries(&self) -> &[(Arc<str>, Json)] {
        self.0.as_ref().map_or(&[], |members| members.entries.as_slice())
    }

    /// Returns the member `key`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let members = self.0.as_ref()?;
        if members.by_key.is_empty() {
            return members.entries.iter().find(|(k, _)| &**k == key).map(|(_, value)| value);
        }
        let at = members
            .by_key
            .binary_search_by(|position| (*members.entries[*position as usize].0).cmp(key))
            .ok()?;
        members.entries.get(members.by_key[at] as usize).map(|(_, value)| value)
    }

    /// Tells how many members there are.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Tells whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl PartialEq for Json {
    /// Compares by value; the order of members does not matter.
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = vec![(self, other)];
        while let Some((left, right)) = pairs.pop() {
            let same = match (left, right) {
                (Self::Null, Self::Null) => true,
                (Self::Bool(a), Self::Bool(b)) => a == b,
                (Self::Number(a), Self::Number(b)) => a == b,
                (Self::String(a), Self::String(b)) => a == b,
                (Self::Array(a), Self::Array(b)) => {
                    pairs.extend(a.items().iter().zip(b.items()));
                    a.items().len() == b.items().len()
                }
                (Self::Object(a), Self::Object(b)) => {
                    a.len() == b.len()
                        && a.entries().iter().all(|(key, value)| {
                            b.get(key).is_some_and(|other| {
                                pairs.push((value, other));
                                true
                            })
                        })
                }
                _ => false,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::print::compact(self))
    }
}

impl fmt::Display for Json {
    /// Prints compact JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::print::compact(self))
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(items) = self.0.take().and_then(Arc::into_inner) {
            drop_flat(items);
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Some(members) = self.0.take().and_then(Arc::into_inner) {
            drop_flat(members.entries.into_iter().map(|(_, value)| value));
        }
    }
}

/// Drops values of any depth with a worklist in place of the native stack.
fn drop_flat(values: impl IntoIterator<Item = Json>) {
    let mut pending: Vec<Json> = values.into_iter().filter(is_container).collect();
    while let Some(value) = pending.pop() {
        match value {
            Json::Array(mut array) => {
                if let Some(items) = array.0.take().and_then(Arc::into_inner) {
                    pending.extend(items.into_iter().filter(is_container));
                }
            }
            Json::Object(mut object) => {
                if let Some(members) = object.0.take().and_then(Arc::into_inner) {
                    pending.extend(members.entries.into_iter().map(|(_, value)| value).filter(is_container));
                }
            }
            _ => {}
        }
    }
}

fn is_container(value: &Json) -> bool {
    matches!(value, Json::Array(_) | Json::Object(_))
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::string(value)
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::string(value)
    }
}

impl From<Arc<str>> for Json {
    fn from(value: Arc<str>) -> Self {
        Self::String(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Number(Number::from(i64::from(value)))
    }
}

impl From<i32> for Json {
    fn from(value: i32) -> Self {
        Self::Number(Number::from(i64::from(value)))
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Self::Number(Number::from(value as u64))
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    /// `None` is `null`.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(Array::new(items))
    }
}
