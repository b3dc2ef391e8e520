//! What a statement does to tables, as far as an oracle needs to know.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Form, TableLock, TableLockMode};

/// The kind of a statement, as signatures and statistics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementKind {
    Begin,
    /// A start that fixes the snapshot at once: `START TRANSACTION WITH CONSISTENT SNAPSHOT`.
    BeginSnapshot,
    /// SQLite's `BEGIN IMMEDIATE` and `EXCLUSIVE`: the write lock is taken at once.
    BeginImmediate,
    Commit,
    Rollback,
    Savepoint,
    RollbackTo,
    ReleaseSavepoint,
    Select,
    LockingSelect,
    /// `INSERT .. VALUES`, any variant without a query as its source.
    Insert,
    InsertSelect,
    /// `REPLACE .. VALUES` or `.. SELECT`, and SQLite's `INSERT OR REPLACE`.
    Replace,
    Update,
    Delete,
    /// `MERGE`: it may put rows in, change and remove them, each as its clauses say.
    Merge,
    /// Session settings in a hand-written case.
    Set,
    /// Changes how a table is stored, and none of its rows and columns: `CREATE INDEX`, `DROP INDEX`,
    /// `ALTER TABLE .. FORCE`.
    PhysicalDdl,
    /// `LOCK TABLE .. IN .. MODE`, in a transaction.
    LockTable,
    /// Understood by the engine only: it can be run, replayed and dropped whole.
    Opaque,
}

impl StatementKind {
    /// Every kind.
    pub const ALL: [Self; 20] = [
        Self::Begin,
        Self::BeginSnapshot,
        Self::BeginImmediate,
        Self::Commit,
        Self::Rollback,
        Self::Savepoint,
        Self::RollbackTo,
        Self::ReleaseSavepoint,
        Self::Select,
        Self::LockingSelect,
        Self::Insert,
        Self::InsertSelect,
        Self::Replace,
        Self::Update,
        Self::Delete,
        Self::Merge,
        Self::Set,
        Self::PhysicalDdl,
        Self::LockTable,
        Self::Opaque,
    ];

    /// Neither reads nor writes a row: transaction control, settings, locks of tables, and DDL that leaves the rows alone.
    pub fn is_control(self) -> bool {
        matches!(
            self,
            Self::Begin
                | Self::BeginSnapshot
                | Self::BeginImmediate
                | Self::Commit
                | Self::Rollback
                | Self::Savepoint
                | Self::RollbackTo
                | Self::ReleaseSavepoint
                | Self::Set
                | Self::PhysicalDdl
                | Self::LockTable
        )
    }

    /// May lock tables as a whole, in a way that rows do not tell.
    pub fn may_lock_any_table(self) -> bool {
        matches!(self, Self::Opaque | Self::PhysicalDdl | Self::LockTable)
    }

    /// Opens a transaction.
    pub fn is_begin(self) -> bool {
        matches!(
            self,
            Self::Begin | Self::BeginSnapshot | Self::BeginImmediate
        )
    }

    /// Ends a transaction.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Commit | Self::Rollback)
    }

    /// May change rows.
    pub fn is_write(self) -> bool {
        matches!(
            self,
            Self::Insert
                | Self::InsertSelect
                | Self::Replace
                | Self::Update
                | Self::Delete
                | Self::Merge
        )
    }

    /// As signatures spell it: `insert-select`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::BeginSnapshot => "begin-snapshot",
            Self::BeginImmediate => "begin-immediate",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Savepoint => "savepoint",
            Self::RollbackTo => "rollback-to",
            Self::ReleaseSavepoint => "release-savepoint",
            Self::Select => "select",
            Self::LockingSelect => "locking-select",
            Self::Insert => "insert",
            Self::InsertSelect => "insert-select",
            Self::Replace => "replace",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Merge => "merge",
            Self::Set => "set",
            Self::PhysicalDdl => "physical-ddl",
            Self::LockTable => "lock-table",
            Self::Opaque => "opaque",
        }
    }
}

