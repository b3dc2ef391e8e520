//! The words of the domain as types: cases, executions, verdicts.
//!
//! No I/O, no clock, no randomness, and no SQL: a statement's text is carried, never read.
//! What a text *does* is an [`Effect`], worked out one layer up, in `statement/`.

mod anomaly;
mod anomaly_class;
mod case;
mod consistency;
mod cycle;
mod direction;
mod doubt;
mod effect;
mod execution;
mod finding_kind;
mod form;
mod id;
mod level;
mod printable;
mod reason;
mod signature;
pub(crate) mod slug;
mod table_fault;
mod table_lock;
mod value;
mod verdict;
mod whole_number;

pub use anomaly::Anomaly;
pub use anomaly_class::AnomalyClass;
pub use case::{
    CaseStatement, Clustering, Column, Folding, ForeignKey, ForeignKeyAction, Pace,
    PartitionMethod, Partitioning, SetupKind, SetupStatement, TableShape, TestCase,
};
pub use consistency::{ConsistencyModel, UnknownModel};
pub use cycle::{CycleStep, TransactionCycle};
pub use direction::Direction;
pub use doubt::Doubt;
pub use effect::{
    Effect, LockStrength, ReadMode, Role, RowOrder, Setting, StatementKind, StorageChange,
    TableUse, TriggerWrite,
};
pub use execution::{
    ErrorClass, EventKind, Execution, ExecutionEvent, Observation, Outcome, ProbeAnswer, ProbeTag,
    ServerCrash, SqlError, StatementRecord, Tick, TransactionStatus,
};
pub use finding_kind::{Aspect, FindingKind, LockBreach};
pub use form::Form;
pub use id::{NoStatementId, SessionId, StatementId, TransactionId};
pub use level::{IsolationLevel, UnknownLevel};
pub use printable::{cut_to, printable, wrapped};
pub use reason::UndecidedReason;
pub use signature::{RESUMED, Signature, group_id};
pub use table_fault::{ReadMoment, TableFault};
pub use table_lock::{TableLock, TableLockMode};
pub use value::{Row, Value, rows_text};
pub use verdict::{Difference, Finding, Verdict};
pub use whole_number::nearest_held;
