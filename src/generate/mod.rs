//! From entropy, grammar and dialect to a test case.
//!
//! Run seed and index decide a case, on any machine and in any worker. [`EPOCH`] consecutive cases
//! share a schema, because DDL is the dearest part of a reset; rows, transactions and schedule
//! belong to the case.

mod columns;
mod counted;
mod entropy;
mod expand;
mod extra_column;
mod failing;
mod foreign_key;
mod gone_savepoint;
mod late_read;
mod locked_read;
mod mode;
mod options;
mod physical_ddl;
mod prepared;
mod rival;
mod rows;
mod savepoint;
mod schema;
mod scope;
mod session;
mod special_index;
mod table_lock;
#[cfg(test)]
mod tests;
mod trigger;
mod view;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::grammar::Grammar;
use crate::model::{IsolationLevel, SessionId, SetupKind, SetupStatement, StatementId, TestCase};
use crate::statement::Catalog;
use counted::add_counters;
use entropy::Entropy;
use extra_column::add_extra_columns;
use foreign_key::add_foreign_keys;
use gone_savepoint::add_gone_savepoint;
use mode::modes;
pub use options::{GenerateOptions, LevelChoice, UnknownLevelChoice, VersionKeys};
use physical_ddl::add_physical_ddl;
use prepared::prepare_some;
use schema::TablePlan;
use session::SessionGenerator;
use special_index::add_special_indexes;
use table_lock::add_table_locks;
use trigger::add_triggers;
use view::{ViewPlan, send_through, views};

/// How many consecutive cases share a schema.
pub const EPOCH: u64 = 25;

/// A case, and which productions of the grammar each of its statements came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    pub case: TestCase,
    /// Labels as `Production::label` has them, sorted, without duplicates.
    pub productions: BTreeMap<StatementId, Vec<Arc<str>>>,
}

/// The case of this seed and index.
pub fn generate(
    run_seed: u64,
    index: u64,
    options: &GenerateOptions,
    grammar: &Grammar,
    dialect: &Dialect,
) -> Generated {
    let version_keys = options.version_keys.of_schema(index / EPOCH);
    let schema = schema_of_epoch(run_seed, index / EPOCH, options, dialect);
    let case_bytes = entropy::bytes("case", run_seed, index);
    let mut entropy = Entropy::new(&case_bytes);
    let (inserts, stock) = rows::rows(&mut entropy, &schema.tables, &options.rows);
    let setup = schema.set_up(inserts);
    let EpochSchema { tables, views, .. } = schema;
    let catalog = Catalog::of(&setup, dialect);
    let sessions = entropy.range(&options.sessions);
    let isolation = levels(&mut entropy, options, dialect, sessions);
    let mut lines = SessionGenerator {
        grammar,
        dialect,
        tables: &tables,
        catalog: &catalog,
        options,
        version_keys,
        entropy: &mut entropy,
        stock,
    };
    let mut drawn = lines.lines(sessions);
    // Of streams of their own: the rest of a case is the same with and without them.
    let bytes = entropy::bytes("rivals", run_seed, index);
    let mut entropy = Entropy::new(&bytes);
    let mut rivals = SessionGenerator {
        entropy: &mut entropy,
        ..lines
    };
    rivals.add_rivals(&mut drawn);
    rivals.add_late_read(&mut drawn);
    rivals.add_locked_read(&mut drawn);
    let bytes = entropy::bytes("gone savepoints", run_seed, index);
    let percent = options.gone_savepoint_percent;
    add_gone_savepoint(&mut Entropy::new(&bytes), percent, &mut drawn, dialect);
    let bytes = entropy::bytes("through views", run_seed, index);
    send_through(&mut Entropy::new(&bytes), &views, &mut drawn, dialect);
    let bytes = entropy::bytes("prepared", run_seed, index);
    let percent = options.prepared_percent;
    let prepared = prepare_some(&mut Entropy::new(&bytes), percent, &mut drawn, dialect);
    let bytes = entropy::bytes("physical DDL", run_seed, index);
    let percent = options.physical_ddl_percent;
    let mut entropy = Entropy::new(&bytes);
    let schema = (tables.as_slice(), &catalog);
    add_physical_ddl(&mut entropy, percent, sessions, &mut drawn, schema, dialect);
    let bytes = entropy::bytes("table locks", run_seed, index);
    let percent = options.table_lock_percent;
    let mut entropy = Entropy::new(&bytes);
    add_table_locks(&mut entropy, percent, &mut drawn, &catalog, dialect);
    let bytes = entropy::bytes("settings", run_seed, index);
    let mut entropy = Entropy::new(&bytes);
    let mut settings = SessionGenerator {
        entropy: &mut entropy,
        ..rivals
    };
    let mut lines = settings.settings(sessions);
    let bytes = entropy::bytes("modes", run_seed, index);
    let percent = options.mode_percent;
    lines.extend(modes(&mut Entropy::new(&bytes), percent, sessions, dialect));
    lines.extend(drawn);
    let productions: Vec<_> = lines.iter().map(|line| line.productions.clone()).collect();
    let statements = lines.into_iter().map(|line| {
        let effect = catalog.resolved(&line.sql, line.effect, dialect);
        (line.session, line.sql, effect)
    });
    let statements = statements.collect();
    let case = TestCase::new(setup, catalog.tables, statements, isolation, options.claim)
        .prepared_in(prepared);
    let ids = case.statements.iter().map(|s| s.id);
    let productions = ids.zip(productions).collect();
    Generated { case, productions }
}

