//! Which version of a row a reader sees: commit order, undone work and read modes put together.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{Chains, VersionId};
use super::{TableView, Version};
use crate::dialect::{Dialect, EqualSavepoints};
use crate::model::{
    CaseStatement, Doubt, ErrorClass, Execution, ReadMode, SessionId, StatementId, StatementKind,
    StatementRecord, TestCase, Tick, TransactionId, TransactionStatus,
};

/// When each transaction committed and when each statement's work was undone, from the record.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    committed: BTreeMap<TransactionId, Tick>,
    undone: BTreeMap<StatementId, Tick>,
    /// Statements of which the engine has let go of locks and snapshot, and when.
    let_go: BTreeMap<StatementId, Tick>,
    /// Of statements that were refused where a savepoint stood, the position at which the last one had been set.
    refused_behind: BTreeMap<StatementId, u32>,
    /// Statements that found a savepoint which does not stand, or did not find one that does.
    misfound_savepoints: BTreeSet<StatementId>,
    /// Statements that were refused because the engine had aborted a READ ONLY transaction.
    held_read_only: BTreeSet<StatementId>,
}

/// The savepoints of one transaction while its record is read.
#[derive(Default)]
struct OpenSavepoints {
    /// Oldest first.
    open: Vec<OpenSavepoint>,
    /// The position of the first statement whose locks and snapshot the engine still holds.
    held_from: Option<u32>,
    /// An error has ended the transaction, and its savepoints with it.
    is_over: bool,
}

struct OpenSavepoint {
    name: String,
    /// Where it was set.
    position: u32,
    /// The engine held nothing for the transaction when it was set.
    early: bool,
}

/// Who reads, when, and how.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub statement: StatementId,
    pub mode: ReadMode,
    /// The moment of the read.
    pub at: Tick,
    /// The snapshot point of its transaction; `at` where it has none yet.
    pub snapshot: Tick,
}

/// Whether the answer to a statement that looks for a savepoint contradicts whether one stands. A refusal for
/// anything else says nothing.
fn misfound(refused: Option<ErrorClass>, stands: bool) -> bool {
    match refused {
        None => !stands,
        Some(class) => stands && class == ErrorClass::Missing,
    }
}

impl Timeline {
    /// Reads commits, aborts, rejections and returns to savepoints off a record.
    pub fn new(case: &TestCase, execution: &Execution, dialect: &Dialect) -> Self {
        let mut timeline = Self::default();
        for (&transaction, status) in &execution.transactions {
            match *status {
                TransactionStatus::Committed(tick) => {
                    timeline.committed.insert(transaction, tick);
                }
                TransactionStatus::Aborted(tick) => {
                    for statement in statements_of(case, transaction) {
                        timeline.undo(statement, tick);
                    }
                }
                TransactionStatus::Indeterminate => {}
            }
        }
        for record in execution.records.values() {
            if record.outcome.error_class().is_some() {
                timeline.undo(record.id, record.answered);
            }
        }
        timeline.undo_to_savepoints(case, execution, dialect);
        if dialect.registers(Doubt::ReadOnlyOutlivesAbort) {
            for session in case.sessions() {
                timeline.note_held_read_only(case, execution, session);
            }
        }
        timeline
    }

    /// Notes the writes of a session that were refused as READ ONLY between the abort of a transaction
    /// that was, and the next end of one that the session asked for.
    fn note_held_read_only(&mut self, case: &TestCase, execution: &Execution, session: SessionId) {
        let own = case.statements.iter().filter(|s| s.session == session);
        let mut answered: Vec<(&CaseStatement, &StatementRecord)> = own
            .filter_map(|s| Some((s, execution.records.get(&s.id)?)))
            .collect();
        answered.sort_by_key(|(_, record)| record.sent);
        let (mut is_read_only, mut held) = (false, false);
        let mut begun = None;
        for (statement, record) in answered {
            let kind = statement.effect.kind;
            if begun.is_some_and(|begun| begun != statement.id.transaction) {
                // Without an end of its own: a probe was refused, and the engine aborted it.
                held |= std::mem::take(&mut is_read_only);
            }
            let explicit = case.is_explicit(statement.id.transaction);
            begun = explicit.then_some(statement.id.transaction).or(begun);
            match record.outcome.error_class() {
                None if kind.is_begin() => is_read_only = statement.effect.read_only,
                None if kind.is_end() => {
                    is_read_only &= statement.effect.chains;
                    (begun, held) = (None, false);
                }
                None => {}
                Some(ErrorClass::ReadOnly) if held => {
                    self.held_read_only.insert(statement.id);
                }
                Some(_) if !record.transaction_survives => {
                    held |= std::mem::take(&mut is_read_only);
                }
                Some(_) => {}
            }
        }
    }

