//! A test case: set-up, sessions with their transactions, and the submitted order.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::slug::slugged;

use super::{
    Effect, Execution, IsolationLevel, Role, Row, SessionId, Setting, StatementId, StatementKind,
    TableUse, TransactionId, Value,
};

/// Whether a set-up statement shapes the schema or fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetupKind {
    /// CREATE, ALTER, ...: run again only when the schema changes.
    Schema,
    /// INSERT and other data: run again at every reset.
    Rows,
}

/// One statement of the set-up. Run alone, in order, before any session starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupStatement {
    pub sql: String,
    pub kind: SetupKind,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The type as the CREATE statement spells it.
    pub sql_type: String,
    /// Computed by the engine from other columns: no INSERT may name it.
    pub generated: bool,
    /// Computed, and its values are kept in the row: STORED or PERSISTENT.
    pub stored: bool,
    /// Declared NOT NULL, or part of the primary key as a column option.
    pub not_null: bool,
    /// Filled from a counter of the engine where an INSERT names no value: AUTO_INCREMENT.
    pub counted: bool,
    /// The collation that it is declared with, else its table.
    pub collation: Option<String>,
    /// Which of its texts are equal to the engine.
    pub folding: Folding,
}

/// Which texts a collation holds for equal although their bytes differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folding {
    /// Those that differ in the case of letters.
    pub case: bool,
    /// Those that differ in blanks at the end.
    pub trailing_blanks: bool,
}

impl Folding {
    /// A value as it stands for all that are equal to it: in lower case, without blanks at the end. Values
    /// that are no texts stand for themselves, as does what lies beyond ASCII.
    pub fn folded(self, value: &Value) -> Cow<'_, Value> {
        let Value::Text(text) = value else {
            return Cow::Borrowed(value);
        };
        if self == Self::default() {
            return Cow::Borrowed(value);
        }
        let text = match self.trailing_blanks {
            true => text.trim_end_matches(' '),
            false => text.as_str(),
        };
        let text = match self.case {
            true => text.to_ascii_lowercase(),
            false => text.to_owned(),
        };
        Cow::Owned(Value::Text(text))
    }
}

slugged! {
    /// How rows are assigned to partitions.
    pub enum PartitionMethod {
        Hash = "hash",
        Key = "key",
        Range = "range",
        List = "list",
    }
}

/// The `PARTITION BY` of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    pub method: PartitionMethod,
    /// The columns whose values decide, in lower case.
    pub columns: Vec<String>,
}

/// What a foreign key does to the rows that reference a row which is deleted, or whose key changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKeyAction {
    /// RESTRICT and NO ACTION: the change is refused.
    Refuse,
    /// They are deleted, or get the new key.
    Cascade,
    /// SET NULL and SET DEFAULT: they reference another row, or none.
    Set,
}

/// A foreign key: what a table references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Its columns, in lower case.
    pub columns: Vec<String>,
    /// The referenced table.
    pub parent: String,
    /// The referenced columns, in lower case.
    pub parent_columns: Vec<String>,
    pub on_delete: ForeignKeyAction,
    pub on_update: ForeignKeyAction,
}

/// A table as the set-up creates it: what oracles and the minimizer need of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShape {
    pub name: String,
    pub columns: Vec<Column>,
    /// The column whose integer identifies a row for good: `pkey`.
    pub row_key: Option<String>,
    /// The column that every write sets to a value never used before: `vkey`.
    pub version_key: Option<String>,
    /// Columns of the PRIMARY KEY.
    pub primary_key: Option<Vec<String>>,
    /// Columns of each PRIMARY KEY and UNIQUE constraint or index.
    pub unique_keys: Vec<Vec<String>>,
    /// Columns of each exclusion constraint that compares them by `=`: a unique key, which no foreign key can reference.
    pub exclusions: Vec<Vec<String>>,
    /// Columns of each index that is not unique.
    pub indexes: Vec<Vec<String>>,
    /// What each other index of the set-up names, columns among it: one over an expression, or a unique one of some rows only.
    pub other_indexes: Vec<Vec<String>>,
    /// What each unique index or exclusion names, columns among it, that makes no set of columns unique: one over an expression, of some
    /// rows only, or by another operator than `=`.
    pub loose_keys: Vec<Vec<String>>,
    /// Columns of each index that a statement of the case makes.
    pub later_indexes: Vec<Vec<String>>,
    pub foreign_keys: Vec<ForeignKey>,
    pub partitioning: Option<Partitioning>,
    /// The storage engine that the CREATE TABLE names, as it spells it.
    pub storage_engine: Option<String>,
    /// What gives a row its place.
    pub clustering: Clustering,
}