impl fmt::Display for StatementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// In which part of a statement a table stands. Read modes are stated per role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Anywhere in a plain SELECT, its subqueries included.
    PlainSelect,
    /// A table that a locking SELECT locks: in its outermost FROM.
    LockingSelect,
    /// A subquery or derived table of a locking SELECT that carries no lock clause of its own.
    LockingSelectSource,
    UpdateTarget,
    /// A table that an UPDATE reads and does not write: subqueries in SET and WHERE, FROM.
    UpdateSource,
    /// The same where the UPDATE is over a join: joined tables, and its subqueries too.
    UpdateJoinSource,
    DeleteTarget,
    DeleteSource,
    /// The table an INSERT or REPLACE writes: read for its unique keys and duplicate rows.
    InsertTarget,
    /// The source of INSERT .. SELECT or REPLACE .. SELECT.
    InsertSelectSource,
    /// A scalar subquery in the VALUES of an INSERT or REPLACE.
    InsertValuesSource,
    /// A table that the engine looks into for a foreign key: the parent of a row that is written.
    ForeignKeyCheck,
    /// A child that might reference a row which goes, and then keeps it: the engine looks for such rows.
    ForeignKeyChild,
    /// A child whose rows an action of a foreign key changes: CASCADE, SET NULL.
    ForeignKeyTarget,
    /// A table that the body of a trigger writes, for rows that the statement writes elsewhere.
    TriggerTarget,
}

impl Role {
    /// Every role, in the order of the dialect files.
    pub const ALL: [Self; 15] = [
        Self::PlainSelect,
        Self::LockingSelect,
        Self::LockingSelectSource,
        Self::UpdateTarget,
        Self::UpdateSource,
        Self::UpdateJoinSource,
        Self::DeleteTarget,
        Self::DeleteSource,
        Self::InsertTarget,
        Self::InsertSelectSource,
        Self::InsertValuesSource,
        Self::ForeignKeyCheck,
        Self::ForeignKeyChild,
        Self::ForeignKeyTarget,
        Self::TriggerTarget,
    ];

    /// As dialect files spell it: `update-source`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::PlainSelect => "plain-select",
            Self::LockingSelect => "locking-select",
            Self::LockingSelectSource => "locking-select-source",
            Self::UpdateTarget => "update-target",
            Self::UpdateSource => "update-source",
            Self::UpdateJoinSource => "update-join-source",
            Self::DeleteTarget => "delete-target",
            Self::DeleteSource => "delete-source",
            Self::InsertTarget => "insert-target",
            Self::InsertSelectSource => "insert-select-source",
            Self::InsertValuesSource => "insert-values-source",
            Self::ForeignKeyCheck => "foreign-key-check",
            Self::ForeignKeyChild => "foreign-key-child",
            Self::ForeignKeyTarget => "foreign-key-target",
            Self::TriggerTarget => "trigger-target",
        }
    }

    /// The statement writes the table in this role.
    pub fn is_target(self) -> bool {
        matches!(
            self,
            Self::UpdateTarget
                | Self::DeleteTarget
                | Self::InsertTarget
                | Self::ForeignKeyTarget
                | Self::TriggerTarget
        )
    }

    /// The statement does not name the table in this role: a foreign key leads to it.
    pub fn is_by_foreign_key(self) -> bool {
        matches!(
            self,
            Self::ForeignKeyCheck | Self::ForeignKeyChild | Self::ForeignKeyTarget
        )
    }

    /// The statement does not name the table in this role: a foreign key or a trigger leads to it.
    pub fn is_unnamed(self) -> bool {
        self.is_by_foreign_key() || self == Self::TriggerTarget
    }

    /// The statement changes the table in this role and does not name it: the engine does not count those rows.
    pub fn is_unnamed_target(self) -> bool {
        self.is_unnamed() && self.is_target()
    }

    /// The statement locks the rows that it takes in this role, whatever version of them it reads.
    pub fn takes_row_locks(self) -> bool {
        self.is_target() || self == Self::LockingSelect
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// Which versions of a table a statement reads in a role, at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadMode {
    /// What was committed when the transaction's snapshot was taken, plus its own writes.
    TransactionSnapshot,
    /// What was committed when the statement began, plus its own transaction's writes.
    StatementSnapshot,
    /// The statement's snapshot, or an older one: the transaction's where plain reads have one, else that
    /// of the moment when the statement was sent. Which of them, the engine's plan decides.
    EitherSnapshot,
    /// The newest committed version of each row, plus its own transaction's writes.
    Current,
    /// Whatever is in the table, committed or not.
    Anything,
}

