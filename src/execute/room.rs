//! Resets a database to the state in which a case begins, as cheaply as correctness allows.
//!
//! DDL runs when the schema's text changes. Otherwise the tables are emptied and filled again:
//! where sessions will run, by what the dialect calls empty (TRUNCATE: rows that InnoDB merely
//! marked as deleted change locking until they are purged); where one connection runs alone, by
//! DELETE in one transaction, which is cheaper and shows no difference without concurrency on a correct
//! engine. What a defect left in the tables shows until they are built anew ([`Room::forget`]), and where a statement
//! left no partition of a table, until it is emptied by TRUNCATE or read: MariaDB then finds none of its rows in some
//! writes, in whatever order the serial run comes to next.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::{Capability, Dialect};
use crate::engine::{EngineError, MARKER_TABLE};
use crate::model::{
    CaseStatement, Row, SetupKind, SetupStatement, TableFault, TableShape, TestCase,
};
use crate::statement::{set_up_counts, trigger_text};

use super::hand::{Hand, text};
use super::table_check::{EngineCheck, IndexRead, ask_the_engine, check, list_indexes};
use super::touched::{Touched, filled_by};

/// What empties a table in the same transaction as the rows that follow.
const FAST_EMPTYING: &str = "DELETE FROM {table}";

/// How tables are emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emptying {
    /// As if they had just been created.
    Clean,
    /// By DELETE, in one transaction with the rows that follow.
    Fast,
}

/// The schema that the database has now.
struct LoadedSchema {
    schema: Vec<String>,
    tables: Vec<String>,
    habit: Habit,
    /// What the engine says of its indexes, once it was asked.
    indexes: Option<Vec<IndexRead>>,
}

/// How a schema may be brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// By emptying its tables either way.
    AnyEmptying,
    /// By emptying them cleanly: DELETE would leave something behind.
    CleanOnly,
    /// By building it anew.
    Rebuild,
}

impl Habit {
    /// Whether DELETE leaves nothing behind but counters, of which nothing depends: the set-up takes no number, and
    /// statements are given theirs.
    fn leaves_counters(self, case: &TestCase, dialect: &Dialect) -> bool {
        self == Self::CleanOnly
            && !dialect.spelling.count_from.is_empty()
            && !set_up_counts(case, dialect)
    }
}

/// Whether a table references another: rows of one keep those of the other from going.
pub(super) fn has_foreign_keys(case: &TestCase) -> bool {
    let mut tables = case.tables.iter();
    tables.any(|table| !table.foreign_keys.is_empty())
}

/// How the text of a schema allows it to be reset. A misread word costs time, never correctness.
fn habit(case: &TestCase, dialect: &Dialect) -> Habit {
    let triggers_last = last_triggers(case, dialect).len();
    let untriggered = &case.setup[..case.setup.len() - triggers_last];
    let mut kinds = untriggered.iter().map(|statement| statement.kind);
    let rows_first =
        kinds.any(|kind| kind == SetupKind::Rows) && kinds.any(|kind| kind == SetupKind::Schema);
    let mentions = |words: &[&str]| {
        let schema = untriggered.iter().filter(|s| s.kind == SetupKind::Schema);
        schema.into_iter().any(|statement| {
            let sql = statement.sql.to_ascii_uppercase();
            words.iter().any(|word| sql.contains(word))
        })
    };
    let counts = mentions(&["AUTO_INCREMENT", "AUTOINCREMENT", "SERIAL"]);
    let clean_is_delete = dialect.clean_emptying().starts_with("DELETE");
    if rows_first
        || mentions(&["TRIGGER", "SEQUENCE", "SYSTEM VERSIONING"])
        || untriggered
            .iter()
            .any(|statement| brings_its_rows(&statement.sql))
        || (has_foreign_keys(case) && dialect.spelling.foreign_keys_off.is_empty())
        || (counts && clean_is_delete)
        || dialect.clean_emptying().is_empty()
    {
        Habit::Rebuild
    } else if counts || dialect.supports(Capability::DeleteLeavesLocks) {
        Habit::CleanOnly
    } else {
        Habit::AnyEmptying
    }
}

