//! How an engine spells SQL, which features it claims, and what its levels mean: data.
//!
//! `dialects/<engine>.toml` ([`file`]) becomes a [`Dialect`] for one server: its version and
//! variables decide which conditional entries hold. Nothing above this layer asks which engine it
//! talks to; it asks for a [`Capability`] or a read mode. `docs/dialect-format.md` describes the
//! files.

mod answer;
mod capability;
mod column_type;
mod durability;
mod errors;
mod file;
#[cfg(test)]
mod for_tests;
mod in_common;
mod levels;
mod literal;
mod lock_rules;
mod overlay;
mod plain_end;
mod plan_setting;
#[cfg(test)]
mod tests;
mod text;
mod version;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::model::{
    ConsistencyModel, Doubt, ErrorClass, Folding, IsolationLevel, Outcome, ReadMode, Role,
    StatementKind, StatementRecord, TableShape,
};

pub use answer::{
    AffectedRows, ChangedRows, RejectionEnd, ReplaceCount, SerializationCause, UpdateCount,
};
pub use capability::{Capability, UnknownWord};
pub use durability::DurableSetting;
pub use file::{parse, parse_for};
#[cfg(test)]
pub(crate) use for_tests::{dialect as dialect_of, dialect_with};
pub use in_common::NothingInCommon;
pub use lock_rules::{LockRules, LockingWrite};
pub use plan_setting::{PlanSetting, SessionMode};
pub use text::DialectError;
pub use version::ServerVersion;

/// The dialect files that come with the program: name and text.
pub const BUILTIN: &[(&str, &str)] = &[
    ("mariadb", include_str!("../../dialects/mariadb.toml")),
    ("mysql", include_str!("../../dialects/mysql.toml")),
    ("postgres", include_str!("../../dialects/postgres.toml")),
    ("simulated", include_str!("../../dialects/simulated.toml")),
    ("sqlite", include_str!("../../dialects/sqlite.toml")),
    ("tidb", include_str!("../../dialects/tidb.toml")),
];

/// The text of the file that comes with the program for an engine; none where there is none.
pub fn builtin(engine: &str) -> Option<&'static str> {
    let file = BUILTIN.iter().find(|(name, _)| *name == engine);
    file.map(|(_, text)| *text)
}

/// Files for another mode of an engine than the one that its own file is about, asked for by name.
pub const MODES: &[(&str, &str)] = &[(
    "tidb-optimistic",
    include_str!("../../dialects/tidb-optimistic.toml"),
)];

/// Where a transaction's snapshot is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotPoint {
    /// InnoDB: at the first consistent read; not by BEGIN, a write or a locking read.
    FirstConsistentRead,
    /// SQLite in deferred mode, PostgreSQL: at the first statement that touches a table.
    FirstStatement,
    /// TiDB: by BEGIN.
    Begin,
}

/// What a SAVEPOINT does to one of the same name in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EqualSavepoints {
    /// MySQL: the old one is deleted (MySQL manual, "SAVEPOINT").
    Replace,
    /// SQL standard, PostgreSQL, SQLite: the old one is hidden until the new one is released.
    Nest,
}

/// What a read that locks keeps from other transactions until its own ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockReach {
    /// The rows that it found.
    Rows,
    /// Every row that it found or would find: nobody can give it another result.
    Ranges,
}

impl LockReach {
    /// As dialect files spell it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Ranges => "ranges",
        }
    }
}

/// How row versions are learned without adding probes to the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObserverKind {
    /// Another connection may read uncommitted rows.
    Uncommitted,
    /// There is one writer at a time, and it reads its own table after each write.
    Writer,
    /// A write itself says which rows it made or removed, by RETURNING.
    Returning,
    /// They are not: none of these holds here.
    Absent,
}

