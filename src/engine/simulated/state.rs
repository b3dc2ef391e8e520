//! The state of one database: tables, transactions, locks, and who waits for whom.

use std::collections::{BTreeMap, BTreeSet};

use super::conflicts::ConflictTable;
use super::fault::Fault;
use super::locks::{LockTable, RowName};
use super::planted::{Faults, hash};
use super::policy::{EngineFlavour, LevelPolicy, PlainRead, SnapshotTaken};
use super::refusal::EngineRefusal;
use super::schema::{SchemaText, TableDescription};
use super::version::{Cells, RowNumber, TransactionNumber, VersionedTable};
use crate::model::IsolationLevel;

/// A savepoint, and how many writes the database had seen when it was set.
#[derive(Clone, Debug)]
struct SavepointMark {
    name: String,
    writes: u64,
}

/// An open transaction.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// The connection that it runs on.
    pub(super) connection: u64,
    pub(super) level: IsolationLevel,
    pub(super) policy: LevelPolicy,
    pub(super) read_only: bool,
    /// The newest commit that its snapshot shows, once it has one.
    pub(super) snapshot: Option<u64>,
    /// The newest commit when it began.
    pub(super) began: u64,
    /// Its plain reads so far.
    pub(super) plain_reads: u32,
    savepoints: Vec<SavepointMark>,
    /// Stands for everything that it was sent.
    sent: u64,
}

/// A row that a transaction wrote before it was rolled back. Only a fault keeps one.
#[derive(Clone, Debug)]
pub(super) struct AbortedRow {
    pub(super) table: String,
    pub(super) row: RowNumber,
    pub(super) cells: Option<Cells>,
}

/// A statement that waits for locks.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) connection: u64,
    pub(super) transaction: TransactionNumber,
    /// The transactions that it waits for.
    pub(super) holders: BTreeSet<TransactionNumber>,
    /// The count of releases when it last looked.
    pub(super) looked: u64,
    pub(super) killed: bool,
    /// Nothing wakes it. Only a fault does that.
    pub(super) forgotten: bool,
}

/// The state of one database.
#[derive(Debug, Default)]
pub(super) struct DatabaseState {
    pub(super) schema: SchemaText,
    /// By name in lower case.
    pub(super) tables: BTreeMap<String, VersionedTable>,
    pub(super) transactions: BTreeMap<TransactionNumber, Transaction>,
    pub(super) locks: LockTable,
    pub(super) conflicts: ConflictTable,
    /// By ticket: who began to wait first looks first.
    pub(super) waiters: BTreeMap<u64, Waiter>,
    pub(super) commits: u64,
    /// The newest commit of a transaction that wrote.
    newest_change: u64,
    /// Statements that wrote.
    pub(super) writes: u64,
    /// How often something was let go that a statement may wait for.
    pub(super) releases: u64,
    last_transaction: TransactionNumber,
    last_ticket: u64,
    pub(super) faults: Faults,
    pub(super) aborted: Vec<AbortedRow>,
    /// Rows that indexes do not hold. Only a fault makes such.
    pub(super) unindexed: BTreeSet<RowName>,
}

