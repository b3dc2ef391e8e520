//! Statements that lock what they look for, and the rows that others hold before them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::holders::LockHolders;
use super::strength::{self, excludes_writer};
use crate::dialect::{Capability, LockReach};
use crate::model::{
    CaseStatement, LockStrength, ReadMode, Role, StatementId, StatementKind, StatementRecord,
    TableShape, Tick, TransactionId,
};
use crate::observe::{Latitude, RowId, VersionId};
use crate::oracle::Evidence;
use crate::oracle::view::{Contents, rows_of};
use crate::statement::{count_mentions, mentions, search_of_write};

/// Every table that a read names, with rows that it may find.
pub(super) type FoundRows = BTreeMap<String, Contents>;

/// A read that locked what it found, and of which it is sure what it saw: a SELECT, or what a write looks
/// for and reads.
pub(super) struct LockingRead<'e> {
    pub(super) statement: &'e CaseStatement,
    pub(super) record: &'e StatementRecord,
    /// The SELECT; of a write, a query for what it looks at.
    pub(super) sql: Cow<'e, str>,
    /// The rows of its view.
    pub(super) seen: FoundRows,
    /// The tables whose rows it locks.
    pub(super) locked: BTreeSet<&'e str>,
    /// Those of them where a snapshot chooses the rows, which are locked then: a row that it does not show
    /// as fitting is never met.
    pub(super) by_snapshot: BTreeSet<&'e str>,
    /// Those of them whose rows it locks themselves, and not in an index alone.
    whole: BTreeSet<&'e str>,
    /// Those of them that its level locks, and no clause or change of its own.
    by_level: BTreeSet<&'e str>,
    strength: LockStrength,
    /// What else it may have seen of rows, where it waited.
    pub(super) latitude: Option<&'e Latitude>,
    /// It is a write that changes or removes every row which its search matches, each once.
    pub(super) writes_what_it_matches: bool,
    /// Its level lets no lock go that was taken: it locks ranges (MySQL manual, "Transaction Isolation Levels", REPEATABLE READ and READ
    /// COMMITTED).
    lets_nothing_go: bool,
}

impl<'e> LockingRead<'e> {
    /// The read of this name; none where it is something else, was rejected, or is doubtful.
    pub(super) fn of(evidence: &'e Evidence, id: StatementId) -> Option<Self> {
        let record = evidence.execution.records.get(&id)?;
        let is_answered = record.outcome.error_class().is_none();
        is_answered.then(|| Self::sent(evidence, id)).flatten()
    }

