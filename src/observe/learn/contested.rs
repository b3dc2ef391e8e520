//! Changes that several statements may have made, told apart by the rows that each was answered to have
//! changed.

use std::collections::BTreeSet;

use super::{ContestedChange, Learning};
use crate::dialect::{ReplaceCount, UpdateCount};
use crate::model::{
    StatementId, StatementKind, TableShape, Tick, TransactionStatus, UndecidedReason,
};

impl Learning<'_> {
    /// Gives the contested changes of a table to their writers, as far as answered counts tell: a
    /// statement that has changed as many rows as it counted made none of them, and the one that lacks
    /// exactly as many rows as it may have removed removed them all. Of the rest nobody knows whose they
    /// are. Whoever is left last is the writer, against its count, too: the self-check then hears it.
    pub(super) fn settle_by_counts(&mut self, shape: &TableShape, at: Tick) {
        let mut left = std::mem::take(&mut self.contested);
        while self.settle_one(shape, &mut left, at) {}
        for id in left.into_iter().flat_map(|change| change.candidates) {
            let reason = UndecidedReason::ChangeOfSeveralWriters;
            self.account.unsure.insert(id, reason);
            // Nobody has the change, so the next look at the row finds it again.
            self.gap(reason);
        }
    }

    /// One step; false where nothing more can be told.
    fn settle_one(
        &mut self,
        shape: &TableShape,
        left: &mut Vec<ContestedChange>,
        at: Tick,
    ) -> bool {
        if let Some(place) = left.iter().position(|c| c.candidates.len() == 1) {
            let change = left.remove(place);
            let writer = change.candidates[0];
            if change.now.is_none() && self.waiting.contains(&writer) {
                // It puts the row to another place, or back: the look after its answer tells.
                return true;
            }
            self.change(
                shape,
                change.row,
                change.before,
                change.now.as_ref(),
                writer,
            );
            return true;
        }
        let all = left.iter().flat_map(|change| change.candidates.iter());
        let all: BTreeSet<StatementId> = all.copied().collect();
        for id in all {
            let Some(lacking) = self.lacking(shape, id, at) else {
                continue;
            };
            let its = || left.iter().filter(|change| change.candidates.contains(&id));
            // A row that is gone has one remover; what a row became may have been written over.
            let are_gone = its().all(|change| change.now.is_none());
            let others = its().flat_map(|change| &change.candidates);
            let mut others = others.filter(|other| **other != id);
            let claimed =
                others.any(|other| self.lacking(shape, *other, at).is_some_and(|n| n > 0));
            let made_all = lacking == its().count() as u64
                && ((are_gone && !claimed) || self.keeps_others_off(id, its(), at));
            if lacking > 0 && !made_all {
                continue;
            }
            for change in left.iter_mut().filter(|c| c.candidates.contains(&id)) {
                change.candidates.retain(|other| (*other == id) == made_all);
            }
            return true;
        }
        false
    }

    /// Whether nobody can have written over what a statement left: its transaction is open and holds the
    /// rows, and whoever else may have made one of these changes still waits.
    fn keeps_others_off<'c>(
        &self,
        id: StatementId,
        mut changes: impl Iterator<Item = &'c ContestedChange>,
        at: Tick,
    ) -> bool {
        let waits = |other: &StatementId| {
            let record = self.execution.records.get(other);
            *other == id || record.is_none_or(|record| record.answered > at)
        };
        let is_open = match self.execution.transactions.get(&id.transaction) {
            Some(TransactionStatus::Committed(end) | TransactionStatus::Aborted(end)) => *end > at,
            Some(TransactionStatus::Indeterminate) | None => true,
        };
        is_open && changes.all(|change| change.candidates.iter().all(waits))
    }

    /// How many rows a statement was answered to have changed beyond those that are known; none where
    /// its count does not tell: it has no answer yet, or counts other rows than changed ones of this table.
    pub(super) fn lacking(&self, shape: &TableShape, id: StatementId, at: Tick) -> Option<u64> {
        let statement = self.case.statement(id)?;
        let record = self.execution.records.get(&id)?;
        let counted = record.changed_rows()?;
        if record.answered > at || !statement.effect.counts_rows_of(&shape.name) {
            return None;
        }
        let (changed, counts) = (
            self.account.changed_rows(statement),
            self.dialect.counts_of(record),
        );
        let kind = statement.effect.kind;
        let known = if kind == StatementKind::Delete {
            counts.of_delete(changed)
        } else if kind == StatementKind::Update && counts.update == UpdateCount::Changed {
            counts.of_update(changed)
        } else if matches!(kind, StatementKind::Insert | StatementKind::InsertSelect)
            && statement.effect.assigned.is_empty()
        {
            counts.of_insert(changed)
        } else if kind == StatementKind::Replace && counts.replace == ReplaceCount::WithDeleted {
            counts.of_replace(changed)
        } else {
            None
        };
        counted.checked_sub(*known?.start())
    }
}
