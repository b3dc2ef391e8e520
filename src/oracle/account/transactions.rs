//! Refusals that no other session can have caused, and transactions whose end contradicts an answer.

use std::collections::BTreeSet;

use super::super::Evidence;
use super::super::counted::may_run_out;
use super::super::storage_changed;
use super::beside::{ended_before, is_of_another_session, touches_tables};
use super::circle::{another_is_under_way, may_be_in_a_circle};
use super::session_locks::another_locks_tables;
use super::shared_tables::{another_conflicts, changes_a_table_of, share_a_table};
use super::waiting::{may_wait, takes_locks};
use crate::dialect::{Capability, RejectionEnd, SerializationCause};
use crate::model::{
    CaseStatement, Effect, ErrorClass, FindingKind, Form, Outcome, Pace, Role, Setting,
    StatementId, StatementKind, StatementRecord, Tick, TransactionId, UndecidedReason,
};
use crate::statement;

/// What a run shows that its transactions may not do.
pub(super) struct Strangeness {
    pub(super) kind: FindingKind,
    pub(super) statement: StatementId,
    pub(super) expected: String,
    pub(super) got: String,
}

/// States of the server that contradict an answer: what the answer says, and what the server does.
const CONTRADICTIONS: [(UndecidedReason, &str, &str); 5] = [
    (
        UndecidedReason::BeginContradicted,
        "a transaction where one is begun and that is accepted, none where it is refused",
        "the contrary",
    ),
    (
        UndecidedReason::TransactionOpenAfterItsEnd,
        "no transaction",
        "one that is still open",
    ),
    (
        UndecidedReason::TransactionEndedUnasked,
        "the transaction goes on",
        "it is gone",
    ),
    (
        UndecidedReason::TransactionOpenOutsideOfOne,
        "no transaction",
        "one that is open",
    ),
    (
        UndecidedReason::RollbackRefused,
        "a ROLLBACK that is accepted",
        "a refusal",
    ),
];

/// The first that the record shows.
pub(super) fn strangeness(evidence: &Evidence) -> Option<Strangeness> {
    contradiction(evidence).or_else(|| {
        let mut records = evidence.execution.records.values();
        records
            .find_map(|record| wrong_end(evidence, record).or_else(|| causeless(evidence, record)))
    })
}

/// A state of the server that contradicts the answers of the session.
fn contradiction(evidence: &Evidence) -> Option<Strangeness> {
    let statement = evidence.execution.contradicted?;
    let reason = evidence.execution.unreliable?;
    let mut all = CONTRADICTIONS.iter();
    // Any other reason: the case asked for it, or the run came to no end.
    let (_, expected, got) = all.find(|(contradiction, ..)| *contradiction == reason)?;
    (!is_in_the_dark(evidence, statement)).then(|| Strangeness {
        kind: FindingKind::WrongTransactionEnd,
        statement,
        expected: (*expected).to_owned(),
        got: (*got).to_owned(),
    })
}

/// A rejection that ended its transaction though its class may not, or did not though it must.
fn wrong_end(evidence: &Evidence, record: &StatementRecord) -> Option<Strangeness> {
    let class = record.outcome.error_class()?;
    let statement = evidence.case.statement(record.id)?;
    let kind = statement.effect.kind;
    let decides =
        !kind.is_begin() && !kind.is_end() && evidence.case.is_explicit(record.id.transaction);
    if !decides
        || is_in_the_dark(evidence, record.id)
        || chooses_its_end(evidence, record.id)
        || may_have_run_out(evidence, record.id)
    {
        return None;
    }
    let end = evidence.dialect.ends_transaction(class);
    let (expected, got) = match (end, record.transaction_survives) {
        (RejectionEnd::Never, false) => ("undoes its statement only", "the transaction is gone"),
        (RejectionEnd::Always, true) => ("ends the transaction", "the transaction is open"),
        (RejectionEnd::Never, true)
        | (RejectionEnd::Always, false)
        | (RejectionEnd::Sometimes, _) => return None,
    };
    Some(Strangeness {
        kind: FindingKind::WrongTransactionEnd,
        statement: record.id,
        expected: format!("an error of class {class} {expected}"),
        got: got.to_owned(),
    })
}

