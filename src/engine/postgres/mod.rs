//! PostgreSQL.
//!
//! Connections are of `tokio-postgres`, the asynchronous half of the `postgres` crate, each on a
//! runtime of its own: the blocking half sets no deadline for an answer, and a server that hangs
//! would hang us.

mod answer;
mod connection;
mod databases;
mod examination;
mod failure;
mod names;
mod overheard;
mod protocol;
mod temporal;
mod watcher;

pub(super) use protocol::Postgres;
