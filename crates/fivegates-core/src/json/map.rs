//! Rebuilding a value with other strings.

use std::sync::Arc;

use super::value::{Array, Json, Object, ObjectError};

/// Rebuilds a value, keys included, with each string replaced by what `replace` returns for it (nothing keeps it).
///
/// # Errors
/// What `replace` reports, or a key that would occur twice afterwards.
pub fn map_strings<E: From<ObjectError>>(
    value: &Json,
    replace: &mut dyn FnMut(&str) -> Result<Option<String>, E>,
) -> Result<Json, E> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = value;
    loop {
        // A scalar is finished at once; a container is opened and finishes when it has no more items.
        let mut done = match next {
            Json::String(text) => Some(Json::String(swap(text, replace)?)),
            Json::Array(array) => {
                open.push(Open::Array(array.items().iter(), Vec::new()));
                None
            }
            Json::Object(object) => {
                open.push(Open::Object(object.entries().iter(), None, Vec::new()));
                None
            }
            scalar => Some(scalar.clone()),
        };
        next = loop {
            let Some(mut top) = open.pop() else {
                return Ok(done.unwrap_or_default());
            };
            if let Some(value) = done.take() {
                top.take(value);
            }
            if let Some(inner) = top.next(replace)? {
                open.push(top);
                break inner;
            }
            done = Some(match top {
                Open::Array(_, items) => Json::Array(Array::new(items)),
                Open::Object(_, _, members) => Json::Object(Object::new(members)?),
            });
        };
    }
}

type Swap<'r, E> = &'r mut dyn FnMut(&str) -> Result<Option<String>, E>;

enum Open<'a> {
    Array(std::slice::Iter<'a, Json>, Vec<Json>),
    Object(std::slice::Iter<'a, (Arc<str>, Json)>, Option<Arc<str>>, Vec<(Arc<str>, Json)>),
}

impl<'a> Open<'a> {
    fn take(&mut self, value: Json) {
        match self {
            Self::Array(_, items) => items.push(value),
            Self::Object(_, key, members) => members.extend(key.take().map(|key| (key, value))),
        }
    }

    fn next<E>(&mut self, replace: Swap<'_, E>) -> Result<Option<&'a Json>, E> {
        match self {
            Self::Array(rest, _) => Ok(rest.next()),
            Self::Object(rest, key, _) => match rest.next() {
                Some((name, value)) => {
                    *key = Some(swap(name, replace)?);
                    Ok(Some(value))
                }
                None => Ok(None),
            },
        }
    }
}

fn swap<E>(text: &Arc<str>, replace: Swap<'_, E>) -> Result<Arc<str>, E> {
    Ok(replace(text)?.map_or_else(|| Arc::clone(text), Arc::from))
}