/// A refusal for a conflict that was with nobody.
fn causeless(evidence: &Evidence, record: &StatementRecord) -> Option<Strangeness> {
    let class = record.outcome.error_class()?;
    let (has_cause, expected) = cause(evidence, record, class)?;
    (!has_cause).then(|| Strangeness {
        kind: FindingKind::RefusalWithoutCause,
        statement: record.id,
        expected: expected.to_owned(),
        got: format!("{} without it", record.outcome),
    })
}

/// The statements that were told to try again, and the write of another session for which it was is there.
pub(super) fn told_to_try_again(evidence: &Evidence) -> BTreeSet<StatementId> {
    let records = evidence.execution.records.values();
    let told = records.filter(|record| {
        let class = record.outcome.error_class();
        let class = class.filter(|c| matches!(c, ErrorClass::Busy | ErrorClass::Serialization));
        let cause = class.and_then(|class| cause(evidence, record, class));
        cause.is_some_and(|(has_cause, _)| has_cause)
    });
    told.map(|record| record.id).collect()
}

/// Whether a refusal of a class that needs a cause has it, and what the cause is. None where no cause is needed, or it
/// may lie in what only the engine understands.
fn cause(
    evidence: &Evidence,
    record: &StatementRecord,
    class: ErrorClass,
) -> Option<(bool, &'static str)> {
    if is_in_the_dark(evidence, record.id) || may_have_run_out(evidence, record.id) {
        return None;
    }
    let statement = evidence.case.statement(record.id);
    let locks_a_table = statement.is_some_and(|s| s.effect.kind == StatementKind::LockTable);
    // Locks that outlive their transaction may be met by whatever comes next.
    let waits = evidence.dialect.supports(Capability::LocksOutliveEnd)
        || statement.is_none_or(|s| may_wait(evidence, s));
    Some(match class {
        ErrorClass::Deadlock | ErrorClass::LockTimeout if !waits => (
            false,
            "no wait for a lock: a statement of this kind takes none",
        ),
        ErrorClass::Deadlock => (
            another_is_under_way(evidence, record)
                && (may_be_in_a_circle(evidence, record)
                    || another_locks_tables(evidence, record, record.sent)),
            "another session with a statement under way that may wait, in a circle with this one: each of the circle uses a table \
             that the transaction of the next one has used",
        ),
        ErrorClass::LockTimeout if !may_have_waited(evidence, record) => (
            false,
            "a wait for a lock, which would have been seen before it took too long",
        ),
        ErrorClass::LockTimeout => (
            another_overlaps(evidence, record, held_since(evidence, record), |s| {
                let may_hold = takes_locks(evidence, s) || (locks_a_table && touches_tables(s));
                may_hold && share_a_table(evidence, record, s)
                    || changes_a_table_of(evidence, record, s)
            }) || another_locks_tables(evidence, record, held_since(evidence, record))
                || waited_for_statistics(evidence, record),
            "another session with locks in a table of this one",
        ),
        ErrorClass::Busy => (
            another_overlaps(evidence, record, record.sent, |s| {
                may_keep_busy(evidence, record, s)
            }),
            "another session with a transaction that keeps this statement out",
        ),
        ErrorClass::Serialization => unserializable(evidence, record),
        ErrorClass::TableChanged => (
            storage_changed::since_snapshot(evidence, record),
            "another session that changed the storage of such a table since the snapshot",
        ),
        ErrorClass::Interrupted => (
            evidence.execution.unreliable.is_some() || statement.is_none_or(limits_its_time),
            "a session that cancels the statement, or a limit of its time",
        ),
        ErrorClass::Duplicate
        | ErrorClass::NotNull
        | ErrorClass::ForeignKey
        | ErrorClass::Check
        | ErrorClass::Data
        | ErrorClass::Syntax
        | ErrorClass::Missing
        | ErrorClass::SchemaChanged
        | ErrorClass::Unsupported
        | ErrorClass::FailedTransaction
        | ErrorClass::ReadOnly
        | ErrorClass::Privilege
        | ErrorClass::Resource
        | ErrorClass::Internal
        | ErrorClass::Other => return None,
    })
}

