//! The detectors of [`Doubt`]: registered quirks that a statement may have met.

use std::collections::BTreeSet;

use super::super::moved::{holds_a_moved_row, moved_meanwhile};
use super::super::visibility::Reader;
use super::super::{Learner, View};
use super::Learning;
use crate::model::{
    CaseStatement, Doubt, ReadMode, StatementId, StatementKind, StatementRecord, Tick,
};

impl Learning<'_> {
    /// Notes every quirk that the statement may have met when it saw this view.
    pub(super) fn note_doubts(&mut self, statement: &CaseStatement, view: &View, at: Tick) {
        let id = statement.id;
        if self.learner == Learner::Observer && self.depends_on_a_no_op(statement, view, at) {
            self.doubt(id, Doubt::NoOpUpdate);
        }
        let snapshot = self.snapshots.get(&id.transaction).copied();
        if self.holds_a_moved_row(statement, view, snapshot) {
            self.doubt(id, Doubt::MovedKey);
        }
        let level = self.case.judged_level(statement.session);
        let waited = self.execution.records.get(&id);
        if waited.is_some_and(StatementRecord::resumed)
            && self.dialect.mixes_after_wait.contains(&level)
        {
            // Registered or not: without an id the oracle says undecided.
            let doubts = self.account.doubts.entry(id).or_default();
            doubts.insert(Doubt::MixedAfterWait);
        }
    }

    /// Notes a statement that sees through a later snapshot than its level promises, because the
    /// engine let the first one go.
    pub(super) fn note_lost_snapshot(&mut self, statement: &CaseStatement, at: Tick) {
        let id = statement.id;
        let promised = self.promised_snapshots.get(&id.transaction);
        let Some(promised) = promised.filter(|_| self.learner == Learner::Observer) else {
            return;
        };
        if self.reads_through(statement, at, *promised) != self.reads(statement, at) {
            self.account.registered.insert(id, Doubt::EarlySavepoint);
        }
    }

    /// Notes a statement that waited while a row it reads was moved to another key.
    pub(super) fn note_moves(&mut self, statement: &CaseStatement, at: Tick) {
        let Some(sent) = self
            .execution
            .records
            .get(&statement.id)
            .map(|record| record.sent)
        else {
            return;
        };
        let (then, now) = (self.view(statement, sent).0, self.view(statement, at).0);
        if moved_meanwhile(self.case, &self.account.chains, &then, &now) {
            self.doubt(statement.id, Doubt::MovedWhileWaiting);
        }
    }

    /// Notes a quirk that a statement may have met, where the dialect registers it.
    fn doubt(&mut self, statement: StatementId, doubt: Doubt) {
        if self.dialect.registers(doubt) {
            let doubts = self.account.doubts.entry(statement).or_default();
            doubts.insert(doubt);
        }
    }

    fn holds_a_moved_row(
        &self,
        statement: &CaseStatement,
        view: &View,
        snapshot: Option<Tick>,
    ) -> bool {
        let through_snapshot = self
            .modes(statement)
            .any(|(_, mode)| mode == ReadMode::TransactionSnapshot);
        snapshot.filter(|_| through_snapshot).is_some_and(|tick| {
            holds_a_moved_row(
                self.case,
                &self.account.chains,
                self.timeline,
                statement,
                view,
                tick,
            )
        })
    }

    /// Whether the view hangs on an UPDATE of this transaction that may have matched a row without
    /// changing it. Some engines make a version then and some do not (MDEV-26642, MySQL#100328).
    fn depends_on_a_no_op(&self, statement: &CaseStatement, view: &View, at: Tick) -> bool {
        let transaction = statement.id.transaction;
        let through_snapshot: BTreeSet<&str> = self
            .modes(statement)
            .filter(|(_, mode)| *mode == ReadMode::TransactionSnapshot)
            .map(|(table, _)| table)
            .collect();
        view.iter()
            .filter(|(table, _)| through_snapshot.contains(table.as_str()))
            .any(|(table, seen)| {
                let disciplined = self
                    .case
                    .table(table)
                    .is_some_and(|t| t.version_key.is_some());
                let updated = self.case.statements.iter().any(|s| {
                    s.id.transaction == transaction
                        && s.id.position < statement.id.position
                        && s.effect.targets().any(|target| target == table)
                        && matches!(s.effect.kind, StatementKind::Update | StatementKind::Insert)
                });
                let current = Reader {
                    statement: statement.id,
                    mode: ReadMode::Current,
                    at,
                    snapshot: at,
                };
                !disciplined
                    && updated
                    && self.timeline.view(&self.account.chains, table, current) != *seen
            })
    }
}
