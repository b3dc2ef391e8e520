//! Registered quirks of engines that a statement may have met.

use super::slug::slugged;

slugged! {
    /// Why a difference may be a registered behaviour of the engine. Its detector stands in
    /// `observe/learn/doubts.rs`; the dialect's `[known]` names what explains it.
    pub enum Doubt {
        /// The statement waited at a level where its rows mix two moments (MySQL#104833).
        MixedAfterWait = "after-wait",
        /// The statement waited at a level that looks again at the rows that changed meanwhile, as they
        /// are then, and keeps its snapshot for the others (PostgreSQL manual, "Read Committed Isolation
        /// Level").
        ReEvaluated = "re-evaluated",
        /// Its view depends on whether an UPDATE that changed nothing made a version (MDEV-26642).
        NoOpUpdate = "no-op-update",
        /// A row that it read was moved to another key while it waited (MySQL#119801).
        MovedWhileWaiting = "moved-while-waiting",
        /// Its snapshot holds a row that another transaction moved to another key (MDEV-32898), or replaced where rows lie by
        /// a key of the engine's own.
        MovedKey = "moved-key",
        /// Its snapshot holds a row whose value of a unique key another row took over, which its own
        /// transaction has written since (`TiDB#44200`).
        TakenOverKey = "taken-over-key",
        /// Its transaction returned to a savepoint that was set before it touched a table, which
        /// ends the engine's transaction, its snapshot and its locks included (MySQL#119490).
        EarlySavepoint = "early-savepoint",
        /// It locks what it reads outside of a transaction, and its plain subquery has a snapshot from before it waited
        /// (MySQL manual, "Locking Reads": the clause of an outer statement does not reach a nested one).
        PlainSubquery = "plain-subquery",
        /// It met a row of its key and so inserted nothing (`ON CONFLICT DO NOTHING`), and the engine keeps no trace of
        /// that read at SERIALIZABLE.
        UnreadConflict = "unread-conflict",
        /// It put in a row whose key nobody else had, and a ROLLBACK TO took that back; the engine keeps no trace at
        /// SERIALIZABLE of having looked for the key.
        UndoneInsert = "undone-insert",
        /// It was refused for a row of its key, and a ROLLBACK TO went back before it; the engine keeps no trace at
        /// SERIALIZABLE of the row it met (PostgreSQL manual, "Serializable Isolation Level").
        RefusedDuplicate = "refused-duplicate",
        /// It took a parent away, or gave it another key, and its foreign keys looked for children among the newest rows, which
        /// its transaction does not see; the engine keeps no trace at SERIALIZABLE of what they found.
        NewestChildren = "newest-children",
        /// The engine aborted a READ ONLY transaction of its session, and refuses writes until the next
        /// one that the session ends itself.
        ReadOnlyOutlivesAbort = "read-only-outlives-abort",
    }
}