/// Whether an engine that does not wait may refuse a statement because the transaction of another one is open. With a
/// write-ahead log one writer keeps out another, and nobody a reader (sqlite.org, "Write-Ahead Logging", "Concurrency").
fn may_keep_busy(evidence: &Evidence, record: &StatementRecord, other: &CaseStatement) -> bool {
    let readers_do = evidence.dialect.supports(Capability::ReadersBlockWriters);
    // A log is locked for a moment by who reads it first after a crash.
    let is_of_the_log = matches!(&record.outcome, Outcome::Rejected(e) if e.code == BUSY_RECOVERY);
    let reads = |s: &CaseStatement| s.effect.kind == StatementKind::Select;
    let own = evidence.case.statement(record.id);
    let is_between_writers = !reads(other) && !own.is_some_and(reads);
    let is_unknown = other.effect.kind == StatementKind::Opaque;
    let uses_tables = touches_tables(other) || other.effect.kind == StatementKind::PhysicalDdl;
    uses_tables && (readers_do || is_of_the_log || is_between_writers || is_unknown)
}

/// SQLITE_BUSY_RECOVERY (sqlite.org, "Result and Error Codes").
const BUSY_RECOVERY: &str = "261";

/// Whether a statement says itself how long it may take, by a hint: sessions have no such limit (MySQL manual, "Optimizer Hints",
/// statement execution time).
fn limits_its_time(statement: &CaseStatement) -> bool {
    let sql = statement.sql.to_ascii_lowercase();
    sql.contains("max_execution_time") || sql.contains("max_statement_time")
}

/// Whether a statement that did not serialize had what its level needs for that, and what that is.
fn unserializable(evidence: &Evidence, record: &StatementRecord) -> (bool, &'static str) {
    let session = evidence.case.session_of(record.id.transaction);
    let level = session.map(|session| evidence.case.level(session));
    let cause = level.map(|level| evidence.dialect.serialization_cause(level));
    // There a lock that its transaction commits is a version to others.
    let leaves_records = evidence.dialect.supports(Capability::LocksAtCommit)
        || evidence.dialect.supports(Capability::LocksOutliveEnd);
    match cause.unwrap_or(SerializationCause::AnyWriter) {
        SerializationCause::Never => (false, "no serialization failure at this level"),
        SerializationCause::MovedPartition => (
            moved_to_another_partition(evidence, record),
            "no serialization failure at this level, but for a row that another session moved to another partition \
             while the statement waited",
        ),
        SerializationCause::NewerRow => (
            newer_row(evidence, record),
            "another session that wrote to a table which the statement locks or writes, and committed \
             since the snapshot",
        ),
        SerializationCause::WrittenTable => (
            another_conflicts(evidence, record, began(evidence, record), false),
            "a transaction of another session beside this one, and a table that it wrote and this one used",
        ),
        SerializationCause::ReadWriteConflict => (
            another_conflicts(evidence, record, began(evidence, record), true),
            "a transaction of another session beside this one, and a table that one of the two wrote and the other used",
        ),
        SerializationCause::AnyWriter => (
            another_overlaps(evidence, record, began(evidence, record), |s| {
                let is_ddl = matches!(
                    s.effect.kind,
                    StatementKind::Opaque | StatementKind::PhysicalDdl
                );
                let locks = leaves_records && s.effect.kind == StatementKind::LockingSelect;
                s.effect.kind.is_write() || is_ddl || locks
            }),
            "another session that wrote since the transaction began",
        ),
    }
}

/// Whether a statement that waited to lock or write a row may have met one that had left its partition.
fn moved_to_another_partition(evidence: &Evidence, record: &StatementRecord) -> bool {
    let moves = |other: &CaseStatement, table: &str| {
        let shape = evidence.case.table(table);
        let partitioning = shape.and_then(|shape| shape.partitioning.as_ref());
        let mut columns = partitioning.into_iter().flat_map(|by| &by.columns);
        other.effect.targets().any(|target| target == table)
            && columns.any(|column| other.effect.assigns(table, column))
    };
    record.resumed() && another_committed(evidence, record, record.sent, moves)
}