impl ReadMode {
    /// As dialect files and signatures spell it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::TransactionSnapshot => "transaction-snapshot",
            Self::StatementSnapshot => "statement-snapshot",
            Self::EitherSnapshot => "either-snapshot",
            Self::Current => "current",
            Self::Anything => "anything",
        }
    }
}

impl fmt::Display for ReadMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// One table in one role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableUse {
    pub table: String,
    pub role: Role,
}

/// Whether the order of a result's rows means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Compared as a multiset.
    Unordered,
    /// A total ORDER BY fixes it: compared row by row.
    Total,
}

/// How strongly a lock holds a row, weakest first. Engines with two kinds of locks have `Share` and
/// `Update`; PostgreSQL has all four (PostgreSQL manual, "Row-Level Locks").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockStrength {
    /// Keeps the row, and the values of its unique keys.
    KeyShare,
    /// Keeps the row as it is.
    Share,
    /// For a change that leaves the unique keys alone.
    NoKeyUpdate,
    /// For any change.
    Update,
}

impl LockStrength {
    /// Every strength, weakest first.
    pub const ALL: [Self; 4] = [Self::KeyShare, Self::Share, Self::NoKeyUpdate, Self::Update];

    /// As dialect files spell it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::KeyShare => "key-share",
            Self::Share => "share",
            Self::NoKeyUpdate => "no-key-update",
            Self::Update => "update",
        }
    }
}

/// What a statement does, worked out from its text by `statement::analyze`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    pub kind: StatementKind,
    /// Every table it names and how; sorted, without duplicates.
    pub uses: Vec<TableUse>,
    pub row_order: RowOrder,
    /// The savepoint it names, when it is about one.
    pub savepoint: Option<String>,
    /// The engine is sure to read a table through a snapshot when it runs this: a plain SELECT
    /// that no optimizer can answer without looking (no WHERE, HAVING or LIMIT that folds away).
    pub surely_takes_snapshot: bool,
    /// `SKIP LOCKED`: its rows depend on locks, not on versions alone.
    pub depends_on_locks: bool,
    /// `NOWAIT`: a held lock is an error at once.
    pub nowait: bool,
    /// The strength of its lock clause, of the weakest where there are several; none where there is none.
    pub lock: Option<LockStrength>,
    /// A join in it gives rows to which nothing was joined, at any depth.
    pub outer_join: bool,
    /// An UPDATE or DELETE with `NOT EXISTS (SELECT ..)` in its WHERE, alone or under AND: a condition that may be
    /// carried out as a join with the rows that are not there.
    pub antijoin: bool,
    /// A SELECT each of whose rows comes from rows of its tables alone: without one of them the
    /// other rows of the result stay as they are. No aggregate, DISTINCT, LIMIT, subquery or outer
    /// join.
    pub row_by_row: bool,
    /// Syntactic forms by which findings are told apart.
    pub forms: BTreeSet<Form>,
    /// Columns, in lower case, that a condition of it puts into a range without any value:
    /// `a BETWEEN 1 AND 0`.
    pub impossible_ranges: BTreeSet<String>,
    /// Columns, in lower case, to which the condition of an UPDATE, a DELETE or a SELECT with a window
    /// function leaves NULL only: no value at all, where the column has none.
    pub null_only: BTreeSet<String>,
    /// It calls a function, or reads a variable, whose value depends on the session, the moment or
    /// chance: `UUID()`, `NOW()`, `@x`.
    pub unrepeatable: bool,
    /// What a SET or PRAGMA changes.
    pub setting: Option<Setting>,
    /// The columns, in lower case, of which a SET or ON DUPLICATE KEY UPDATE clause gives a row another
    /// value, each with the value where it is an integer as it stands.
    pub assigned: BTreeMap<String, Option<i64>>,
    /// It starts a transaction that may not write: `START TRANSACTION READ ONLY`.
    pub read_only: bool,
    /// It ends a transaction and begins the next one of its session, in the same modes: `COMMIT AND CHAIN`.
    pub chains: bool,
    /// What the triggers that it may fire do to other tables.
    pub trigger_writes: Vec<TriggerWrite>,
    /// The table whose storage it changes.
    pub storage_change: Option<StorageChange>,
    /// The tables that it locks by name.
    pub table_lock: Option<TableLock>,
    /// It writes through a view that lacks some columns of its table.
    pub narrowed_target: bool,
}

