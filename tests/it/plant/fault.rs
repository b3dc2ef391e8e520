//! What a planted engine does wrong, and before which products it can be planted.

/// A kind of statement that changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Update,
    Delete,
    Insert,
    InsertSelect,
    Replace,
    Upsert,
}

/// What the planted engine does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Forwards everything.
    None,
    /// A write of this kind says what it did, keeps its locks, and its effect is undone.
    Lies(WriteKind),
    /// A write reports one affected row more than it had.
    CountOffByOne,
    /// A write by predicate leaves one row out, and reports it.
    RowTooFew,
    /// A write by predicate takes one row more, and does not report it.
    RowTooMany,
    /// A duplicate key is answered as one affected row.
    DuplicateAnsweredOk,
    /// A write that waited reports its effect, and the effect is undone.
    LostUpdateAfterWait,
    /// A locking read that waited answers the rows committed when it was sent.
    StaleLockingReadAfterWait,
    /// A locking read answers committed rows and locks nothing.
    MissingRowLocks,
    /// Sessions at SERIALIZABLE run at REPEATABLE READ: plain reads lock nothing.
    SerializableWithoutLocks,
    /// A locking read locks the rows that it finds, and no gap between them.
    PhantomUnderLock,
    /// A statement that fails ends its transaction, and does not say so.
    ErrorEndsTransaction,
    /// ROLLBACK TO goes back to the savepoint before the one that it names.
    RollbackToOneTooMany,
    /// A write in a transaction is rejected as the victim of a deadlock, without one.
    DeadlockFromNowhere,
    /// A write in a transaction is rejected for a lock that another transaction does not hold.
    TimeoutFromNowhere,
    /// A statement in a transaction is rejected for DDL that no session has sent.
    DdlFromNowhere,
    /// COMMIT is answered, and the transaction stays open.
    CommitLeavesOpen,
    /// COMMIT AND CHAIN commits and begins nothing.
    ChainBeginsNone,
    /// A transaction that begins as READ ONLY takes writes.
    ReadOnlyForgotten,
    /// A read by an index gives its first row alone, whoever else is there.
    IndexLosesRows,
    /// A write looks for no parent, and leaves the children of the rows that it deletes or gives another
    /// key.
    ForeignKeysForgotten,
    /// The trigger of a write adds no row to its table.
    TriggerDoesNothing,
    /// The trigger of a write adds its rows twice.
    TriggerFiresTwice,
    /// ROLLBACK leaves what the trigger of the last write has added.
    TriggerOutlivesRollback,
    /// A plain read in a transaction misses its last row.
    ReadMissesRow,
    /// A plain read in a transaction gives its last row twice.
    ReadRepeatsRow,
    /// A plain read in a transaction that has written nothing sees what is committed now.
    ReadOutsideSnapshot,
    /// A plain read in a transaction misses what the transaction wrote.
    OwnWriteInvisible,
    /// A plain read in a transaction sees what others have not committed.
    DirtyRead,
    /// A sorted read in a transaction comes in no order.
    OrderForgotten,
    /// COMMIT is answered, and the transaction is rolled back.
    CommitRollsBack,
    /// ROLLBACK is answered, and the transaction is committed.
    RollbackCommits,
    /// ROLLBACK TO is answered, and nothing is undone.
    RollbackToIgnored,
    /// RELEASE SAVEPOINT goes back to the savepoint.
    ReleaseRollsBack,
    /// START TRANSACTION WITH CONSISTENT SNAPSHOT takes none.
    SnapshotTakenLate,
    /// Sessions at REPEATABLE READ run at READ COMMITTED.
    RepeatableReadWithoutSnapshot,
    /// An INSERT of several rows that meets a duplicate keeps the other rows.
    FailedInsertLeavesRows,
    /// NOWAIT is refused where nothing is locked.
    NowaitRefused,
    /// NOWAIT neither waits nor is refused where a row is locked: it reads what is committed.
    NowaitPasses,
    /// SKIP LOCKED skips every row.
    SkipLockedSkipsAll,
    /// Comparisons of the columns `x0` and `x1` with a value hold bytes against bytes, whatever the collation.
    CollationsForgotten,
    /// A write changes values that do not fit, as in no strict mode, whatever the session's mode.
    ModesForgotten,
    /// A write reports one affected row less than it had.
    CountTooLow,
    /// An INSERT of several rows leaves the last one out, and reports it.
    InsertDropsRow,
    /// An UPDATE that meets a duplicate keeps the rows that it had changed.
    FailedUpdateLeavesRows,
    /// A duplicate key is answered as a lock that was not granted.
    DuplicateAnsweredTimeout,
    /// A duplicate key is answered as a foreign key without a parent.
    DuplicateAnsweredForeignKey,
    /// A write does not look at CHECK constraints (MariaDB alone can be told so).
    ChecksForgotten,
    /// What a transaction has done is committed with each of its writes.
    WriteCommits,
    /// ROLLBACK leaves the last write of the transaction, and commits it.
    RollbackKeepsLastWrite,
    /// ROLLBACK TO forgets the savepoint that it goes back to.
    RollbackToForgets,
    /// A savepoint whose name is taken stays where it was.
    SavepointKeepsPlace,
    /// A plain read outside of a transaction misses its last row.
    LoneReadMissesRow,
    /// A plain read of a text that its transaction has read before gives the same answer, until the transaction writes.
    RepeatedReadIsStale,
    /// A locking read locks what it should, and gives what a plain read gives.
    LockingReadOfSnapshot,
    /// A plain read waits for the locks that a shared lock on its rows would wait for.
    PlainReadWaits,
    /// A shared lock is an exclusive one.
    SharedIsExclusive,
    /// NOWAIT waits.
    NowaitWaits,
    /// SKIP LOCKED waits.
    SkipLockedWaits,
    /// SKIP LOCKED leaves out the last row.
    SkipLockedSkipsOne,
    /// Sessions at READ COMMITTED run at READ UNCOMMITTED.
    ReadCommittedIsDirty,
    /// Sessions at READ COMMITTED run at REPEATABLE READ.
    ReadCommittedKeepsSnapshot,
    /// Sessions at REPEATABLE READ run at SERIALIZABLE: plain reads lock.
    RepeatableReadLocks,
    /// A locking read for a change takes a shared lock.
    ForUpdateIsShared,
    /// SKIP LOCKED gives the rows that it skips, too, as they were committed.
    SkipLockedSkipsNone,
    /// A plain read in a transaction gives another value in its last row.
    ReadChangesValue,
    /// A write by predicate chooses its rows by the transaction's snapshot.
    WriteOfSnapshot,
    /// A write by predicate locks the rows that it changes, and no gap between them.
    PhantomUnderWrite,
    /// A write in a transaction is done twice, and reports it once.
    WriteDoneTwice,
    /// A write that returns rows gives another value in the last one.
    ReturningChangesValue,
    /// A write that returns rows leaves the last one out.
    ReturningMissesRow,
    /// A write that returns rows leaves the last one out, and does not count it.
    ReturningHidesRow,
    /// COMMIT is answered before it is done, and another transaction's statement comes between.
    CommitComesLate,
    /// The same of ROLLBACK.
    RollbackComesLate,
    /// The victim of a deadlock leaves its last write, and commits it.
    VictimKeepsLastWrite,
    /// A write is refused for a duplicate key that is not there.
    DuplicateFromNowhere,
    /// A statement that fails leaves its transaction as it was before (PostgreSQL ends it).
    ErrorKeepsTransaction,
    /// A write is refused for a change since the snapshot that nobody made (PostgreSQL).
    ConflictFromNowhere,
    /// LOCK TABLE is answered and locks nothing (PostgreSQL).
    TableLockForgotten,
    /// The source of an INSERT .. SELECT in a transaction is read by its snapshot.
    InsertSelectOfSnapshot,
    /// The source of an INSERT .. SELECT in a transaction is read as committed, and not locked.
    InsertSelectLocksNothing,
    /// An UPDATE that waited computes its values from the rows as they were before the wait.
    UpdateOfOldValueAfterWait,
    /// A statement that waited in a transaction is rejected as the victim of a deadlock, without one.
    DeadlockAfterWait,
    /// A statement that waited in a transaction is rejected for a timeout when the lock is free.
    TimeoutAfterWait,
    /// A statement that waited and may go on is refused for a change since its snapshot (PostgreSQL).
    ConflictAfterWait,
    /// The statement that may go on when another one is the victim of a deadlock is a victim, too.
    SurvivorDiesToo,
    /// An INSERT that meets a key that is not committed is refused for a duplicate at once (PostgreSQL: whatever
    /// it would wait for).
    DuplicateToldEarly,
    /// A write by predicate that must wait is answered before, and done after its wait.
    WriteAnsweredEarly,
    /// SKIP LOCKED gives the right rows, and locks none.
    SkipLockedLocksNothing,
    /// A shared lock of rows is waited for, and let go at once.
    ShareLocksNothing,
    /// A locking read of several rows keeps the lock of the first one alone.
    LocksFirstRowOnly,
    /// A locking read of a join locks the rows of its first table alone.
    JoinLocksOneTable,
    /// A locking read that shows groups, aggregates or distinct rows locks nothing.
    SummaryLocksNothing,
    /// A locking read of a join locks nothing.
    JoinLocksNothing,
    /// A plain read at SERIALIZABLE locks the rows that it finds, and no gap.
    SerializableWithoutGaps,
    /// BEGIN takes the snapshot, which the first read should.
    SnapshotTakenEarly,
    /// A transaction goes on with the snapshot of the session's last one, where that wrote nothing.
    TransactionKeepsSnapshot,
    /// A plain read outside of a transaction gives what was committed when the session was last answered.
    LoneReadIsLate,
    /// A subquery of a plain read sees what is committed now, the rest the snapshot.
    SubqueryReadsFresher,
    /// A subquery of a write is read by the snapshot.
    WriteSubqueryOfSnapshot,
    /// COMMIT commits all but the last write.
    CommitLosesLastWrite,
    /// ROLLBACK TO leaves the last write.
    RollbackToKeepsLastWrite,
    /// After ROLLBACK TO a transaction that has no writes sees what is committed now.
    RollbackToRenewsSnapshot,
    /// An UPDATE of a row key leaves a row at the old one.
    MovedRowLeavesOldOne,
    /// A plain read misses the row that its transaction has given another key.
    MovedRowVanishes,
    /// A write with ORDER BY and LIMIT goes from the other end.
    LimitedWriteTakesLast,
    /// An INSERT outside of a transaction that meets a duplicate keeps the other rows.
    LoneFailedInsertLeavesRows,
    /// A transaction that begins as READ ONLY has no snapshot.
    ReadOnlyFollows,
    /// REPLACE keeps the columns that it does not name.
    ReplaceKeepsColumns,
    /// A locking read that waited answers what was there uncommitted when it was sent.
    WaitedReadIsDirty,
    /// COMMIT is done, and refused as the victim of a deadlock (PostgreSQL: at SERIALIZABLE, for a conflict).
    CommitRefusedButDone,
    /// A subquery of a write reads what is committed, and neither waits nor locks.
    WriteSubqueryLocksNothing,
    /// An INSERT names the number behind the one that its row took.
    InsertIdOff,
    /// A write outside of a transaction commits row by row.
    LoneWriteInSteps,
    /// A write that waited changes the rows that it had chosen before the wait, fit or not.
    PredicateNotRechecked,
    /// A write that waited looks for rows once more, and changes those that fit now, too.
    WriteLooksTwice,
    /// An INSERT that may leave out its row does so at once where a key is not committed.
    IgnoreDoesNotWait,
    /// A write outside of a transaction is answered before it is committed.
    LoneWriteComesLate,
    /// A write locks every row of its table.
    WriteLocksTable,
    /// A write that waited leaves its rows alone, and says so.
    WaitedWritePassesOver,
    /// A locking read that waited misses its last row.
    WaitedReadMissesRow,
    /// An UPDATE that changes no row locks none, and no gap.
    NoOpLocksNothing,
    /// An UPDATE of no key locks as one of a key does (PostgreSQL).
    UpdateLocksKey,
    /// A write that waited leaves one of its rows alone, and says so.
    WaitedWriteMissesRow,
    /// An INSERT finds its parent as committed, and neither waits for it nor locks it.
    ForeignKeyCheckDoesNotWait,
    /// A statement that waited is refused for a timeout, and its effect stays.
    TimeoutButDone,
    /// A statement that waited is rejected as the victim of a deadlock, and what its transaction had written is
    /// committed.
    VictimCommits,
    /// The lock clause of a subquery locks nothing.
    InnerLockIgnored,
    /// A write without RETURNING reports one row more than it had.
    PlainWriteMiscounted,
    /// COMMIT of a failed transaction is answered as one of a good one (PostgreSQL).
    FailedCommitSaysCommit,
    /// FOR KEY SHARE locks as FOR UPDATE does (PostgreSQL).
    KeyShareIsExclusive,
    /// An upsert is refused for a change since the snapshot that nobody made (PostgreSQL).
    UpsertConflictFromNowhere,
    /// RELEASE SAVEPOINT is answered, and the savepoint stays.
    ReleaseIgnored,
    /// SAVEPOINT is answered, and none is set.
    SavepointForgotten,
    /// DDL is answered, and not done.
    DdlDoesNothing,
    /// A write outside of a transaction is answered, and not committed before the session's next statement.
    LoneWriteStaysOpen,
    /// An upsert reports one affected row more than it had.
    UpsertMiscounted,
    /// A sorted read in a transaction has its last two rows in each other's place.
    OrderSwapsRows,
    /// NOWAIT is refused in a transaction that has written.
    NowaitRefusesOwn,
    /// SKIP LOCKED leaves out the last row in a transaction that has written.
    SkipLockedSkipsOwn,
    /// A plain read in a transaction that has read before and written nothing sees what is committed now.
    SnapshotRenewedOnce,
    /// ROLLBACK TO and RELEASE of a savepoint that does not stand are answered, and do nothing.
    GoneSavepointFound,
    /// RELEASE of a savepoint releases the older one of its name, too (PostgreSQL).
    EqualSavepointsAreOne,
    /// A plain read in a transaction misses the rows that the transaction has inserted.
    OwnInsertInvisible,
    /// A plain read in a transaction still gives the rows that the transaction has deleted.
    OwnDeleteVisible,
    /// A plain read in a transaction gives the rows that the transaction has updated as they were before.
    OwnUpdateInvisible,
    /// A locking read misses what its transaction wrote.
    LockingReadMissesOwn,
    /// A write by predicate misses rows that fit only since its transaction has written them.
    WriteMissesOwn,
    /// An UPDATE computes its values from the row as it was before its transaction has written it.
    UpdateMissesOwn,
    /// A subquery misses what its transaction wrote.
    SubqueryMissesOwn,
    /// An INSERT deletes another row of its table.
    InsertEvictsRow,
    /// A write deletes a row of another table.
    WriteTouchesOtherTable,
    /// A plain read deletes a row of its table.
    ReadDeletesRow,
    /// COMMIT deletes a row, too.
    CommitDeletesRow,
    /// SAVEPOINT deletes a row.
    SavepointDeletesRow,
    /// An upsert or REPLACE that reports two affected rows reports one.
    UpsertCountsOne,
    /// An INSERT that leaves out its row reports one.
    IgnoredCountsOne,
    /// INSERT IGNORE replaces the row that is there, and reports none.
    IgnoreReplaces,
    /// REPLACE leaves the row that is there, and reports that it has replaced it.
    ReplaceKeepsRow,
    /// A write of a join leaves one row out, and reports it.
    JoinedWriteMissesRow,
    /// A MERGE says what it did, keeps its locks, and its effect is undone (PostgreSQL).
    MergeLies,
    /// An INSERT is done, and refused for a duplicate key.
    DuplicateButDone,
    /// A write that breaks another rule than that of keys is answered as one affected row.
    FailureAnsweredOk,
    /// An UPDATE puts 0 where it should put NULL.
    NullBecomesZero,
    /// An UPDATE puts NULL where it should put the default.
    DefaultBecomesNull,
    /// A write outside of a transaction is done twice, and reports it once.
    LoneWriteDoneTwice,
    /// A counter gives a number again that a transaction which was rolled back had.
    CounterGoesBack,
    /// An UPDATE returns its rows as they were before.
    ReturningGivesOld,
    /// An INSERT that is refused for a duplicate leaves no lock on the row that is there.
    DuplicateLocksNothing,
    /// SAVEPOINT commits what its transaction has done.
    SavepointCommits,
    /// RELEASE SAVEPOINT commits what its transaction has done.
    ReleaseCommits,
    /// A statement that fails takes the write before it back, too.
    ErrorUndoesWriteBefore,
    /// The session's next transaction has begun when COMMIT is answered, and nothing says so.
    CommitChains,
    /// A plain read BETWEEN two values misses the second one.
    BetweenMissesUpper,
    /// A plain read outside of a transaction sees what others have not committed.
    LoneReadIsDirty,
    /// A locking read leaves its last row out.
    LockingReadMissesRow,
}

