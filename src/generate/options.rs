//! Options of the generator.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::model::{IsolationLevel, UnknownLevel};

/// Which levels the sessions of a case run at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelChoice {
    One(IsolationLevel),
    /// Each case draws one of the dialect's levels.
    AnyOne,
    /// Each session draws one.
    Mixed,
}

impl fmt::Display for LevelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One(level) => level.slug(),
            Self::AnyOne => "all",
            Self::Mixed => "mixed",
        })
    }
}

impl FromStr for LevelChoice {
    type Err = UnknownLevelChoice;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::AnyOne),
            "mixed" => Ok(Self::Mixed),
            level => Ok(Self::One(level.parse().map_err(UnknownLevelChoice)?)),
        }
    }
}

/// Neither a level nor one of the words for several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}, all, mixed")]
pub struct UnknownLevelChoice(UnknownLevel);

/// How many statements a transaction with savepoints has beside those that it would have without.
pub(super) const SAVEPOINT_ROOM: usize = 4;

/// Which cases have tables with a version key, to which every write gives a value never used before.
///
/// In the others writes may leave rows as they are: updates that change nothing are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionKeys {
    Always,
    /// Of six schemas one has none.
    Mostly,
    Never,
}

impl VersionKeys {
    /// Whether the tables of a schema, by its number in the run, have a version key.
    pub(super) fn of_schema(self, number: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Mostly => number % 6 != 3,
            Self::Never => false,
        }
    }
}

/// Options of the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateOptions {
    /// Isolation levels of the sessions.
    pub levels: LevelChoice,
    /// The stronger level by which cases are judged.
    pub claim: Option<IsolationLevel>,
    pub version_keys: VersionKeys,
    /// Number of tables.
    pub tables: RangeInclusive<usize>,
    /// Rows of each table.
    pub rows: RangeInclusive<usize>,
    /// Number of sessions.
    pub sessions: RangeInclusive<usize>,
    /// Transactions of each session.
    pub transactions: RangeInclusive<usize>,
    /// Statements of each transaction, beside its begin and end. One with savepoints has
    /// `SAVEPOINT_ROOM` more.
    pub statements: RangeInclusive<usize>,
    /// How often, in a hundred, a statement outside a transaction stands before one.
    pub lone_percent: usize,
    /// How often, in a hundred, a transaction sets savepoints and returns to them.
    pub savepoint_percent: usize,
    /// How many cases, of a hundred, name a savepoint that is gone, where they have a place for it.
    pub gone_savepoint_percent: usize,
    /// How many schemas, of a hundred, have columns of rarer types and collations, where the dialect names some.
    pub extra_type_percent: usize,
    /// How many schemas, of a hundred, have foreign keys, where the engine has them.
    pub foreign_key_percent: usize,
    /// How many schemas, of a hundred, have tables whose row key a counter fills, where the engine has counters.
    pub counter_percent: usize,
    /// How many schemas, of a hundred, have triggers, where the engine has them, and the schema has version keys and
    /// no foreign keys.
    pub trigger_percent: usize,
    /// How many cases, of a hundred, change how a table is stored while transactions are open, where the engine allows
    /// it and the case has a place for it.
    pub physical_ddl_percent: usize,
    /// How many cases, of a hundred, lock a table by name, where the engine has that.
    pub table_lock_percent: usize,
    /// How many cases, of a hundred, have statements aimed at what another session has left open, or at what a return
    /// to a savepoint takes back.
    pub rival_percent: usize,
    /// How many cases, of a hundred, have a write of a row that another session's open transaction has locked by reading it, where
    /// they have a place for it.
    pub locked_read_percent: usize,
    /// How many cases, of a hundred, have a commit between the beginning of a transaction and its first read, where they have a
    /// place for it.
    pub late_read_percent: usize,
    /// How many schemas, of a hundred, have views.
    pub view_percent: usize,
    /// In how many cases, of a hundred, sessions begin with settings of the optimizer.
    pub plan_setting_percent: usize,
    /// In how many cases, of a hundred, sessions choose what their statements mean: strict modes.
    pub mode_percent: usize,
    /// How many cases, of a hundred, have sessions that send prepared statements.
    pub prepared_percent: usize,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            levels: LevelChoice::AnyOne,
            claim: None,
            version_keys: VersionKeys::Mostly,
            tables: 1..=4,
            rows: 3..=8,
            sessions: 2..=4,
            transactions: 1..=2,
            statements: 1..=5,
            lone_percent: 15,
            savepoint_percent: 30,
            gone_savepoint_percent: 60,
            extra_type_percent: 20,
            foreign_key_percent: 12,
            counter_percent: 10,
            trigger_percent: 12,
            physical_ddl_percent: 12,
            table_lock_percent: 12,
            rival_percent: 30,
            locked_read_percent: 25,
            late_read_percent: 45,
            view_percent: 12,
            plan_setting_percent: 15,
            mode_percent: 15,
            prepared_percent: 12,
        }
    }
}

impl GenerateOptions {
    /// The fixed shape by which speed is measured: 2 tables of 15 rows, 2 sessions with one
    /// transaction of 5 statements each.
    pub fn benchmark() -> Self {
        Self {
            tables: 2..=2,
            rows: 15..=15,
            sessions: 2..=2,
            transactions: 1..=1,
            statements: 5..=5,
            lone_percent: 0,
            savepoint_percent: 0,
            gone_savepoint_percent: 0,
            extra_type_percent: 0,
            foreign_key_percent: 0,
            counter_percent: 0,
            trigger_percent: 0,
            physical_ddl_percent: 0,
            table_lock_percent: 0,
            rival_percent: 0,
            locked_read_percent: 0,
            late_read_percent: 0,
            view_percent: 0,
            plan_setting_percent: 0,
            mode_percent: 0,
            prepared_percent: 0,
            version_keys: VersionKeys::Always,
            ..Self::default()
        }
    }
}
