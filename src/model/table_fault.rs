//! What is wrong with tables at the end of a run.

use super::Row;

/// Two accounts of one table that disagree although no transaction is open, or of its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableFault {
    /// Read by an index, the table has other rows than a scan of it.
    Index {
        table: String,
        index: String,
        /// Rows of the scan that the index does not give.
        missing: Vec<Row>,
        /// Rows that only the index gives.
        extra: Vec<Row>,
    },
    /// DDL that was accepted has left the table as it was: an index that it made is not there, or one that it dropped is.
    Definition {
        table: String,
        index: String,
        /// The DDL.
        sql: String,
        /// Whether the index is there.
        is_there: bool,
    },
    /// The engine cannot read the table by an index, or its own check of tables complains.
    Check {
        /// None where the engine names no table.
        table: Option<String>,
        /// In the engine's words.
        message: String,
    },
}

impl TableFault {
    /// The table, where the engine names one.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Index { table, .. } | Self::Definition { table, .. } => Some(table),
            Self::Check { table, .. } => table.as_deref(),
        }
    }
}
