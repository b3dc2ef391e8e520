//! The record of a run: what was sent, what waited, what came back.

use std::collections::BTreeMap;
use std::fmt;

use super::{ReadMode, Row, StatementId, TableFault, TransactionId, UndecidedReason};

/// What kind of refusal an engine's error is. Dialect files map codes to classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// The transaction was chosen as a deadlock victim.
    Deadlock,
    /// First-updater-wins, SSI, "record has changed since last read": an abort any engine may give.
    Serialization,
    /// A lock was not to be had in time, or at once under NOWAIT.
    LockTimeout,
    /// SQLite's BUSY: the lock is held, nothing waits.
    Busy,
    Duplicate,
    NotNull,
    ForeignKey,
    Check,
    /// A value does not fit: range, truncation, division by zero, ill-formed.
    Data,
    /// The statement was killed or ran past a limit.
    Interrupted,
    Syntax,
    /// A table, column, savepoint or other object is not there.
    Missing,
    /// DDL of another session changed the table, and the transaction has an older snapshot (MySQL manual, "Consistent
    /// Nonlocking Reads").
    TableChanged,
    /// DDL of another client, be it of other tables, refused the transaction (TiDB manual, "Error Codes and Troubleshooting", 8028). Nothing
    /// in the case is its cause.
    SchemaChanged,
    /// The engine does not do this.
    Unsupported,
    /// The transaction is in a failed state and takes no statements.
    FailedTransaction,
    /// A write in a transaction that is READ ONLY.
    ReadOnly,
    Privilege,
    /// Disk full, too many connections, out of memory: the environment, not a bug.
    Resource,
    /// The engine says of itself that something is broken: corruption, assertion.
    Internal,
    Other,
}

impl ErrorClass {
    /// As dialect files and signatures spell it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Serialization => "serialization",
            Self::LockTimeout => "lock-timeout",
            Self::Busy => "busy",
            Self::Duplicate => "duplicate",
            Self::NotNull => "not-null",
            Self::ForeignKey => "foreign-key",
            Self::Check => "check",
            Self::Data => "data",
            Self::Interrupted => "interrupted",
            Self::Syntax => "syntax",
            Self::Missing => "missing",
            Self::TableChanged => "table-changed",
            Self::SchemaChanged => "schema-changed",
            Self::Unsupported => "unsupported",
            Self::FailedTransaction => "failed-transaction",
            Self::ReadOnly => "read-only",
            Self::Privilege => "privilege",
            Self::Resource => "resource",
            Self::Internal => "internal",
            Self::Other => "other",
        }
    }

    /// Every class.
    pub const ALL: [Self; 21] = [
        Self::Deadlock,
        Self::Serialization,
        Self::LockTimeout,
        Self::Busy,
        Self::Duplicate,
        Self::NotNull,
        Self::ForeignKey,
        Self::Check,
        Self::Data,
        Self::Interrupted,
        Self::Syntax,
        Self::Missing,
        Self::TableChanged,
        Self::SchemaChanged,
        Self::Unsupported,
        Self::FailedTransaction,
        Self::ReadOnly,
        Self::Privilege,
        Self::Resource,
        Self::Internal,
        Self::Other,
    ];

    /// Concurrency alone may cause it: always a legal answer of an interleaved run, and no answer
    /// that a serial run could predict.
    pub fn is_concurrency(self) -> bool {
        matches!(
            self,
            Self::Deadlock
                | Self::Serialization
                | Self::LockTimeout
                | Self::Busy
                | Self::Interrupted
                | Self::FailedTransaction
                | Self::TableChanged
                | Self::SchemaChanged
        )
    }

    /// The engine refuses such a statement by its text, its names or its transaction, before it reads a
    /// row of any table.
    pub fn comes_before_rows_are_read(self) -> bool {
        matches!(
            self,
            Self::Syntax | Self::Missing | Self::Unsupported | Self::ReadOnly | Self::Privilege
        )
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// An error that the engine answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The engine's own number or SQLSTATE.
    pub code: String,
    pub class: ErrorClass,
    /// For people; never compared.
    pub message: String,
}

/// What a statement came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Rows(Vec<Row>),
    /// Rows changed, as the engine counts them.
    Affected(u64),
    Rejected(SqlError),
}

