//! The durable record: an event log in one SQLite file.
//!
//! A record holds sessions; a session holds events, numbered from 0 without gaps. Each event carries the BLAKE3 hash of
//! the one before ([`chain`]), so an edited, dropped or reordered event is found by [`Reader::verify`].
//!
//! - [`Store`] is the writing half: one thread owns the connection, callers wait for it through [`Appender`], and an
//!   append resolves once its transaction is committed. Appends that wait together share a transaction.
//! - [`Reader`] is the reading half: a blocking, read-only connection for a thread of its own. It also works while
//!   other processes write.
//!
//! What survives which failure is said at [`Sync`]. Payloads are JSON text, kept byte for byte.

mod id;

mod event;

pub mod chain;

mod path;

mod connect;
mod open;
mod schema;

mod appender;
mod queue;
mod store;
mod writer;

mod reader;
mod rows;
mod verify;

pub use appender::{AppendError, Appender};
pub use event::{Event, Head, NewEvent, NewSession, Seq, Session};
pub use id::{IdError, SessionId};
pub use open::{OpenOptions, StoreError, Sync};
pub use path::{PathError, default_path};
pub use reader::{CallMatch, Page, ReadError, Reader};
pub use rows::Damage;
pub use store::Store;
pub use verify::{Fault, Verdict};

pub mod journal;
pub mod repair;
