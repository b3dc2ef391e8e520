//! Identifiers, printed as people say them: `s1`, `T1`, `T1.2`.

use std::fmt;

/// A session: the sequence of transactions on one connection. Counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

/// A transaction of a case, counted from 1 in the order of first submission.
///
/// [`TransactionId::SETUP`] is the set-up, the writer of every initial row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u32);

impl TransactionId {
    /// The set-up, `T0`.
    pub const SETUP: Self = Self(0);
}

/// The position of a statement in its own transaction, counted from 1, `BEGIN` included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementId {
    pub transaction: TransactionId,
    pub position: u32,
}

impl StatementId {
    /// The set-up as one statement: the writer of every initial row version.
    pub const SETUP: Self = Self {
        transaction: TransactionId::SETUP,
        position: 0,
    };
}

/// Reads what is printed: `T1.2`, both numbers from 1, in one spelling only.
impl std::str::FromStr for StatementId {
    type Err = NoStatementId;

    fn from_str(text: &str) -> Result<Self, NoStatementId> {
        let numbers = text.strip_prefix('T').and_then(|text| text.split_once('.'));
        let (transaction, position) = numbers.ok_or(NoStatementId)?;
        let id = Self {
            transaction: TransactionId(transaction.parse().map_err(|_| NoStatementId)?),
            position: position.parse().map_err(|_| NoStatementId)?,
        };
        let numbered = id.transaction.0 > 0 && id.position > 0;
        (numbered && id.to_string() == text)
            .then_some(id)
            .ok_or(NoStatementId)
    }
}

/// The text is no number of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the number of a statement, such as T1.2")]
pub struct NoStatementId;

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

impl fmt::Display for StatementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.transaction, self.position)
    }
}