/// What gives the rows of a table their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clustering {
    /// The primary key, else the first unique key whose columns are all NOT NULL (MySQL manual, "Clustered
    /// and Secondary Indexes").
    #[default]
    AnyKey,
    /// The primary key alone (TiDB manual, "Clustered Indexes").
    PrimaryKey,
    /// Nothing: rows lie in a heap.
    Heap,
}

impl TableShape {
    /// The columns by which the engine keeps the rows; none where it numbers the rows itself, and in a heap.
    pub fn clustered_key(&self) -> Option<&[String]> {
        let primary = self.primary_key.as_deref();
        match self.clustering {
            Clustering::AnyKey => primary.or_else(|| self.first_certain_key()),
            Clustering::PrimaryKey => primary,
            Clustering::Heap => None,
        }
    }

    /// Whether the condition of a statement on this table leaves a column of its partitioning no value, and so no
    /// partition to look into.
    pub fn has_no_partition_left_by(&self, effect: &Effect) -> bool {
        let columns = self.partitioning.iter().flat_map(|by| &by.columns);
        effect.uses.iter().any(|used| used.table == self.name)
            && columns.into_iter().any(|column| {
                let not_null = self
                    .column(column)
                    .is_some_and(|at| self.columns[at].not_null);
                effect.impossible_ranges.contains(column)
                    || (not_null && effect.null_only.contains(column))
            })
    }

    /// The first unique key whose columns are all NOT NULL.
    fn first_certain_key(&self) -> Option<&[String]> {
        let not_null = |name: &String| {
            self.column(name)
                .is_some_and(|at| self.columns[at].not_null)
        };
        let mut keys = self.unique_keys.iter().map(Vec::as_slice);
        keys.find(|key| key.iter().all(not_null))
    }

    /// The columns of every key of which no two rows have the same values.
    pub fn keys(&self) -> impl Iterator<Item = &Vec<String>> {
        self.unique_keys.iter().chain(&self.exclusions)
    }

    /// Whether no two rows have the same row key.
    pub fn has_unique_row_key(&self) -> bool {
        let row_key = self.row_key.as_deref().unwrap_or_default();
        self.keys().any(|key| match key.as_slice() {
            [only] => only.eq_ignore_ascii_case(row_key),
            _ => false,
        })
    }

    /// Whether its rows lie in one place alone, by the key that keeps them, and no index has a part of them.
    pub fn has_one_index(&self) -> bool {
        let others = self.indexes_beside_keys();
        self.clustered_key().is_some()
            && self.keys().count() == 1
            && others.count() == 0
            && self.foreign_keys.is_empty()
    }

    /// Whether the engine numbers its rows.
    pub fn has_counter(&self) -> bool {
        self.columns.iter().any(|column| column.counted)
    }

    /// The position of a column, by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// What a row has in the columns of a key, as the engine compares it; none when one is NULL or not known,
    /// which makes nothing unique.
    pub fn key_of<'r>(&self, key: &[String], row: &'r Row) -> Option<Vec<Cow<'r, Value>>> {
        let cell = |column: &String| {
            let at = self.column(column)?;
            let value = row.get(at).filter(|value| **value != Value::Null)?;
            Some(self.columns[at].folding.folded(value))
        };
        key.iter().map(cell).collect()
    }

    fn indexes_beside_keys(&self) -> impl Iterator<Item = &Vec<String>> {
        let of_set_up = self.indexes.iter().chain(&self.other_indexes);
        of_set_up.chain(&self.later_indexes)
    }

    /// The columns of every index that there is at some moment, in lower case, those of foreign keys among them: an engine that needs an index for
    /// one makes it (MySQL manual, "FOREIGN KEY Constraints").
    pub fn indexed_columns(&self) -> impl Iterator<Item = &String> {
        let by_foreign_key = self.foreign_keys.iter().map(|key| &key.columns);
        let keys = self.keys().chain(self.indexes_beside_keys());
        keys.chain(by_foreign_key).flatten()
    }

    /// The columns that the engine computes and that are part of an index or a key.
    pub fn indexed_generated_columns(&self) -> impl Iterator<Item = &Column> {
        let all = self.keys().chain(&self.indexes).flatten();
        all.filter_map(|name| self.columns.get(self.column(name)?))
            .filter(|column| column.generated)
    }
}

