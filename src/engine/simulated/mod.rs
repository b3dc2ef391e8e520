//! A simulated engine, in this process: rows with versions, locks on rows and on conditions, waits and
//! deadlocks, each statement run by SQLite on the rows that it may see.
//!
//! Nothing in it depends on a clock or on chance: the same statements in the same order come to the
//! same answers.

mod command;
mod ending;
mod fault;
mod locks;
mod refusal;
mod schema;
mod scratch;
mod server;
mod session;
mod state;
mod statement;
mod store;
#[cfg(test)]
mod tests;
mod token;
mod uses;
mod version;
mod view;
mod watcher;
mod write;

pub use fault::Fault;
pub(super) use server::Simulated;