    /// The same, whether it was rejected or not.
    pub(super) fn sent(evidence: &'e Evidence, id: StatementId) -> Option<Self> {
        let (case, account) = (&evidence.case, &evidence.account);
        let statement = case.statement(id)?;
        let record = evidence.execution.records.get(&id)?;
        let kind = statement.effect.kind;
        let latitude = account.latitudes.get(&id);
        // What a statement that waited may have seen otherwise is told row by row, of a read that leaves nothing out.
        let is_told = latitude.is_none_or(|latitude| {
            let in_doubt = latitude.beyond.is_some() || !latitude.snapshots.is_empty();
            kind == StatementKind::LockingSelect && !statement.effect.depends_on_locks && !in_doubt
        });
        if account.unsure.contains_key(&id) || !is_told {
            return None;
        }
        let sql = if matches!(kind, StatementKind::Select | StatementKind::LockingSelect) {
            Cow::from(&statement.sql)
        } else {
            Cow::from(search_of(evidence, statement)?)
        };
        let view = account.views.get(&id)?;
        let TableGrips {
            locked,
            plain,
            by_snapshot,
        } = TableGrips::of(evidence, statement);
        let is_looked_at = |table: &String| locked.contains(&**table) || plain.contains(&**table);
        if locked.is_empty() || !locked.is_disjoint(&plain) {
            return None;
        }
        let all_known = locked.iter().chain(&plain).all(|table| {
            let shape = case.table(table);
            shape.is_some() && view.contains_key(*table)
        });
        let seen = view.iter().filter(|(table, _)| is_looked_at(table));
        let seen = seen.map(|(table, seen)| (table.clone(), rows_of(evidence, seen)));
        let seen: FoundRows = seen.collect();
        let strength = strength::of_search(&statement.effect);
        let is_by_clause = |table: &str| {
            let mut uses = statement.effect.uses.iter().filter(|u| u.table == table);
            uses.all(|used| used.role.is_target() || used.role == Role::LockingSelect)
        };
        let is_whole = |table: &&str| {
            let has_one_index = case.table(table).is_some_and(TableShape::has_one_index);
            has_one_index || (strength == LockStrength::Update && is_by_clause(table))
        };
        let whole = locked.iter().copied().filter(is_whole).collect();
        let is_by_level = |table: &&str| !is_by_clause(table);
        let by_level = locked.iter().copied().filter(is_by_level).collect();
        let writes_what_it_matches = writes_what_it_matches(evidence, statement);
        let locks_changes_alone = kind == StatementKind::Update
            && evidence.dialect.supports(Capability::LoneWritesLockChanges)
            && !case.is_explicit(id.transaction);
        if locks_changes_alone && !writes_what_it_matches {
            return None;
        }
        all_known.then(|| Self {
            whole,
            by_level,
            writes_what_it_matches,
            statement,
            record,
            sql,
            seen,
            locked,
            by_snapshot,
            strength,
            latitude,
            lets_nothing_go: evidence
                .dialect
                .lock_reach(case.judged_level(statement.session))
                == Some(LockReach::Ranges),
        })
    }

    /// Whether its view has a row.
    pub(super) fn shows(&self, table: &str, row: &RowId) -> bool {
        let rows = self.seen.get(table);
        rows.is_some_and(|rows| rows.contains_key(row))
    }

    /// Whether a row without which the result is another one was surely locked, and is kept. A row
    /// that an outer join or a subquery looked at and found unfit may have been let go.
    pub(super) fn keeps_every_row_it_found(&self) -> bool {
        let all_locked = |table: &String| self.locked.contains(table.as_str());
        !self.statement.effect.outer_join && self.seen.keys().all(all_locked)
    }

    /// Whether it keeps the rows of this table that it found. Where a snapshot chooses the rows, one without
    /// which the result is another one was chosen, whatever else the read looks at; where nothing is let go it was met.
    pub(super) fn keeps_rows_of(&self, table: &str) -> bool {
        let is_locked = self.locked.contains(table);
        self.by_snapshot.contains(table)
            || (self.lets_nothing_go && is_locked)
            || self.keeps_every_row_it_found()
    }

    /// Whether it locks every row of this table that it finds whole, whatever it gives of it. InnoDB locks one under a shared lock in
    /// the index alone where that has all that is asked for (MySQL manual, "Locks Set by Different SQL Statements in InnoDB"); so
    /// it does for a subquery of a read that locks for a change.
    pub(super) fn locks_whole_rows_of(&self, table: &str) -> bool {
        self.by_snapshot.contains(table) || self.whole.contains(table)
    }

    /// How strongly it locks what it finds of a table, at least: what its level alone locks, as a table that `FOR UPDATE OF`
    /// leaves out, has shared locks (MySQL manual, "Transaction Isolation Levels", SERIALIZABLE).
    pub(super) fn strength_on(&self, table: &str) -> LockStrength {
        match self.by_level.contains(table) {
            true => LockStrength::Share,
            false => self.strength,
        }
    }

    /// Its view without these rows.
    pub(super) fn without(&self, rows: &[(&str, &RowId)]) -> FoundRows {
        let mut left = self.seen.clone();
        for (table, row) in rows {
            if let Some(rows) = left.get_mut(*table) {
                rows.remove(row);
            }
        }
        left
    }

    /// The session's transaction.
    pub(super) fn transaction(&self) -> TransactionId {
        self.statement.id.transaction
    }
}