/// One statement of a session, with its place in the case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseStatement {
    pub session: SessionId,
    pub id: StatementId,
    pub sql: String,
    pub effect: Effect,
}

/// In which order the statements of a case reach the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// In submitted order: the next one when everything before it has answered or waits.
    #[default]
    Scheduled,
    /// Every session at its own pace, as clients are that know nothing of each other.
    Free,
}

/// A whole case. The lines stand in submitted order; everything else is derived from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    pub setup: Vec<SetupStatement>,
    pub tables: Vec<TableShape>,
    pub statements: Vec<CaseStatement>,
    /// The level of every session that has a statement. Set before its first statement.
    pub isolation: BTreeMap<SessionId, IsolationLevel>,
    /// The stronger level by which the run is judged, where one was claimed.
    pub claim: Option<IsolationLevel>,
    pub pace: Pace,
    /// The sessions that send reads and writes as prepared statements: a text is prepared where the session
    /// first sends it, and executed each time.
    pub prepared: BTreeSet<SessionId>,
}

/// The table; without its version key, where a write of these may leave that of a row as it is.
fn with_kept_version_key(mut table: TableShape, statements: &[CaseStatement]) -> TableShape {
    let Some(key) = table
        .version_key
        .as_ref()
        .map(|key| key.to_ascii_lowercase())
    else {
        return table;
    };
    let leaves = |statement: &CaseStatement| {
        let effect = &statement.effect;
        let changes = |used: &TableUse| match used.role {
            Role::UpdateTarget => true,
            Role::InsertTarget => !effect.assigned.is_empty(),
            Role::ForeignKeyTarget => {
                let mut columns = table.foreign_keys.iter().flat_map(|key| &key.columns);
                columns.any(|column| effect.assigned.contains_key(column))
            }
            Role::TriggerTarget => {
                let triggered = effect.triggered_on(&table.name);
                return triggered
                    .filter(|write| write.kind == StatementKind::Update)
                    .any(|write| !write.assigned.contains(&key));
            }
            Role::PlainSelect
            | Role::LockingSelect
            | Role::LockingSelectSource
            | Role::UpdateSource
            | Role::UpdateJoinSource
            | Role::DeleteTarget
            | Role::DeleteSource
            | Role::InsertSelectSource
            | Role::InsertValuesSource
            | Role::ForeignKeyCheck
            | Role::ForeignKeyChild => false,
        };
        effect.uses.iter().any(|used| {
            used.table.eq_ignore_ascii_case(&table.name)
                && changes(used)
                && (used.role.is_unnamed_target() || !effect.assigned.contains_key(&key))
        })
    };
    if statements.iter().any(leaves) {
        table.version_key = None;
    }
    table
}

/// The table with the indexes that these statements make.
fn with_later_indexes(mut table: TableShape, statements: &[CaseStatement]) -> TableShape {
    let changes = statements.iter().flat_map(|s| &s.effect.storage_change);
    let own = changes.filter(|change| change.table.eq_ignore_ascii_case(&table.name));
    table.later_indexes = own.filter_map(|change| change.index.clone()).collect();
    table
}

impl TestCase {
    /// The statement by which the session of a statement last chose, before it, what its statements mean.
    pub fn mode_of(&self, statement: &CaseStatement) -> Option<&str> {
        let before = self.statements.iter().take_while(|s| s.id != statement.id);
        let modes = before
            .filter(|s| s.session == statement.session && s.effect.setting == Some(Setting::Mode));
        modes.last().map(|s| s.sql.as_str())
    }