/// Whether a statement that locks or writes rows may have met one that is newer than the snapshot of its
/// transaction.
fn newer_row(evidence: &Evidence, record: &StatementRecord) -> bool {
    let own = evidence.case.statements.iter();
    let own = own.filter(|s| s.id.transaction == record.id.transaction && touches_tables(s));
    let sent = own.filter_map(|s| Some(evidence.execution.records.get(&s.id)?.sent));
    let snapshot = sent.min().unwrap_or(record.sent);
    another_committed(evidence, record, snapshot, |other, table| {
        other.effect.kind == StatementKind::Opaque
            || other.effect.targets().any(|target| target == table)
    })
}

/// Whether a statement adds rows and looks at none of its target: one that is in its way is a duplicate (PostgreSQL manual, "INSERT":
/// with ON CONFLICT another is written or passed over).
fn only_adds_rows(effect: &Effect) -> bool {
    matches!(
        effect.kind,
        StatementKind::Insert | StatementKind::InsertSelect
    ) && effect.assigned.is_empty()
        && !effect.forms.contains(&Form::OnConflictDoNothing)
}

/// Whether another session ran such a statement on a table whose rows this one locks or writes, and committed after
/// `since` and before this one was answered. A child that would keep its parent is looked for in the newest rows and locked:
/// only one that the statement waited for can be newer than those.
fn another_committed(
    evidence: &Evidence,
    record: &StatementRecord,
    since: Tick,
    counts: impl Fn(&CaseStatement, &str) -> bool,
) -> bool {
    let Some(statement) = evidence.case.statement(record.id) else {
        return false;
    };
    let locks_children = evidence.dialect.supports(Capability::LocksChosenRows);
    let meets_no_row = locks_children && only_adds_rows(&statement.effect);
    let met_since = |role: Role| {
        if role == Role::InsertTarget && meets_no_row {
            return None;
        }
        if role == Role::ForeignKeyChild && locks_children {
            return record.resumed().then_some(record.sent);
        }
        evidence.dialect.locks_rows_of(role).then_some(since)
    };
    // A commit counts from some moment between its COMMIT and the answer.
    let committed = |id: TransactionId, since: Tick| {
        let at = evidence.execution.commit_tick(id);
        at.is_some_and(|at| at > since && ends_before(evidence, id, at, record.answered))
    };
    statement.effect.uses.iter().any(|table_use| {
        let since = met_since(table_use.role);
        since.is_some_and(|since| {
            evidence.case.statements.iter().any(|other| {
                is_of_another_session(evidence, record, other.id.transaction)
                    && committed(other.id.transaction, since)
                    && counts(other, &table_use.table)
            })
        })
    })
}

/// Whether a transaction of another session that ran such a statement had not ended at `since`, and
/// had begun when this statement was answered.
fn another_overlaps(
    evidence: &Evidence,
    record: &StatementRecord,
    since: Tick,
    counts: impl Fn(&CaseStatement) -> bool,
) -> bool {
    let probed = |id: &StatementId| {
        let mut probes = evidence.execution.probes.iter();
        probes.any(|probe| probe.statement == *id && probe.tag.locks_rows())
    };
    evidence.case.statements.iter().any(|statement| {
        let other = evidence.execution.records.get(&statement.id);
        let started = other.is_some_and(|other| other.sent < record.answered);
        started
            && is_of_another_session(evidence, record, statement.id.transaction)
            && (counts(statement) || probed(&statement.id))
            && !ended_before(evidence, statement.id.transaction, since)
    })
}

/// Whether a statement that was refused because a lock was not granted in time was seen waiting for one, or could not be.
/// Where a run goes step by step the lock view is asked again and again while a statement is under way. NOWAIT does not
/// wait, and a statement or its session may say itself how long is too long.
fn may_have_waited(evidence: &Evidence, record: &StatementRecord) -> bool {
    let Some(statement) = evidence.case.statement(record.id) else {
        return true;
    };
    let says = |word: &&str| statement::mentions(&statement.sql, word, &evidence.dialect);
    let mut of_case = evidence.case.statements.iter();
    let limits_waits = of_case
        .any(|s| s.session == statement.session && s.effect.setting == Some(Setting::LockTimeout));
    record.waiting.is_some()
        || !goes_in_steps(evidence)
        || limits_waits
        || ["NOWAIT", "WAIT"].iter().any(says)
        // What keeps everybody from every table is none of the locks that the view shows.
        || another_locks_tables(evidence, record, record.sent)
}

