//! Workloads: transactions on a key-value table, run by concurrent sessions and recorded.
//!
//! [`run`] opens one connection and one thread for each session and hands every ended transaction
//! to a [`Recorder`], those of one session in order. The seed decides the statements; the engine
//! decides the answers and their times. `docs/workload.md` describes the kinds, and how aborted,
//! retried and indeterminate transactions are recorded.

mod case;
mod client;
mod draw;
mod error;
mod file;
mod held;
mod key_accesses;
mod kind;
mod lightweight;
mod list_append;
mod mini_transaction;
mod outbox;
mod pending;
mod plan;
mod recorder;
mod recovery;
mod register;
mod run;
mod table;
#[cfg(test)]
mod tests;

pub use case::{CaseLevels, SESSIONS_MAX, case};
pub use draw::{Distribution, SessionDraws, UnknownDistribution};
pub use error::WorkloadError;
pub use file::HistoryFile;
pub use key_accesses::KeyAccesses;
pub use kind::{Defaults, Workload, WorkloadSettings};
pub use plan::{PlannedOperation, TransactionEnd, TransactionPlan};
pub use recorder::{Progress, Recorder};
pub use recovery::recovery_case;
pub use run::{check, run};

/// Every kind, in the order of `--help`.
pub const WORKLOADS: &[&dyn Workload] = &[
    &mini_transaction::MiniTransaction,
    &register::Register,
    &list_append::ListAppend,
    &lightweight::Lightweight,
];

/// The kind of this name.
pub fn by_name(name: &str) -> Option<&'static dyn Workload> {
    WORKLOADS.iter().copied().find(|kind| kind.name() == name)
}