    /// Builds a case and numbers its transactions and statements.
    ///
    /// A table has no version key where a statement may change a row and leave its version key.
    /// A transaction runs from a BEGIN to the COMMIT or ROLLBACK of its session, and the next one from an end that chains;
    /// a statement outside one is a transaction of its own. Transactions count in order of first submission.
    pub fn new(
        setup: Vec<SetupStatement>,
        tables: Vec<TableShape>,
        lines: Vec<(SessionId, String, Effect)>,
        isolation: BTreeMap<SessionId, IsolationLevel>,
        claim: Option<IsolationLevel>,
    ) -> Self {
        let mut open: BTreeMap<SessionId, StatementId> = BTreeMap::new();
        let mut chained: BTreeSet<SessionId> = BTreeSet::new();
        let mut transactions = 0;
        let mut statements = Vec::with_capacity(lines.len());
        for (session, sql, effect) in lines {
            // There it ends the transaction in some engines, and only the engine knows.
            let is_chained = chained.remove(&session);
            let is_inside = open.contains_key(&session) || is_chained;
            let is_misplaced = match is_inside {
                true => effect.kind == StatementKind::PhysicalDdl,
                // A lock that a transaction keeps: it is refused, or more than a lock. An end that chains is refused, or
                // begins a transaction.
                false => effect.kind == StatementKind::LockTable || effect.chains,
            };
            let effect = match is_misplaced {
                true => Effect::of_kind(StatementKind::Opaque),
                false => effect,
            };
            let kind = effect.kind;
            let id = match open.get(&session) {
                Some(last) if !kind.is_begin() => StatementId {
                    position: last.position + 1,
                    ..*last
                },
                _ => {
                    transactions += 1;
                    StatementId {
                        transaction: TransactionId(transactions),
                        position: 1,
                    }
                }
            };
            if kind.is_begin() || (is_inside && !kind.is_end()) {
                open.insert(session, id);
            } else {
                open.remove(&session);
            }
            if effect.chains {
                chained.insert(session);
            }
            statements.push(CaseStatement {
                session,
                id,
                sql,
                effect,
            });
        }
        let tables = tables
            .into_iter()
            .map(|table| with_kept_version_key(table, &statements))
            .map(|table| with_later_indexes(table, &statements))
            .collect();
        Self {
            setup,
            tables,
            statements,
            isolation,
            claim,
            pace: Pace::Scheduled,
            prepared: BTreeSet::new(),
        }
    }

    /// The same case; of its sessions, these send prepared statements.
    #[must_use]
    pub fn prepared_in(mut self, sessions: BTreeSet<SessionId>) -> Self {
        self.prepared = &sessions & &self.sessions();
        self
    }

    /// The same case at another pace.
    #[must_use]
    pub fn at_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// The same statements, submitted in this order, which keeps that of each session; what it does
    /// not name stays behind what stood before it in its session.
    pub fn in_order(&self, order: &[StatementId]) -> Self {
        let places: BTreeMap<StatementId, usize> =
            order.iter().enumerate().map(|(i, id)| (*id, i)).collect();
        let mut last: BTreeMap<SessionId, usize> = BTreeMap::new();
        let mut statements: Vec<(usize, CaseStatement)> = Vec::new();
        for statement in &self.statements {
            let at = last.entry(statement.session).or_default();
            *at = places.get(&statement.id).copied().unwrap_or(*at);
            statements.push((*at, statement.clone()));
        }
        statements.sort_by_key(|(place, _)| *place);
        self.with_statements(statements.into_iter().map(|(_, s)| s).collect())
    }

    /// The same case with other lines, numbered anew.
    pub fn with_statements(&self, statements: Vec<CaseStatement>) -> Self {
        let lines = statements
            .into_iter()
            .map(|s| (s.session, s.sql, s.effect))
            .collect();
        let mut case = Self::new(
            self.setup.clone(),
            self.tables.clone(),
            lines,
            self.isolation.clone(),
            self.claim,
        )
        .at_pace(self.pace)
        .prepared_in(self.prepared.clone());
        let sessions = case.sessions();
        case.isolation
            .retain(|session, _| sessions.contains(session));
        case
    }

