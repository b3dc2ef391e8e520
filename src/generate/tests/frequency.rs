//! What is never drawn is never heard: how often the generator draws what finds bugs. Seeds are
//! fixed, so the counts are; the bounds leave room for a change of weights.

use std::collections::{BTreeMap, BTreeSet};

use super::{case, parts};
use crate::dialect::Capability;
use crate::generate::{EPOCH, GenerateOptions, Generated, VersionKeys};
use crate::grammar::is_meant_to_fail;
use crate::model::{CaseStatement, Setting, StatementKind, TestCase};
use crate::statement::has_unknown_trigger;

/// How many cases are counted.
pub(super) const CASES: u64 = 300;

fn cases(engine: &str) -> Vec<&'static Generated> {
    cases_of(engine, CASES)
}

pub(super) fn cases_of(engine: &str, count: u64) -> Vec<&'static Generated> {
    let options = GenerateOptions {
        version_keys: VersionKeys::Always,
        ..GenerateOptions::default()
    };
    let cases = (0..count).map(|index| case(engine, 5, index, &options));
    cases.collect()
}

#[test]
fn writes_of_several_rows_that_fail_half_way_are_drawn_in_every_kind() {
    for engine in ["mariadb", "mysql", "sqlite"] {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for generated in &cases(engine) {
            for statement in &generated.case.statements {
                let labels = &generated.productions[&statement.id];
                if labels.iter().any(|label| is_meant_to_fail(label)) {
                    assert_eq!(labels.len(), 1, "{}: {labels:?}", statement.sql);
                    *kinds.entry(statement.effect.kind.slug()).or_default() += 1;
                }
            }
        }
        assert!(kinds.values().sum::<usize>() >= 100, "{engine}: {kinds:?}");
        for kind in ["insert", "replace", "update"] {
            let drawn = kinds.get(kind).copied().unwrap_or_default();
            assert!(drawn >= 10, "{engine}: {kinds:?}");
        }
    }
}

#[test]
fn hints_ranges_over_indexes_checks_and_moved_row_keys_are_drawn() {
    for engine in ["mariadb", "mysql"] {
        let cases = cases(engine);
        let all = || cases.iter().flat_map(|drawn| &drawn.case.statements);
        let count = |holds: &dyn Fn(&CaseStatement) -> bool| all().filter(|s| holds(s)).count();
        let hinted =
            |kind: StatementKind| count(&|s| s.effect.kind == kind && s.sql.contains(" INDEX (i_"));
        for kind in [
            StatementKind::Select,
            StatementKind::LockingSelect,
            StatementKind::Update,
        ] {
            assert!(hinted(kind) >= 8, "{engine}: {kind} {}", hinted(kind));
        }
        // A text that the parser does not read is opaque, and no oracle judges it.
        assert_eq!(
            count(&|s| s.effect.kind == StatementKind::Opaque),
            0,
            "{engine}"
        );
        let moved = count(&|s| s.sql.contains("SET pkey = "));
        assert!(moved >= 20, "{engine}: {moved}");
        let schemas = cases.iter().flat_map(|drawn| &drawn.case.setup);
        let checked = schemas.filter(|s| s.sql.contains(" CHECK (")).count();
        assert!(checked >= 25, "{engine}: {checked}");
    }
}

/// A row that gets another row key is another row to the oracles, and to the engine only where that key
/// places it. Where the UPDATE returns the key that it had it is one row to both.
#[test]
fn a_row_key_is_assigned_only_where_it_is_the_clustered_key_or_the_old_one_is_returned() {
    for engine in ["mariadb", "mysql", "postgres", "sqlite"] {
        let returns_old = parts(engine).1.supports(Capability::ReturningOld);
        let mut assigning = 0;
        for drawn in cases(engine) {
            for statement in &drawn.case.statements {
                if !statement.effect.assigned.contains_key("pkey") {
                    continue;
                }
                assigning += 1;
                if returns_old {
                    continue;
                }
                let named = statement
                    .effect
                    .uses
                    .iter()
                    .filter(|used| used.role.is_target() && !used.role.is_by_foreign_key());
                for table in named.map(|used| &used.table) {
                    let shape = drawn.case.table(table).expect("a table of the case");
                    // SQLite's rows have places of their own, and no two rows one primary key at any moment.
                    let key = shape.clustered_key().or(shape.primary_key.as_deref());
                    let key = key.expect("rows have places");
                    assert_eq!(key, ["pkey"], "{engine}: {}", statement.sql);
                }
            }
        }
        assert!(assigning > 0, "{engine}");
    }
}