impl Outcome {
    /// The class of the rejection, when it is one.
    pub fn error_class(&self) -> Option<ErrorClass> {
        if let Self::Rejected(error) = self {
            Some(error.class)
        } else {
            None
        }
    }

    /// How many rows it gives or counts: of a write, those that it changed, whether it counts them or
    /// returns them. None for a rejection.
    pub fn row_count(&self) -> Option<u64> {
        match self {
            Self::Rows(rows) => Some(rows.len() as u64),
            Self::Affected(count) => Some(*count),
            Self::Rejected(_) => None,
        }
    }

    /// Rows of a result; none for a rejection and for a write without RETURNING.
    pub fn rows(&self) -> &[Row] {
        if let Self::Rows(rows) = self {
            rows
        } else {
            &[]
        }
    }
}

/// As case files spell it: `(1) (2)`, `affected 2`, `error deadlock (1213)`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => f.write_str(&super::rows_text(rows)),
            Self::Affected(count) => write!(f, "affected {count}"),
            Self::Rejected(error) => write!(f, "error {} ({})", error.class, error.code),
        }
    }
}

/// A point in the order of events of one execution. Logical: no clock is behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u32);

/// What happened to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Sent,
    /// The engine's lock view shows it waiting.
    Waiting,
    /// Answered; after a wait this is the resume.
    Answered,
}

/// One event, at its own tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionEvent {
    pub tick: Tick,
    pub statement: StatementId,
    pub kind: EventKind,
}

/// One statement of the case as it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRecord {
    pub id: StatementId,
    pub sent: Tick,
    /// When it was first seen waiting.
    pub waiting: Option<Tick>,
    /// What it was seen waiting for, where the engine says: the statement's session waited for
    /// transactions of these.
    pub waited_for: Vec<TransactionId>,
    pub answered: Tick,
    pub outcome: Outcome,
    /// After a rejection, as asked of the server: is the transaction still open?
    pub transaction_survives: bool,
    /// The first number that it took from a counter of the engine, as its answer says; where it took none, perhaps
    /// a number that it gave a row itself.
    pub counted: Option<i64>,
    /// How many rows a write said it changed beside those that it returned, on engines whose answer has both.
    pub reported: Option<u64>,
    /// The words by which the answer says what was done, on engines whose answer does: PostgreSQL's command tag.
    pub command_tag: Option<String>,
}

impl StatementRecord {
    /// How many rows a write says that it changed: the count of its answer, or else how many rows it returned. None
    /// for a rejection.
    pub fn changed_rows(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Rows(_) => self.reported.or_else(|| self.outcome.row_count()),
            Outcome::Affected(_) | Outcome::Rejected(_) => self.outcome.row_count(),
        }
    }

    /// It waited for a lock before it answered.
    pub fn resumed(&self) -> bool {
        self.waiting.is_some()
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// At this tick: the answer of its COMMIT, or of the autocommit statement.
    Committed(Tick),
    /// By ROLLBACK, by the engine, or by the end of the case.
    Aborted(Tick),
    /// COMMIT was sent and no answer came.
    Indeterminate,
}

/// What a probe is for. See `GLOSSARY.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeTag {
    /// Reads something only to fix the snapshot point.
    FixSnapshot,
    /// The rows that the write will touch, locked as it locks them; refused where it would wait.
    BeforeWrite { table: String },
    /// The whole of a table as the statement sees it.
    VersionSet { table: String, locking: bool },
    /// The whole of the target after the write, read in this mode.
    AfterWrite { table: String, mode: ReadMode },
    /// No read: the rows of its target that the write itself returned.
    Returned { table: String },
}

/// What a probe in a session answered. A probe is no statement of the case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The statement it stands for.
    pub statement: StatementId,
    pub tag: ProbeTag,
    pub sql: String,
    pub tick: Tick,
    /// It waited, or another session's event lies between it and its statement.
    pub parted: bool,
    pub outcome: Outcome,
}

impl ProbeTag {
    /// Whether it was read in the session for the sake of a statement, and so may have locked rows.
    pub fn reads_for_a_statement(&self) -> bool {
        !matches!(self, Self::FixSnapshot | Self::Returned { .. })
    }

