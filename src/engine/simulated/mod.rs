//! A simulated engine, in this process: rows with versions, locks on rows and on conditions, waits and
//! deadlocks, each statement run by SQLite on the rows that it may see.
//!
//! Nothing in it depends on a clock or on chance: the same statements in the same order come to the
//! same answers.

mod by_snapshot;
mod command;
mod conflicts;
mod ending;
mod fault;
#[cfg(test)]
mod flavour_tests;
mod locks;
mod planted;
mod policy;
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
pub use policy::EngineFlavour;
pub(super) use server::Simulated;