/// The first case of each epoch, with and without foreign keys and views.
#[test]
fn foreign_keys_and_views_are_drawn_in_some_schemas_and_leave_the_others_as_they_are() {
    for engine in ["mariadb", "mysql", "sqlite", "postgres"] {
        let with = GenerateOptions::default();
        let without = GenerateOptions {
            foreign_key_percent: 0,
            view_percent: 0,
            ..with.clone()
        };
        let (mut keys, mut views, mut through, mut by_key) = (0, 0, 0, 0);
        let mut parent_columns = BTreeSet::new();
        let mut actions = BTreeSet::new();
        for index in (0..200).map(|epoch| epoch * EPOCH) {
            let drawn = &case(engine, 5, index, &with).case;
            let mentions = |word: &str| drawn.setup.iter().any(|s| s.sql.contains(word));
            let (key, view) = (mentions(" FOREIGN KEY "), mentions(" VIEW "));
            keys += usize::from(key);
            views += usize::from(view);
            if !key && !view {
                let plain = &case(engine, 5, index, &without).case;
                assert_eq!(drawn, plain, "{engine}: {index}");
            }
            actions.extend(
                [" CASCADE", " SET NULL"]
                    .into_iter()
                    .filter(|word| mentions(word)),
            );
            let foreign = drawn.tables.iter().flat_map(|table| &table.foreign_keys);
            parent_columns.extend(foreign.map(|key| key.parent_columns.concat()));
            through += drawn
                .user_statements()
                .filter(|s| s.sql.contains(" v"))
                .count();
            let uses = drawn.user_statements().flat_map(|s| &s.effect.uses);
            by_key += uses.filter(|u| u.role.is_by_foreign_key()).count();
            for statement in &drawn.statements {
                assert!(
                    !statement.effect.changes_what_it_uses(),
                    "{}",
                    statement.sql
                );
                assert_ne!(
                    statement.effect.kind,
                    StatementKind::Opaque,
                    "{}",
                    statement.sql
                );
            }
        }
        assert!(
            (8..40).contains(&views) && through >= 20,
            "{engine}: {views}, {through}"
        );
        let enough = (8..40).contains(&keys) && by_key >= 15;
        assert!(enough, "{engine}: {keys}, {by_key}");
        let varied = parent_columns.contains("pkey") && parent_columns.contains("c0");
        assert!(varied, "{engine}: {parent_columns:?}");
        assert_eq!(actions.len(), 2, "{engine}: {actions:?}");
    }
}

#[test]
fn sessions_of_some_cases_send_prepared_statements_and_send_some_again() {
    for (engine, has_them) in [
        ("mariadb", true),
        ("mysql", true),
        ("postgres", true),
        ("sqlite", false),
    ] {
        let with = GenerateOptions::default();
        let without = GenerateOptions {
            prepared_percent: 0,
            ..with.clone()
        };
        let (mut cases, mut again) = (0, 0);
        for index in 0..CASES {
            let drawn = &case(engine, 5, index, &with).case;
            let plain = &case(engine, 5, index, &without).case;
            if drawn.prepared.is_empty() {
                assert_eq!(drawn, plain, "{engine}: {index}");
                continue;
            }
            cases += 1;
            again += drawn.statements.len() - plain.statements.len();
            let kinds = |case: &TestCase| {
                let begins = |kind: StatementKind| kind.is_begin() || kind.is_end();
                let kinds = case.statements.iter().map(|s| s.effect.kind);
                kinds.filter(|kind| begins(*kind)).count()
            };
            assert_eq!(kinds(drawn), kinds(plain), "{engine}: {index}");
        }
        let enough = (15..60).contains(&cases) && again >= 20;
        assert_eq!(enough, has_them, "{engine}: {cases}, {again}");
    }
}

