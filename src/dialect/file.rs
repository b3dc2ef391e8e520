//! The reader of `dialects/*.toml`. Every error names file, line and column.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::answer::{REPLACE_COUNTS, TRANSACTION_ENDS, UPDATE_COUNTS};
use super::column_type::{CollationEntry, TypeEntry, collations, extra_types, types};
use super::durability::{DurabilityEntry, durability};
use super::errors::{CodeEntry, MessageEntry, class_words, error_messages, errors};
use super::levels::{CauseEntry, PromiseEntry, causes, has_all, level_words, locks, promises};
use super::lock_rules::{ExclusionEntries, lock_rules};
use super::overlay;
use super::plan_setting::{PlanSettingEntry, SessionMode, plan_settings};
use super::text::{DialectError, DialectText};
use super::{
    AffectedRows, Capability, Dialect, EqualSavepoints, ObserverKind, ParserKind, PreparedSpelling,
    RejectionEnd, ServerVersion, SnapshotPoint, Spelling,
};
use crate::model::{Doubt, ErrorClass, IsolationLevel, ReadMode, Role, StatementKind};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    format: u32,
    engine: String,
    levels: Vec<Spanned<String>>,
    snapshot_point: Spanned<String>,
    observer: Spanned<String>,
    #[serde(default)]
    mixes_after_wait: Vec<Spanned<String>>,
    #[serde(default)]
    re_evaluates_after_wait: Vec<Spanned<String>>,
    #[serde(default)]
    begins_anew_after_wait: Vec<Spanned<String>>,
    #[serde(default)]
    locks_absent_keys: Vec<Spanned<String>>,
    #[serde(default)]
    serialization_failures: BTreeMap<Spanned<String>, Spanned<String>>,
    equal_savepoints: Spanned<String>,
    #[serde(default)]
    storage_engines_without_transactions: Vec<String>,
    #[serde(default)]
    known: BTreeMap<Spanned<String>, Spanned<toml::Value>>,
    session_setup: Vec<String>,
    capabilities: Vec<CapabilityEntry>,
    spelling: SpellingEntry,
    #[serde(rename = "type")]
    types: Vec<TypeEntry>,
    #[serde(default, rename = "extra-type")]
    extra_types: Vec<TypeEntry>,
    #[serde(default, rename = "collation")]
    collations: Vec<CollationEntry>,
    read_modes: BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<String>>>,
    #[serde(default, rename = "read-mode-change")]
    read_mode_changes: Vec<ChangeEntry>,
    #[serde(default)]
    autocommit_read_modes: BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<String>>>,
    promises: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default, rename = "promise-change")]
    promise_changes: Vec<PromiseEntry>,
    #[serde(default, rename = "serialization-failure-change")]
    serialization_failure_changes: Vec<CauseEntry>,
    #[serde(default)]
    locks: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    row_locks: ExclusionEntries,
    #[serde(default)]
    table_locks: ExclusionEntries,
    #[serde(default)]
    write_locks: BTreeMap<Spanned<String>, Spanned<String>>,
    errors: BTreeMap<Spanned<String>, Vec<CodeEntry>>,
    #[serde(default, rename = "error-message")]
    error_messages: Vec<MessageEntry>,
    ends_transaction: Vec<EndEntry>,
    affected_rows: CountEntry,
    #[serde(default)]
    durability: Vec<DurabilityEntry>,
    session_mode: Option<SessionMode>,
    #[serde(default, rename = "plan-setting")]
    plan_settings: Vec<PlanSettingEntry>,
}

/// A class of errors that ends the transaction, on servers of these versions with these variables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndEntry {
    class: Spanned<String>,
    end: Spanned<String>,
    since: Option<Spanned<String>>,
    until: Option<Spanned<String>>,
    #[serde(default)]
    when: BTreeMap<String, String>,
}

/// What counts as an affected row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CountEntry {
    update: Spanned<String>,
    upsert: u64,
    replace: Spanned<String>,
}

/// A read mode that holds instead, on servers of these versions with these variables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeEntry {
    level: Spanned<String>,
    role: Spanned<String>,
    mode: Spanned<String>,
    since: Option<Spanned<String>>,
    until: Option<Spanned<String>>,
    #[serde(default)]
    when: BTreeMap<String, String>,
}

