//! Cases are decided by their seed and keep the discipline that oracles rely on.

mod frequency;
mod locked_read;
mod rival;
mod savepoints;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Mutex, OnceLock};

use super::{EPOCH, GenerateOptions, Generated, LevelChoice, VersionKeys, generate};
use crate::dialect::{Dialect, dialect_of};
use crate::grammar::Grammar;
use crate::model::{CaseStatement, IsolationLevel, SetupKind, StatementKind, TestCase};

/// What every test may share for as long as the process lives, each value made once.
struct Shared<K, V: 'static>(Mutex<BTreeMap<K, &'static OnceLock<V>>>);

impl<K: Ord, V> Shared<K, V> {
    const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Tests that want the same value at the same moment wait for one of them to make it.
    fn get(&self, key: K, make: impl FnOnce() -> V) -> &'static V {
        let cell: &'static OnceLock<V> = {
            let mut cells = self.0.lock().expect("nothing fails while it is held");
            cells
                .entry(key)
                .or_insert_with(|| Box::leak(Box::new(OnceLock::new())))
        };
        cell.get_or_init(make)
    }
}

fn parts(engine: &str) -> &'static (Grammar, Dialect) {
    static PARTS: Shared<String, (Grammar, Dialect)> = Shared::new();
    PARTS.get(engine.to_owned(), || {
        (
            Grammar::builtin(engine).expect("built-in grammars are whole"),
            dialect_of(engine, "99"),
        )
    })
}

/// The case of an engine, options, a seed and an index. Several tests count in the same cases, and drawing them
/// is most of their work.
fn case(engine: &str, seed: u64, index: u64, options: &GenerateOptions) -> &'static Generated {
    static CASES: Shared<(String, String, u64, u64), Generated> = Shared::new();
    let key = (engine.to_owned(), format!("{options:?}"), seed, index);
    CASES.get(key, || drawn(engine, seed, index, options))
}

fn drawn(engine: &str, seed: u64, index: u64, options: &GenerateOptions) -> Generated {
    let (grammar, dialect) = parts(engine);
    generate(seed, index, options, grammar, dialect)
}

/// A statement that stands while a transaction of another session is open.
fn beside(case: &TestCase, at: usize) -> impl Iterator<Item = &CaseStatement> {
    let own = case.statements[at].session;
    let before = case.statements[..at].iter().enumerate();
    before.filter_map(move |(earlier, statement)| {
        let ends = |s: &CaseStatement| {
            s.id.transaction == statement.id.transaction && s.effect.kind.is_end()
        };
        let is_open = !case.statements[earlier..at].iter().any(ends);
        let is_inside = case.statements.iter().any(ends);
        (statement.session != own && is_open && is_inside).then_some(statement)
    })
}

#[test]
fn a_seed_and_an_index_give_the_same_case_in_any_order() {
    let options = GenerateOptions::default();
    for engine in ["mariadb", "mysql", "sqlite"] {
        let forward: Vec<Generated> = (0..60)
            .map(|index| drawn(engine, 7, index, &options))
            .collect();
        for index in (0..60).rev() {
            let alone = drawn(engine, 7, index, &options);
            assert_eq!(
                alone,
                forward[usize::try_from(index).expect("small")],
                "{engine} {index}"
            );
        }
        assert_ne!(forward[0].case, drawn(engine, 8, 0, &options).case);
        let distinct: BTreeSet<String> = forward
            .iter()
            .map(|g| format!("{:?}", g.case.statements))
            .collect();
        assert_eq!(distinct.len(), forward.len());
    }
}

#[test]
fn cases_of_an_epoch_share_the_schema_and_differ_in_rows() {
    let options = GenerateOptions::default();
    let schema = |index: u64, kind: SetupKind| -> Vec<String> {
        let generated = case("mysql", 3, index, &options);
        let setup = generated.case.setup.iter();
        setup
            .filter(|s| s.kind == kind)
            .map(|s| s.sql.clone())
            .collect()
    };
    assert_eq!(
        schema(0, SetupKind::Schema),
        schema(EPOCH - 1, SetupKind::Schema)
    );
    assert_ne!(
        schema(0, SetupKind::Rows),
        schema(EPOCH - 1, SetupKind::Rows)
    );
    assert_ne!(
        schema(0, SetupKind::Schema),
        schema(EPOCH, SetupKind::Schema)
    );
}

