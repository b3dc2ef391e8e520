//! A statement of a case as the scheduler and the record see it.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;
use crate::model::{
    CaseStatement, ReadMode, Role, SessionId, StatementId, StatementKind, TestCase, TransactionId,
};

use super::{Instrumentation, Probe};
use crate::statement::{SessionLock, defers_snapshots, session_lock};

/// A statement of the case as the scheduler needs it.
#[derive(Clone, Debug)]
pub(super) struct ScheduledStatement {
    pub(super) id: StatementId,
    pub(super) session: SessionId,
    pub(super) kind: StatementKind,
    /// Between the BEGIN, or the chain, and the end of a transaction, both included.
    pub(super) explicit: bool,
    /// It ends a transaction and begins the next one.
    pub(super) chains: bool,
    /// It may take locks, and so hold or meet some: of rows, or of a table in a case that locks one by name.
    pub(super) takes_locks: bool,
    /// How many probes are sent before it.
    pub(super) before: usize,
    /// How many probes are sent after it.
    pub(super) after: usize,
    /// The observer reads the tables it wrote once it has answered.
    pub(super) observed: bool,
    /// The tables that it uses, in lower case, where a statement of the case changes how one is stored.
    pub(super) tables: BTreeSet<String>,
    /// A SELECT, in a case that locks no table by name: what takes no lock of a row waits for that, too.
    pub(super) is_plain_read: bool,
    /// The table, in lower case, that no other session may have in use when it is sent.
    pub(super) waits_for_table: Option<String>,
    /// It may wait until the transactions beside it have ended, whatever they lock: in a case that has transactions begin DEFERRABLE.
    pub(super) may_wait_for_snapshot: bool,
    /// What it makes of the tables that its session locks beyond its transactions; none in a case in which no session does.
    pub(super) session_lock: Option<SessionLock>,
}

impl ScheduledStatement {
    /// The statements of a case with its instrumentation, in submitted order.
    pub(super) fn of_case(
        case: &TestCase,
        instrumentation: &Instrumentation,
        dialect: &Dialect,
    ) -> Vec<Self> {
        let all: BTreeSet<TransactionId> =
            case.statements.iter().map(|s| s.id.transaction).collect();
        let explicit: BTreeSet<TransactionId> =
            all.into_iter().filter(|id| case.is_explicit(*id)).collect();
        let count = |map: &BTreeMap<StatementId, Vec<Probe>>, id| {
            map.get(id).map_or(0, |probes| probes.len())
        };
        let changes_storage = case.count(StatementKind::PhysicalDdl) > 0;
        let locks_tables = case.count(StatementKind::LockTable) > 0;
        let mut all = case.statements.iter();
        let may_wait_for_snapshot = all.any(|s| defers_snapshots(&s.sql, &s.effect));
        let lock = |s: &CaseStatement| session_lock(&s.sql, &s.effect, dialect);
        let locks_for_sessions = {
            let mut all = case.statements.iter().filter_map(lock);
            all.any(SessionLock::holds)
        };
        let tables = |s: &CaseStatement| {
            let uses = s.effect.uses.iter().filter(|_| changes_storage);
            uses.map(|used| used.table.to_ascii_lowercase()).collect()
        };
        case.statements
            .iter()
            .map(|s| (s, explicit.contains(&s.id.transaction)))
            .map(|(s, explicit)| Self {
                id: s.id,
                session: s.session,
                kind: s.effect.kind,
                explicit,
                chains: s.effect.chains,
                takes_locks: takes_locks(case, s, explicit, dialect)
                    || (s.effect.kind == StatementKind::Select && locks_tables),
                before: count(&instrumentation.before, &s.id),
                after: count(&instrumentation.after, &s.id),
                observed: instrumentation.observe.contains_key(&s.id),
                tables: tables(s),
                is_plain_read: s.effect.kind == StatementKind::Select && !locks_tables,
                waits_for_table: (s.effect.storage_change.as_ref())
                    .filter(|change| change.waits_for_users)
                    .map(|change| change.table.to_ascii_lowercase()),
                may_wait_for_snapshot,
                session_lock: lock(s).filter(|_| locks_for_sessions),
            })
            .collect()
    }

    /// Whether it may wait for locks that no statement is known to take, as DDL and LOCK TABLE do.
    pub(super) fn may_wait_for_any_lock(&self) -> bool {
        self.kind.may_lock_any_table()
    }

    /// Whether it leaves every lock as it was, once it was accepted: it takes none and releases none.
    /// `in_transaction` says whether its session was in a transaction, which a BEGIN would commit; of tables that are locked for
    /// the session it lets go, too.
    pub(super) fn changes_no_lock(&self, in_transaction: bool) -> bool {
        match self.kind {
            StatementKind::Begin | StatementKind::BeginSnapshot => {
                !in_transaction && self.session_lock.is_none()
            }
            StatementKind::Savepoint | StatementKind::ReleaseSavepoint => true,
            StatementKind::Select => !self.takes_locks,
            StatementKind::BeginImmediate
            | StatementKind::Commit
            | StatementKind::Rollback
            | StatementKind::RollbackTo
            | StatementKind::LockingSelect
            | StatementKind::Insert
            | StatementKind::InsertSelect
            | StatementKind::Replace
            | StatementKind::Update
            | StatementKind::Delete
            | StatementKind::Merge
            | StatementKind::Set
            | StatementKind::PhysicalDdl
            | StatementKind::LockTable
            | StatementKind::Opaque => false,
        }
    }
}

fn takes_locks(
    case: &TestCase,
    statement: &CaseStatement,
    explicit: bool,
    dialect: &Dialect,
) -> bool {
    let kind = statement.effect.kind;
    if kind == StatementKind::Select {
        let level = case.level(statement.session);
        return dialect.read_mode(level, Role::PlainSelect, explicit) == ReadMode::Current;
    }
    !kind.is_control()
        || matches!(
            kind,
            StatementKind::BeginImmediate | StatementKind::LockTable
        )
}
