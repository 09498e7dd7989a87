//! What the record tells, for people: one call as a story, one event as a line.
//!
//! Everything here is a function from events to text, except [`read`], which fetches the events, and [`output`], which
//! writes. Text that is not ours is escaped on its way out ([`crate::escape`]); stories hold it as it is.

mod payload;

mod road;
mod story;

mod collect;
pub(crate) mod read;

mod page;
mod style;
mod text;
mod time;

mod object;

mod summary;

pub(crate) mod output;

pub(crate) use object::object;
pub(crate) use story::CallStory;
pub(crate) use style::{Style, Tone};
pub(crate) use summary::summary;
pub(crate) use text::short;
pub(crate) use text::whole;
pub(crate) use time::{offset, rfc3339};

#[cfg(test)]
mod tests;