#[test]
fn sessions_of_some_cases_begin_with_settings_of_the_optimizer() {
    for engine in ["mariadb", "mysql", "postgres", "sqlite"] {
        let cases = cases(engine);
        let is_plan = |s: &&CaseStatement| s.effect.setting == Some(Setting::Plan);
        let settings = |drawn: &Generated| drawn.case.statements.iter().filter(is_plan).count();
        let with = cases.iter().filter(|drawn| settings(drawn) > 0).count();
        assert!((25..75).contains(&with), "{engine}: {with}");
        for drawn in &cases {
            let mut began = BTreeSet::new();
            for statement in &drawn.case.statements {
                match statement.effect.setting {
                    Some(Setting::Mode) => {}
                    Some(setting) => {
                        assert_eq!(setting, Setting::Plan, "{engine}: {}", statement.sql);
                        assert!(!began.contains(&statement.session), "{}", statement.sql);
                    }
                    None => {
                        began.insert(statement.session);
                    }
                }
            }
        }
    }
}

#[test]
fn special_indexes_are_drawn_where_the_engine_has_them() {
    let forms = [
        ") INCLUDE (",
        " USING BRIN ",
        " USING HASH ",
        " DEFERRABLE",
        " EXCLUDE USING btree ",
        " EXCLUDE USING hash ",
    ];
    for (engine, has) in [("postgres", true), ("mysql", false), ("sqlite", false)] {
        let options = GenerateOptions::default();
        let epochs = (0..200).map(|epoch| epoch * EPOCH);
        let cases = epochs.map(|index| &case(engine, 5, index, &options).case);
        let cases: Vec<&TestCase> = cases.collect();
        let texts: Vec<&str> = cases
            .iter()
            .flat_map(|case| &case.setup)
            .map(|statement| statement.sql.as_str())
            .collect();
        for form in forms {
            let count = texts.iter().filter(|sql| sql.contains(form)).count();
            assert_eq!(count >= 3, has, "{engine}: {form}: {count}");
        }
        // A key is one however it is spelt, and an index with INCLUDE is one of its first columns.
        let respelt = cases.iter().flat_map(|case| {
            let constraint = |sql: &str| sql.contains(" DEFERRABLE") || sql.contains(" EXCLUDE ");
            let alters = case.setup.iter().filter(move |s| constraint(&s.sql));
            alters.map(move |s| (case, &s.sql))
        });
        for (case, sql) in respelt {
            let text = sql.replace(" WITH =", "");
            let known = case.tables.iter().any(|table| {
                sql.starts_with(&format!("ALTER TABLE {} ", table.name))
                    && table
                        .keys()
                        .any(|key| text.contains(&format!("({})", key.join(", "))))
            });
            assert!(known, "{sql}");
        }
    }
}

/// What is drawn of rarer types and collations.
const RARER: [(&str, &[&str]); 5] = [
    (
        "mariadb",
        &[
            "UNSIGNED",
            "TIME",
            "TIMESTAMP NULL",
            "JSON",
            "general_ci",
            "unicode_ci",
            "nopad_bin",
        ],
    ),
    ("mysql", &RARER_OF_MYSQL),
    ("tidb", &RARER_OF_MYSQL),
    (
        "postgres",
        &["TIMESTAMPTZ", "DATE", "TIME", "JSONB", "COLLATE \"C\""],
    ),
    ("sqlite", &["NOCASE", "RTRIM"]),
];

const RARER_OF_MYSQL: [&str; 7] = [
    "UNSIGNED",
    "TIME",
    "TIMESTAMP NULL",
    "JSON",
    "general_ci",
    "0900_ai_ci",
    "0900_bin",
];

