//! How transactions and savepoints end when a session asks for it, and the faults that bite there.

use super::fault::Fault;
use super::refusal::EngineRefusal;
use super::state::{AbortedRow, DatabaseState};
use super::version::TransactionNumber;

impl DatabaseState {
    /// COMMIT.
    pub(super) fn asked_to_commit(&mut self, of: TransactionNumber) -> Result<(), EngineRefusal> {
        if let Err(refusal) = self.conflicts.check(of) {
            self.roll_back(of);
            return Err(refusal);
        }
        if self.strikes(Fault::CommitLost, of) {
            self.roll_back(of);
            return Ok(());
        }
        let fails = self.strikes(Fault::CommitFailsButDone, of);
        self.commit(of);
        match fails {
            true => Err(EngineRefusal::CommitFailed),
            false => Ok(()),
        }
    }

    /// The end of a statement that was a transaction of its own.
    pub(super) fn commit_alone(&mut self, of: TransactionNumber) -> Result<(), EngineRefusal> {
        let checked = self.conflicts.check(of);
        match checked {
            Ok(()) => self.commit(of),
            Err(_) => self.roll_back(of),
        }
        checked
    }

    /// ROLLBACK.
    pub(super) fn asked_to_roll_back(&mut self, of: TransactionNumber) {
        if self.strikes(Fault::AbortedEffectsSurvive, of) {
            let first = self.written_by(of).next();
            for table in self.tables.values_mut() {
                table.undo_where(of, |version| Some(version.written) != first);
            }
            self.commit(of);
            return;
        }
        if self.strikes(Fault::AbortedRead, of) {
            self.bury(of);
        }
        self.roll_back(of);
    }

    /// The end of a deadlock's victim.
    pub(super) fn roll_back_victim(&mut self, of: TransactionNumber) {
        if self.strikes(Fault::DeadlockVictimsWritesSurvive, of) {
            self.commit(of);
        } else {
            self.roll_back(of);
        }
    }

    /// ROLLBACK TO.
    pub(super) fn asked_to_roll_back_to(
        &mut self,
        of: TransactionNumber,
        name: &str,
    ) -> Result<(), EngineRefusal> {
        let mark = self.savepoint_mark(of, name)?;
        let since = if self.strikes(Fault::RollbackToUndoesTooMuch, of) {
            let before = self.written_by(of).filter(|written| *written <= mark);
            before.max().map_or(mark, |written| written - 1)
        } else {
            mark
        };
        let kept = match self.strikes(Fault::RollbackToUndoesTooLittle, of) {
            true => self.written_by(of).filter(|written| *written > mark).min(),
            false => None,
        };
        self.roll_back_to(of, name)?;
        for table in self.tables.values_mut() {
            table.undo_where(of, |v| v.written > since && Some(v.written) != kept);
        }
        Ok(())
    }

    /// RELEASE SAVEPOINT.
    pub(super) fn asked_to_release(
        &mut self,
        of: TransactionNumber,
        name: &str,
    ) -> Result<(), EngineRefusal> {
        if self.strikes(Fault::ReleaseRollsBack, of) {
            let mark = self.savepoint_mark(of, name)?;
            for table in self.tables.values_mut() {
                table.undo(of, mark);
            }
        }
        self.release(of, name)
    }

    /// Whether an open transaction has written something that stands.
    pub(super) fn has_written(&self, of: TransactionNumber) -> bool {
        self.written_by(of).next().is_some()
    }

    /// The writes of an open transaction that stand, as the database counts them.
    fn written_by(&self, of: TransactionNumber) -> impl Iterator<Item = u64> {
        let chains = self.tables.values().flat_map(|table| table.rows.values());
        let own = chains
            .flatten()
            .filter(move |version| version.writer == of && version.committed.is_none());
        let mut written: Vec<u64> = own.map(|version| version.written).collect();
        written.sort_unstable();
        written.into_iter()
    }

    /// Keeps the newest row of a transaction that is about to be rolled back, for others to read.
    fn bury(&mut self, of: TransactionNumber) {
        let mut newest: Option<(u64, AbortedRow)> = None;
        for (key, table) in &self.tables {
            for (row, chain) in &table.rows {
                let Some(version) = chain.last().filter(|version| version.writer == of) else {
                    continue;
                };
                if newest
                    .as_ref()
                    .is_none_or(|(written, _)| *written < version.written)
                {
                    let cells = version.cells.clone();
                    let buried = AbortedRow {
                        table: key.clone(),
                        row: *row,
                        cells,
                    };
                    newest = Some((version.written, buried));
                }
            }
        }
        self.aborted.extend(newest.map(|(_, buried)| buried));
    }
}
