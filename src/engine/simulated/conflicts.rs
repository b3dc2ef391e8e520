//! Serializable snapshot isolation: who read what a concurrent transaction wrote.
//!
//! Every circle that snapshots allow has a transaction in it that read what a concurrent one wrote, and
//! wrote what a concurrent one read (Cahill, Roehm, Fekete 2008). None such commits here, and none that has
//! committed becomes such: the transaction that would make it one is refused. That refuses some that
//! would have been in no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::locks::{Extent, Predicate};
use super::refusal::EngineRefusal;
use super::version::TransactionNumber;

/// A transaction at a level that tracks reads.
#[derive(Clone, Debug, Default)]
struct Member {
    /// The newest commit that its snapshot shows.
    snapshot: u64,
    /// Its place in the order of commits.
    committed: Option<u64>,
    /// A concurrent transaction read what it wrote.
    is_read_past: bool,
    /// It read what a concurrent transaction wrote.
    reads_past: bool,
    /// It was refused once, and stays so.
    is_doomed: bool,
}

impl Member {
    fn is_dangerous(&self) -> bool {
        self.is_doomed || (self.is_read_past && self.reads_past)
    }
}

/// What the transactions of a database read and wrote, as long as one is open.
#[derive(Clone, Debug, Default)]
pub(super) struct ConflictTable {
    members: BTreeMap<TransactionNumber, Member>,
    reads: Vec<Predicate>,
}

impl ConflictTable {
    /// Notes a transaction, and the newest commit that its snapshot shows.
    pub(super) fn enter(&mut self, number: TransactionNumber, snapshot: u64) {
        let member = self.members.entry(number).or_default();
        member.snapshot = snapshot;
    }

    /// Notes what a transaction has read.
    pub(super) fn read(&mut self, holder: TransactionNumber, table: &str, extent: Extent) {
        self.reads.push(Predicate {
            holder,
            table: table.to_owned(),
            extent,
        });
    }

    /// What concurrent transactions have read of a table.
    pub(super) fn reads_beside(&self, table: &str, writer: TransactionNumber) -> Vec<Predicate> {
        let reads = self.reads.iter();
        let beside =
            reads.filter(|read| read.table == table && self.are_concurrent(read.holder, writer));
        beside.cloned().collect()
    }

    /// Whether both are tracked, and neither had committed when the other took its snapshot.
    pub(super) fn are_concurrent(&self, one: TransactionNumber, other: TransactionNumber) -> bool {
        let (Some(a), Some(b)) = (self.members.get(&one), self.members.get(&other)) else {
            return false;
        };
        let overlaps = |a: &Member, b: &Member| a.committed.is_none_or(|at| at > b.snapshot);
        one != other && overlaps(a, b) && overlaps(b, a)
    }

    /// Notes that one read what the other wrote. `acting` is the one of them whose statement runs.
    ///
    /// # Errors
    /// When one that has committed, or the acting one, would be dangerous.
    pub(super) fn depends(
        &mut self,
        reader: TransactionNumber,
        writer: TransactionNumber,
        acting: TransactionNumber,
    ) -> Result<(), EngineRefusal> {
        if let Some(member) = self.members.get_mut(&reader) {
            member.reads_past = true;
        }
        if let Some(member) = self.members.get_mut(&writer) {
            member.is_read_past = true;
        }
        let is_fatal = |number: &TransactionNumber| {
            let member = self.members.get(number);
            member.is_some_and(|member| {
                member.is_dangerous() && (*number == acting || member.committed.is_some())
            })
        };
        if [reader, writer].iter().any(is_fatal) {
            return Err(self.doom(acting));
        }
        Ok(())
    }

    /// Refuses a transaction for good.
    pub(super) fn doom(&mut self, number: TransactionNumber) -> EngineRefusal {
        if let Some(member) = self.members.get_mut(&number) {
            member.is_doomed = true;
        }
        EngineRefusal::Serialization
    }

    /// Whether a transaction may go on.
    ///
    /// # Errors
    /// When it is dangerous.
    pub(super) fn check(&self, number: TransactionNumber) -> Result<(), EngineRefusal> {
        match self.members.get(&number).is_some_and(Member::is_dangerous) {
            true => Err(EngineRefusal::Serialization),
            false => Ok(()),
        }
    }

    /// Notes a commit: what was read and written counts as long as someone concurrent is open.
    pub(super) fn committed(&mut self, number: TransactionNumber, place: u64) {
        if let Some(member) = self.members.get_mut(&number) {
            member.committed = Some(place);
        }
    }

    /// Forgets one that was rolled back.
    pub(super) fn forget(&mut self, number: TransactionNumber) {
        if self
            .members
            .get(&number)
            .is_some_and(|member| member.committed.is_none())
        {
            self.members.remove(&number);
            let reads: BTreeSet<TransactionNumber> = self.members.keys().copied().collect();
            self.reads.retain(|read| reads.contains(&read.holder));
        }
    }

    /// Forgets all: nobody is open.
    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.reads.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_reads_past_and_is_read_past_is_refused_and_no_other() {
        let mut table = ConflictTable::default();
        for number in 1..=3 {
            table.enter(number, 0);
        }
        assert_eq!(table.depends(1, 2, 1), Ok(()));
        assert_eq!(table.depends(2, 3, 3), Ok(()));
        assert_eq!(table.check(1), Ok(()));
        assert_eq!(table.check(2), Err(EngineRefusal::Serialization));
        assert_eq!(table.check(3), Ok(()));
    }

    #[test]
    fn whoever_would_make_a_committed_one_dangerous_is_refused() {
        let mut table = ConflictTable::default();
        for number in 1..=3 {
            table.enter(number, 0);
        }
        assert_eq!(table.depends(2, 3, 2), Ok(()));
        table.committed(2, 1);
        assert_eq!(table.depends(1, 2, 1), Err(EngineRefusal::Serialization));
        assert_eq!(table.check(1), Err(EngineRefusal::Serialization));
    }

    #[test]
    fn one_that_committed_before_the_snapshot_is_not_concurrent() {
        let mut table = ConflictTable::default();
        table.enter(1, 0);
        table.committed(1, 1);
        table.enter(2, 1);
        table.enter(3, 0);
        assert!(!table.are_concurrent(1, 2));
        assert!(table.are_concurrent(1, 3));
        assert!(table.are_concurrent(2, 3));
    }
}
