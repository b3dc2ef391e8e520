//! What is wrong with tables at the end of a run.

use std::fmt;

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
    /// The engine refuses to read a table, and nothing in the case puts it out of reach.
    Unreadable {
        table: String,
        moment: ReadMoment,
        /// In the engine's words.
        message: String,
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
            Self::Index { table, .. }
            | Self::Definition { table, .. }
            | Self::Unreadable { table, .. } => Some(table),
            Self::Check { table, .. } => table.as_deref(),
        }
    }
}

/// When a whole table is read that sessions have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMoment {
    /// While sessions are in their transactions, and none of their statements is running.
    DuringRun,
    /// Every session has ended its transactions.
    AtEnd,
    /// The server was killed, and started again.
    AfterCrash,
}

impl fmt::Display for ReadMoment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::DuringRun => "during the run",
            Self::AtEnd => "at the end of the run",
            Self::AfterCrash => "after the crash",
        })
    }
}
