//! As of when a statement looks for its rows that waited for a table.

use super::super::latitude::Latitude;
use super::super::{Reader, TableView, View};
use super::Learning;
use crate::model::{CaseStatement, ReadMode, Role, StatementRecord, Tick, TransactionStatus};
use crate::observe::instrument::promised_mode;
use crate::observe::table_wait::{asks_for_tables_first, table_wait_ended};

impl Learning<'_> {
    /// When such a statement looks at the earliest, where it takes a snapshot: the first one of a transaction is taken before
    /// anything is locked, unless the statement asks for its tables before that.
    pub(super) fn looked_after_a_table_wait(&self, record: &StatementRecord) -> Option<Tick> {
        let statement = self.case.statement(record.id)?;
        let run = (self.case, self.execution, self.timeline);
        let ended = table_wait_ended(run, self.dialect, statement)?;
        let mode = promised_mode(self.case, self.dialect, statement, Role::PlainSelect);
        let is_late = mode != ReadMode::TransactionSnapshot
            || asks_for_tables_first(self.case, self.execution, statement, record);
        is_late.then_some(ended)
    }

    /// What it sees where others that one release woke with it have committed before it looked: all as of one moment.
    pub(super) fn woken_with_others(
        &self,
        statement: &CaseStatement,
        record: &StatementRecord,
        promised: &View,
        latitude: &mut Latitude,
    ) {
        let Some(first) = self.looked_after_a_table_wait(record) else {
            return;
        };
        let last = record.answered.max(self.batch_end);
        // The snapshot of its transaction is its own where it took it.
        let is_own = self.snapshot(statement.id, record.answered) == first;
        let others = self.execution.transactions.iter();
        let commits = others.filter_map(|(transaction, status)| match status {
            TransactionStatus::Committed(at) if *transaction != statement.id.transaction => {
                (first <= *at && *at <= last).then_some(Tick(at.0 + 1))
            }
            TransactionStatus::Committed(_)
            | TransactionStatus::Aborted(_)
            | TransactionStatus::Indeterminate => None,
        });
        for at in commits {
            let tables = self.modes(statement);
            let tables = tables.filter(|(_, mode)| match mode {
                ReadMode::StatementSnapshot => true,
                ReadMode::TransactionSnapshot => is_own,
                ReadMode::EitherSnapshot | ReadMode::Current | ReadMode::Anything => false,
            });
            let seen = tables.map(|(table, mode)| {
                let reader = Reader {
                    statement: statement.id,
                    mode,
                    at,
                    snapshot: at,
                };
                let seen: TableView = self.timeline.view(&self.account.chains, table, reader);
                (table, seen)
            });
            latitude.snapshot(promised, seen.collect());
        }
    }
}