/// What only InnoDB's locks, levels, modes and statements can be made to do.
const MYSQL_ONLY: [Fault; 47] = [
    Fault::DdlFromNowhere,
    Fault::Lies(WriteKind::Replace),
    Fault::PhantomUnderLock,
    Fault::DirtyRead,
    Fault::SnapshotTakenLate,
    Fault::FailedUpdateLeavesRows,
    Fault::CollationsForgotten,
    Fault::ModesForgotten,
    Fault::ChecksForgotten,
    // No trigger is drawn there.
    Fault::TriggerDoesNothing,
    Fault::TriggerFiresTwice,
    Fault::TriggerOutlivesRollback,
    Fault::LockingReadOfSnapshot,
    Fault::ReadCommittedIsDirty,
    Fault::RepeatableReadLocks,
    Fault::WriteOfSnapshot,
    Fault::PhantomUnderWrite,
    Fault::IndexLosesRows,
    // A failed transaction of PostgreSQL runs nothing more.
    Fault::VictimKeepsLastWrite,
    Fault::VictimCommits,
    Fault::TimeoutButDone,
    // A statement of its sees one snapshot, source and subqueries too, and keeps no ranges.
    Fault::InsertSelectOfSnapshot,
    Fault::InsertSelectLocksNothing,
    Fault::WriteSubqueryOfSnapshot,
    Fault::WriteSubqueryLocksNothing,
    Fault::SerializableWithoutGaps,
    Fault::NoOpLocksNothing,
    // PostgreSQL takes no lock clause there.
    Fault::SummaryLocksNothing,
    Fault::ForeignKeyCheckDoesNotWait,
    Fault::WriteAnsweredEarly,
    Fault::WaitedReadIsDirty,
    Fault::MovedRowLeavesOldOne,
    Fault::MovedRowVanishes,
    Fault::LimitedWriteTakesLast,
    Fault::LoneFailedInsertLeavesRows,
    Fault::ReplaceKeepsColumns,
    Fault::InsertIdOff,
    Fault::SubqueryMissesOwn,
    Fault::UpsertCountsOne,
    Fault::IgnoreReplaces,
    Fault::ReplaceKeepsRow,
    Fault::DuplicateButDone,
    Fault::NullBecomesZero,
    Fault::CounterGoesBack,
    Fault::DuplicateLocksNothing,
    Fault::ErrorUndoesWriteBefore,
    Fault::LoneReadIsDirty,
];

