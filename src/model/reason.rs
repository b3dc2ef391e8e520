//! Why nothing can be said of a case or of a statement.

use super::slug::slugged;

slugged! {
    /// Why a case is undecided, a statement was not compared, an oracle does not apply, or a run is
    /// no evidence. Statistics count them by their slug.
    pub enum UndecidedReason {
        // The run is no evidence.
        /// A wait was concluded from a timer, because the lock view did not show it.
        BlockedByTimer = "blocked-by-timer",
        /// Every session is blocked and nothing can unblock one.
        NothingCanAnswer = "nothing-can-answer",
        /// The server says that a transaction is open where the case has none.
        TransactionOpenOutsideOfOne = "transaction-open-outside-of-one",
        /// A BEGIN was sent inside a transaction.
        BeginInsideATransaction = "begin-inside-a-transaction",
        /// The server accepted BEGIN and has no transaction, or rejected it and has one.
        BeginContradicted = "begin-contradicted",
        /// The server accepted COMMIT or ROLLBACK and says that the transaction is open.
        TransactionOpenAfterItsEnd = "transaction-open-after-its-end",
        /// The server accepted a statement and says that its transaction is gone.
        TransactionEndedUnasked = "transaction-ended-unasked",
        /// The server rejected a ROLLBACK.
        RollbackRefused = "rollback-refused",

        // The case could not be judged.
        /// The server rejected the set-up.
        SetUpRejected = "set-up-rejected",
        /// The server rejected a statement of ours: a defect of ours.
        OwnStatementRejected = "own-statement-rejected",
        /// Two runs of the case differ although nothing was changed.
        NotDeterministic = "not-deterministic",
        /// Another server of the run does something else, and no oracle finds a fault on either.
        EnginesDiffer = "engines-differ",
        /// A violation that looks like others which an entry of the registry explained, and that was not
        /// minimized: it may be the same, or another one.
        NotMinimized = "not-minimized",
        /// The server was lost during the case.
        ServerLost = "server-lost",
        /// The server cannot run the case of a file at all.
        CouldNotRun = "could-not-run",
        /// A statement about which the file expects something was not sent.
        StatementNotSent = "statement-not-sent",
        /// The server rejected a statement and the file does not say that it should.
        UnexpectedRejection = "unexpected-rejection",

        /// The oracle of the file agrees with a run that differs from what the file recorded.
        NotAsRecorded = "not-as-recorded",

        // No oracle applies, or one does not.
        NoOracleApplies = "no-oracle-applies",
        /// The oracle judges schedules, and the case has none.
        FreePace = "free-pace",
        /// The oracle judges serializability, and a session neither runs nor claims it.
        BelowSerializable = "below-serializable",
        /// A table has no row key and the engine has no hidden one to give.
        NoRowIdentity = "no-row-identity",
        /// The engine has neither an observer nor locking reads for probes.
        NothingShowsUncommittedRows = "nothing-shows-uncommitted-rows",
        /// The dialect names no consistency model for a level of the case.
        LevelPromisesNothing = "level-promises-nothing",
        /// A statement reads or writes something else than one value by its key.
        NotKeysAndValues = "not-keys-and-values",
        /// A statement writes something else than rows that it names by their key.
        NotRowsByKey = "not-rows-by-key",
        /// A trigger writes what no statement names, and the oracle knows statements only.
        Trigger = "trigger",
        /// The oracle has the server killed, and nothing says how to start it again (`--restart-command`).
        NoRestartCommand = "no-restart-command",
        /// The dialect names no settings by which a commit survives a crash of the server.
        PromisesNoDurability = "promises-no-durability",
        /// The engine keeps no rows from other sessions at a level of the case, or not one by one.
        NoRowLocks = "no-row-locks",
        /// The file has no `@expect`.
        NothingExpected = "nothing-expected",
        /// A session changes settings that decide what its statements mean.
        SessionSetting = "session-setting",
        /// A session changes its own isolation level: the header's level does not hold.
        LevelSetInSession = "level-set-in-session",
        /// No second run repeats what a statement gives: it calls a function such as `UUID()`, reads a variable, or tells of the
        /// server or of a plan, as SHOW and EXPLAIN do.
        UnrepeatableFunction = "unrepeatable-function",
        /// A row gets its key from a counter of the engine, which does not go back at a rollback.
        AutoIncrement = "auto-increment",
        /// A statement writes a table of a foreign key, and the dialect does not say which version of the
        /// rows at its other end is looked at.
        ForeignKey = "foreign-key",
        /// A constraint of the set-up is checked when the transaction commits.
        DeferredConstraint = "deferred-constraint",
        /// A statement names a partition as a table of its own, whose rows are those of another table.
        PartitionByName = "partition-by-name",
        /// A table of the set-up shows the rows of those that inherit from it.
        TableInheritance = "table-inheritance",
        /// A statement uses a table whose rows it also changes by a foreign key: which comes first, its plan
        /// decides.
        ReadAndChangedByAForeignKey = "read-and-changed-by-a-foreign-key",
        /// It is not known what a trigger of the set-up does: its body is more than one statement, reads a table, or
        /// stands beside foreign keys.
        TriggerNotUnderstood = "trigger-not-understood",
        /// The rows of a table could not be read: a session has dropped it, given it another name, or keeps it locked, or the
        /// engine is at fault.
        TableNotRead = "table-not-read",
        /// A table belongs to a storage engine without transactions.
        TableWithoutTransactions = "table-without-transactions",

        // What an oracle could not find out.
        /// The tables refuse the rows that a statement saw: an engine that is wrong let them in, and the statement that
        /// brought them is judged by itself.
        ViewRefused = "view-refused",
        /// A cell of a workload holds what no statement wrote and no number.
        StrangeCell = "strange-cell",
        NothingCommitted = "nothing-committed",
        NothingRan = "nothing-ran",
        /// The checker of histories has no answer within its budget.
        CheckerDoesNotKnow = "checker-does-not-know",
        /// The search for a serial order ended before every order was refuted.
        SerialOrdersOutOfBudget = "serial-orders-out-of-budget",
        /// The crash left too many transactions in doubt to try every outcome of them.
        TooManyInDoubt = "too-many-in-doubt",
        /// A change has several possible writers.
        ChangeOfSeveralWriters = "change-of-several-writers",
        /// A write changed another number of rows than the engine counted.
        ChangesAndAffectedRowsDisagree = "changes-and-affected-rows-disagree",
        /// A statement that waited reads a row more than once, at moments that nobody knows, and no
        /// choice of one moment for each row gives what it gave.
        RowReadAgainAfterAWait = "row-read-again-after-a-wait",
        /// Too many mixes of the moments of a wait to try them all.
        MixesOutOfBudget = "mixes-out-of-budget",

        // Why a statement was not compared.
        /// The oracle judges who waits, not what this statement gives.
        NothingPredicted = "nothing-predicted",
        /// It is not known what such a statement does to its transaction or to rows.
        OpaqueStatement = "opaque-statement",
        /// Its transaction was ended by a deadlock, a serialization failure, a lock timeout ..
        ConcurrencyAbort = "concurrency-abort",
        /// SKIP LOCKED: its result depends on locks.
        DependsOnLocks = "depends-on-locks",
        /// It names a table that the set-up did not make.
        UnknownTable = "unknown-table",
        NoView = "no-view",
        /// One release woke several statements, and its view depends on which went first.
        WokenTogether = "woken-together",
        /// A write in autocommit resumed though nothing was released, and committed before or after it
        /// read.
        CommitAtAnUnknownMoment = "commit-at-an-unknown-moment",
        /// It reads uncommitted rows of a write that waits half-way.
        UncommittedRowsOfAWaitingWrite = "uncommitted-rows-of-a-waiting-write",
        /// It reads one table in two read modes that show different rows.
        OneTableInTwoReadModes = "one-table-in-two-read-modes",
        /// It reads a table in the transaction's snapshot or in its own, as the engine plans it, and they
        /// differ.
        PlanChoosesTheSnapshot = "plan-chooses-the-snapshot",
        /// Its transaction waited for a snapshot that nobody can spoil, and may have thrown its first one away.
        SnapshotTakenAnew = "snapshot-taken-anew",
        /// Its snapshot shows a deleted row beside the one that took over its unique key: no table
        /// can hold both.
        TwoRowsOfOneUniqueKey = "two-rows-of-one-unique-key",
        /// Another session came between a probe and its statement.
        PartedProbe = "parted-probe",
        RejectedProbe = "rejected-probe",
        /// A write may have deleted rows that its transaction's snapshot, and so the probe after it, does
        /// not show.
        DeletionBeyondTheSnapshot = "deletion-beyond-the-snapshot",
        /// A write may have given rows what its transaction's snapshot shows of them, which others have changed since,
        /// and so the probe after it does not tell.
        ChangeBackToTheSnapshot = "change-back-to-the-snapshot",
        /// A probe showed a version that no statement of the case wrote.
        VersionWithoutAKnownWriter = "a-version-without-a-known-writer",
        /// A write has a RETURNING of its own, or is of a form that takes none, on an engine where writes
        /// tell by it what they wrote.
        WriteWithoutReturning = "write-without-returning",
        /// Its work was undone, and no oracle judges it alone.
        Undone = "undone",
        Rejected = "rejected",
        NotCommitted = "not-committed",
        NotAnswered = "not-answered",
    }
}