    /// The sessions that have a statement, in order.
    pub fn sessions(&self) -> BTreeSet<SessionId> {
        self.statements.iter().map(|s| s.session).collect()
    }

    /// The statement with this identifier.
    pub fn statement(&self, id: StatementId) -> Option<&CaseStatement> {
        self.statements.iter().find(|s| s.id == id)
    }

    /// The level a session runs at.
    pub fn level(&self, session: SessionId) -> IsolationLevel {
        self.isolation
            .get(&session)
            .copied()
            .unwrap_or(IsolationLevel::Serializable)
    }

    /// The level a session is judged by: the claim where there is one, what it runs at otherwise.
    pub fn judged_level(&self, session: SessionId) -> IsolationLevel {
        self.claim
            .map_or(self.level(session), |claim| claim.max(self.level(session)))
    }

    /// The shape of a table, by name.
    pub fn table(&self, name: &str) -> Option<&TableShape> {
        self.tables
            .iter()
            .find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// The version key of a table, by the table's name, where it has one.
    pub fn version_key(&self, table: &str) -> Option<&str> {
        self.table(table)?.version_key.as_deref()
    }

    /// Every table after a run, in the case's own columns. An oracle may have run the case with a row key
    /// behind them that no statement sees.
    pub fn own_final_state<'a>(&self, execution: &'a Execution) -> BTreeMap<&'a str, Vec<Row>> {
        let own = |(table, rows): (&'a String, &'a Vec<Row>)| {
            let columns = self.table(table).map_or(usize::MAX, |t| t.columns.len());
            let own_row = |row: &Row| row.iter().take(columns).cloned().collect();
            (table.as_str(), rows.iter().map(own_row).collect())
        };
        execution.final_state.iter().map(own).collect()
    }

    /// The statements that read or write tables: what a run is about.
    pub fn user_statements(&self) -> impl Iterator<Item = &CaseStatement> {
        self.statements
            .iter()
            .filter(|s| !s.effect.kind.is_control())
    }

    /// The statements of its transaction that come before one.
    pub fn earlier_in_transaction(&self, id: StatementId) -> impl Iterator<Item = &CaseStatement> {
        self.statements
            .iter()
            .filter(move |s| s.id.transaction == id.transaction && s.id.position < id.position)
    }

    /// The session of a transaction.
    pub fn session_of(&self, transaction: TransactionId) -> Option<SessionId> {
        self.statements
            .iter()
            .find(|s| s.id.transaction == transaction)
            .map(|s| s.session)
    }

    /// The BEGIN that opened a transaction, or the first of the chain that it belongs to; none for one autocommit statement.
    pub fn begin_of(&self, transaction: TransactionId) -> Option<&CaseStatement> {
        let mut transaction = transaction;
        while let Some(end) = self.chained_by(transaction) {
            transaction = end.id.transaction;
        }
        self.first_of(transaction)
            .filter(|s| s.effect.kind.is_begin())
    }

    /// The end of another transaction that opened this one; none where something else did.
    pub fn chained_by(&self, transaction: TransactionId) -> Option<&CaseStatement> {
        let first = self.first_of(transaction)?;
        let before = self.statements.iter().take_while(|s| s.id != first.id);
        let last = before.filter(|s| s.session == first.session).last()?;
        (last.effect.chains && !first.effect.kind.is_begin()).then_some(last)
    }

    fn first_of(&self, transaction: TransactionId) -> Option<&CaseStatement> {
        let mut statements = self.statements.iter();
        statements.find(|s| s.id.transaction == transaction)
    }

    /// Whether the transaction was opened by a BEGIN or a chain; otherwise it is one autocommit statement.
    pub fn is_explicit(&self, transaction: TransactionId) -> bool {
        self.begin_of(transaction).is_some()
    }

    /// How many statements of this kind the case has.
    pub fn count(&self, kind: StatementKind) -> usize {
        self.statements
            .iter()
            .filter(|s| s.effect.kind == kind)
            .count()
    }
}