/// A column type the generator may draw.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeSpec {
    /// As CREATE TABLE spells it: `VARCHAR(16)`.
    pub sql: String,
    /// The family the grammar's typed expressions speak of.
    pub class: TypeClass,
    /// How often it is drawn, against the weights of the other types.
    pub weight: u32,
    /// Can carry an index as it is (`TEXT` cannot without a prefix length).
    pub indexable: bool,
    /// Its literals are all the values that it has.
    pub closed: bool,
    /// Never declared NOT NULL: an engine may give such a column a value of its own.
    pub always_nullable: bool,
    /// The collation that its columns are declared with; none for the default one of the table.
    pub collation: Option<String>,
    /// Literals a row or expression may use, as SQL text. A small domain makes conflicts.
    pub literals: Vec<String>,
    /// A literal that is too long: a strict session refuses it, another one cuts it.
    pub too_long: Option<String>,
}

/// Families of types whose values compare and combine with each other exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TypeClass {
    Integer,
    Decimal,
    Real,
    Text,
    Bytes,
    Temporal,
    /// Integers without negative ones, whose differences may be errors.
    Unsigned,
    /// Texts of a collation that may hold different texts for equal: which of them a DISTINCT or a GROUP BY
    /// shows is the engine's choice.
    Collated,
    /// Times of day, or spans of time.
    Time,
    /// Documents, which not every engine sorts or groups.
    Json,
}

impl TypeClass {
    /// Whether equal values of the class are the same value, and can be sorted and grouped.
    pub fn is_exact(self) -> bool {
        !matches!(self, Self::Collated | Self::Json)
    }

    /// Whether an engine sorts its values, all in one order.
    pub fn is_sorted(self) -> bool {
        self != Self::Json
    }
}

/// Which grammar of the SQL parser fits the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParserKind {
    MySql,
    PostgreSql,
    Sqlite,
}

/// The spellings that differ between engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// Stands on both sides of a quoted identifier.
    pub identifier_quote: char,
    /// The parser that reads the engine's statements.
    pub parser: ParserKind,
    /// The text forms that open a transaction, by name: `plain`, `consistent-snapshot`,
    /// `immediate`, `read-only`.
    pub begin: BTreeMap<String, String>,
    /// The statement that commits.
    pub commit: String,
    /// The statement that rolls back.
    pub rollback: String,
    /// `SET SESSION TRANSACTION ISOLATION LEVEL {level}`; empty where there is one level only.
    pub set_isolation: String,
    /// `SET SESSION {variable} = {value}`; empty where no variable is set.
    pub set_variable: String,
    /// Lock clauses of SELECT by name: a strength (`update`, `share`), alone or with `-nowait` or `-skip-locked`;
    /// `for-share`.
    pub lock_clauses: BTreeMap<String, String>,
    /// A read that fixes the snapshot point, `{table}` to be replaced.
    pub fix_snapshot: String,
    /// A column type for text of any length.
    pub long_text: String,
    /// Added after the column list of CREATE TABLE: ` ENGINE=InnoDB`.
    pub table_options: String,
    /// Backslash is an escape in string literals.
    pub backslash_escapes: bool,
    /// Definition of a hidden row-identity column that a hand-written table is given,
    /// `{column}` to be replaced; empty where there is none.
    pub hidden_row_key: String,
    /// Lists the tables and views of the connection's database: name, then a kind that contains
    /// `view` for a view.
    pub list_tables: String,
    /// Empties a table as if it had just been created, `{table}` to be replaced.
    pub empty_table: String,
    /// The same where a DELETE leaves locks behind; empty where the engine has no other word.
    pub empty_table_anew: String,
    /// Drops a table, `{table}` to be replaced, also where others refer to it while foreign keys are out of force.
    pub drop_table: String,
    /// Makes one command of several statements, `{statements}` to be replaced by them, each with a
    /// semicolon; empty where there is no such command, or it has an answer for each of them.
    pub together: String,
    /// Takes foreign keys out of force in a session, so that tables can be dropped and filled in any
    /// order; empty where the engine has no word for it.
    pub foreign_keys_off: Vec<String>,
    /// Puts them in force again.
    pub foreign_keys_on: Vec<String>,
    /// How the body of a trigger stands behind FOR EACH ROW, `{body}` being its one statement; empty where it stands
    /// there as it is.
    pub trigger_body: String,
    /// Makes a partition, `{table}` and `{number}` to be replaced, of a table whose rows are spread over three; empty where
    /// its CREATE TABLE says how many there are.
    pub partition: String,
    /// How statements are prepared; none where SQL has no words for it.
    pub prepared: Option<PreparedSpelling>,
    /// Has the next INSERT of a session that takes numbers from a counter take `{first}` and those after it; empty where
    /// the engine has no word for it.
    pub count_from: String,
    /// Lists the indexes of the connection's database by which a whole table can be read: table,
    /// index, what follows the table's name in a SELECT that reads it by that index, and the same
    /// for the scan that must give the same rows (NULL where that is the whole table). Empty where
    /// no SELECT can name an index.
    pub list_indexes: String,
    /// Lists the table and the name of every index of the connection's database; empty where nobody asks.
    pub list_index_names: String,
    /// Has the engine check tables, `{tables}` to be replaced; empty where it has no such statement.
    pub check_tables: String,
    /// A run of many cases asks for the check at the end of one case in so many.
    pub check_tables_every: u32,
    /// The last cell of every row that `check_tables` answers for a sound table.
    pub check_passes: Vec<String>,
}

