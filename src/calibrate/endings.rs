//! Which rejections end their transaction, and which undo their statement only.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage};
use crate::dialect::{Capability, Dialect, RejectionEnd};
use crate::engine::TransactionState;
use crate::model::{ErrorClass, IsolationLevel, Outcome};

/// A rejection that two sessions can bring about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    class: ErrorClass,
    /// For people.
    form: &'static str,
    provocation: Provocation,
}

/// What a rejection does where the dialect has failed transactions.
const FAILS: &str = "makes the transaction refuse what follows";

/// How the session under test comes to its rejection.
#[derive(Clone, Copy, Debug)]
enum Provocation {
    /// By a statement that no state of the tables allows.
    Statement(&'static str),
    /// By a write in a transaction that was started READ ONLY.
    WriteInReadOnly,
    /// By a locking read with NOWAIT of a row that the other session has changed.
    Nowait,
    /// By a write while the other session has the only write lock.
    WriteLock,
    /// By a change of a row that the other session has changed since the snapshot.
    StaleRow,
    /// By a read of a table that the other session has rebuilt since the snapshot.
    RebuiltTable,
    /// By closing a circle of waits with a session that has done more.
    Circle,
}

const ENDINGS: [Ending; 9] = [
    Ending {
        class: ErrorClass::Duplicate,
        form: "INSERT of a key that is there",
        provocation: Provocation::Statement("INSERT INTO t VALUES (2, 5)"),
    },
    Ending {
        class: ErrorClass::Missing,
        form: "SELECT from a table that is not there",
        provocation: Provocation::Statement("SELECT * FROM no_such_table"),
    },
    Ending {
        class: ErrorClass::Syntax,
        form: "SELECT FROM",
        provocation: Provocation::Statement("SELECT FROM"),
    },
    Ending {
        class: ErrorClass::ReadOnly,
        form: "UPDATE in a READ ONLY transaction",
        provocation: Provocation::WriteInReadOnly,
    },
    Ending {
        class: ErrorClass::LockTimeout,
        form: "NOWAIT at a locked row",
        provocation: Provocation::Nowait,
    },
    Ending {
        class: ErrorClass::Busy,
        form: "UPDATE while another session writes",
        provocation: Provocation::WriteLock,
    },
    Ending {
        class: ErrorClass::Serialization,
        form: "UPDATE of a row that changed since the snapshot",
        provocation: Provocation::StaleRow,
    },
    Ending {
        class: ErrorClass::TableChanged,
        form: "SELECT from a table that was rebuilt since the snapshot",
        provocation: Provocation::RebuiltTable,
    },
    Ending {
        class: ErrorClass::Deadlock,
        form: "two UPDATEs that wait for each other",
        provocation: Provocation::Circle,
    },
];

/// The level at which endings are proved: one with a snapshot of the transaction, where there is one.
pub(super) fn level(dialect: &Dialect) -> Option<IsolationLevel> {
    let mut levels = dialect.levels.iter().copied();
    let snapshot = IsolationLevel::RepeatableRead;
    levels
        .find(|level| *level == snapshot)
        .or_else(|| dialect.levels.last().copied())
}

/// What there is to prove. `waits`: statements wait for locks.
pub(super) fn of(dialect: &Dialect, waits: bool) -> Vec<Ending> {
    let can = |ending: &Ending| match ending.provocation {
        Provocation::Statement(_) => true,
        Provocation::WriteInReadOnly => dialect.supports(Capability::ReadOnlyTransaction),
        Provocation::Nowait => dialect.spelling.lock_clauses.contains_key("update-nowait"),
        Provocation::WriteLock => !waits && dialect.spelling.begin.contains_key("immediate"),
        Provocation::RebuiltTable => !dialect.error_codes(ending.class).is_empty(),
        Provocation::StaleRow | Provocation::Circle => waits,
    };
    ENDINGS.into_iter().filter(can).collect()
}

impl Ending {
    /// The key of the dialect file that it proves.
    pub(super) fn key() -> &'static str {
        "ends-transaction"
    }

    /// Asks the server.
    pub(super) fn probe(self, stage: &mut Stage<'_>) -> Result<CalibratedEntry, Halt> {
        let claim = stage.server.dialect().ends_transaction(self.class);
        let fails = stage
            .server
            .dialect()
            .supports(Capability::FailedTransaction);
        let claimed = match claim {
            RejectionEnd::Never if fails => FAILS,
            RejectionEnd::Never => "undoes its statement only",
            RejectionEnd::Sometimes => "may end the transaction",
            RejectionEnd::Always => "ends the transaction",
        };
        let outcome = self.provoke(stage)?;
        let next = stage.tested.run("SELECT pkey FROM w")?;
        let failed = next.error_class() == Some(ErrorClass::FailedTransaction);
        let state = stage.tested.transaction_state()?;
        stage.reset()?;
        let measured = match state {
            TransactionState::Open if failed => FAILS,
            TransactionState::Open => "undoes its statement only",
            TransactionState::None => "ends the transaction",
        };
        let proof = match (outcome.error_class(), claim, state) {
            (Some(class), ..) if class != self.class => {
                Proof::DoesNotApply(format!("it is rejected as {class}"))
            }
            (None, ..) => Proof::DoesNotApply("it is not rejected".to_owned()),
            (_, RejectionEnd::Never, TransactionState::Open) if failed != fails => Proof::Wrong,
            (_, RejectionEnd::Never, TransactionState::None)
            | (_, RejectionEnd::Always, TransactionState::Open) => Proof::Wrong,
            (_, RejectionEnd::Never, TransactionState::Open)
            | (_, RejectionEnd::Always, TransactionState::None)
            | (_, RejectionEnd::Sometimes, _) => Proof::Right,
        };
        let subject = format!("{}.{}", Self::key(), self.class);
        let applies = !matches!(proof, Proof::DoesNotApply(_));
        let entry = CalibratedEntry::new(subject, self.form.to_owned(), claimed.to_owned(), proof);
        Ok(entry.measured(if applies { measured } else { "" }))
    }