/// What a statement of kind [`StatementKind::PhysicalDdl`] changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageChange {
    pub table: String,
    /// It waits for the transactions that have used the table.
    pub waits_for_users: bool,
    /// The columns of the index that it makes; none where it makes none.
    pub index: Option<Vec<String>>,
    /// The name of the index that it makes or drops.
    pub index_name: Option<String>,
}

/// What the body of a trigger does to a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TriggerWrite {
    pub table: String,
    /// The table that the trigger stands on.
    pub source: String,
    /// It looks for the row that has the row key of the one that it fires for, and for no other.
    pub by_row_key: bool,
    /// `Insert`, `Update` or `Delete`.
    pub kind: StatementKind,
    /// The columns, in lower case, to which an UPDATE gives another value.
    pub assigned: BTreeSet<String>,
}

/// What a statement of kind [`StatementKind::Set`] changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The isolation level of the session or of its next transaction.
    Level,
    /// The level that the session has by its case, and no other one.
    SameLevel,
    /// How long a statement may wait for a lock: no result depends on it.
    LockTimeout,
    /// How the optimizer carries statements out: no result may depend on it.
    Plan,
    /// What later statements mean, in a way that the dialect names: they are run alone under the same setting.
    Mode,
    /// Anything else: what later statements mean may depend on it.
    Other,
}

impl Setting {
    /// Whether what later statements mean is known all the same.
    pub fn is_understood(self) -> bool {
        match self {
            Self::SameLevel | Self::LockTimeout | Self::Plan | Self::Mode => true,
            Self::Level | Self::Other => false,
        }
    }
}

impl Effect {
    /// The lock of a table that it surely takes before it looks for rows; none where it does not name the table
    /// (PostgreSQL manual, "Table-Level Locks").
    pub fn table_lock_mode(&self, table: &str) -> Option<TableLockMode> {
        let is_it = |name: &str| name.eq_ignore_ascii_case(table);
        let asked = self.table_lock.iter();
        let asked = asked.filter(|lock| lock.tables.iter().any(|name| is_it(name)));
        let uses = self.uses.iter().filter(|used| is_it(&used.table));
        let taken = uses.filter(|used| !used.role.is_unnamed()).map(|used| {
            if used.role.is_target() {
                TableLockMode::RowExclusive
            } else if used.role == Role::LockingSelect {
                TableLockMode::RowShare
            } else {
                TableLockMode::AccessShare
            }
        });
        asked.map(|lock| lock.mode).chain(taken).max()
    }

    /// The tables that it names.
    pub fn named_tables(&self) -> BTreeSet<&str> {
        let uses = self.uses.iter().filter(|used| !used.role.is_unnamed());
        let locked = self.table_lock.iter().flat_map(|lock| &lock.tables);
        uses.map(|used| used.table.as_str())
            .chain(locked.map(String::as_str))
            .collect()
    }

