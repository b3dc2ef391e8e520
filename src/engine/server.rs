//! A running engine that was opened, identified and found safe to use.

use std::collections::BTreeMap;

use super::connection::{Connection, Watcher};
use super::diagnosis::{Demand, DiagnosisLine};
use super::error::EngineError;
use super::marker::Leftover;
use super::timestamps::{Timestamps, no_timestamps};
use crate::dialect::{Capability, Dialect, ServerVersion};
use crate::model::IsolationLevel;

/// Which server this is: recorded in every report, checked again after a reconnect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// As URLs name it: `mariadb`.
    pub engine: String,
    /// As the server prints it: `10.11.18-MariaDB`.
    pub version_text: String,
    /// The numbers of `version_text`.
    pub version: ServerVersion,
    /// The variables that change what transactions mean, by name.
    pub variables: BTreeMap<String, String>,
    /// What every session of ours sets for itself before anything else, by which it may differ
    /// from the server's variables.
    pub session_setup: Vec<String>,
    /// The statement by which a session then sets its isolation level; no entry for a level that
    /// needs none.
    pub isolation_setup: BTreeMap<IsolationLevel, String>,
}

impl Identity {
    /// `mariadb 10.11.18-MariaDB`: the version as the server prints it.
    pub fn in_full(&self) -> String {
        format!("{} {}", self.engine, self.version_text)
    }

    /// `mariadb 10.11.18`: the numbers of the version.
    pub fn in_short(&self) -> String {
        format!("{} {}", self.engine, self.version)
    }
}

/// An opened server.
pub trait Server: Send + Sync {
    fn identity(&self) -> &Identity;

    fn dialect(&self) -> &Dialect;

    /// Whether a statement may wait for another session's lock. Where none ever does (SQLite
    /// answers BUSY), cases need no threads and no lock view.
    fn waits(&self) -> bool {
        true
    }

    /// Creates a database of ours, with its marker; `name` begins with `rashomon_`.
    ///
    /// What a dead run, or this one, left under the same name is dropped first; anything else of
    /// that name is an error.
    fn create_database(&self, name: &str) -> Result<(), EngineError>;

    /// Drops a database if, and only if, it carries our marker.
    fn drop_database(&self, name: &str) -> Result<(), EngineError>;

    /// A new connection, its session set up by the dialect, in this database.
    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError>;

    /// An extra connection that reads the lock view.
    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError>;

    /// Every database whose name is one of ours, with its marker where it has one.
    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError>;

    /// Whether the server holds databases that are not ours, for `doctor`.
    fn examine_safety(&self, allow_shared_server: bool) -> Result<DiagnosisLine, EngineError>;

    /// Privileges, read-only modes, connections and disk for such a run, for `doctor`. Changes
    /// nothing.
    fn examine(&self, demand: &Demand) -> Result<Vec<DiagnosisLine>, EngineError>;

    /// The values of these variables, as they hold for a session of ours. One that the server does not
    /// have is left out; all are where an engine has no variables.
    fn settings(&self, _names: &[&str]) -> Result<BTreeMap<String, String>, EngineError> {
        Ok(BTreeMap::new())
    }

    /// How this server gives start and commit timestamps.
    ///
    /// # Errors
    /// When it does not, as it is set up: the message names the remedy.
    fn timestamps(&self) -> Result<Box<dyn Timestamps>, EngineError> {
        Err(no_timestamps(&self.identity().engine))
    }

    /// Statement counters of the whole server (`Com_*`), where the engine keeps them.
    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError>;
}

/// Refuses a server that cases are not built for.
///
/// # Errors
/// [`EngineError::Target`], which says what does work there.
pub fn require_cases(server: &dyn Server) -> Result<(), EngineError> {
    if server.dialect().supports(Capability::Cases) {
        return Ok(());
    }
    let why = match server.dialect().why_not(Capability::Cases) {
        Some(why) => format!(" ({why})"),
        None => String::new(),
    };
    Err(EngineError::Target(format!(
        "cases are not generated and judged on {} yet{why}: workload, watch, doctor and clean work there",
        server.identity().in_short()
    )))
}