    /// Whether such a read locks the rows that it finds.
    pub fn locks_rows(&self) -> bool {
        match self {
            Self::FixSnapshot | Self::Returned { .. } => false,
            Self::BeforeWrite { .. } => true,
            Self::VersionSet { locking, .. } => *locking,
            Self::AfterWrite { mode, .. } => *mode == ReadMode::Current,
        }
    }
}

impl ProbeAnswer {
    /// Whether another session came between it and its statement, and what it was to show cannot be
    /// told without it.
    pub fn is_lost(&self) -> bool {
        let needed = match &self.tag {
            ProbeTag::FixSnapshot | ProbeTag::BeforeWrite { .. } | ProbeTag::Returned { .. } => {
                false
            }
            ProbeTag::VersionSet { locking, .. } => *locking,
            ProbeTag::AfterWrite { .. } => true,
        };
        self.parted && needed
    }
}

/// The content of tables as an extra connection (or the writer itself) saw it, at rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    pub tick: Tick,
    /// Statements that may have written since the observation before: just answered, resumed, or
    /// now waiting with part of their work done.
    pub active: Vec<StatementId>,
    /// Rows by table, in the column order of the shape.
    pub tables: BTreeMap<String, Vec<Row>>,
}

/// The server was killed during the run, and started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCrash {
    /// When the command was called that kills the server.
    pub at: Tick,
    /// The server's settings that decide whether a commit survives, before it was killed.
    pub settings: BTreeMap<String, String>,
}

/// The whole record of one run of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// In order of ticks.
    pub events: Vec<ExecutionEvent>,
    /// Every statement that was sent and answered.
    pub records: BTreeMap<StatementId, StatementRecord>,
    /// Every transaction of which a statement was sent.
    pub transactions: BTreeMap<TransactionId, TransactionStatus>,
    pub probes: Vec<ProbeAnswer>,
    pub observations: Vec<Observation>,
    /// Every table after all sessions ended, rows in the column order of the shape, sorted.
    pub final_state: BTreeMap<String, Vec<Row>>,
    /// What was found wrong with tables then.
    pub table_faults: Vec<TableFault>,
    /// A wait was concluded from a timer, not from the lock view, or the run could not be brought
    /// to its end: why the execution is no evidence.
    pub unreliable: Option<UndecidedReason>,
    /// The server was killed during the run: `final_state` and `table_faults` are of the server that was
    /// started again.
    pub crash: Option<ServerCrash>,
    /// After this statement the server's state contradicted the answers of its session; `unreliable`
    /// says how.
    pub contradicted: Option<StatementId>,
    /// Everything sent to the engine for the case: statements, probes, observations, reset.
    pub statements_sent: u64,
}

impl Execution {
    /// The statements in the order in which they finished.
    pub fn execution_order(&self) -> Vec<StatementId> {
        self.events
            .iter()
            .filter(|event| event.kind == EventKind::Answered)
            .map(|event| event.statement)
            .collect()
    }

    /// The statements in the order in which they were sent.
    pub fn sending_order(&self) -> Vec<StatementId> {
        self.events
            .iter()
            .filter(|event| event.kind == EventKind::Sent)
            .map(|event| event.statement)
            .collect()
    }

    /// The commit tick of a transaction; the set-up committed before everything.
    pub fn commit_tick(&self, transaction: TransactionId) -> Option<Tick> {
        if transaction == TransactionId::SETUP {
            return Some(Tick(0));
        }
        match self.transactions.get(&transaction) {
            Some(TransactionStatus::Committed(tick)) => Some(*tick),
            _ => None,
        }
    }

    /// The answer by which a transaction of the case has committed; none where it has not.
    pub fn commit_record(&self, transaction: TransactionId) -> Option<&StatementRecord> {
        let at = self.commit_tick(transaction)?;
        let mut records = self.records.values();
        records.find(|record| record.id.transaction == transaction && record.answered == at)
    }

    /// Deadlock victims in this run.
    pub fn deadlocks(&self) -> usize {
        self.records
            .values()
            .filter(|record| record.outcome.error_class() == Some(ErrorClass::Deadlock))
            .count()
    }

    /// Statements that waited.
    pub fn waits(&self) -> usize {
        self.records
            .values()
            .filter(|record| record.resumed())
            .count()
    }
}
