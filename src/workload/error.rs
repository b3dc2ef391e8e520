//! Errors that end a workload.

use crate::engine::EngineError;

/// Why a workload ends before its time.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A statement of the workload was rejected, and not for concurrency.
    #[error("the engine rejected {sql:?}: {message}")]
    Rejected { sql: String, message: String },
    /// A cell holds what no statement of the workload writes.
    #[error("{sql:?} gave {found}, which no session wrote")]
    Cell { sql: String, found: String },
    #[error("cannot write the recorded history: {0}")]
    Recorder(#[source] std::io::Error),
    #[error("{0}")]
    Settings(String),
}