/// Whether a statement makes a table together with its rows (`CREATE TABLE .. AS SELECT ..`).
fn brings_its_rows(sql: &str) -> bool {
    let sql = sql.to_ascii_uppercase();
    let mut words = sql.split_whitespace();
    let makes_a_table = words.next() == Some("CREATE") && words.take(3).any(|w| w == "TABLE");
    let queries = ["SELECT", "AS TABLE", "AS VALUES", "AS EXECUTE"];
    makes_a_table && queries.iter().any(|query| sql.contains(query))
}

/// The triggers of a set-up, in its order.
pub(super) fn triggers<'c>(case: &'c TestCase, dialect: &Dialect) -> Vec<SetupTrigger<'c>> {
    let set_up = case.setup.iter();
    let schema = set_up.filter(|statement| statement.kind == SetupKind::Schema);
    schema
        .filter_map(|statement| SetupTrigger::of(statement, dialect))
        .collect()
}

/// The triggers at the end of a set-up, which fire for none of its rows.
fn last_triggers<'c>(case: &'c TestCase, dialect: &Dialect) -> Vec<SetupTrigger<'c>> {
    // Mostly the last is one that fills a table: its text is not looked at.
    let from_behind = case.setup.iter().rev();
    let from_behind = from_behind.take_while(|statement| statement.kind == SetupKind::Schema);
    let mut triggers: Vec<SetupTrigger<'c>> = from_behind
        .map_while(|statement| SetupTrigger::of(statement, dialect))
        .collect();
    triggers.reverse();
    triggers
}

/// A trigger that can be dropped and made again.
pub(super) struct SetupTrigger<'c> {
    name: String,
    pub(super) table: String,
    pub(super) create: &'c str,
}

impl<'c> SetupTrigger<'c> {
    fn of(statement: &'c SetupStatement, dialect: &Dialect) -> Option<Self> {
        let text = trigger_text(&statement.sql, dialect)?;
        Some(Self {
            name: text.name,
            table: text.table,
            create: &statement.sql,
        })
    }

    pub(super) fn dropping(&self, dialect: &Dialect) -> String {
        format!("DROP TRIGGER IF EXISTS {}", dialect.quote(&self.name))
    }
}

fn schema_of(case: &TestCase) -> impl Iterator<Item = &str> {
    case.setup
        .iter()
        .filter(|statement| statement.kind == SetupKind::Schema)
        .map(|statement| statement.sql.as_str())
}

/// One of the driver's databases and its schema.
pub(super) struct Room {
    pub(super) database: String,
    loaded: Option<LoadedSchema>,
    /// What ran last may have left a transaction open.
    pub(super) may_be_in_transaction: bool,
}

/// Whether a reset built the schema anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    Kept,
    Rebuilt,
}

impl Room {
    pub(super) fn new(database: String) -> Self {
        Self {
            database,
            loaded: None,
            may_be_in_transaction: true,
        }
    }

    /// Makes the next reset build the schema anew: the last case may have changed it, or broken its tables.
    pub(super) fn forget(&mut self) {
        self.loaded = None;
    }

    /// Whether the set-up that was run last has left a table of this name.
    pub(super) fn has_table(&self, name: &str) -> bool {
        let mut tables = self.loaded.iter().flat_map(|loaded| &loaded.tables);
        tables.any(|table| table == name)
    }

    /// Brings the database to the state that the case's set-up describes.
    pub(super) fn reset(
        &mut self,
        hand: &mut Hand<'_>,
        case: &TestCase,
        emptying: Emptying,
    ) -> Result<Schema, EngineError> {
        // An error from here on leaves the database in an unknown state.
        let loaded = self
            .loaded
            .take()
            .filter(|loaded| loaded.schema.iter().map(String::as_str).eq(schema_of(case)))
            // The same tables may be filled at another place of the set-up.
            .filter(|loaded| loaded.habit == habit(case, hand.dialect));
        let (loaded, schema) = match loaded {
            Some(loaded) if loaded.habit != Habit::Rebuild => {
                match refill(hand, case, &loaded, emptying) {
                    Ok(()) => (loaded, Schema::Kept),
                    // Something that a case left behind keeps a row out.
                    Err(EngineError::Setup { .. }) => (rebuild(hand, case)?, Schema::Rebuilt),
                    Err(error) => return Err(error),
                }
            }
            _ => (rebuild(hand, case)?, Schema::Rebuilt),
        };
        self.loaded = Some(loaded);
        Ok(schema)
    }

