//! What a transaction is going to do, before it is sent.

/// A transaction as it was drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionPlan {
    pub steps: Vec<PlannedOperation>,
    pub end: TransactionEnd,
}

/// One statement on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedOperation {
    Read(u32),
    /// Writes a value that nobody writes twice.
    Write(u32),
    /// Appends such a value to a list.
    Append(u32),
    /// Writes such a value if the key still holds what the session saw before it began.
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
