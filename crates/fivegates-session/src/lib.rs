//! The durable record: an event log in SQLite.