    fn undo(&mut self, statement: StatementId, at: Tick) {
        let known = self.undone.entry(statement).or_insert(at);
        *known = (*known).min(at);
    }

    /// Undoes what lies between each ROLLBACK TO and its savepoint, and notes which savepoints were found that do
    /// not stand, or not found though they do.
    ///
    /// Names are compared without regard to letter case, as MySQL, MariaDB and SQLite do. A
    /// rejected statement changes no savepoint.
    fn undo_to_savepoints(&mut self, case: &TestCase, execution: &Execution, dialect: &Dialect) {
        let mut transactions: BTreeMap<TransactionId, OpenSavepoints> = BTreeMap::new();
        for statement in &case.statements {
            let id = statement.id;
            let Some(record) = execution.records.get(&id) else {
                continue;
            };
            let savepoints = transactions.entry(id.transaction).or_default();
            let refused = record.outcome.error_class();
            savepoints.is_over |= refused.is_some() && !record.transaction_survives;
            if let Some(last) = savepoints.open.last().filter(|_| refused.is_some()) {
                self.refused_behind.insert(id, last.position);
            }
            if touches_tables(statement) && !is_refused_by_the_server(record) {
                savepoints.held_from.get_or_insert(id.position);
            }
            let Some(name) = statement.effect.savepoint.as_ref() else {
                continue;
            };
            let stack = &mut savepoints.open;
            let newest = stack
                .iter()
                .rposition(|other| other.name.eq_ignore_ascii_case(name));
            let looks_for_one = statement.effect.kind != StatementKind::Savepoint;
            if looks_for_one && !savepoints.is_over && misfound(refused, newest.is_some()) {
                self.misfound_savepoints.insert(id);
            }
            if refused.is_some() {
                continue;
            }
            if statement.effect.kind == StatementKind::Savepoint {
                if let (Some(at), EqualSavepoints::Replace) = (newest, dialect.equal_savepoints) {
                    stack.remove(at);
                }
                stack.push(OpenSavepoint {
                    name: name.clone(),
                    position: id.position,
                    early: savepoints.held_from.is_none(),
                });
            } else if let Some(at) = newest {
                if statement.effect.kind == StatementKind::RollbackTo {
                    for position in stack[at].position + 1..id.position {
                        self.undo(StatementId { position, ..id }, record.answered);
                    }
                    let begins_anew = stack[at].early && dialect.registers(Doubt::EarlySavepoint);
                    stack.truncate(at + 1);
                    if let Some(from) = savepoints.held_from.take_if(|_| begins_anew) {
                        for position in from..id.position {
                            let statement = StatementId { position, ..id };
                            self.let_go.insert(statement, record.answered);
                        }
                    }
                } else {
                    // RELEASE forgets the savepoint and all that were set after it.
                    stack.truncate(at);
                }
            }
        }
    }

    /// Whether a ROLLBACK TO or RELEASE was accepted though no savepoint of its name stands, or was refused for the
    /// lack of one that does.
    pub fn misfound_savepoint(&self, statement: StatementId) -> bool {
        self.misfound_savepoints.contains(&statement)
    }

    /// When the engine let go of the statement's locks and of the snapshot that it read, although
    /// its transaction went on: its ROLLBACK TO named a savepoint that was set before the
    /// transaction touched a table ([`Doubt::EarlySavepoint`]).
    pub fn let_go(&self, statement: StatementId) -> Option<Tick> {
        self.let_go.get(&statement).copied()
    }