/// What only PostgreSQL can be made to do.
const POSTGRES_ONLY: [Fault; 11] = [
    Fault::MergeLies,
    Fault::ReturningGivesOld,
    Fault::EqualSavepointsAreOne,
    Fault::FailedCommitSaysCommit,
    Fault::KeyShareIsExclusive,
    Fault::UpsertConflictFromNowhere,
    Fault::ErrorKeepsTransaction,
    Fault::ConflictFromNowhere,
    Fault::ConflictAfterWait,
    Fault::UpdateLocksKey,
    Fault::TableLockForgotten,
];

/// What MariaDB has no words for: a lock clause that names tables.
const NOT_MARIADB: [Fault; 1] = [Fault::JoinLocksOneTable];

/// What TiDB does not do without a fault, or is not asked for there: error 1412, locks of gaps and of rows
/// that are only read, SKIP LOCKED; no foreign key and no trigger is drawn.
const NOT_TIDB: [Fault; 21] = [
    Fault::DdlFromNowhere,
    Fault::ForeignKeysForgotten,
    Fault::ForeignKeyCheckDoesNotWait,
    Fault::TriggerDoesNothing,
    Fault::TriggerFiresTwice,
    Fault::TriggerOutlivesRollback,
    Fault::SkipLockedSkipsAll,
    Fault::SkipLockedSkipsNone,
    Fault::SkipLockedSkipsOne,
    Fault::SkipLockedWaits,
    Fault::SkipLockedLocksNothing,
    Fault::PhantomUnderLock,
    Fault::PhantomUnderWrite,
    Fault::SerializableWithoutGaps,
    Fault::InsertSelectLocksNothing,
    Fault::WriteSubqueryLocksNothing,
    Fault::NoOpLocksNothing,
    Fault::DirtyRead,
    Fault::ReadCommittedIsDirty,
    Fault::WaitedReadIsDirty,
    Fault::SnapshotTakenEarly,
];

impl Fault {
    /// Whether it can be planted before the server of this URL.
    pub(crate) fn fits(self, url: &str) -> bool {
        let foreign: &[&[Self]] = match url.split("://").next().unwrap_or_default() {
            "postgres" => &[&MYSQL_ONLY],
            "mariadb" => &[&POSTGRES_ONLY, &NOT_MARIADB],
            "tidb" => &[&POSTGRES_ONLY, &NOT_TIDB],
            _ => &[&POSTGRES_ONLY],
        };
        !foreign.iter().any(|faults| faults.contains(&self))
    }
}

#[test]
fn every_fault_fits_a_product() {
    let schemes = ["mariadb", "mysql", "postgres", "tidb"];
    let fits = |fault: Fault, scheme: &str| fault.fits(&format!("{scheme}://root@127.0.0.1:1"));
    for (name, fault) in Fault::ALL {
        assert!(schemes.iter().any(|scheme| fits(fault, scheme)), "{name}");
    }
    assert!(fits(Fault::DdlFromNowhere, "mysql") && !fits(Fault::DdlFromNowhere, "tidb"));
    assert!(!fits(Fault::ConflictAfterWait, "mariadb"));
}
