//! Rows that changed while a statement waited, at a level that looks again at what it is about to lock
//! (PostgreSQL manual, "Read Committed Isolation Level").

use super::super::latitude::{Latitude, Sight};
use super::super::{Reader, RowId, VersionId, View};
use super::Learning;
use crate::model::{
    CaseStatement, Doubt, ReadMode, Role, StatementId, Tick, TransactionId, UndecidedReason,
};
use crate::statement::{count_mentions, sorted_read};

impl Learning<'_> {
    /// What a level allows that looks again at the rows which a statement was about to lock and which
    /// changed while it waited: such a row counts as it is when the statement goes on, or not at all,
    /// and stays locked. A row that its snapshot does not choose is not looked at again.
    pub(super) fn looked_at_again(
        &self,
        statement: &CaseStatement,
        promised: &View,
        at: Tick,
        latitude: &mut Latitude,
    ) {
        let id = statement.id;
        let uses = statement.effect.uses.iter();
        for table_use in uses.filter(|table_use| self.dialect.locks_rows_of(table_use.role)) {
            let table = table_use.table.as_str();
            let now = self.standing_for_before(table, statement.id, at);
            // A parent is looked for when the row is written, by a snapshot of its own.
            let anew = table_use.role == Role::ForeignKeyCheck;
            let promised = promised.get(table);
            let chosen = promised
                .into_iter()
                .flatten()
                .map(|(row, seen)| (row, *seen));
            let is_new = |row: &&RowId| promised.is_none_or(|seen| !seen.contains_key(*row));
            let new = now.keys().filter(|_| anew).filter(is_new);
            for (row, seen) in chosen.chain(new.map(|row| (row, None))) {
                if !anew && self.content(seen).is_none() {
                    continue;
                }
                let newest = now.get(row).copied().flatten();
                let met = std::iter::once(newest).chain(self.met_before_others(id, table, row));
                for version in met.filter(|met| self.content(seen) != self.content(*met)) {
                    let sight = match version.filter(|id| self.content(Some(*id)).is_some()) {
                        Some(version) => Sight::Version(version),
                        None => Sight::Nothing,
                    };
                    latitude.row(table, row, Doubt::ReEvaluated, [sight]);
                }
            }
        }
        let names_one = |table: &str| {
            count_mentions(&statement.sql, table, self.dialect).is_some_and(|count| count <= 1)
        };
        let uses = statement.effect.uses.iter();
        let named: Vec<_> = uses.filter(|used| !used.role.is_by_foreign_key()).collect();
        // Which rows come first the snapshot says, and what they are now the lock: of rows in a total order it is known which
        // take the places of those that no longer count.
        let mut cuts = ["LIMIT", "FETCH"].iter();
        let is_cut = cuts.any(|word| count_mentions(&statement.sql, word, self.dialect) != Some(0))
            && sorted_read(&statement.sql, self.dialect).is_none();
        let simple = match named.as_slice() {
            _ if is_cut && !statement.effect.kind.is_write() => false,
            // A row that is looked at again meets the rows that it was joined with, and no others.
            [only] => names_one(&only.table) || statement.effect.kind.is_write(),
            _ => false,
        };
        latitude.beyond = (!simple).then_some(UndecidedReason::RowReadAgainAfterAWait);
    }

    /// The versions of a row that a statement may have met before others replaced them that one release woke with it.
    /// They wrote no row before that release which the transaction held that ended, and none before each other.
    fn met_before_others(
        &self,
        id: StatementId,
        table: &str,
        row: &RowId,
    ) -> Vec<Option<VersionId>> {
        let chains = &self.account.chains;
        let chain = chains.chain(table, row);
        let is_of_others = |version: &VersionId| {
            let writer = chains.version(*version).writer.transaction;
            let committed = self.timeline.commit(writer);
            let is_woken = committed
                .is_some_and(|at| self.released_at <= at && Tick(at.0 + 1) <= self.batch_end);
            writer != id.transaction && is_woken
        };
        let others: Vec<VersionId> = chain.iter().copied().filter(is_of_others).collect();
        if others.is_empty() {
            return Vec::new();
        }
        let is_held = self
            .released_by
            .is_some_and(|holder| self.held(holder, table, row));
        let reader = Reader {
            statement: id,
            mode: ReadMode::Current,
            at: self.released_at,
            snapshot: self.released_at,
        };
        let released = self.timeline.seen(chains, chain, reader);
        let first = is_held.then_some(released);
        first
            .into_iter()
            .chain(others.into_iter().map(Some))
            .collect()
    }

    /// Whether a transaction changed a row, or may have locked it without that: by a read of its table, or by a write
    /// that waited and then found that the row does not count.
    fn held(&self, holder: TransactionId, table: &str, row: &RowId) -> bool {
        let changes = self.account.changes.iter();
        let mut changes = changes.filter(|(id, _)| id.transaction == holder);
        let changed = changes.any(|(_, changes)| {
            let mut changes = changes.iter();
            changes.any(|change| change.table == table && change.row == *row)
        });
        let own = self.case.statements.iter();
        let mut own = own.filter(|statement| statement.id.transaction == holder);
        changed
            || own.any(|statement| {
                let only_locks = !statement.effect.kind.is_write() || self.re_evaluates(statement);
                let mut uses = statement.effect.uses.iter();
                uses.any(|used| {
                    let is_by_key = used.role == Role::ForeignKeyCheck;
                    let locks = is_by_key || only_locks && self.dialect.locks_rows_of(used.role);
                    used.table == table && locks
                })
            })
    }

    /// The rows that a read locks where they count, and of which another version than the promised one was committed
    /// when the transaction ended for which it waited. What only its own release set going may have come after it.
    pub(super) fn replaced_meanwhile(
        &self,
        statement: &CaseStatement,
        promised: &View,
    ) -> Vec<(String, RowId)> {
        let rules = &self.dialect.lock_rules;
        let keeps_changes_out = statement
            .effect
            .lock
            .is_some_and(|lock| rules.keeps_changes_out(lock));
        let mut replaced = Vec::new();
        let uses = statement.effect.uses.iter();
        let locked = uses.filter(|table_use| table_use.role == Role::LockingSelect);
        for table_use in locked.filter(|_| keeps_changes_out) {
            let reader = Reader {
                statement: statement.id,
                mode: ReadMode::StatementSnapshot,
                at: self.released_at,
                snapshot: self.released_at,
            };
            let table = table_use.table.as_str();
            let then = self.timeline.view(&self.account.chains, table, reader);
            for (row, seen) in promised.get(table).into_iter().flatten() {
                let newer = then.get(row).copied().flatten();
                if self.content(*seen).is_some() && self.content(*seen) != self.content(newer) {
                    replaced.push((table.to_owned(), row.clone()));
                }
            }
        }
        replaced
    }
}
