//! What a plain read sees, and the faults that show it something else.

use super::fault::Fault;
use super::policy::PlainRead;
use super::state::DatabaseState;
use super::version::{
    Cells, ReadSight, RowChain, RowNumber, TableRows, TransactionNumber, visible,
};

/// Nobody's number: a reader without writes of its own.
const NOBODY: TransactionNumber = 0;

impl DatabaseState {
    /// How the plain reads of a transaction look at versions. Takes its snapshot where it has none and
    /// reads by one.
    pub(super) fn plain_sight(&mut self, of: TransactionNumber) -> ReadSight {
        let Some(found) = self.transactions.get_mut(&of) else {
            return ReadSight::Current;
        };
        found.plain_reads += 1;
        let (plain, began, reads) = (found.policy.plain, found.began, found.plain_reads);
        if self.strikes(Fault::DirtyRead, of) {
            return ReadSight::Anything;
        }
        match plain {
            PlainRead::Newest => ReadSight::Anything,
            PlainRead::StatementSnapshot if self.strikes(Fault::StaleSnapshot, of) => {
                ReadSight::Snapshot(self.newest_missed(began))
            }
            PlainRead::StatementSnapshot => ReadSight::Snapshot(self.commits),
            PlainRead::TransactionSnapshot => {
                let is_late = reads == 1 && self.strikes(Fault::SnapshotTooLate, of);
                match is_late || self.strikes(Fault::NonRepeatableRead, of) {
                    true => ReadSight::Snapshot(self.commits),
                    false => ReadSight::Snapshot(self.snapshot(of)),
                }
            }
            PlainRead::Locking => ReadSight::Current,
        }
    }

    /// What a plain read sees of a table.
    pub(super) fn plain_view(
        &self,
        key: &str,
        of: TransactionNumber,
        sight: ReadSight,
    ) -> TableRows {
        let Some(table) = self.tables.get(key) else {
            return TableRows::new();
        };
        let reader = match self.strikes(Fault::OwnWriteInvisible, of) {
            true => NOBODY,
            false => of,
        };
        let mut view = table.seen(reader, sight);
        for (row, chain) in &table.rows {
            if let Some(other) = self.wrongly_seen(chain, of, sight) {
                match other {
                    Some(cells) => view.insert(*row, cells),
                    None => view.remove(row),
                };
            }
        }
        if let Some((row, cells)) = self.torn(key, of, sight) {
            match cells {
                Some(cells) => view.insert(row, cells),
                None => view.remove(&row),
            };
        }
        if self.strikes_reader(Fault::AbortedRead, of) {
            for buried in self.aborted.iter().filter(|buried| buried.table == key) {
                match &buried.cells {
                    Some(cells) => view.insert(buried.row, cells.clone()),
                    None => view.remove(&buried.row),
                };
            }
        }
        view
    }

    /// Whether a fault may bite a reader at its level, whatever the rate: it was drawn when the row
    /// came to be.
    fn strikes_reader(&self, fault: Fault, of: TransactionNumber) -> bool {
        let level = self.transactions.get(&of).map(|found| found.level);
        level.is_some_and(|level| self.flavour().broken_by(fault).contains(&level))
    }

    /// What a fault shows of one row: none where it is what it should be.
    fn wrongly_seen(
        &self,
        chain: &RowChain,
        of: TransactionNumber,
        sight: ReadSight,
    ) -> Option<Option<Cells>> {
        let seen = visible(chain, of, sight);
        if self.strikes(Fault::OwnDeleteVisible, of)
            && seen.is_some_and(|version| version.writer == of && version.cells.is_none())
        {
            let before = chain.iter().rev().find(|version| version.cells.is_some());
            return before.map(|version| version.cells.clone());
        }
        if self.strikes(Fault::IntermediateRead, of)
            && let Some(seen) = seen.filter(|version| version.writer != of)
        {
            let first = chain.iter().find(|version| version.writer == seen.writer)?;
            return (first.written != seen.written).then(|| first.cells.clone());
        }
        if self.strikes(Fault::Phantom, of) && seen.is_none() {
            let newest = visible(chain, of, ReadSight::Current)?;
            return newest.cells.clone().map(Some);
        }
        if self.strikes(Fault::LongFork, of)
            && of % 2 == 1
            && let (ReadSight::Snapshot(upto), Some(seen)) = (sight, seen)
        {
            let began = self.transactions.get(&of).map_or(0, |found| found.began);
            let place = seen.committed?;
            if place + 1 == upto && place > began {
                let older = visible(chain, of, ReadSight::Snapshot(place - 1));
                return Some(older.and_then(|version| version.cells.clone()));
            }
        }
        None
    }

    /// The row of the newest commit that a torn read shows as it was before: its last one, where the
    /// commit wrote several.
    fn torn(
        &self,
        key: &str,
        of: TransactionNumber,
        sight: ReadSight,
    ) -> Option<(RowNumber, Option<Cells>)> {
        let ReadSight::Snapshot(upto) = sight else {
            return None;
        };
        let began = self.transactions.get(&of)?.began;
        if upto <= began || !self.strikes(Fault::FracturedRead, of) {
            return None;
        }
        let of_newest = |chain: &RowChain| {
            let seen = visible(chain, of, sight);
            seen.is_some_and(|version| version.committed == Some(upto))
        };
        let tables = self.tables.iter();
        let rows: Vec<(&String, RowNumber, &RowChain)> = tables
            .flat_map(|(name, table)| {
                table
                    .rows
                    .iter()
                    .map(move |(row, chain)| (name, *row, chain))
            })
            .filter(|(_, _, chain)| of_newest(chain))
            .collect();
        let (name, row, chain) = *rows.last().filter(|_| rows.len() > 1)?;
        let before = visible(chain, of, ReadSight::Snapshot(upto - 1));
        (name == key).then(|| (row, before.and_then(|version| version.cells.clone())))
    }
}
