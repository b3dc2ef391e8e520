//! Rows that changed while a statement waited, at a level that looks again at what it is about to lock
//! (PostgreSQL manual, "Read Committed Isolation Level").

use super::super::latitude::{Latitude, Sight};
use super::super::{Reader, RowId, View};
use super::Learning;
use crate::model::{CaseStatement, Doubt, ReadMode, Role, Tick, UndecidedReason};
use crate::statement::count_mentions;

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
                let newest = now.get(row).copied().flatten();
                let is_chosen = anew || self.content(seen).is_some();
                if !is_chosen || self.content(seen) == self.content(newest) {
                    continue;
                }
                let sight = match newest.filter(|id| self.content(Some(*id)).is_some()) {
                    Some(newest) => Sight::Version(newest),
                    None => Sight::Nothing,
                };
                latitude.row(table, row, Doubt::ReEvaluated, [sight]);
            }
        }
        let names_one = |table: &str| {
            count_mentions(&statement.sql, table, self.dialect).is_some_and(|count| count <= 1)
        };
        let uses = statement.effect.uses.iter();
        let named: Vec<_> = uses.filter(|used| !used.role.is_by_foreign_key()).collect();
        let simple = match named.as_slice() {
            // A row that is looked at again meets the rows that it was joined with, and no others.
            [only] => names_one(&only.table) || statement.effect.kind.is_write(),
            _ => false,
        };
        latitude.beyond = (!simple).then_some(UndecidedReason::RowReadAgainAfterAWait);
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
