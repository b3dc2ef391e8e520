//! The words of the domain as types: cases, executions, verdicts.
//!
//! No I/O, no clock, no randomness, and no SQL: a statement's text is carried, never read.
//! What a text *does* is an [`Effect`], worked out one layer up, in `statement/`.

mod anomaly;
mod case;
mod consistency;
mod direction;
mod doubt;
mod effect;
mod execution;
mod form;
mod id;
mod level;
mod printable;
mod reason;
mod slug;
mod table_fault;
mod value;
mod verdict;

pub use anomaly::Anomaly;
pub use case::{
    CaseStatement, Column, Pace, PartitionMethod, Partitioning, SetupKind, SetupStatement,
    TableShape, TestCase,
};
pub use consistency::{ConsistencyModel, UnknownModel};
pub use direction::Direction;
pub use doubt::Doubt;
pub use effect::{Effect, ReadMode, Role, RowOrder, Setting, StatementKind, TableUse};
pub use execution::{
    ErrorClass, EventKind, Execution, ExecutionEvent, Observation, Outcome, ProbeAnswer, ProbeTag,
    SqlError, StatementRecord, Tick, TransactionStatus,
};
pub use form::Form;
pub use id::{NoStatementId, SessionId, StatementId, TransactionId};
pub use level::{IsolationLevel, UnknownLevel};
pub use printable::printable;
pub use reason::UndecidedReason;
pub use table_fault::TableFault;
pub use value::{Row, Value, rows_text};
pub use verdict::{Aspect, Difference, Finding, FindingKind, LockBreach, Signature, Verdict};