/// How a session prepares a statement and executes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PreparedSpelling {
    /// With `{name}`, and `{text}` (a string literal) or `{statement}` to be replaced.
    pub prepare: String,
    /// With `{name}` to be replaced.
    pub execute: String,
    /// Has a session forget all that it prepared; empty where a name may be prepared again.
    #[serde(default)]
    pub forget: String,
}

/// A class for some errors of a code that stands for many.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorMessage {
    code: String,
    /// Their messages contain this.
    says: String,
    class: ErrorClass,
}

/// A dialect as one server speaks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// The engine it was made for, as URLs name it.
    pub engine: String,
    /// What this version of the engine can do.
    pub capabilities: BTreeSet<Capability>,
    /// Why this version lacks a capability that others have, where the file says so.
    why_not: BTreeMap<Capability, String>,
    /// Column types that the generator may draw.
    pub types: Vec<TypeSpec>,
    /// Column types that some schemas have beside those, in columns of their own.
    pub extra_types: Vec<TypeSpec>,
    /// What a collation holds for equal, by its name.
    pub collations: BTreeMap<String, Folding>,
    /// How the engine writes statements.
    pub spelling: Spelling,
    /// Levels the engine distinguishes, weakest first.
    pub levels: Vec<IsolationLevel>,
    /// Sent on every session before anything else.
    pub session_setup: Vec<String>,
    /// Where a transaction's snapshot is taken.
    pub snapshot_point: SnapshotPoint,
    pub observer: ObserverKind,
    /// Levels at which the rows of a statement that waited mix two moments.
    pub mixes_after_wait: BTreeSet<IsolationLevel>,
    /// Levels at which a statement that waited looks again at the rows that changed meanwhile, as they
    /// are then, and keeps its snapshot for all others.
    pub re_evaluates_after_wait: BTreeSet<IsolationLevel>,
    /// Levels at which a statement that waited begins anew where a row that it locks was committed
    /// meanwhile, and otherwise goes on as of the moment when it was sent.
    pub begins_anew_after_wait: BTreeSet<IsolationLevel>,
    /// Levels at which a statement that looks a unique key up and finds no row locks the key.
    pub locks_absent_keys: BTreeSet<IsolationLevel>,
    serialization_causes: BTreeMap<IsolationLevel, SerializationCause>,
    /// What a SAVEPOINT does to one of the same name.
    pub equal_savepoints: EqualSavepoints,
    /// Storage engines that a CREATE TABLE may name and whose tables ignore transactions.
    storage_engines_without_transactions: Vec<String>,
    /// The ids of the registered behaviours that explain a doubt, for one kind of statement or for
    /// all. None where they were taken away: that nothing is registered then says nothing of the engine.
    known: Option<BTreeMap<(Doubt, Option<StatementKind>), String>>,
    read_modes: BTreeMap<(IsolationLevel, Role), ReadMode>,
    /// Where a statement outside a transaction reads otherwise than the same one inside.
    autocommit_read_modes: BTreeMap<(IsolationLevel, Role), ReadMode>,
    promises: BTreeMap<IsolationLevel, ConsistencyModel>,
    locks: BTreeMap<IsolationLevel, LockReach>,
    /// Which locks of a row or a table exclude which, and what a write takes.
    pub lock_rules: LockRules,
    errors: BTreeMap<String, ErrorClass>,
    error_messages: Vec<ErrorMessage>,
    /// How the engine counts affected rows.
    pub affected_rows: AffectedRows,
    ends_transaction: BTreeMap<ErrorClass, RejectionEnd>,
    /// What a server promises by which acknowledged commits survive its crash; empty where recovery is
    /// not judged.
    pub durability: Vec<DurableSetting>,
    /// Settings of the optimizer that a session may choose, and that must not change an answer.
    pub plan_settings: Vec<PlanSetting>,
    /// The variable by which a session chooses what its statements mean; none where there is no such variable.
    pub session_mode: Option<SessionMode>,
}