    /// Reads the tables that a run may have changed by each of their indexes, and asks the engine for
    /// its own check of them.
    pub(super) fn check<'c>(
        &mut self,
        hand: &mut Hand<'_>,
        case: &'c TestCase,
        ran: impl Iterator<Item = &'c CaseStatement>,
        scans: &BTreeMap<String, Vec<Row>>,
        engine_check: EngineCheck,
    ) -> Result<Vec<TableFault>, EngineError> {
        let mut touched = Touched::default();
        let mut has_other_indexes = false;
        for statement in ran {
            touched.note_effect(&statement.effect, case);
            has_other_indexes |= statement.effect.storage_change.is_some();
        }
        let concerned = |shape: &&TableShape| touched.concerns(&shape.name);
        let shapes: Vec<&TableShape> = case.tables.iter().filter(concerned).collect();
        let Some(loaded) = self.loaded.as_mut().filter(|_| !shapes.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut indexes = match loaded.indexes.take() {
            Some(indexes) if touched != Touched::Everything && !has_other_indexes => indexes,
            _ => list_indexes(hand)?,
        };
        let mut faults = check(hand, &mut indexes, &shapes, scans)?;
        if engine_check.is_due(case, hand.dialect) {
            faults.extend(ask_the_engine(hand, &shapes)?);
        }
        loaded.indexes = Some(indexes);
        Ok(faults)
    }

    /// Whether a statement changes no other table than the one that it names.
    pub(super) fn changes_stay_in_their_table(&self) -> bool {
        let loaded = self.loaded.as_ref();
        loaded.is_some_and(|loaded| loaded.habit != Habit::Rebuild)
    }

    /// Brings the rows of these tables back to what the case's set-up describes, the others being
    /// as it left them; everything where a change of one table may have reached another.
    pub(super) fn restore(
        &mut self,
        hand: &mut Hand<'_>,
        case: &TestCase,
        tables: &BTreeSet<String>,
    ) -> Result<(), EngineError> {
        let deletes = !leaves_no_partition(case);
        let loaded = self.loaded.take_if(|loaded| {
            let any = loaded.habit == Habit::AnyEmptying;
            deletes && (any || loaded.habit.leaves_counters(case, hand.dialect))
        });
        let rows = filled_by(case, tables, hand.dialect);
        let (Some(loaded), Some(rows)) = (loaded, rows) else {
            return self.reset(hand, case, Emptying::Fast).map(drop);
        };
        let rows = rows.into_iter().map(str::to_owned);
        empty_and_fill(hand, case, FAST_EMPTYING, tables, rows)?;
        self.loaded = Some(loaded);
        Ok(())
    }
}

/// Whether a statement of the case leaves no partition of a table to look into.
fn leaves_no_partition(case: &TestCase) -> bool {
    let mut partitioned = case
        .tables
        .iter()
        .filter(|table| table.partitioning.is_some());
    partitioned.any(|table| {
        let mut statements = case.statements.iter();
        statements.any(|statement| table.has_no_partition_left_by(&statement.effect))
    })
}

/// Empties the tables and fills them again.
fn refill(
    hand: &mut Hand<'_>,
    case: &TestCase,
    loaded: &LoadedSchema,
    emptying: Emptying,
) -> Result<(), EngineError> {
    let any =
        loaded.habit == Habit::AnyEmptying || loaded.habit.leaves_counters(case, hand.dialect);
    let fast = emptying == Emptying::Fast && any && !leaves_no_partition(case);
    let template = if fast {
        FAST_EMPTYING
    } else {
        hand.dialect.clean_emptying()
    };
    let rows = case
        .setup
        .iter()
        .filter(|statement| statement.kind == SetupKind::Rows)
        .map(|statement| statement.sql.clone());
    empty_and_fill(hand, case, template, &loaded.tables, rows)
}

/// Empties these tables, each by this template, and runs the statements that fill them. Tables go in any
/// order; rows come in that of the set-up, and are refused where it does not suit foreign keys. Triggers are made
/// last, so that none of it fires them.
fn empty_and_fill<'t>(
    hand: &mut Hand<'_>,
    case: &TestCase,
    template: &str,
    tables: impl IntoIterator<Item = &'t String>,
    rows: impl Iterator<Item = String>,
) -> Result<(), EngineError> {
    let dialect = hand.dialect;
    let triggers = last_triggers(case, dialect);
    for trigger in &triggers {
        hand.run(&trigger.dropping(dialect))?;
    }
    let foreign_keys = has_foreign_keys(case);
    empty_and_fill_untriggered(hand, template, tables, rows, foreign_keys)?;
    for trigger in &triggers {
        hand.run(trigger.create)?;
    }
    Ok(())
}