    /// An effect of this kind that touches no table.
    pub fn of_kind(kind: StatementKind) -> Self {
        Self {
            kind,
            uses: Vec::new(),
            row_order: RowOrder::Unordered,
            savepoint: None,
            surely_takes_snapshot: false,
            depends_on_locks: false,
            nowait: false,
            lock: None,
            outer_join: false,
            antijoin: false,
            row_by_row: false,
            forms: BTreeSet::new(),
            impossible_ranges: BTreeSet::new(),
            null_only: BTreeSet::new(),
            unrepeatable: false,
            setting: None,
            assigned: BTreeMap::new(),
            read_only: false,
            chains: false,
            trigger_writes: Vec::new(),
            storage_change: None,
            table_lock: None,
            narrowed_target: false,
        }
    }

    /// Its session is in no transaction behind it.
    pub fn is_last_end(&self) -> bool {
        self.kind.is_end() && !self.chains
    }

    /// It changes a table by a foreign key or a trigger that it also uses by name: which comes first, its plan
    /// decides.
    pub fn changes_what_it_uses(&self) -> bool {
        let mut changed = self.uses.iter().filter(|u| u.role.is_unnamed_target());
        changed.any(|changed| {
            let mut same = self.uses.iter().filter(|u| u.table == changed.table);
            same.any(|u| !u.role.is_unnamed())
        })
    }

    /// The tables of which it counts the rows that it changes, sorted; with those that a foreign key leads to.
    pub fn counted_targets(&self) -> impl Iterator<Item = &str> {
        let counted = |used: &&TableUse| used.role.is_target() && used.role != Role::TriggerTarget;
        let uses = self.uses.iter().filter(counted);
        uses.map(|used| used.table.as_str())
    }

    /// Whether the rows of this table are all that it counts.
    pub fn counts_rows_of(&self, table: &str) -> bool {
        let mut targets = self.counted_targets();
        targets.next() == Some(table) && targets.next().is_none()
    }

    /// What the triggers that it fires do to a table; nothing where it names the table itself.
    pub fn triggered_on(&self, table: &str) -> impl Iterator<Item = &TriggerWrite> {
        let writes = self.trigger_writes.iter();
        writes.filter(move |write| write.table.eq_ignore_ascii_case(table))
    }

    /// Whether it writes a table by the triggers that it fires.
    pub fn is_triggered_on(&self, table: &str) -> bool {
        self.triggered_on(table).next().is_some()
    }

    /// Whether it may give rows of a table another value of a column, itself or by a trigger.
    pub fn assigns(&self, table: &str, column: &str) -> bool {
        let column = column.to_ascii_lowercase();
        let mut triggered = self.triggered_on(table).peekable();
        match triggered.peek() {
            Some(_) => triggered.any(|write| write.assigned.contains(&column)),
            None => self.assigned.contains_key(&column),
        }
    }

    /// Whether every row that it touches of a table with this version key is another one afterwards: a DELETE, an UPDATE
    /// that sets the version key, or a MERGE that does where it updates.
    pub fn leaves_a_trace(&self, version_key: Option<&str>) -> bool {
        let sets = |name: &str| self.assigned.contains_key(&name.to_ascii_lowercase());
        self.kind == StatementKind::Delete
            || (self.kind == StatementKind::Update && version_key.is_some_and(sets))
            || (self.kind == StatementKind::Merge
                && (self.assigned.is_empty() || version_key.is_some_and(sets)))
    }

    /// Whether it may remove rows of a table, itself or by a trigger.
    pub fn removes_from(&self, table: &str) -> bool {
        let mut triggered = self.triggered_on(table).peekable();
        match triggered.peek() {
            Some(_) => triggered.any(|write| write.kind == StatementKind::Delete),
            None => matches!(
                self.kind,
                StatementKind::Delete | StatementKind::Replace | StatementKind::Merge
            ),
        }
    }

    /// The tables it may write, sorted.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.uses
            .iter()
            .filter(|u| u.role.is_target())
            .map(|u| u.table.as_str())
    }
}