/// Whether a run goes step by step, and every lock ends with its transaction.
fn goes_in_steps(evidence: &Evidence) -> bool {
    let in_steps = evidence.case.pace == Pace::Scheduled && evidence.execution.unreliable.is_none();
    in_steps && !evidence.dialect.supports(Capability::LocksOutliveEnd)
}

/// Whether DDL may have waited for rows that are no table's of the case.
fn waited_for_statistics(evidence: &Evidence, record: &StatementRecord) -> bool {
    let statement = evidence.case.statement(record.id);
    evidence.dialect.supports(Capability::DdlLocksStatistics)
        && record.waiting.is_some()
        && statement.is_some_and(|s| s.effect.kind == StatementKind::PhysicalDdl)
}

/// Until when a transaction must have been open that kept a statement waiting for too long: where a run goes step by step, until
/// the statement was answered. It had gone on otherwise. In a run that needed a timer the wait may have been over in the
/// same moment as the transaction.
fn held_since(evidence: &Evidence, record: &StatementRecord) -> Tick {
    let waits = evidence
        .case
        .statement(record.id)
        .is_some_and(|s| !s.effect.nowait);
    match waits && goes_in_steps(evidence) {
        true => record.answered,
        false => record.sent,
    }
}

/// Whether what ended a transaction at this answer was sent before another moment.
fn ends_before(evidence: &Evidence, id: TransactionId, answered: Tick, before: Tick) -> bool {
    let mut records = evidence.execution.records.values();
    records.any(|other| {
        other.id.transaction == id && other.answered == answered && other.sent < before
    })
}

/// When the first statement of its transaction was sent.
fn began(evidence: &Evidence, record: &StatementRecord) -> Tick {
    let records = evidence.execution.records.values();
    let own = records.filter(|other| other.id.transaction == record.id.transaction);
    own.map(|other| other.sent).min().unwrap_or(record.sent)
}

/// The session of a statement sent something of which only the engine knows what it does to a
/// transaction: DDL, a procedure, a setting.
pub(super) fn is_in_the_dark(evidence: &Evidence, id: StatementId) -> bool {
    let case = &evidence.case;
    let session = case.session_of(id.transaction);
    let mut before = case.statements.iter().take_while(|s| s.id != id);
    let own = |session_of| Some(session_of) == session;
    before.any(|s| own(s.session) && is_strange(&s.effect))
        || case.statement(id).is_none_or(|s| is_strange(&s.effect))
}

fn is_strange(effect: &Effect) -> bool {
    match effect.setting {
        Some(setting) => !setting.is_understood(),
        // One that takes a user lock may be one that calls such a function.
        None => effect.kind == StatementKind::Opaque || effect.unrepeatable,
    }
}

/// Whether a statement has its own say in what a failure of it ends: SQLite's `OR ROLLBACK`, which only writes have. A ROLLBACK TO
/// that is refused ends nothing.
fn chooses_its_end(evidence: &Evidence, id: StatementId) -> bool {
    let has_clause =
        |sql| statement::mentions_together(sql, &["OR", "ROLLBACK"], &evidence.dialect);
    let statement = evidence.case.statement(id);
    statement.is_some_and(|s| s.effect.kind.is_write() && has_clause(&s.sql))
}

/// Whether a statement takes numbers from a counter that may have come to its end: MariaDB's error 1467 says so, and is
/// its word for a deadlock at the lock of a counter, too.
fn may_have_run_out(evidence: &Evidence, id: StatementId) -> bool {
    let (case, dialect) = (&evidence.case, &evidence.dialect);
    let statement = case.statement(id);
    let counts = statement.is_some_and(|s| statement::counted_insert(case, s, dialect).is_some());
    counts && may_run_out(case, dialect)
}