fn empty_and_fill_untriggered<'t>(
    hand: &mut Hand<'_>,
    template: &str,
    tables: impl IntoIterator<Item = &'t String>,
    rows: impl Iterator<Item = String>,
    foreign_keys: bool,
) -> Result<(), EngineError> {
    let dialect = hand.dialect;
    let mut empty: Vec<String> = tables
        .into_iter()
        .map(|table| template.replace("{table}", &dialect.quote(table)))
        .collect();
    if foreign_keys {
        hand.run_without_foreign_keys(std::mem::take(&mut empty))?;
    }
    let spelling = &dialect.spelling;
    if !template.starts_with("DELETE") {
        return hand.run_together(&empty.into_iter().chain(rows).collect::<Vec<_>>());
    }
    // Where emptying is a DELETE anyway, one transaction saves a commit for each statement. BEGIN may
    // open a block where statements go together.
    let begin = spelling.begin.get("start").or(spelling.begin.get("plain"));
    let statements: Vec<String> = begin
        .cloned()
        .into_iter()
        .chain(empty)
        .chain(rows)
        .chain(begin.and(Some(spelling.commit.clone())))
        .collect();
    let done = hand.run_together(&statements);
    if done.is_err() && begin.is_some() {
        // The first error is the cause; an error of the ROLLBACK follows from it.
        hand.send(&spelling.rollback).ok();
    }
    done
}

fn rebuild(hand: &mut Hand<'_>, case: &TestCase) -> Result<LoadedSchema, EngineError> {
    let dialect = hand.dialect;
    let old = list(hand)?;
    if !old.is_empty() {
        for sql in &dialect.spelling.foreign_keys_off {
            hand.run(sql)?;
        }
        // Views first: they hang on tables.
        let drop_table = dialect.spelling.drop_table.as_str();
        for (drop, is_view) in [("DROP VIEW IF EXISTS {table}", true), (drop_table, false)] {
            for (name, _) in old.iter().filter(|(_, view)| *view == is_view) {
                hand.run(&drop.replace("{table}", &dialect.quote(name)))?;
            }
        }
        for sql in &dialect.spelling.foreign_keys_on {
            hand.run(sql)?;
        }
    }
    for statement in &case.setup {
        hand.run(&statement.sql)?;
    }
    let tables = list(hand)?;
    let loaded = LoadedSchema {
        schema: schema_of(case).map(str::to_owned).collect(),
        tables: tables
            .into_iter()
            .filter(|(_, is_view)| !is_view)
            .map(|(name, _)| name)
            .collect(),
        habit: habit(case, dialect),
        indexes: None,
    };
    if loaded.habit != Habit::Rebuild && emptying_reorders(case, dialect) {
        refill(hand, case, &loaded, Emptying::Clean)?;
    }
    Ok(loaded)
}

/// Whether a table may look at its indexes in another order once it was emptied: TRUNCATE makes a table of InnoDB
/// anew, its unique indexes before the others, and CREATE INDEX had put them last. A row that breaks a unique key
/// and a foreign key, or two foreign keys, is refused for the one whose index comes first, and an upsert that meets
/// the unique key first is not refused at all: every run of a case has to begin with the same order.
fn emptying_reorders(case: &TestCase, dialect: &Dialect) -> bool {
    let has_both =
        |table: &TableShape| !table.foreign_keys.is_empty() && table.unique_keys.len() > 1;
    dialect.clean_emptying().starts_with("TRUNCATE") && case.tables.iter().any(has_both)
}

/// Tables and views of the database but our marker: name, and whether it is a view.
fn list(hand: &mut Hand<'_>) -> Result<Vec<(String, bool)>, EngineError> {
    let sql = hand.dialect.spelling.list_tables.clone();
    let rows = hand.run(&sql)?;
    Ok(rows
        .iter()
        .filter_map(|row| match row.as_slice() {
            [name, kind, ..] => Some((text(name)?, text(kind)?)),
            _ => None,
        })
        .filter(|(name, _)| !name.eq_ignore_ascii_case(MARKER_TABLE))
        .map(|(name, kind)| (name, kind.to_ascii_lowercase().contains("view")))
        .collect())
}
