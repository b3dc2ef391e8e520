//! PostgreSQL, as far as recording histories needs it.
//!
//! Connections are of `tokio-postgres`, the asynchronous half of the `postgres` crate, each on a
//! runtime of its own: the blocking half sets no deadline for an answer, and a server that hangs
//! would hang us. Cases are not generated for this engine yet; its dialect lacks the capability
//! `cases`, and what needs it says so.

mod answer;
mod connection;
mod databases;
mod examination;
mod failure;
mod names;
mod protocol;
mod watcher;

pub(super) use protocol::Postgres;
