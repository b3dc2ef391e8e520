//! SQLite, in this process: a file per database, a connection per session, BUSY instead of waits.

mod connection;
mod server;
mod store;
mod watcher;

pub(super) use connection::{code_and_message, typed};
pub(super) use server::Sqlite;
pub(super) use store::temporary_folders;