impl DatabaseState {
    pub(super) fn with_faults(faults: Faults) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }

    pub(super) fn begin(
        &mut self,
        connection: u64,
        level: IsolationLevel,
        read_only: bool,
    ) -> TransactionNumber {
        self.last_transaction += 1;
        let policy = self.flavour().at(level);
        let transaction = Transaction {
            connection,
            level,
            policy,
            read_only,
            snapshot: None,
            began: self.commits,
            plain_reads: 0,
            savepoints: Vec::new(),
            sent: 0,
        };
        self.transactions.insert(self.last_transaction, transaction);
        if self.flavour().snapshot_taken() == SnapshotTaken::Begin {
            self.snapshot_at_once(self.last_transaction);
        }
        self.last_transaction
    }

    /// Takes the snapshot of a transaction that has just begun, where its level keeps one.
    pub(super) fn snapshot_at_once(&mut self, of: TransactionNumber) {
        let found = self.transactions.get(&of);
        if found.is_some_and(|found| found.policy.plain == PlainRead::TransactionSnapshot) {
            self.snapshot(of);
        }
    }

    pub(super) fn flavour(&self) -> EngineFlavour {
        self.faults.flavour()
    }

    /// Notes what a transaction is sent.
    pub(super) fn note(&mut self, of: TransactionNumber, sql: &str) {
        if let Some(transaction) = self.transactions.get_mut(&of) {
            transaction.sent = hash(transaction.sent, sql);
        }
    }

    /// Whether a fault bites this transaction now: another one is open beside it.
    pub(super) fn strikes(&self, fault: Fault, of: TransactionNumber) -> bool {
        let is_alone = self.transactions.len() < 2;
        !is_alone && self.strikes_behind(fault, of)
    }

    /// Whether a fault bites this transaction beside what others have committed since its snapshot: they
    /// need not be open any more.
    pub(super) fn strikes_behind(&self, fault: Fault, of: TransactionNumber) -> bool {
        let found = self.transactions.get(&of);
        found.is_some_and(|found| self.faults.strikes(fault, found.level, found.sent))
    }

    /// The snapshot of a transaction, taken now if it has none.
    pub(super) fn snapshot(&mut self, of: TransactionNumber) -> u64 {
        let Some(found) = self.transactions.get(&of) else {
            return self.commits;
        };
        if let Some(taken) = found.snapshot {
            return taken;
        }
        let (began, tracks_reads) = (found.began, found.policy.tracks_reads);
        let taken = if self.strikes(Fault::SnapshotTooEarly, of) {
            began
        } else if self.strikes(Fault::StaleSnapshot, of) {
            self.newest_missed(began)
        } else {
            self.commits
        };
        if let Some(found) = self.transactions.get_mut(&of) {
            found.snapshot = Some(taken);
        }
        if tracks_reads {
            self.conflicts.enter(of, taken);
        }
        taken
    }

    /// The moment before the newest commit that changed a row, where it came after a transaction began. A
    /// commit that changed none would be missed by nobody.
    pub(super) fn newest_missed(&self, began: u64) -> u64 {
        self.newest_change.saturating_sub(1).max(began)
    }

    pub(super) fn commit(&mut self, transaction: TransactionNumber) {
        self.commits += 1;
        let place = self.commits;
        for table in self.tables.values_mut() {
            if table.commit(transaction, place) {
                self.newest_change = place;
            }
        }
        self.conflicts.committed(transaction, place);
        self.end(transaction);
    }

    pub(super) fn roll_back(&mut self, transaction: TransactionNumber) {
        for table in self.tables.values_mut() {
            table.undo(transaction, 0);
        }
        self.conflicts.forget(transaction);
        self.end(transaction);
    }

    /// Undoes what a transaction has done since its last savepoint. False where it has none.
    pub(super) fn undo_to_savepoint(&mut self, of: TransactionNumber) -> bool {
        let found = self.transactions.get(&of);
        let Some(mark) = found.and_then(|found| found.savepoints.last()) else {
            return false;
        };
        let writes = mark.writes;
        for table in self.tables.values_mut() {
            table.undo(of, writes);
        }
        true
    }

    fn end(&mut self, transaction: TransactionNumber) {
        self.transactions.remove(&transaction);
        // A reader without locks keeps nobody waiting.
        self.releases += u64::from(self.locks.release(transaction));
        if self.transactions.is_empty() {
            for table in self.tables.values_mut() {
                table.purge();
            }
            self.aborted.clear();
            self.conflicts.clear();
        }
    }

    /// Sets a savepoint; one of the same name goes, or is hidden.
    pub(super) fn savepoint(&mut self, of: TransactionNumber, name: String) {
        let (writes, nests) = (self.writes, self.flavour().nests_savepoints());
        if let Some(transaction) = self.transactions.get_mut(&of) {
            let savepoints = &mut transaction.savepoints;
            savepoints.retain(|mark| nests || mark.name != name);
            transaction.savepoints.push(SavepointMark { name, writes });
        }
    }

    /// Returns to a savepoint: those set after it are gone. What was written since is still to be undone.
    pub(super) fn roll_back_to(
        &mut self,
        of: TransactionNumber,
        name: &str,
    ) -> Result<(), EngineRefusal> {
        let (at, savepoints) = self.find_savepoint(of, name)?;
        savepoints.truncate(at + 1);
        self.releases += 1;
        Ok(())
    }

    /// How many writes the database had seen when the savepoint was set.
    pub(super) fn savepoint_mark(
        &mut self,
        of: TransactionNumber,
        name: &str,
    ) -> Result<u64, EngineRefusal> {
        let (at, savepoints) = self.find_savepoint(of, name)?;
        Ok(savepoints[at].writes)
    }

    /// Forgets a savepoint and all that were set after it.
    pub(super) fn release(
        &mut self,
        of: TransactionNumber,
        name: &str,
    ) -> Result<(), EngineRefusal> {
        let (at, savepoints) = self.find_savepoint(of, name)?;
        savepoints.truncate(at);
        Ok(())
    }

    fn find_savepoint(
        &mut self,
        of: TransactionNumber,
        name: &str,
    ) -> Result<(usize, &mut Vec<SavepointMark>), EngineRefusal> {
        let missing = || EngineRefusal::NoSavepoint(name.to_owned());
        let transaction = self.transactions.get_mut(&of).ok_or_else(missing)?;
        let savepoints = &mut transaction.savepoints;
        let at = savepoints.iter().rposition(|mark| mark.name == name);
        Ok((at.ok_or_else(missing)?, savepoints))
    }

    /// Takes over the tables of a changed schema, as SQLite describes them.
    pub(super) fn adopt(&mut self, schema: SchemaText, described: Vec<TableDescription>) {
        let mut old = std::mem::take(&mut self.tables);
        for description in described {
            let key = description.name.to_ascii_lowercase();
            let mut table = old.remove(&key).unwrap_or_default();
            table.name = description.name;
            table.columns = description.columns;
            table.unique = description.unique;
            self.tables.insert(key, table);
        }
        self.schema = schema;
    }

    /// Whether a statement may look at the database now: those that began to wait before it, and have
    /// something new to look at, come first.
    pub(super) fn has_turn(&self, ticket: Option<u64>) -> bool {
        let is_due = |waiter: &Waiter| waiter.looked < self.releases && !waiter.forgotten;
        let mut before = self
            .waiters
            .iter()
            .filter(|(other, _)| ticket.is_none_or(|own| **other < own));
        let is_own_turn = ticket.is_none_or(|own| self.waiters.get(&own).is_none_or(is_due));
        is_own_turn && !before.any(|(_, waiter)| is_due(waiter))
    }

    /// Has a statement wait, unless that closed a circle: then it is refused.
    pub(super) fn wait(
        &mut self,
        ticket: Option<u64>,
        transaction: TransactionNumber,
        holders: BTreeSet<TransactionNumber>,
    ) -> Result<u64, EngineRefusal> {
        if self.leads_to(&holders, transaction) {
            return Err(EngineRefusal::Deadlock);
        }
        let ticket = ticket.unwrap_or_else(|| {
            self.last_ticket += 1;
            self.last_ticket
        });
        let connection = self
            .transactions
            .get(&transaction)
            .map_or(0, |transaction| transaction.connection);
        let waiter = Waiter {
            connection,
            transaction,
            holders,
            looked: self.releases,
            killed: false,
            forgotten: self.strikes(Fault::WakeUpLost, transaction),
        };
        self.waiters.insert(ticket, waiter);
        Ok(ticket)
    }

    /// Whether one of these transactions waits, directly or not, for the other one.
    fn leads_to(&self, from: &BTreeSet<TransactionNumber>, to: TransactionNumber) -> bool {
        let mut seen = BTreeSet::new();
        let mut open: Vec<TransactionNumber> = from.iter().copied().collect();
        while let Some(next) = open.pop() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                let waits = self.waiters.values().filter(|w| w.transaction == next);
                open.extend(waits.flat_map(|waiter| waiter.holders.iter().copied()));
            }
        }
        false
    }

    /// The connections that wait, each with those that it waits for. A statement that was woken and has
    /// not looked yet does not wait.
    pub(super) fn waiting(&self) -> BTreeMap<u64, Vec<u64>> {
        let settled = self.waiters.values();
        let settled = settled.filter(|w| w.looked == self.releases || w.forgotten);
        settled
            .map(|waiter| {
                let holders = waiter.holders.iter();
                let connections = holders
                    .filter_map(|holder| Some(self.transactions.get(holder)?.connection))
                    .collect();
                (waiter.connection, connections)
            })
            .collect()
    }

    /// Marks the statement that waits on a connection as killed.
    pub(super) fn kill(&mut self, connection: u64) {
        for waiter in self.waiters.values_mut() {
            waiter.killed |= waiter.connection == connection;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::simulated::locks::LockMode;

    fn state(transactions: u64) -> DatabaseState {
        let mut state = DatabaseState::default();
        for connection in 1..=transactions {
            state.begin(connection * 10, IsolationLevel::RepeatableRead, false);
        }
        state
    }

    #[test]
    fn the_wait_that_closes_a_circle_is_refused() {
        let mut state = state(3);
        state.wait(None, 1, [2].into()).expect("no circle");
        state.wait(None, 2, [3].into()).expect("no circle");
        assert_eq!(
            state.wait(None, 3, [1].into()),
            Err(EngineRefusal::Deadlock)
        );
        assert_eq!(state.waiting(), [(10, vec![20]), (20, vec![30])].into());
    }

    #[test]
    fn after_a_release_waiters_look_in_the_order_in_which_they_began() {
        let mut state = state(3);
        let first = state.wait(None, 1, [3].into()).expect("no circle");
        let second = state.wait(None, 2, [3].into()).expect("no circle");
        assert!(state.has_turn(None));
        assert!(!state.has_turn(Some(first)));
        state.locks.take(("t".to_owned(), 1), LockMode::Shared, 3);
        state.commit(3);
        assert!(state.waiting().is_empty());
        assert!(state.has_turn(Some(first)));
        assert!(!state.has_turn(Some(second)));
        assert!(!state.has_turn(None));
        state.waiters.remove(&first);
        assert!(state.has_turn(Some(second)));
        state.wait(Some(second), 2, [1].into()).expect("no circle");
        assert_eq!(state.waiting(), [(20, vec![10])].into());
        assert!(state.has_turn(None));
    }

    #[test]
    fn a_savepoint_replaces_one_of_its_name_and_release_takes_the_later_ones() {
        let mut state = state(1);
        state.savepoint(1, "a".to_owned());
        state.savepoint(1, "b".to_owned());
        state.savepoint(1, "a".to_owned());
        state.release(1, "b").expect("it is there");
        let missing = Err(EngineRefusal::NoSavepoint("a".to_owned()));
        assert_eq!(state.roll_back_to(1, "a"), missing);
    }

    #[test]
    fn a_snapshot_is_taken_once() {
        let mut state = state(2);
        assert_eq!(state.snapshot(1), 0);
        state.commit(2);
        assert_eq!(state.snapshot(1), 0);
    }
}
