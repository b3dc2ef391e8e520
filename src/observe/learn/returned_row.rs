//! A row that a write returned, and what the write did to it.

use crate::model::{Row, StatementId, StatementKind, Tick, Value};

/// The rows that one write returned.
pub(super) struct ReturnedRows {
    pub(super) writer: StatementId,
    pub(super) table: String,
    pub(super) rows: Vec<ReturnedRow>,
    pub(super) at: Tick,
}

/// A row that a write returned.
pub(super) struct ReturnedRow {
    /// As the write left it; of a DELETE as it was.
    pub(super) row: Row,
    /// As an UPDATE or an upsert found it, where the engine tells; none for a row that an upsert put in.
    pub(super) old: Option<Row>,
    pub(super) deed: RowDeed,
}

/// What a write did to a row that it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowDeed {
    PutIn,
    Changed,
    Removed,
    /// One of the first two: of an INSERT, which may be an upsert.
    PutInOrChanged,
}

impl RowDeed {
    /// Of a MERGE by the word that it returned.
    pub(super) fn of(kind: StatementKind, action: Option<&Value>) -> Self {
        match (kind, action) {
            (StatementKind::Delete, _) => Self::Removed,
            (StatementKind::Update, _) => Self::Changed,
            (StatementKind::Merge, Some(Value::Text(word))) => match word.as_str() {
                "INSERT" => Self::PutIn,
                "DELETE" => Self::Removed,
                _ => Self::Changed,
            },
            (_, _) => Self::PutInOrChanged,
        }
    }
}