/// Whether a write changes or removes every row which its search matches, each once. An UPDATE that computes a version key may leave
/// it as it was.
fn writes_what_it_matches(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    let gives_a_version = |table: &str| {
        let key = evidence
            .case
            .version_key(table)
            .map(str::to_ascii_lowercase);
        key.is_some_and(|key| effect.assigned.get(&key).is_some_and(Option::is_some))
    };
    effect.kind == StatementKind::Delete
        || (effect.kind == StatementKind::Update && effect.targets().all(gives_a_version))
}

/// What a write looks at where what it meets stays locked, as a query: at levels that lock ranges the source of an
/// INSERT .. SELECT, what an UPDATE or DELETE of one table finds, and the tables of its subqueries (MySQL manual, "Locks Set by
/// Different SQL Statements in InnoDB"); at levels that lock rows the rows that an UPDATE or DELETE of one table matches,
/// whatever it makes of them (same manual, "Transaction Isolation Levels", READ COMMITTED). None for any other statement: what one with a
/// LIMIT meets depends on the way it takes.
fn search_of(evidence: &Evidence, statement: &CaseStatement) -> Option<String> {
    let effect = &statement.effect;
    let level = evidence.case.judged_level(statement.session);
    let locks_ranges = match evidence.dialect.lock_reach(level)? {
        LockReach::Ranges => true,
        LockReach::Rows => false,
    };
    let is_plain = effect.uses.iter().all(|used| {
        let role = used.role;
        match role {
            Role::UpdateTarget | Role::DeleteTarget => true,
            Role::InsertTarget => locks_ranges,
            Role::UpdateSource | Role::DeleteSource | Role::InsertSelectSource => locks_ranges,
            // What a row of the target refers to is not looked at by the source.
            Role::ForeignKeyCheck => effect.kind == StatementKind::InsertSelect,
            Role::PlainSelect
            | Role::LockingSelect
            | Role::LockingSelectSource
            | Role::UpdateJoinSource
            | Role::InsertValuesSource
            | Role::ForeignKeyChild
            | Role::ForeignKeyTarget
            | Role::TriggerTarget => false,
        }
    });
    let dialect = &evidence.dialect;
    if !is_plain || mentions(&statement.sql, "LIMIT", dialect) {
        return None;
    }
    search_of_write(&statement.sql, dialect)
}

/// What a statement does with the tables that it reads, by the level that it is judged by.
#[derive(Default)]
struct TableGrips<'e> {
    locked: BTreeSet<&'e str>,
    by_snapshot: BTreeSet<&'e str>,
    plain: BTreeSet<&'e str>,
}

impl<'e> TableGrips<'e> {
    fn of(evidence: &Evidence, statement: &'e CaseStatement) -> Self {
        let mut grips = Self::default();
        let dialect = &evidence.dialect;
        let level = evidence.case.judged_level(statement.session);
        // An engine that passes over rows whose committed version is unfit chooses by that version; so does InnoDB for a
        // write where it locks rows alone (MySQL manual, "Transaction Isolation Levels": a semi-consistent read).
        let locks_rows = dialect.lock_reach(level) == Some(LockReach::Rows);
        let passes_over = dialect.supports(Capability::PassesOverUnfitRows)
            || (statement.effect.kind.is_write() && locks_rows);
        // Of an INSERT the source alone is a read.
        let is_read = |role: Role| {
            !matches!(
                role,
                Role::InsertTarget | Role::ForeignKeyCheck | Role::ForeignKeyChild
            )
        };
        for used in statement
            .effect
            .uses
            .iter()
            .filter(|used| is_read(used.role))
        {
            let table = used.table.as_str();
            // A table that the text does not name stands behind a view; not every engine locks its rows.
            let is_behind_view = count_mentions(&statement.sql, table, dialect) == Some(0);
            if is_behind_view && dialect.supports(Capability::ViewsTakeNoLocks) {
                grips.plain.insert(table);
                continue;
            }
            // Where it reads current rows in a transaction alone, it locks them there alone.
            let chosen_by_snapshot = used.role == Role::LockingSelect
                && dialect.read_mode(level, used.role, true) != ReadMode::Current;
            match evidence.promised_mode(statement, used.role) {
                ReadMode::Current => {
                    grips.locked.insert(table);
                    if passes_over {
                        grips.by_snapshot.insert(table);
                    }
                }
                ReadMode::TransactionSnapshot | ReadMode::StatementSnapshot
                    if chosen_by_snapshot =>
                {
                    grips.locked.insert(table);
                    grips.by_snapshot.insert(table);
                }
                ReadMode::TransactionSnapshot
                | ReadMode::StatementSnapshot
                | ReadMode::EitherSnapshot
                | ReadMode::Anything => {
                    grips.plain.insert(table);
                }
            }
        }
        grips
    }
}