/// The first case of each epoch, with and without columns of rarer types.
#[test]
fn rarer_types_and_collations_are_drawn_in_some_schemas_and_leave_the_others_as_they_are() {
    for (engine, wanted) in RARER {
        let with = GenerateOptions::default();
        let without = GenerateOptions {
            extra_type_percent: 0,
            ..with.clone()
        };
        let (mut schemas, mut unique) = (0, 0);
        let mut drawn_types = BTreeSet::new();
        for index in (0..300).map(|epoch| epoch * EPOCH) {
            let drawn = &case(engine, 5, index, &with).case;
            let columns = drawn.tables.iter().flat_map(|table| &table.columns);
            let extra = columns
                .filter(|column| column.name.starts_with('x'))
                .count();
            if extra == 0 {
                let plain = &case(engine, 5, index, &without).case;
                assert_eq!(drawn, plain, "{engine}: {index}");
                continue;
            }
            schemas += 1;
            let keys = drawn
                .tables
                .iter()
                .flat_map(|table| &table.unique_keys)
                .flatten();
            unique += keys.filter(|name| name.starts_with('x')).count();
            let is_drawn = |word: &&&str| drawn.setup.iter().any(|s| s.sql.contains(**word));
            drawn_types.extend(wanted.iter().filter(is_drawn).copied());
            let opaque = drawn.count(StatementKind::Opaque);
            assert_eq!(opaque, 0, "{engine}: {index}");
        }
        assert!((35..90).contains(&schemas), "{engine}: {schemas}");
        assert!(unique >= 8 || engine == "postgres", "{engine}: {unique}");
        assert_eq!(drawn_types.len(), wanted.len(), "{engine}: {drawn_types:?}");
    }
}

#[test]
fn generated_columns_are_stored_and_virtual_where_the_engine_has_them() {
    for (engine, storages) in [
        ("mariadb", vec!["STORED", "VIRTUAL"]),
        ("mysql", vec!["STORED", "VIRTUAL"]),
        ("sqlite", vec!["STORED", "VIRTUAL"]),
        ("postgres", vec!["STORED", "VIRTUAL"]),
        ("tidb", vec!["STORED"]),
    ] {
        let dialect = &parts(engine).1;
        let options = GenerateOptions::default();
        let first = (0..100).map(|epoch| epoch * EPOCH);
        let drawn = first.map(|index| &case(engine, 5, index, &options).case);
        let setups: Vec<Vec<String>> = drawn
            .map(|case| case.setup.iter().map(|s| s.sql.clone()).collect())
            .collect();
        let virtual_indexed = setups.iter().any(|setup| {
            let mut indexes = setup.iter().filter(|sql| sql.contains(" INDEX "));
            let has_virtual = setup.iter().any(|sql| sql.contains(" VIRTUAL"));
            let has_stored = setup.iter().any(|sql| sql.contains(" STORED"));
            has_virtual && !has_stored && indexes.any(|sql| sql.contains("g0"))
        });
        let may_be = dialect.supports(Capability::VirtualColumnIndex);
        assert_eq!(virtual_indexed, may_be, "{engine}");
        let setup = setups.concat();
        let is_drawn = |storage: &&str| setup.iter().any(|sql| sql.contains(*storage));
        let found: Vec<&str> = ["STORED", "VIRTUAL"].into_iter().filter(is_drawn).collect();
        assert_eq!(found, storages, "{engine}");
    }
}

