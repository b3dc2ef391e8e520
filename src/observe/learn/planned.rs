//! What the engine's plan of a statement decides: from which of two snapshots a source is read.

use super::Learning;
use crate::model::{CaseStatement, ReadMode, Role, Tick};
use crate::observe::instrument::promised_mode;
use crate::observe::view::TableView;
use crate::observe::visibility::Reader;

impl Learning<'_> {
    /// What the statement sees of a table in the older of the two snapshots that
    /// [`ReadMode::EitherSnapshot`] means: the transaction's, where plain reads have one, and else that
    /// of the moment when the statement was sent.
    pub(super) fn in_the_older_snapshot(
        &self,
        statement: &CaseStatement,
        table: &str,
        at: Tick,
    ) -> TableView {
        let id = statement.id;
        let plain = promised_mode(self.case, self.dialect, statement, Role::PlainSelect);
        let is_explicit = self.case.is_explicit(id.transaction);
        let sent = self
            .execution
            .records
            .get(&id)
            .map_or(at, |record| record.sent);
        let snapshot = match plain == ReadMode::TransactionSnapshot && is_explicit {
            true => self.snapshot(id, at),
            false => sent.min(at),
        };
        let reader = Reader {
            statement: id,
            mode: ReadMode::TransactionSnapshot,
            at,
            snapshot,
        };
        self.timeline.view(&self.account.chains, table, reader)
    }
}