/// A row as an open transaction left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldVersion<'e> {
    pub(super) table: &'e str,
    pub(super) version: VersionId,
}

/// The statements of others that may have changed rows of the locked tables while the read ran, in the
/// order of their answers: before or after which of them it looked is not known.
pub(super) fn meanwhile(evidence: &Evidence, read: &LockingRead<'_>) -> Vec<StatementId> {
    let chains = &evidence.account.chains;
    let tables = read.locked.iter();
    let all = tables.flat_map(|table| chains.table(table));
    let versions = all.flat_map(|(_, chain)| chain);
    let ran_beside = versions.filter_map(|version| {
        let writer = chains.version(*version).writer;
        let record = evidence.execution.records.get(&writer)?;
        let beside = record.sent < read.record.answered && record.answered > read.record.sent;
        (beside && writer.transaction != read.transaction()).then_some((record.answered, writer))
    });
    let ran_beside: BTreeSet<(Tick, StatementId)> = ran_beside.collect();
    ran_beside.into_iter().map(|(_, writer)| writer).collect()
}

/// The rows of the locked tables that other transactions had changed before the read was sent, or by
/// these statements, and surely held until it answered.
pub(super) fn held_versions<'e>(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'e>,
    meanwhile: &[StatementId],
) -> Vec<HeldVersion<'e>> {
    let chains = &evidence.account.chains;
    let view = evidence.account.views.get(&read.statement.id);
    let mut held = Vec::new();
    for table in &read.locked {
        for (row, chain) in chains.table(table) {
            let Some(newest) = newest_standing(evidence, read.record, chain, meanwhile) else {
                continue;
            };
            if read.by_snapshot.contains(table) && !read.shows(table, row) {
                continue;
            }
            let seen = view.and_then(|view| view.get(*table)?.get(row).copied().flatten());
            let writer = chains.version(newest).writer.transaction;
            if seen != Some(newest)
                && writer != read.transaction()
                && excludes_writer(evidence, read.strength_on(table), newest)
                && holders.surely_holds(writer, read.record.answered)
            {
                held.push(HeldVersion {
                    table,
                    version: newest,
                });
            }
        }
    }
    held
}

/// The newest version of a row that was written before a statement was sent, or by these others, and stood until it was answered.
pub(super) fn newest_standing(
    evidence: &Evidence,
    record: &StatementRecord,
    chain: &[VersionId],
    meanwhile: &[StatementId],
) -> Option<VersionId> {
    let stands = |id: &VersionId| {
        let version = evidence.account.chains.version(*id);
        let is_written = written_before(evidence, version.writer, record.sent)
            || meanwhile.contains(&version.writer);
        is_written && version.undone.is_none_or(|undone| undone > record.answered)
    };
    chain.iter().rev().copied().find(stands)
}

/// Whether a statement had answered before this moment.
fn written_before(evidence: &Evidence, writer: StatementId, at: Tick) -> bool {
    let record = evidence.execution.records.get(&writer);
    writer == StatementId::SETUP || record.is_some_and(|record| record.answered < at)
}