/// A capability, from a version on where `since` stands, before it where `until` stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapabilityEntry {
    name: Spanned<String>,
    since: Option<Spanned<String>>,
    until: Option<Spanned<String>>,
    /// Variables of the server: one that has all of them lacks it.
    #[serde(default)]
    unless: BTreeMap<String, String>,
    /// Why it is not there beyond the bounds, or with these variables.
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SpellingEntry {
    identifier_quote: char,
    parser: Spanned<String>,
    begin: BTreeMap<String, String>,
    commit: String,
    rollback: String,
    set_isolation: String,
    #[serde(default)]
    set_variable: String,
    lock_clauses: BTreeMap<String, String>,
    fix_snapshot: String,
    long_text: String,
    table_options: String,
    backslash_escapes: bool,
    hidden_row_key: String,
    list_tables: String,
    empty_table: String,
    #[serde(default)]
    empty_table_anew: String,
    #[serde(default = "drop_table")]
    drop_table: String,
    #[serde(default)]
    together: String,
    #[serde(default)]
    foreign_keys_off: Vec<String>,
    #[serde(default)]
    foreign_keys_on: Vec<String>,
    #[serde(default)]
    trigger_body: String,
    #[serde(default)]
    partition: String,
    prepared: Option<PreparedSpelling>,
    #[serde(default)]
    count_from: String,
    #[serde(default)]
    list_indexes: String,
    #[serde(default)]
    list_index_names: String,
    #[serde(default)]
    check_tables: String,
    #[serde(default = "always")]
    check_tables_every: u32,
    #[serde(default)]
    check_passes: Vec<String>,
}

fn drop_table() -> String {
    "DROP TABLE IF EXISTS {table}".to_owned()
}

fn always() -> u32 {
    1
}

/// Reads a dialect for a server of this version.
///
/// # Errors
/// What does not parse, names an unknown key, level, role, mode or error class, or leaves a
/// combination of level and role without a read mode.
pub fn parse(name: &str, text: &str, version: &ServerVersion) -> Result<Dialect, DialectError> {
    parse_for(name, text, version, &BTreeMap::new())
}

/// As [`parse`], for a server with these variables.
///
/// # Errors
/// As [`parse`].
pub fn parse_for(
    name: &str,
    text: &str,
    version: &ServerVersion,
    variables: &BTreeMap<String, String>,
) -> Result<Dialect, DialectError> {
    let (source, tree) = overlay::tree(name, text)?;
    let file = File::deserialize(toml::Deserializer::from(tree)).map_err(|error| {
        source.error(
            error.span().map_or(0, |span| span.start),
            error.message().to_owned(),
        )
    })?;
    if file.format != 1 {
        return Err(source.error(
            0,
            format!("format {} is not known: expected 1", file.format),
        ));
    }
    let levels: Vec<_> = level_list(&source, &file.levels)?;
    let mut read_modes = read_modes(&source, &file.read_modes)?;
    read_modes.extend(changed_modes(
        &source,
        &file.read_mode_changes,
        version,
        variables,
    )?);
    for level in &levels {
        for role in Role::ALL {
            if !read_modes.contains_key(&(*level, role)) {
                let message = format!("no read mode for {role} at {}", level.slug());
                return Err(source.error(source.place_of("[read-modes"), message));
            }
        }
    }
    let (capabilities, why_not) = capabilities(&source, &file.capabilities, version, variables)?;
    let lacks_keys = why_not.contains_key(&Capability::ForeignKey);
    let excludes = (&file.row_locks, &file.table_locks);
    Ok(Dialect {
        engine: file.engine,
        capabilities,
        why_not,
        types: types(&source, &file.types, version)?,
        extra_types: extra_types(&source, &file.extra_types, &file.collations, version)?,
        collations: collations(&source, &file.collations, version)?,
        levels,
        session_setup: file.session_setup,
        snapshot_point: source.word(&file.snapshot_point, &SNAPSHOT_POINTS)?,
        observer: source.word(&file.observer, &OBSERVERS)?,
        mixes_after_wait: level_list(&source, &file.mixes_after_wait)?,
        re_evaluates_after_wait: level_list(&source, &file.re_evaluates_after_wait)?,
        begins_anew_after_wait: level_list(&source, &file.begins_anew_after_wait)?,
        locks_absent_keys: level_list(&source, &file.locks_absent_keys)?,
        serialization_causes: causes(
            &source,
            &file.serialization_failures,
            &file.serialization_failure_changes,
            variables,
        )?,
        autocommit_read_modes: self::read_modes(&source, &file.autocommit_read_modes)?,
        equal_savepoints: source.word(&file.equal_savepoints, &EQUAL_SAVEPOINTS)?,
        known: Some(known(&source, &file.known)?),
        storage_engines_without_transactions: file.storage_engines_without_transactions,
        read_modes,
        promises: promises(&source, &file.promises, &file.promise_changes, variables)?,
        locks: locks(&source, &file.locks)?,
        lock_rules: lock_rules(&source, excludes, &file.write_locks)?,
        errors: errors(&source, &file.errors)?,
        error_messages: error_messages(&source, &file.error_messages)?,
        ends_transaction: ends(&source, &file.ends_transaction, version, variables)?,
        affected_rows: affected_rows(&source, &file.affected_rows)?,
        spelling: spelling(&source, file.spelling, !lacks_keys)?,
        durability: durability(file.durability, |when| has_all(variables, when)),
        session_mode: file.session_mode,
        plan_settings: plan_settings(&source, file.plan_settings, version)?,
    })
}