    /// Brings the rejection about; the answer that the session under test got.
    fn provoke(self, stage: &mut Stage<'_>) -> Result<Outcome, Halt> {
        let spelling = &stage.server.dialect().spelling;
        let begin = stage.begin();
        match self.provocation {
            Provocation::Statement(sql) => {
                begin_with_work(stage)?;
                Ok(stage.tested.run(sql)?)
            }
            Provocation::WriteInReadOnly => {
                stage.tested.must(stage.begin_as("read-only"))?;
                stage.tested.must("SELECT * FROM t")?;
                Ok(stage.tested.run("UPDATE t SET c = 7 WHERE pkey = 3")?)
            }
            Provocation::Nowait => {
                let clause = spelling.lock_clauses.get("update-nowait");
                let clause = clause.map_or("", String::as_str);
                begin_with_work(stage)?;
                stage.other.must(begin)?;
                stage.other.must("UPDATE t SET c = 8 WHERE pkey = 1")?;
                let sql = format!("SELECT * FROM t WHERE pkey = 1 {clause}");
                Ok(stage.tested.run(&sql)?)
            }
            Provocation::WriteLock => {
                stage.tested.must(begin)?;
                stage.tested.must("SELECT * FROM t")?;
                stage.other.must(stage.begin_as("immediate"))?;
                Ok(stage.tested.run("UPDATE t SET c = 7 WHERE pkey = 3")?)
            }
            Provocation::StaleRow => {
                stage.tested.must(begin)?;
                stage.tested.must("SELECT * FROM t")?;
                stage.other.must("UPDATE t SET c = 8 WHERE pkey = 1")?;
                Ok(stage.tested.run("UPDATE t SET c = 7 WHERE pkey = 1")?)
            }
            Provocation::RebuiltTable => {
                stage.tested.must(begin)?;
                stage.tested.must("SELECT * FROM w")?;
                stage.other.must("ALTER TABLE t FORCE")?;
                Ok(stage.tested.run("SELECT * FROM t")?)
            }
            Provocation::Circle => close_a_circle(stage),
        }
    }
}

/// Opens a transaction of the session under test, and has it write.
fn begin_with_work(stage: &mut Stage<'_>) -> Result<(), Halt> {
    stage.tested.must(stage.begin())?;
    stage.tested.must("UPDATE t SET c = 7 WHERE pkey = 3")?;
    Ok(())
}

/// The same where the victim is the one whose wait closes the circle.
fn close_a_circle_last(stage: &mut Stage<'_>) -> Result<Outcome, Halt> {
    begin_with_work(stage)?;
    stage.other.must(stage.begin())?;
    stage.other.must("UPDATE t SET c = 8 WHERE pkey = 1")?;
    let answer = stage.ask_other("UPDATE t SET c = 8 WHERE pkey = 3")?;
    let outcome = stage.tested.run("UPDATE t SET c = 7 WHERE pkey = 1")?;
    if let Reply::Waits = answer {
        stage.other.finish()?;
    }
    Ok(outcome)
}

/// Two sessions wait for each other: the one under test has done less, and is the victim.
fn close_a_circle(stage: &mut Stage<'_>) -> Result<Outcome, Halt> {
    begin_with_work(stage)?;
    stage.other.must(stage.begin())?;
    stage.other.must("UPDATE u SET c = 9")?;
    stage.other.must("UPDATE t SET c = 8 WHERE pkey = 1")?;
    match stage.ask("UPDATE t SET c = 7 WHERE pkey = 1")? {
        Reply::Answered(outcome) => Ok(outcome),
        Reply::Waits => {
            let answer = stage.ask_other("UPDATE t SET c = 8 WHERE pkey = 3")?;
            if let Reply::Answered(Outcome::Rejected(_)) = answer {
                // The other one is the victim, and its rollback lets this one go on.
                stage.tested.finish()?;
                stage.reset()?;
                return close_a_circle_last(stage);
            }
            let outcome = stage.tested.finish()?;
            if let Reply::Waits = answer {
                stage.other.finish()?;
            }
            Ok(outcome)
        }
    }
}