/// The integers that a text assigns to `vkey` or inserts as the second value of a row.
fn versions(sql: &str) -> Vec<i64> {
    let mut found = Vec::new();
    for (at, _) in sql.match_indices("vkey = ") {
        let digits: String = sql[at + 7..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        found.extend(digits.parse::<i64>());
    }
    found
}

#[test]
fn version_keys_are_never_used_twice() {
    let options = GenerateOptions {
        version_keys: VersionKeys::Always,
        ..GenerateOptions::default()
    };
    for engine in ["mariadb", "sqlite"] {
        for index in 0..300 {
            let generated = case(engine, 11, index, &options);
            let mut seen = BTreeSet::new();
            for statement in &generated.case.statements {
                let has_version_key = |table: &str| {
                    let shape = generated.case.table(table);
                    shape.is_some_and(|shape| shape.version_key.is_some())
                };
                let mut targets = statement.effect.counted_targets();
                if statement.effect.kind != StatementKind::Update || !targets.any(has_version_key) {
                    continue;
                }
                let own: BTreeSet<i64> = versions(&statement.sql)
                    .into_iter()
                    .filter(|v| *v >= 1000)
                    .collect();
                assert_eq!(own.len(), 1, "{}", statement.sql);
                assert!(own.is_disjoint(&seen), "{}", statement.sql);
                seen.extend(own);
                assert!(!statement.sql.contains("pkey = pkey"));
            }
        }
    }
}

#[test]
fn one_schema_of_six_has_no_version_key_and_updates_that_change_nothing() {
    let options = GenerateOptions::default();
    let (mut without, mut idle, mut same) = (0, 0, 0);
    for index in 0..6 * EPOCH {
        let case = &case("mariadb", 11, index, &options).case;
        if case.tables.iter().any(|table| table.version_key.is_some()) {
            continue;
        }
        without += 1;
        let updates = case
            .statements
            .iter()
            .filter(|s| s.effect.kind == StatementKind::Update);
        let keeps_number: Vec<_> = updates.filter(|s| !s.sql.contains("n0 = ")).collect();
        idle += keeps_number.len();
        let assigns_itself = |s: &&&CaseStatement| {
            let list = s.sql.split(" SET ").nth(1).unwrap_or_default();
            let list = list.split(" WHERE ").next().unwrap_or_default();
            list.split_once(" = ")
                .is_some_and(|(column, value)| value.ends_with(&format!(".{column}")))
        };
        same += keeps_number.iter().filter(assigns_itself).count();
    }
    assert_eq!(without, EPOCH);
    assert!(idle > 5, "{idle} updates leave n0 alone");
    assert!(
        same >= 5,
        "{same} updates give columns the values that they have"
    );
}

#[test]
fn generated_cases_keep_to_the_options() {
    let options = GenerateOptions::benchmark();
    for index in 0..50 {
        let generated = case("mariadb", 5, index, &options);
        let case = &generated.case;
        assert_eq!(case.sessions().len(), 2);
        assert_eq!(case.tables.len(), 2);
        assert_eq!(case.statements.len(), 2 * 7);
        assert!(
            case.tables
                .iter()
                .all(|t| t.row_key.is_some() && t.version_key.is_some())
        );
        assert_eq!(generated.productions.len(), case.statements.len());
    }
    let mixed = GenerateOptions {
        levels: LevelChoice::Mixed,
        sessions: 4..=4,
        ..GenerateOptions::default()
    };
    let several = (0..20).any(|index| {
        let levels: BTreeSet<_> = case("mysql", 1, index, &mixed)
            .case
            .isolation
            .values()
            .collect();
        levels.len() > 1
    });
    assert!(several);
}

#[test]
fn read_only_transactions_read_and_are_refused_a_write_now_and_then_at_every_level() {
    let (mut begun, mut refused_at) = (BTreeSet::new(), BTreeSet::new());
    let (mut reads, mut writes) = (0, 0);
    for index in 0..400 {
        let case = &case("mariadb", 21, index, &GenerateOptions::default()).case;
        for begin in &case.statements {
            if begin.sql != "START TRANSACTION READ ONLY" {
                continue;
            }
            let level = case.level(begin.session);
            begun.insert(level);
            let inside = case.user_statements();
            for statement in inside.filter(|s| s.id.transaction == begin.id.transaction) {
                if statement.effect.kind.is_write() {
                    writes += 1;
                    refused_at.insert(level);
                } else {
                    reads += 1;
                }
            }
        }
    }
    assert_eq!(begun.len(), IsolationLevel::ALL.len(), "{begun:?}");
    assert_eq!(
        refused_at.len(),
        IsolationLevel::ALL.len(),
        "{refused_at:?}"
    );
    assert!(writes * 20 >= reads, "{writes} of {reads}");
    assert!(writes * 5 <= reads, "{writes} of {reads}");
}

/// How many statements the round-trip test looks at, for each dialect.
fn sample() -> usize {
    std::env::var("RASHOMON_ROUND_TRIPS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3_000)
}

#[test]
fn generated_statements_are_understood() {
    let options = GenerateOptions::default();
    for engine in ["mariadb", "mysql", "sqlite"] {
        let (mut total, mut opaque) = (0usize, 0usize);
        let mut example = String::new();
        for index in 0.. {
            if total >= sample() {
                break;
            }
            let generated = case(engine, 99, index, &options);
            for statement in generated.case.user_statements() {
                total += 1;
                if statement.effect.kind == StatementKind::Opaque {
                    opaque += 1;
                    example.clone_from(&statement.sql);
                }
            }
        }
        // What the big sample gives is worth reading.
        if total > 10_000 {
            let _ = writeln!(std::io::stderr(), "{engine}: {opaque} of {total} opaque");
        }
        assert!(
            opaque * 50 < total,
            "{engine}: {opaque} of {total} opaque, such as {example}"
        );
    }
}

/// A session whose transaction has used the table would keep the DDL waiting, and whoever observes the tables behind it.
#[test]
fn ddl_comes_beside_a_transaction_that_has_not_used_its_table_yet_and_will() {
    let options = GenerateOptions {
        physical_ddl_percent: 100,
        ..GenerateOptions::default()
    };
    let mut made = 0;
    for engine in ["mysql", "mariadb"] {
        for index in 0..300 {
            let case = &case(engine, 31, index, &options).case;
            for (at, ddl) in case.statements.iter().enumerate() {
                let Some(change) = &ddl.effect.storage_change else {
                    continue;
                };
                made += 1;
                let first = at == case.statements.iter().position(not_a_setting).expect("one");
                let uses = |s: &&CaseStatement| {
                    let mut uses = s.effect.uses.iter();
                    uses.any(|used| used.table == change.table)
                };
                let (before, after) = case.statements.split_at(at);
                let is_open = |s: &&CaseStatement| {
                    s.session != ddl.session
                        && case.is_explicit(s.id.transaction)
                        && before.iter().any(|b| b.id.transaction == s.id.transaction)
                };
                let mut open = after.iter().filter(is_open);
                assert!(
                    first || open.any(|s| uses(&s)),
                    "{engine} {index}: {}",
                    ddl.sql
                );
                for open in after.iter().filter(is_open) {
                    let mut own = before
                        .iter()
                        .filter(|b| b.id.transaction == open.id.transaction);
                    assert!(!own.any(|b| uses(&b)), "{engine} {index}: {}", ddl.sql);
                }
            }
        }
    }
    assert!(made > 100, "{made}");
}

/// SQLite refuses DDL while another transaction writes, and no other waits for one that reads.
#[test]
fn ddl_of_sqlite_comes_beside_a_transaction_that_has_not_written_yet() {
    let options = GenerateOptions {
        physical_ddl_percent: 100,
        ..GenerateOptions::default()
    };
    let (mut made, mut beside_users) = (0, 0);
    for index in 0..300 {
        let case = &case("sqlite", 31, index, &options).case;
        for (at, ddl) in case.statements.iter().enumerate() {
            let Some(change) = &ddl.effect.storage_change else {
                continue;
            };
            made += 1;
            let (before, after) = case.statements.split_at(at);
            let open: Vec<&CaseStatement> = before
                .iter()
                .filter(|b| {
                    case.is_explicit(b.id.transaction)
                        && after.iter().any(|a| a.id.transaction == b.id.transaction)
                })
                .collect();
            let writes = |s: &&&CaseStatement| {
                s.effect.kind.is_write() || s.effect.kind == StatementKind::BeginImmediate
            };
            assert!(!open.is_empty(), "{index}: {}", ddl.sql);
            assert_eq!(open.iter().find(writes), None, "{index}: {}", ddl.sql);
            let uses = |s: &&CaseStatement| s.effect.uses.iter().any(|u| u.table == change.table);
            beside_users += usize::from(open.iter().any(uses));
        }
    }
    assert!(made > 100 && beside_users > 20, "{made} {beside_users}");
}

fn not_a_setting(statement: &CaseStatement) -> bool {
    statement.effect.kind != StatementKind::Set
}

#[test]
fn a_partitioned_table_is_one_table_however_its_partitions_are_made() {
    for (engine, statements) in [("mysql", 0), ("mariadb", 0), ("postgres", 3)] {
        let options = GenerateOptions::default();
        let drawn = (0..200).map(|epoch| &case(engine, 5, epoch * EPOCH, &options).case);
        let mut partitioned = 0;
        for case in drawn {
            let made = case
                .setup
                .iter()
                .filter(|s| s.sql.contains(" PARTITION OF "));
            let spread = case.tables.iter().filter(|t| t.partitioning.is_some());
            let spread = spread.count();
            assert_eq!(made.count(), statements * spread, "{engine}");
            let created = case.setup.iter().filter(|s| {
                s.sql.starts_with("CREATE TABLE ") && !s.sql.contains(" PARTITION OF ")
            });
            assert_eq!(created.count(), case.tables.len(), "{engine}");
            partitioned += spread;
        }
        assert!(partitioned >= 5, "{engine}: {partitioned}");
    }
}