fn affected_rows(
    source: &DialectText<'_>,
    entry: &CountEntry,
) -> Result<AffectedRows, DialectError> {
    Ok(AffectedRows {
        update: source.value("affected-rows.update", &entry.update, &UPDATE_COUNTS)?,
        upsert: entry.upsert,
        replace: source.value("affected-rows.replace", &entry.replace, &REPLACE_COUNTS)?,
    })
}

const SNAPSHOT_POINTS: [(&str, SnapshotPoint); 3] = [
    ("begin", SnapshotPoint::Begin),
    ("first-consistent-read", SnapshotPoint::FirstConsistentRead),
    ("first-statement", SnapshotPoint::FirstStatement),
];

const EQUAL_SAVEPOINTS: [(&str, EqualSavepoints); 2] = [
    ("replace", EqualSavepoints::Replace),
    ("nest", EqualSavepoints::Nest),
];

const OBSERVERS: [(&str, ObserverKind); 4] = [
    ("uncommitted", ObserverKind::Uncommitted),
    ("writer", ObserverKind::Writer),
    ("returning", ObserverKind::Returning),
    ("none", ObserverKind::Absent),
];

fn level_list<L: FromIterator<IsolationLevel>>(
    source: &DialectText<'_>,
    levels: &[Spanned<String>],
) -> Result<L, DialectError> {
    let levels = levels.iter();
    levels
        .map(|level| source.word(level, &level_words()))
        .collect()
}

/// What explains each doubt: one id, or an id for each kind of statement.
fn known(
    source: &DialectText<'_>,
    entries: &BTreeMap<Spanned<String>, Spanned<toml::Value>>,
) -> Result<BTreeMap<(Doubt, Option<StatementKind>), String>, DialectError> {
    let doubts: Vec<(&str, Doubt)> = Doubt::ALL.iter().map(|d| (d.slug(), *d)).collect();
    let mut known = BTreeMap::new();
    for (name, value) in entries {
        let doubt = source.word(name, &doubts)?;
        let at = value.span().start;
        match value.get_ref() {
            toml::Value::String(id) => {
                known.insert((doubt, None), id.clone());
            }
            toml::Value::Table(table) => {
                for (kind, id) in table {
                    let kind = Spanned::new(value.span(), kind.clone());
                    let Some(id) = id.as_str() else {
                        return Err(source.error(at, "expected an id in quotes"));
                    };
                    let kind = source.word(&kind, &kind_words())?;
                    known.insert((doubt, Some(kind)), id.to_owned());
                }
            }
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => {
                let expected = "expected an id in quotes, or a table of statement kinds with ids";
                return Err(source.error(at, expected));
            }
        }
    }
    Ok(known)
}

fn role_words() -> Vec<(&'static str, Role)> {
    Role::ALL.iter().map(|role| (role.slug(), *role)).collect()
}