/// What consecutive cases share.
struct EpochSchema {
    tables: Vec<TablePlan>,
    views: Vec<ViewPlan>,
    /// The statements that make its triggers.
    triggers: Vec<String>,
}

impl EpochSchema {
    /// The set-up that makes it and runs these statements, which fill it.
    fn set_up(&self, inserts: Vec<String>) -> Vec<SetupStatement> {
        let tables = self.tables.iter().flat_map(|table| table.statements.iter());
        let schema = tables.chain(self.views.iter().map(|view| &view.sql));
        schema
            .map(|sql| (sql.clone(), SetupKind::Schema))
            .chain(inserts.into_iter().map(|sql| (sql, SetupKind::Rows)))
            // Behind the rows, which fire none.
            .chain((self.triggers.iter()).map(|sql| (sql.clone(), SetupKind::Schema)))
            .map(|(sql, kind)| SetupStatement { sql, kind })
            .collect()
    }
}

/// The schema of an epoch.
fn schema_of_epoch(
    run_seed: u64,
    epoch: u64,
    options: &GenerateOptions,
    dialect: &Dialect,
) -> EpochSchema {
    let version_keys = options.version_keys.of_schema(epoch);
    let bytes = entropy::bytes("schema", run_seed, epoch);
    let mut entropy = Entropy::new(&bytes);
    let mut tables = schema::tables(&mut entropy, &options.tables, version_keys, dialect);
    // Of streams of their own: other schemas, and what is drawn of them, are the same with and without.
    let bytes = entropy::bytes("special indexes", run_seed, epoch);
    add_special_indexes(&mut Entropy::new(&bytes), &mut tables, dialect);
    let bytes = entropy::bytes("extra types", run_seed, epoch);
    let percent = options.extra_type_percent;
    add_extra_columns(&mut Entropy::new(&bytes), percent, &mut tables, dialect);
    let bytes = entropy::bytes("foreign keys", run_seed, epoch);
    let percent = options.foreign_key_percent;
    add_foreign_keys(&mut Entropy::new(&bytes), percent, &mut tables, dialect);
    let bytes = entropy::bytes("counters", run_seed, epoch);
    let percent = options.counter_percent;
    add_counters(&mut Entropy::new(&bytes), percent, &mut tables, dialect);
    let bytes = entropy::bytes("triggers", run_seed, epoch);
    let percent = options.trigger_percent;
    let triggers = add_triggers(&mut Entropy::new(&bytes), percent, &mut tables, dialect);
    let bytes = entropy::bytes("views", run_seed, epoch);
    let percent = options.view_percent;
    let views = views(&mut Entropy::new(&bytes), percent, &tables, dialect);
    EpochSchema {
        tables,
        views,
        triggers,
    }
}

/// The level of every session.
fn levels(
    entropy: &mut Entropy<'_>,
    options: &GenerateOptions,
    dialect: &Dialect,
    sessions: usize,
) -> BTreeMap<SessionId, IsolationLevel> {
    let strongest = IsolationLevel::Serializable;
    let mut draw = || entropy.pick(&dialect.levels).copied().unwrap_or(strongest);
    let common = match options.levels {
        LevelChoice::One(level) => Some(level),
        LevelChoice::AnyOne => Some(draw()),
        LevelChoice::Mixed => None,
    };
    (1..=sessions)
        .filter_map(|number| u32::try_from(number).ok())
        .map(|number| (SessionId(number), common.unwrap_or_else(&mut draw)))
        .collect()
}
