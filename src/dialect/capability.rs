//! What some engines can do and others cannot.

use std::fmt;

/// Declares [`Capability`] with its slugs from one list.
macro_rules! capabilities {
    ($($(#[$meaning:meta])* $variant:ident = $slug:literal,)*) => {
        /// A feature that some engines have: grammars, generator, oracles, calibration and
        /// minimizer ask for these, never for an engine.
        ///
        /// A dialect file lists those of its engine, by slug and with the versions that have them.
        /// A grammar file names the ones that a production needs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Capability {
            $($(#[$meaning])* $variant,)*
        }

        impl Capability {
            /// Every capability, in the order of `docs/dialect-format.md`.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// As dialect and grammar files spell it.
            pub fn slug(self) -> &'static str {
                match self {
                    $(Self::$variant => $slug,)*
                }
            }
        }
    };
}

capabilities! {
    /// `SET column = DEFAULT` in an UPDATE.
    AssignDefault = "assign-default",
    /// `AUTO_INCREMENT`: a counter fills a column of a new row that is given no number, and never goes back; the answer
    /// says which number came first.
    AutoIncrement = "auto-increment",
    /// Statements outside transactions are drawn.
    AutocommitStatement = "autocommit-statement",
    /// A BEGIN that takes the write lock at once.
    BeginImmediate = "begin-immediate",
    /// `USING BRIN` in an index: it keeps ranges of blocks, not rows.
    BrinIndex = "brin-index",
    /// Cases are generated, run and judged on this engine.
    Cases = "cases",
    /// `COMMIT AND CHAIN`: the next transaction begins at once, in the same modes.
    Chain = "chain",
    /// `CHECK` constraints of a column, which are enforced.
    CheckConstraint = "check-constraint",
    /// Only a primary key clusters the rows of a table: where there is none, each row has a place of its
    /// own. Without this the first unique key does, whose columns are all NOT NULL.
    ClustersByPrimaryKey = "clusters-by-primary-key",
    /// A BEGIN that takes the snapshot at once.
    ConsistentSnapshot = "consistent-snapshot",
    /// `INCLUDE` in an index: columns that it holds beside its key.
    CoveringIndex = "covering-index",
    /// `WITH`.
    Cte = "cte",
    /// DDL that makes or drops an index changes rows of tables that all databases of the server share, and waits for who has
    /// locked them: another one's DDL, or the engine itself.
    DdlLocksStatistics = "ddl-locks-statistics",
    /// `UNIQUE .. DEFERRABLE`: a key that is checked when the statement ends, not row by row.
    DeferrableKey = "deferrable-key",
    /// A DELETE of all rows of a table leaves something of a case behind that changes what the next one does: locks of keys
    /// that are not there.
    DeleteLeavesLocks = "delete-leaves-locks",
    /// `DELETE FROM .. USING`.
    DeleteUsing = "delete-using",
    /// `DESC` in an index.
    DescendingIndex = "descending-index",
    /// `EXCEPT` and `INTERSECT`.
    ExceptIntersect = "except-intersect",
    /// `EXCLUDE` with `=` for every column: another spelling of a unique key.
    ExclusionConstraint = "exclusion-constraint",
    /// An index on an expression.
    ExpressionIndex = "expression-index",
    /// An error leaves its transaction open, and nothing is taken in it until a ROLLBACK, or a ROLLBACK TO
    /// a savepoint; its COMMIT rolls back.
    FailedTransaction = "failed-transaction",
    /// A name outside of quotes is read in small letters, and capitals in quotes are other letters.
    FoldsNames = "folds-names",
    /// `FOR SHARE` beside the older spelling.
    ForShare = "for-share",
    /// Foreign keys, which look for rows as the roles `foreign-key-check`, `foreign-key-child` and `foreign-key-target` say.
    ForeignKey = "foreign-key",
    /// A foreign key may delete or change the rows that refer to one that goes: `ON DELETE CASCADE` and its like. Without
    /// this nothing tells which rows that were (PostgreSQL: no RETURNING gives them).
    ForeignKeyAction = "foreign-key-action",
    /// Generated columns that are stored.
    GeneratedColumn = "generated-column",
    /// `USING HASH` in an index.
    HashIndex = "hash-index",
    /// Tables are heaps: a row that takes the key of a deleted one is another row, and an old snapshot
    /// shows both.
    HeapTables = "heap-tables",
    /// `FORCE INDEX`, `USE INDEX` and `IGNORE INDEX` behind a table.
    IndexHint = "index-hint",
    /// The list of a CREATE TABLE may hold indexes that are not unique: KEY, INDEX, FULLTEXT and the like begin one there, and
    /// no column.
    IndexInTable = "index-in-table",
    /// `INSERT IGNORE`.
    InsertIgnore = "insert-ignore",
    /// `INSERT OR IGNORE`.
    InsertOrIgnore = "insert-or-ignore",
    /// A sum beyond 64 bits is an error, whatever the session's mode.
    IntegerOverflowError = "integer-overflow-error",
    /// A column that `SELECT *` does not show: the hidden row key of hand-written tables.
    InvisibleColumn = "invisible-column",
    /// `JSON_CONTAINS`, `JSON_LENGTH`, `JSON_REMOVE`, `JSON_SET`.
    JsonFunction = "json-function",
    /// `FOR UPDATE OF t`: the other tables of the FROM are read without locks.
    LockOf = "lock-of",
    /// `LOCK TABLE .. IN .. MODE`, kept until the transaction ends. `[table-locks]` says which modes exclude which.
    LockTable = "lock-table",
    /// `WAIT n` behind a lock clause: for how many seconds the SELECT may wait.
    LockWaitLimit = "lock-wait-limit",
    /// `SELECT` with a lock clause.
    LockingRead = "locking-read",
    /// A transaction takes its locks when it commits: no statement waits, and a COMMIT is refused that meets
    /// a version newer than its snapshot.
    LocksAtCommit = "locks-at-commit",
    /// A statement locks the rows that it finds, and nothing between or beside them.
    LocksChosenRows = "locks-chosen-rows",
    /// An INSERT that meets a row under a key of its own, and is refused for it or passes over it, keeps others from changing
    /// that row until its transaction ends.
    LocksDuplicates = "locks-duplicates",
    /// What a transaction has locked may stay locked for a moment after its end was answered (TiDB: "Async
    /// Commit", and the keys other than the primary one of an ordinary commit).
    LocksOutliveEnd = "locks-outlive-end",
    /// A write outside of a transaction locks the rows that it changes, when it commits, and no other row that it
    /// finds (TiDB, whose statement is then an optimistic transaction of its own).
    LoneWritesLockChanges = "lone-writes-lock-changes",
    /// `MERGE`, with a RETURNING that may say by `merge_action()` what it did to each row (PostgreSQL 17).
    Merge = "merge",
    /// What a transaction changes stays in its session until COMMIT, and each of its reads merges that into what is
    /// committed (TiDB).
    MergesOwnChanges = "merges-own-changes",
    /// `DELETE t FROM t JOIN u ..`.
    MultiTableDelete = "multi-table-delete",
    /// `UPDATE t JOIN u .. SET ..`.
    MultiTableUpdate = "multi-table-update",
    /// The lock view names whom a waiting statement waits for.
    NamesBlockers = "names-blockers",
    /// NULL for a NOT NULL column is an error in a statement of several rows, too, whatever the
    /// session's mode.
    NotNullOfManyRows = "not-null-of-many-rows",
    /// `NOWAIT`.
    Nowait = "nowait",
    /// `INSERT .. ON CONFLICT`.
    OnConflict = "on-conflict",
    /// `INSERT .. ON DUPLICATE KEY UPDATE`.
    OnDuplicateKey = "on-duplicate-key",
    /// `GROUP_CONCAT(.. ORDER BY ..)`.
    OrderedGroupConcat = "ordered-group-concat",
    /// An index with WHERE.
    PartialIndex = "partial-index",
    /// Partitioned tables.
    Partition = "partition",
    /// Every write and every read that locks passes over a row, without a wait, whose newest committed
    /// version is unfit. Without it an UPDATE may, and nothing else.
    PassesOverUnfitRows = "passes-over-unfit-rows",
    /// `CREATE INDEX` while other sessions have transactions open, and `DROP INDEX .. ON` and `ALTER TABLE .. FORCE`, or the
    /// commands of [`Vacuum`](Self::Vacuum) or [`Reindex`](Self::Reindex). They commit at once, and wait for transactions
    /// that have used the table, unless one of those says otherwise.
    PhysicalDdl = "physical-ddl",
    /// `START TRANSACTION READ ONLY`.
    ReadOnlyTransaction = "read-only-transaction",
    /// Where no statement waits, one is refused also because another transaction has read.
    ReadersBlockWriters = "readers-block-writers",
    /// `REINDEX t`, and DDL that waits for nobody: it is refused while another transaction writes.
    Reindex = "reindex",
    /// `REPLACE`.
    Replace = "replace",
    /// `DELETE .. RETURNING`, of one table.
    ReturningDelete = "returning-delete",
    /// `INSERT .. RETURNING`.
    ReturningInsert = "returning-insert",
    /// A RETURNING of an UPDATE may name columns of the tables that it only reads.
    ReturningJoined = "returning-joined",
    /// A RETURNING of an UPDATE or an upsert may name columns of its target as they were before: `old.c` (PostgreSQL 18).
    ReturningOld = "returning-old",
    /// `REPLACE .. RETURNING`.
    ReturningReplace = "returning-replace",
    /// `UPDATE .. RETURNING`.
    ReturningUpdate = "returning-update",
    /// Tables have a hidden row number that a query can name.
    Rowid = "rowid",
    /// Savepoints.
    Savepoint = "savepoint",
    /// A scan of an index from its end goes another way through the store than one from its start (TiDB).
    ScansBackwards = "scans-backwards",
    /// `LOCK TABLES`, and its like: tables that a session keeps locked beyond its transactions.
    SessionTableLocks = "session-table-locks",
    /// `SKIP LOCKED`.
    SkipLocked = "skip-locked",
    /// Triggers, whose body is one statement for each row; what it writes is read as the role `trigger-target` says.
    Trigger = "trigger",
    /// `SET NEW.column = ..` in a trigger that fires before the row is written.
    TriggerAssignment = "trigger-assignment",
    /// A lock clause leaves the derived tables of its FROM alone.
    UnlockedDerivedTable = "unlocked-derived-table",
    /// `UPDATE .. SET .. FROM`.
    UpdateFrom = "update-from",
    /// `ON CONFLICT DO UPDATE .. WHERE`, and `EXCLUDED`, which is the row that was not inserted.
    UpsertCondition = "upsert-condition",
    /// `VACUUM`, which waits for nobody and takes away what no transaction sees any more, and `VACUUM FULL` and `REINDEX
    /// TABLE`.
    Vacuum = "vacuum",
    /// A transaction that the engine ended by a rejection keeps its tables from DDL until ROLLBACK, and
    /// the next statement of the session begins another, as if autocommit were off.
    VictimKeepsTables = "victim-keeps-tables",
    /// Views.
    View = "view",
    /// `CREATE ALGORITHM=TEMPTABLE VIEW`.
    ViewAlgorithm = "view-algorithm",
    /// A view of one table can be written, and its rows be locked.
    ViewWrite = "view-write",
    /// A read that locks, of a view, locks nothing (`TiDB#21335`).
    ViewsTakeNoLocks = "views-take-no-locks",
    /// Generated columns that are computed when they are read.
    VirtualColumn = "virtual-column",
    /// Indexes on generated columns that are computed when they are read.
    VirtualColumnIndex = "virtual-column-index",
    /// Window functions.
    Window = "window",
    /// `WITHOUT ROWID` tables.
    WithoutRowid = "without-rowid",
    /// `ORDER BY` and `LIMIT` in UPDATE and DELETE.
    WriteLimit = "write-limit",
}

impl Capability {
    /// The capability of this slug.
    ///
    /// # Errors
    /// A slug that no capability has; the error names the nearest one.
    pub fn from_slug(slug: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.iter().find(|known| known.slug() == slug);
        found.copied().ok_or_else(|| {
            let slugs = Self::ALL.iter().map(|known| known.slug());
            UnknownWord::among("capability", slug, slugs)
        })
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// A word of a file that is none of the words allowed in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} {word:?}: the nearest known one is {nearest:?}")]
pub struct UnknownWord {
    /// What the word should have named: `capability`.
    pub kind: &'static str,
    /// The word as the file has it.
    pub word: String,
    /// The allowed word that takes the fewest edits, the first of equals.
    pub nearest: String,
}

impl UnknownWord {
    /// Finds the nearest of the allowed words.
    fn among<'a>(kind: &'static str, word: &str, allowed: impl Iterator<Item = &'a str>) -> Self {
        let lower = word.to_ascii_lowercase().replace('_', "-");
        let nearest = allowed.min_by_key(|known| strsim::damerau_levenshtein(&lower, known));
        Self {
            kind,
            word: word.to_owned(),
            nearest: nearest.unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slug_is_in_kebab_case_and_names_its_capability() {
        for capability in Capability::ALL {
            let slug = capability.slug();
            assert_eq!(Capability::from_slug(slug).as_ref(), Ok(capability));
            assert!(
                slug.split('-')
                    .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase())),
                "{slug}"
            );
        }
        assert!(Capability::ALL.is_sorted_by_key(|known| known.slug()));
    }

    #[test]
    fn a_misspelt_capability_names_the_nearest_one() {
        for (misspelt, nearest) in [
            ("ctes", "cte"),
            ("skip_locked", "skip-locked"),
            ("SavePoint", "savepoint"),
            ("multi-table-updates", "multi-table-update"),
        ] {
            let error = Capability::from_slug(misspelt).expect_err(misspelt);
            assert_eq!(error.nearest, nearest);
            assert!(error.to_string().contains(misspelt), "{error}");
        }
    }
}