fn mode_words() -> [(&'static str, ReadMode); 5] {
    [
        ReadMode::TransactionSnapshot,
        ReadMode::StatementSnapshot,
        ReadMode::EitherSnapshot,
        ReadMode::Current,
        ReadMode::Anything,
    ]
    .map(|mode| (mode.slug(), mode))
}

fn kind_words() -> Vec<(&'static str, StatementKind)> {
    StatementKind::ALL
        .iter()
        .map(|kind| (kind.slug(), *kind))
        .collect()
}

fn capabilities(
    source: &DialectText<'_>,
    entries: &[CapabilityEntry],
    version: &ServerVersion,
    variables: &BTreeMap<String, String>,
) -> Result<(BTreeSet<Capability>, BTreeMap<Capability, String>), DialectError> {
    let (mut found, mut why_not) = (BTreeSet::new(), BTreeMap::new());
    for entry in entries {
        let capability = Capability::from_slug(entry.name.get_ref()).map_err(|error| {
            source.error(entry.name.span().start, format!("capabilities: {error}"))
        })?;
        let lacks = !entry.unless.is_empty() && has_all(variables, &entry.unless);
        if source.is_within(entry.since.as_ref(), entry.until.as_ref(), version)? && !lacks {
            found.insert(capability);
        } else if let Some(why) = &entry.why {
            why_not.insert(capability, why.clone());
        }
    }
    Ok((found, why_not))
}

fn read_modes(
    source: &DialectText<'_>,
    table: &BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<String>>>,
) -> Result<BTreeMap<(IsolationLevel, Role), ReadMode>, DialectError> {
    let mut all = BTreeMap::new();
    for (level, entries) in table {
        let level = source.word(level, &level_words())?;
        for (role, mode) in entries {
            all.insert(
                (level, source.word(role, &role_words())?),
                source.word(mode, &mode_words())?,
            );
        }
    }
    Ok(all)
}

/// The read modes that hold instead on this server.
fn changed_modes(
    source: &DialectText<'_>,
    changes: &[ChangeEntry],
    version: &ServerVersion,
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<(IsolationLevel, Role), ReadMode>, DialectError> {
    let mut modes = BTreeMap::new();
    for change in changes {
        let key = (
            source.word(&change.level, &level_words())?,
            source.word(&change.role, &role_words())?,
        );
        let mode = source.word(&change.mode, &mode_words())?;
        let bounds = (change.since.as_ref(), change.until.as_ref());
        if source.is_within(bounds.0, bounds.1, version)? && has_all(variables, &change.when) {
            modes.insert(key, mode);
        }
    }
    Ok(modes)
}

/// The classes of errors that end the transaction on this server.
fn ends(
    source: &DialectText<'_>,
    entries: &[EndEntry],
    version: &ServerVersion,
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<ErrorClass, RejectionEnd>, DialectError> {
    let mut ends = BTreeMap::new();
    for entry in entries {
        let class = source.value("ends-transaction", &entry.class, &class_words())?;
        let bounds = (entry.since.as_ref(), entry.until.as_ref());
        if source.is_within(bounds.0, bounds.1, version)? && has_all(variables, &entry.when) {
            ends.insert(
                class,
                source.value("ends-transaction", &entry.end, &TRANSACTION_ENDS)?,
            );
        }
    }
    Ok(ends)
}

/// What takes foreign keys out of force is no word of a server that has none, or of an account that may not.
fn spelling(
    source: &DialectText<'_>,
    entry: SpellingEntry,
    keys: bool,
) -> Result<Spelling, DialectError> {
    let of_keys = |words: Vec<String>| if keys { words } else { Vec::new() };
    let parsers = [
        ("mysql", ParserKind::MySql),
        ("postgresql", ParserKind::PostgreSql),
        ("sqlite", ParserKind::Sqlite),
    ];
    Ok(Spelling {
        parser: source.word(&entry.parser, &parsers)?,
        identifier_quote: entry.identifier_quote,
        begin: entry.begin,
        commit: entry.commit,
        rollback: entry.rollback,
        set_isolation: entry.set_isolation,
        set_variable: entry.set_variable,
        lock_clauses: entry.lock_clauses,
        fix_snapshot: entry.fix_snapshot,
        long_text: entry.long_text,
        table_options: entry.table_options,
        backslash_escapes: entry.backslash_escapes,
        hidden_row_key: entry.hidden_row_key,
        list_tables: entry.list_tables,
        empty_table: entry.empty_table,
        empty_table_anew: entry.empty_table_anew,
        drop_table: entry.drop_table,
        together: entry.together,
        foreign_keys_off: of_keys(entry.foreign_keys_off),
        foreign_keys_on: of_keys(entry.foreign_keys_on),
        trigger_body: entry.trigger_body,
        partition: entry.partition,
        prepared: entry.prepared,
        count_from: entry.count_from,
        list_indexes: entry.list_indexes,
        list_index_names: entry.list_index_names,
        check_tables: entry.check_tables,
        check_tables_every: entry.check_tables_every,
        check_passes: entry.check_passes,
    })
}
