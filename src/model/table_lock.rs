//! Locks of whole tables that a transaction asks for by name.

/// How strongly a lock holds a table, weakest first (PostgreSQL manual, "Table-Level Locks"). Which of them exclude each
/// other stands in `[table-locks]` of a dialect file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableLockMode {
    /// A SELECT takes it.
    AccessShare,
    /// A SELECT that locks rows takes it.
    RowShare,
    /// An INSERT, UPDATE or DELETE takes it.
    RowExclusive,
    /// A VACUUM takes it.
    ShareUpdateExclusive,
    /// CREATE INDEX takes it.
    Share,
    ShareRowExclusive,
    Exclusive,
    /// Nobody else uses the table.
    AccessExclusive,
}

impl TableLockMode {
    /// Every mode, weakest first.
    pub const ALL: [Self; 8] = [
        Self::AccessShare,
        Self::RowShare,
        Self::RowExclusive,
        Self::ShareUpdateExclusive,
        Self::Share,
        Self::ShareRowExclusive,
        Self::Exclusive,
        Self::AccessExclusive,
    ];

    /// As dialect files spell it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::AccessShare => "access-share",
            Self::RowShare => "row-share",
            Self::RowExclusive => "row-exclusive",
            Self::ShareUpdateExclusive => "share-update-exclusive",
            Self::Share => "share",
            Self::ShareRowExclusive => "share-row-exclusive",
            Self::Exclusive => "exclusive",
            Self::AccessExclusive => "access-exclusive",
        }
    }

    /// As SQL spells it: `SHARE ROW EXCLUSIVE`.
    pub fn sql(self) -> String {
        self.slug().replace('-', " ").to_ascii_uppercase()
    }
}

/// What a statement of kind [`StatementKind::LockTable`](super::StatementKind::LockTable) locks until its transaction ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLock {
    pub tables: Vec<String>,
    pub mode: TableLockMode,
}
