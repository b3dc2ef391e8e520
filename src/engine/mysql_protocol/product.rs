//! What differs between the products that speak MySQL's protocol.

use super::connection::{MySqlSession, ReadOnlyModes, StateQuestion};
use crate::dialect::ServerVersion;
use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;

/// How a server describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SelfDescription {
    /// `VERSION()`: `10.11.18-MariaDB`.
    pub(super) version: String,
    /// `@@version_comment`: `MySQL Community Server - GPL`.
    pub(super) comment: String,
}

/// Opens the lock view of a server of a version.
pub(super) type OpenWatcher =
    fn(MySqlSession, &ServerVersion) -> Result<Box<dyn Watcher>, EngineError>;

/// Asks a server what stores its rows.
pub(super) type AskStore = fn(&mut MySqlSession) -> Result<String, EngineError>;

/// A product. Its file is all that knows it by name.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Product {
    /// As URLs and dialect files name it.
    pub(super) name: &'static str,
    /// Whether a server that describes itself so is this product.
    pub(super) is_described_by: fn(&SelfDescription) -> bool,
    /// The numbers of the product's own version in `VERSION()`.
    pub(super) version: fn(&str) -> ServerVersion,
    /// Asks what stores the rows, where the same server runs on several stores: it stands in every
    /// report, because a fault may be the store's.
    pub(super) ask_store: Option<AskStore>,
    /// Opens the lock view of a server of this version.
    pub(super) watch: OpenWatcher,
    /// What the login must be granted beside its own databases, for this version.
    pub(super) grants: fn(&ServerVersion) -> Vec<Grant>,
    /// Whether a consistent snapshot says which place of the binary log it stands for.
    pub(super) marks_snapshots: bool,
    /// Databases of the server's own.
    pub(super) system_databases: &'static [&'static str],
    /// Variables of its own that change what transactions mean.
    pub(super) variables: &'static [&'static str],
    /// Goes on a SET: lifts the limit of how long a statement may take, where the version has one.
    pub(super) lift_time_limit: &'static str,
    /// How a session learns whether a transaction is open.
    pub(super) state_question: StateQuestion,
    /// Its modes in which it takes no writes.
    pub(super) read_only: ReadOnlyModes,
}

/// A privilege beside the one on databases of ours.
pub(super) struct Grant {
    /// Its name in messages.
    pub(super) what: &'static str,
    /// `{user}` stands for the account.
    pub(super) sql: &'static str,
    /// A statement that only works with it.
    pub(super) proof: &'static str,
}

impl Grant {
    /// The privilege to read InnoDB's status and the statements of other connections.
    pub(super) const PROCESS: Self = Self {
        what: "PROCESS",
        sql: "GRANT PROCESS ON *.* TO {user}",
        proof: "SHOW ENGINE INNODB STATUS",
    };
}