impl Dialect {
    /// Whether the engine, in this version, has a feature.
    pub fn supports(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// Empties a table as if it had just been created, `{table}` to be replaced; empty where only building it anew does.
    pub fn clean_emptying(&self) -> &str {
        match self.supports(Capability::DeleteLeavesLocks) {
            true => &self.spelling.empty_table_anew,
            false => &self.spelling.empty_table,
        }
    }

    /// Whether a statement locks the rows that it takes in this role, whatever version of them it reads. A parent is found
    /// by a snapshot and then locked where every row is that a statement chooses (PostgreSQL manual, "Row-Level Locks").
    pub fn locks_rows_of(&self, role: Role) -> bool {
        let chosen = self.supports(Capability::LocksChosenRows);
        role.takes_row_locks() || (role == Role::ForeignKeyCheck && chosen)
    }

    /// How the rows count that the answer of a write says it changed.
    pub fn counts_of(&self, answered: &StatementRecord) -> AffectedRows {
        match (&answered.outcome, answered.reported) {
            (Outcome::Rows(_), None) => AffectedRows::RETURNED,
            (Outcome::Rows(_), Some(_)) | (Outcome::Affected(_) | Outcome::Rejected(_), _) => {
                self.affected_rows
            }
        }
    }

    /// Why this version of the engine lacks a feature that others have; none where it is not known.
    pub fn why_not(&self, capability: Capability) -> Option<&str> {
        self.why_not.get(&capability).map(String::as_str)
    }

    /// Which versions a table in this role is read in, at this level.
    ///
    /// Every combination of a level the dialect lists and a role is in the file: the reader of the
    /// file refuses one that is incomplete.
    pub fn read_mode(&self, level: IsolationLevel, role: Role, explicit: bool) -> ReadMode {
        let key = (level, role);
        let outside = (!explicit)
            .then(|| self.autocommit_read_modes.get(&key))
            .flatten();
        outside
            .or_else(|| self.read_modes.get(&key))
            .copied()
            .unwrap_or(ReadMode::Current)
    }

    /// Whether the tables of this storage engine ignore transactions.
    pub fn has_no_transactions(&self, storage_engine: &str) -> bool {
        let mut engines = self.storage_engines_without_transactions.iter();
        engines.any(|engine| engine.eq_ignore_ascii_case(storage_engine))
    }

    /// The settings that do not keep what a server promises by which acknowledged commits survive its
    /// crash. Empty, too, where the dialect names no such settings.
    pub fn unkept(&self, settings: &BTreeMap<String, String>) -> Vec<&DurableSetting> {
        let unkept = |setting: &&DurableSetting| !setting.is_kept_by(settings);
        self.durability.iter().filter(unkept).collect()
    }

    /// Whether a session variable is one of the optimizer, on which no answer may depend.
    pub fn is_plan_setting(&self, variable: &str) -> bool {
        let mut settings = self.plan_settings.iter();
        settings.any(|setting| setting.variable.eq_ignore_ascii_case(variable))
    }

    /// Whether this is a value of the variable by which a session chooses what its statements mean, so that
    /// statements of ours can be run under it.
    pub fn is_session_mode(&self, variable: &str, value: &str) -> bool {
        self.session_mode.as_ref().is_some_and(|mode| {
            let mut known = mode.others.iter().chain([&mode.usual]);
            mode.variable.eq_ignore_ascii_case(variable) && known.any(|known| known == value)
        })
    }

    /// The statement that gives a session the mode with which every session begins.
    pub fn usual_mode(&self) -> Option<String> {
        let mode = self.session_mode.as_ref()?;
        Some(self.set_variable(&mode.variable, &mode.usual))
    }

    /// The statement that gives a session variable a value.
    pub fn set_variable(&self, variable: &str, value: &str) -> String {
        let form = self.spelling.set_variable.replace("{variable}", variable);
        form.replace("{value}", value)
    }

    /// The names of the variables that decide whether a commit survives.
    pub fn durability_variables(&self) -> Vec<&str> {
        let settings = self.durability.iter();
        settings.map(|setting| setting.variable.as_str()).collect()
    }

    /// The same dialect without any registered behaviour.
    #[must_use]
    pub fn without_known(mut self) -> Self {
        self.known = None;
        self
    }

    /// Whether the engine has this registered behaviour, as far as the dialect says.
    pub fn claims(&self, doubt: Doubt) -> Option<bool> {
        self.known.is_some().then(|| self.registers(doubt))
    }

    /// Whether the engine has a registered behaviour behind this doubt.
    pub fn registers(&self, doubt: Doubt) -> bool {
        let mut known = self.known.iter().flat_map(BTreeMap::keys);
        known.any(|(known, _)| *known == doubt)
    }

    /// The id of the registered behaviour that explains a doubt about a statement of this kind.
    pub fn known(&self, doubt: Doubt, kind: StatementKind) -> Option<&str> {
        let known = self.known.as_ref()?;
        let id = known.get(&(doubt, Some(kind)));
        let id = id.or_else(|| known.get(&(doubt, None)));
        id.map(String::as_str)
    }

    /// The strongest consistency model that histories of registers satisfy at this level; none
    /// where the level promises nothing.
    pub fn promise(&self, level: IsolationLevel) -> Option<ConsistencyModel> {
        self.promises.get(&level).copied()
    }

    /// The same for histories of lists.
    ///
    /// An append reads the row that it changes. Where that is the current row while plain reads keep
    /// to an older snapshot, the transaction finds appends of others in its own list, and does not
    /// find them anywhere else: not even its reads agree. None there, unless the level refuses to
    /// change what the snapshot does not hold, and so promises that no update is lost.
    pub fn promise_for_lists(&self, level: IsolationLevel) -> Option<ConsistencyModel> {
        let mode = |role| self.read_mode(level, role, true);
        let is_snapshot = |role| mode(role) == ReadMode::TransactionSnapshot;
        let agrees = !is_snapshot(Role::PlainSelect) || is_snapshot(Role::UpdateTarget);
        let promise = self.promise(level)?;
        let loses_updates = promise < ConsistencyModel::Snapshot;
        (agrees || !loses_updates).then_some(promise)
    }

    /// What a read that locks keeps from other transactions at this level; none where rows are not
    /// locked one by one.
    pub fn lock_reach(&self, level: IsolationLevel) -> Option<LockReach> {
        self.locks.get(&level).copied()
    }

    /// What a serialization failure at this level needs.
    pub fn serialization_cause(&self, level: IsolationLevel) -> SerializationCause {
        let cause = self.serialization_causes.get(&level).copied();
        cause.unwrap_or(SerializationCause::AnyWriter)
    }

    /// The class of an error code.
    pub fn error_class(&self, code: &str) -> ErrorClass {
        self.errors.get(code).copied().unwrap_or(ErrorClass::Other)
    }

    /// The class of an error by its code and message.
    pub fn class_of(&self, code: &str, message: &str) -> ErrorClass {
        let mut messages = self.error_messages.iter();
        let named = messages.find(|known| known.code == code && message.contains(&known.says));
        named.map_or_else(|| self.error_class(code), |known| known.class)
    }

    /// The error codes of a class, smallest first; none for what has no class.
    pub fn error_codes(&self, class: ErrorClass) -> Vec<&str> {
        let of_class = self.errors.iter().filter(|(_, c)| **c == class);
        let mut codes: Vec<&str> = of_class.map(|(code, _)| code.as_str()).collect();
        codes.sort_by_key(|code| (code.len(), *code));
        codes
    }

    /// Whether a rejection of this class ends the transaction.
    pub fn ends_transaction(&self, class: ErrorClass) -> RejectionEnd {
        let end = self.ends_transaction.get(&class).copied();
        end.unwrap_or(RejectionEnd::Never)
    }

    /// An identifier, quoted.
    pub fn quote(&self, identifier: &str) -> String {
        let quote = self.spelling.identifier_quote;
        format!(
            "{quote}{}{quote}",
            identifier.replace(quote, &format!("{quote}{quote}"))
        )
    }

    /// One command that runs several statements, one after another; none where the engine has no such
    /// command, or there is one statement only.
    pub fn together(&self, statements: &[String]) -> Option<String> {
        let template = &self.spelling.together;
        if template.is_empty() || statements.len() < 2 {
            return None;
        }
        // On a line of its own the semicolon ends a statement that ends in a comment, too.
        let all: String = statements.iter().map(|sql| format!("\n{sql}\n;")).collect();
        Some(template.replace("{statements}", &all))
    }

    /// The body of a trigger that does this.
    pub fn trigger_body(&self, statement: &str) -> String {
        match self.spelling.trigger_body.as_str() {
            "" => statement.to_owned(),
            template => template.replace("{body}", statement),
        }
    }

    /// Reads a whole table, columns in the order of the shape.
    pub fn select_all(&self, table: &TableShape) -> String {
        let name = self.quote(&table.name);
        if table.columns.is_empty() {
            // Made by a query, which alone knows its columns.
            return format!("SELECT * FROM {name}");
        }
        format!("SELECT {} FROM {name}", self.column_list(table))
    }

    /// The names of a table's columns, in the order of its shape, with commas between.
    pub fn column_list(&self, table: &TableShape) -> String {
        let columns = table.columns.iter();
        let names: Vec<String> = columns.map(|column| self.quote(&column.name)).collect();
        names.join(", ")
    }

    /// As [`Dialect::select_all`], under a lock clause by its name (`update`, `share`); as it is where
    /// the engine has no such clause.
    pub fn select_all_locking(&self, table: &TableShape, clause: &str) -> String {
        let sql = self.select_all(table);
        match self.spelling.lock_clauses.get(clause) {
            Some(clause) => format!("{sql} {clause}"),
            None => sql,
        }
    }

    /// Sets the level of a session; none where the engine has one level only.
    pub fn set_isolation(&self, level: IsolationLevel) -> Option<String> {
        let template = &self.spelling.set_isolation;
        (!template.is_empty()).then(|| template.replace("{level}", level.sql()))
    }

    /// The statement that sets each level of the engine, where one is needed.
    pub fn isolation_setup(&self) -> BTreeMap<IsolationLevel, String> {
        let statement = |level: &IsolationLevel| Some((*level, self.set_isolation(*level)?));
        self.levels.iter().filter_map(statement).collect()
    }
}