/// Which of equal texts one of these shows is the engine's choice, and so they show none.
#[test]
fn columns_whose_equal_values_differ_are_not_grouped_shown_once_or_compared_for_the_least() {
    for engine in ["mariadb", "mysql", "postgres", "sqlite"] {
        let options = GenerateOptions {
            extra_type_percent: 100,
            ..GenerateOptions::default()
        };
        let mut compared = 0;
        for index in 0..2 * CASES {
            let drawn = &case(engine, 5, index, &options).case;
            let inexact: BTreeSet<String> = drawn
                .tables
                .iter()
                .flat_map(|table| table.columns.iter().map(move |column| (table, column)))
                .filter(|(_, c)| {
                    c.sql_type.starts_with("JSON")
                        || c.sql_type == "TEXT"
                        || c.collation
                            .as_deref()
                            .is_some_and(|name| name != "utf8mb4_bin")
                })
                .filter(|(_, column)| column.name.starts_with('x'))
                .map(|(table, column)| format!("{}.{}", table.name, column.name))
                .collect();
            for sql in drawn.user_statements().map(|s| &s.sql) {
                for name in &inexact {
                    compared += usize::from(sql.contains(&format!("{name} = '")));
                    for chooses in ["MIN(", "MAX(", "SELECT DISTINCT "] {
                        assert!(
                            !sql.contains(&format!("{chooses}{name}")),
                            "{engine}: {sql}"
                        );
                    }
                    let grouped = sql.ends_with(&format!(" GROUP BY {name}"));
                    let shown = sql.starts_with(&format!("SELECT {name}"));
                    assert!(!(grouped && shown), "{engine}: {sql}");
                }
            }
        }
        assert!(compared >= 30, "{engine}: {compared}");
    }
}

#[test]
fn sessions_of_some_cases_choose_strict_modes_and_leave_the_others_as_they_are() {
    for (engine, has_them) in [
        ("mariadb", true),
        ("mysql", true),
        ("tidb", true),
        ("postgres", false),
        ("sqlite", false),
    ] {
        let with = GenerateOptions::default();
        let without = GenerateOptions {
            mode_percent: 0,
            ..with.clone()
        };
        let (mut cases, mut mixed) = (0, 0);
        for index in 0..CASES {
            let drawn = &case(engine, 5, index, &with).case;
            let plain = &case(engine, 5, index, &without).case;
            let mode = |s: &&CaseStatement| s.effect.setting == Some(Setting::Mode);
            let chosen: BTreeSet<_> = drawn
                .statements
                .iter()
                .filter(mode)
                .map(|s| s.session)
                .collect();
            let sql = |case: &TestCase| -> Vec<String> {
                let others = case.statements.iter().filter(|s| !mode(s));
                others.map(|s| s.sql.clone()).collect()
            };
            assert_eq!(sql(drawn), sql(plain), "{engine}: {index}");
            cases += usize::from(!chosen.is_empty());
            let all: BTreeSet<_> = drawn.statements.iter().map(|s| s.session).collect();
            mixed += usize::from(!chosen.is_empty() && chosen.len() < all.len());
        }
        let enough = (20..80).contains(&cases) && mixed >= 10;
        assert_eq!(enough, has_them, "{engine}: {cases}, {mixed}");
    }
}

/// The first case of each epoch: as many schemas have triggers as the page about grammars says, each is understood,
/// and statements fire them.
#[test]
fn triggers_are_drawn_in_one_schema_of_twelve_and_are_understood() {
    for (engine, has_triggers) in [("mariadb", true), ("sqlite", true), ("postgres", false)] {
        let dialect = &parts(engine).1;
        let options = GenerateOptions::default();
        let (mut with, mut fired) = (0, 0);
        let mut kinds = BTreeSet::new();
        for index in (0..400).map(|epoch| epoch * EPOCH) {
            let case = &case(engine, 5, index, &options).case;
            let is_trigger = |sql: &str| sql.starts_with("CREATE TRIGGER ");
            let triggers: Vec<_> = case.setup.iter().filter(|s| is_trigger(&s.sql)).collect();
            with += usize::from(!triggers.is_empty());
            assert!(!has_unknown_trigger(case, dialect), "{triggers:?}");
            for write in case
                .statements
                .iter()
                .flat_map(|s| &s.effect.trigger_writes)
            {
                kinds.insert(write.kind);
                fired += 1;
            }
            let uses_both = |s: &CaseStatement| s.effect.changes_what_it_uses();
            assert!(!case.statements.iter().any(uses_both), "{engine}: {index}");
        }
        assert_eq!(
            (with > 0, fired > 0),
            (has_triggers, has_triggers),
            "{engine}"
        );
        if has_triggers {
            assert!((16..56).contains(&with), "{engine}: {with}");
            assert_eq!(kinds.len(), 3, "{engine}: {kinds:?}");
        }
    }
}
