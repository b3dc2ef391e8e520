//! What probes showed: reads that the sessions themselves made.

use std::collections::BTreeMap;

use super::{Learning, cell};
use crate::dialect::ObserverKind;
use crate::model::{
    Outcome, ProbeAnswer, ProbeTag, ReadMode, Row, StatementId, TransactionStatus, UndecidedReason,
    Value,
};
use crate::observe::chain::{Chains, VersionId};
use crate::observe::view::{ProbedTable, View};

impl Learning<'_> {
    /// Replaces what a view promises by what the probes of this statement showed. What no probe showed
    /// stays as it is promised, and so does what a snapshot must show, or must not, where probes are all that there
    /// is to learn by: a probe misses with its statement what the snapshot misses, and shows what it should not show.
    pub(super) fn overlay_probes(
        &self,
        id: StatementId,
        view: &mut View,
    ) -> Option<UndecidedReason> {
        let probed = self.probed.get(&id)?;
        for (table, seen) in view.iter_mut() {
            let (Some(shape), Some(shown)) = (self.case.table(table), probed.get(table)) else {
                continue;
            };
            let (rows, whole) = match shown {
                ProbedTable::Whole(rows) => (rows, true),
                ProbedTable::Matched(rows) => (rows, false),
            };
            let mut left: BTreeMap<Value, Vec<&Row>> = BTreeMap::new();
            for row in rows {
                let key = cell(shape, shape.row_key.as_deref(), row)?;
                left.entry(key).or_default().push(row);
            }
            let is_strict = self.is_known_by_its_snapshot(id, table);
            // The newest row of a key first: a probe shows the one that stands.
            for (row, position) in seen.iter_mut().rev() {
                let chain = self.account.chains.chain(table, row);
                let shown = left.get_mut(&row.key);
                let shown = shown.and_then(|rows| take_newest(&self.account.chains, chain, rows));
                let promised = *position;
                if shown.is_some() {
                    *position = shown;
                } else if whole {
                    *position = position
                        .filter(|&id| self.account.chains.row(id).is_none())
                        .or_else(|| newest_deletion(&self.account.chains, chain));
                }
                let is_elsewhere = self.misses_a_commit(id, chain, (promised, *position))
                    || self.shows_a_later_commit(id, table, *position)
                    || self.shows_uncommitted(id, *position);
                if is_strict && is_elsewhere {
                    *position = promised;
                }
            }
            if left.values().any(|rows| !rows.is_empty()) {
                return Some(UndecidedReason::VersionWithoutAKnownWriter);
            }
        }
        None
    }

    /// Whether nothing but probes tells of this table, and the statement reads it through a snapshot alone.
    fn is_known_by_its_snapshot(&self, id: StatementId, table: &str) -> bool {
        let by_snapshot = |statement| {
            let mut modes = self.modes(statement).filter(|(of, _)| *of == table);
            modes.all(|(_, mode)| {
                matches!(
                    mode,
                    ReadMode::TransactionSnapshot | ReadMode::StatementSnapshot
                )
            })
        };
        self.dialect.observer == ObserverKind::Absent
            && self.case.statement(id).is_some_and(by_snapshot)
    }

    /// Whether a statement was shown an older state of a row than the promised one, which another transaction had committed.
    fn misses_a_commit(
        &self,
        id: StatementId,
        chain: &[VersionId],
        (promised, shown): (Option<VersionId>, Option<VersionId>),
    ) -> bool {
        let place = |version: VersionId| chain.iter().position(|id| *id == version);
        promised.is_some_and(|promised| {
            let shown = shown.and_then(place);
            let is_newer = |promised| shown.is_none_or(|shown| shown < promised);
            let writer = self.account.chains.version(promised).writer;
            let foreign = writer != StatementId::SETUP && writer.transaction != id.transaction;
            foreign && place(promised).is_some_and(is_newer)
        })
    }

    /// Whether a statement that reads its transaction's snapshot was shown what another transaction committed after that
    /// had been taken.
    fn shows_a_later_commit(&self, id: StatementId, table: &str, shown: Option<VersionId>) -> bool {
        let (Some(shown), Some(snapshot)) = (shown, self.snapshots.get(&id.transaction)) else {
            return false;
        };
        let writer = self.account.chains.version(shown).writer.transaction;
        let end = self.execution.commit_record(writer);
        let is_later = end.is_some_and(|end| end.sent > *snapshot);
        let by_transaction = |statement| {
            let mut modes = self.modes(statement).filter(|(of, _)| *of == table);
            modes.all(|(_, mode)| mode == ReadMode::TransactionSnapshot)
        };
        writer != id.transaction && is_later && self.case.statement(id).is_some_and(by_transaction)
    }

    /// Whether a statement was shown what another transaction had surely not committed when it was answered.
    fn shows_uncommitted(&self, id: StatementId, shown: Option<VersionId>) -> bool {
        let Some(shown) = shown else {
            return false;
        };
        let writer = self.account.chains.version(shown).writer.transaction;
        let answered = self
            .execution
            .records
            .get(&id)
            .map(|record| record.answered);
        let is_open = match self.execution.transactions.get(&writer) {
            Some(TransactionStatus::Aborted(_)) => true,
            Some(TransactionStatus::Committed(_)) => {
                let end = self.execution.commit_record(writer);
                end.zip(answered)
                    .is_some_and(|(end, answered)| end.sent > answered)
            }
            Some(TransactionStatus::Indeterminate) | None => false,
        };
        writer != id.transaction && is_open
    }

    pub(super) fn probe(&mut self, probe: &ProbeAnswer) {
        let id = probe.statement;
        match (&probe.tag, &probe.outcome) {
            (ProbeTag::FixSnapshot, Outcome::Rows(_)) => {
                self.snapshots.entry(id.transaction).or_insert(probe.tick);
            }
            (ProbeTag::FixSnapshot, _) => {}
            (ProbeTag::AfterWrite { .. }, Outcome::Rows(_)) if probe.is_lost() => {
                self.gap(UndecidedReason::PartedProbe);
            }
            (ProbeTag::AfterWrite { table, mode }, Outcome::Rows(rows)) => {
                self.after_write(table, rows, id, *mode, probe.tick);
            }
            (ProbeTag::Returned { table }, Outcome::Rows(rows)) => {
                self.note_returned(table, rows, id, probe.tick);
            }
            (ProbeTag::Returned { .. }, _) => {}
            (ProbeTag::AfterWrite { .. }, _) => self.gap(UndecidedReason::RejectedProbe),
            // The rows would have to be waited for, or the statement came late: the promise stands.
            (ProbeTag::BeforeWrite { .. }, Outcome::Rejected(_)) => {}
            _ if probe.is_lost() => {
                let unsure = &mut self.account.unsure;
                unsure.insert(id, UndecidedReason::PartedProbe);
            }
            _ if probe.parted => {}
            (ProbeTag::BeforeWrite { table }, Outcome::Rows(rows)) => {
                self.note_probed(id, table, ProbedTable::Matched(rows.clone()));
            }
            (ProbeTag::VersionSet { table, .. }, Outcome::Rows(rows)) => {
                self.note_probed(id, table, ProbedTable::Whole(rows.clone()));
            }
            (ProbeTag::BeforeWrite { .. } | ProbeTag::VersionSet { .. }, _) => {
                let unsure = &mut self.account.unsure;
                unsure.insert(id, UndecidedReason::RejectedProbe);
            }
        }
    }

    fn note_probed(&mut self, id: StatementId, table: &str, rows: ProbedTable) {
        let tables = self.probed.entry(id).or_default();
        tables.insert(table.to_owned(), rows);
    }

    pub(super) fn gap(&mut self, reason: UndecidedReason) {
        self.account.gap.get_or_insert(reason);
    }
}

/// Takes the rows that are versions of this chain, and gives the newest of them. A row that was moved shows its
/// older version beside it, at its old place ([`Doubt::MovedKey`](crate::model::Doubt::MovedKey)), before it or
/// behind it.
fn take_newest(chains: &Chains, chain: &[VersionId], rows: &mut Vec<&Row>) -> Option<VersionId> {
    let mut newest = None;
    for id in chain.iter().rev().copied() {
        let before = rows.len();
        rows.retain(|row| chains.row(id) != Some(*row));
        if rows.len() < before {
            newest = newest.or(Some(id));
        }
    }
    newest
}

fn newest_deletion(chains: &Chains, chain: &[VersionId]) -> Option<VersionId> {
    chain
        .iter()
        .rev()
        .copied()
        .find(|&id| chains.row(id).is_none())
}
