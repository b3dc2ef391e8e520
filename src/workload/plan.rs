//! A transaction as it is drawn, before it is sent.

/// A transaction as it was drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionPlan {
    /// Its operations, in order, without BEGIN and end.
    pub steps: Vec<PlannedOperation>,
    pub end: TransactionEnd,
}

/// One statement on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedOperation {
    Read(u32),
    /// Writes a value that no other operation writes.
    Write(u32),
    /// Appends a unique value to a list.
    Append(u32),
    /// Writes a unique value if the key still holds the value that the session read before.
    CompareAndSet(u32),
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    Commit,
    Rollback,
    /// One statement without BEGIN: its answer is the end.
    Autocommit,
}