    /// Whether a refusal lets go of what an earlier statement of its transaction had locked, where an error takes back
    /// everything behind the last savepoint (PostgreSQL manual, "SAVEPOINT").
    pub(super) fn loses_its_locks(&self, earlier: StatementId, refused: StatementId) -> bool {
        let behind = self.refused_behind.get(&refused);
        earlier.position < refused.position && behind.is_none_or(|at| *at <= earlier.position)
    }

    /// Whether the statement was refused because the engine had aborted a READ ONLY transaction of its
    /// session ([`Doubt::ReadOnlyOutlivesAbort`]).
    pub fn held_read_only(&self, statement: StatementId) -> bool {
        self.held_read_only.contains(&statement)
    }

    /// When the statement's work was undone, if it was.
    pub fn undone(&self, statement: StatementId) -> Option<Tick> {
        self.undone.get(&statement).copied()
    }

    /// Whether the statement's work is in the final state.
    pub fn lasts(&self, statement: StatementId) -> bool {
        statement == StatementId::SETUP
            || (self.committed.contains_key(&statement.transaction)
                && self.undone(statement).is_none())
    }

    /// Whether the transaction had committed before this moment.
    pub fn committed_before(&self, transaction: TransactionId, at: Tick) -> bool {
        transaction == TransactionId::SETUP
            || self
                .committed
                .get(&transaction)
                .is_some_and(|&commit| commit < at)
    }

    /// When the transaction committed, if it did.
    pub fn commit(&self, transaction: TransactionId) -> Option<Tick> {
        self.committed.get(&transaction).copied()
    }

    /// What the reader sees of a table.
    pub fn view(&self, chains: &Chains, table: &str, reader: Reader) -> TableView {
        chains
            .table(table)
            .map(|(row, chain)| (row.clone(), self.seen(chains, chain, reader)))
            .collect()
    }

    /// What the reader sees of a row.
    pub fn seen(&self, chains: &Chains, chain: &[VersionId], reader: Reader) -> Option<VersionId> {
        chain
            .iter()
            .rev()
            .copied()
            .find(|&id| self.sees(chains.version(id), reader))
    }

    fn sees(&self, version: &Version, reader: Reader) -> bool {
        let writer = version.writer;
        if writer == reader.statement || version.undone.is_some_and(|undone| undone <= reader.at) {
            return false;
        }
        let own = writer.transaction == reader.statement.transaction;
        match reader.mode {
            ReadMode::Anything => true,
            // The statement's own; whoever cannot tell compares it with the transaction's.
            ReadMode::Current | ReadMode::StatementSnapshot | ReadMode::EitherSnapshot => {
                own || self.committed_before(writer.transaction, reader.at)
            }
            ReadMode::TransactionSnapshot => {
                own || self.committed_before(writer.transaction, reader.snapshot)
            }
        }
    }

    /// The version physically on top of a chain at this moment: committed or not, not undone.
    pub fn top(&self, chains: &Chains, chain: &[VersionId], at: Tick) -> Option<VersionId> {
        let stands = |id: &VersionId| chains.version(*id).undone.is_none_or(|undone| undone > at);
        chain.iter().rev().copied().find(stands)
    }
}

/// Whether the engine takes part in the transaction from this statement on.
fn touches_tables(statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    !effect.uses.is_empty()
        || matches!(
            effect.kind,
            StatementKind::BeginSnapshot | StatementKind::BeginImmediate | StatementKind::Opaque
        )
}

/// Whether the statement was refused before the storage engine was asked: InnoDB takes no part in the
/// transaction for it (by hand on MariaDB 10.11 and 11.8 and MySQL 9.7). One that is refused for a row was asked.
fn is_refused_by_the_server(record: &StatementRecord) -> bool {
    record.outcome.error_class().is_some_and(|class| {
        matches!(
            class,
            ErrorClass::ReadOnly | ErrorClass::Missing | ErrorClass::Syntax
        )
    })
}

fn statements_of(
    case: &TestCase,
    transaction: TransactionId,
) -> impl Iterator<Item = StatementId> + '_ {
    case.statements
        .iter()
        .map(|s| s.id)
        .filter(move |id| id.transaction == transaction)
}
