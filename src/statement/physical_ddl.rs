//! DDL that changes how a table is stored, and none of its rows and columns.

use super::shape::key_columns;
use super::token::{SqlToken, closing, object_name, stands};
use crate::dialect::{Capability, Dialect};
use crate::model::{Effect, StatementKind, StorageChange};

/// The effect of `CREATE INDEX`, and of what the dialect has of `DROP INDEX .. ON`, `ALTER TABLE .. FORCE`, `VACUUM` and
/// `REINDEX TABLE`; None for any other, such as a unique index, which the rows of the table may refuse.
pub(super) fn analyze(words: &[SqlToken<'_>], dialect: &Dialect) -> Option<Effect> {
    if !dialect.supports(Capability::PhysicalDdl) {
        return None;
    }
    let (has_vacuum, has_reindex) = (
        dialect.supports(Capability::Vacuum),
        dialect.supports(Capability::Reindex),
    );
    let own = match (has_vacuum, has_reindex) {
        (true, _) => |words: &[SqlToken<'_>]| {
            vacuumed(words).or_else(|| reindexed(words, &["REINDEX", "TABLE"]))
        },
        (false, true) => |words: &[SqlToken<'_>]| reindexed(words, &["REINDEX"]),
        (false, false) => |words: &[SqlToken<'_>]| dropped(words).or_else(|| rebuilt(words)),
    };
    let change = created(words).or_else(|| own(words))?;
    Some(Effect {
        storage_change: Some(StorageChange {
            waits_for_users: change.waits_for_users && !has_reindex,
            ..change
        }),
        ..Effect::of_kind(StatementKind::PhysicalDdl)
    })
}

fn created(words: &[SqlToken<'_>]) -> Option<StorageChange> {
    let (name, after_name) = index_name(words, "CREATE")?;
    let (table, at) = object_name(words, on(words, after_name)?)?;
    words.get(at).filter(|word| word.is_mark('('))?;
    let columns = key_columns(words, at)?;
    let end = closing(words, at)?;
    is_way(&words[end + 1..]).then_some(StorageChange {
        index: Some(columns),
        index_name: Some(name),
        ..without_index(table)
    })
}

fn dropped(words: &[SqlToken<'_>]) -> Option<StorageChange> {
    let (name, after_name) = index_name(words, "DROP")?;
    let (table, at) = object_name(words, on(words, after_name)?)?;
    is_way(&words[at..]).then(|| StorageChange {
        index_name: Some(name),
        ..without_index(table)
    })
}

fn rebuilt(words: &[SqlToken<'_>]) -> Option<StorageChange> {
    stands(words, 0, &["ALTER", "TABLE"]).then_some(())?;
    let (table, at) = object_name(words, 2)?;
    words.get(at).filter(|word| word.is("FORCE"))?;
    let rest = &words[at + 1..];
    let way = match rest.first() {
        Some(comma) if comma.is_mark(',') => &rest[1..],
        _ => rest,
    };
    is_way(way).then(|| without_index(table))
}

fn without_index(table: String) -> StorageChange {
    StorageChange {
        table,
        waits_for_users: true,
        index: None,
        index_name: None,
    }
}

/// `VACUUM (TRUNCATE FALSE, ..) t` and `VACUUM FULL t`. Another may cut the table's file, for which it waits.
fn vacuumed(words: &[SqlToken<'_>]) -> Option<StorageChange> {
    words.first().filter(|word| word.is("VACUUM"))?;
    let is_full = stands(words, 1, &["FULL"]);
    let keeps_size = stands(words, 2, &["TRUNCATE", "FALSE"]) && words.get(1)?.is_mark('(');
    let after = match (is_full, keeps_size) {
        (true, _) => 2,
        (false, true) => closing(words, 1)? + 1,
        (false, false) => return None,
    };
    let (table, at) = object_name(words, after)?;
    (at == words.len()).then(|| StorageChange {
        waits_for_users: is_full,
        ..without_index(table)
    })
}

/// `REINDEX TABLE t`, or as the dialect begins it.
fn reindexed(words: &[SqlToken<'_>], verb: &[&str]) -> Option<StorageChange> {
    stands(words, 0, verb).then_some(())?;
    let (table, at) = object_name(words, verb.len())?;
    (at == words.len()).then(|| without_index(table))
}

/// The name of the index that is created or dropped, and the place after it.
fn index_name(words: &[SqlToken<'_>], verb: &str) -> Option<(String, usize)> {
    stands(words, 0, &[verb, "INDEX"]).then_some(())?;
    let name = words.get(2)?.name()?;
    Some((name, 3))
}

/// The place after `ON`, which stands here.
fn on(words: &[SqlToken<'_>], at: usize) -> Option<usize> {
    stands(words, at, &["ON"]).then_some(at + 1)
}

/// Whether these words say at most how the engine is to go about it: `ALGORITHM = COPY`.
fn is_way(words: &[SqlToken<'_>]) -> bool {
    match words {
        [] => true,
        [algorithm, equals, _] => algorithm.is("ALGORITHM") && equals.is_mark('='),
        [algorithm, _] => algorithm.is("ALGORITHM"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect::dialect_of;
    use crate::model::{Effect, StatementKind, StorageChange};
    use crate::statement::analyze;

    fn effect(sql: &str) -> Effect {
        analyze(sql, &dialect_of("mysql", "9.7"))
    }

    #[test]
    fn a_table_and_the_columns_of_its_new_index_are_read() {
        let change = |table: &str, index: Option<&[&str]>, name: Option<&str>| {
            Some(StorageChange {
                table: table.to_owned(),
                waits_for_users: true,
                index: index.map(|columns| columns.iter().map(|&c| c.to_owned()).collect()),
                index_name: name.map(str::to_owned),
            })
        };
        let all = [
            (
                "CREATE INDEX x1 ON t0 (c0 DESC, vkey)",
                change("t0", Some(&["c0", "vkey"]), Some("x1")),
            ),
            (
                "create index x1 on `t0` (`c0`) algorithm = inplace;",
                change("t0", Some(&["c0"]), Some("x1")),
            ),
            ("DROP INDEX x1 ON t0", change("t0", None, Some("x1"))),
            ("ALTER TABLE t0 FORCE", change("t0", None, None)),
            (
                "ALTER TABLE t0 FORCE, ALGORITHM=COPY",
                change("t0", None, None),
            ),
        ];
        for (sql, expected) in all {
            let effect = effect(sql);
            assert_eq!(effect.kind, StatementKind::PhysicalDdl, "{sql}");
            assert_eq!(effect.storage_change, expected, "{sql}");
        }
    }

    #[test]
    fn what_may_change_rows_or_columns_or_be_refused_for_rows_stays_opaque() {
        for sql in [
            "CREATE UNIQUE INDEX x1 ON t0 (c0)",
            "CREATE INDEX x1 ON t0 ((c0 + 1))",
            "CREATE INDEX x1 ON t0 (c0) COMMENT 'a'",
            "ALTER TABLE t0 FORCE, ADD COLUMN c9 INT",
            "ALTER TABLE t0 ADD COLUMN c9 INT",
            "ALTER TABLE t0 ADD INDEX x1 (c0)",
            "DROP TABLE t0",
        ] {
            assert_eq!(effect(sql).kind, StatementKind::Opaque, "{sql}");
        }
    }

    #[test]
    fn only_a_vacuum_that_keeps_the_size_of_the_file_waits_for_nobody() {
        let postgres = dialect_of("postgres", "18");
        for (sql, waits) in [
            ("VACUUM (TRUNCATE FALSE) t0", false),
            (
                "vacuum (truncate false, INDEX_CLEANUP ON, FREEZE) t0",
                false,
            ),
            ("VACUUM FULL t0", true),
            ("REINDEX TABLE t0", true),
            ("CREATE INDEX x1 ON t0 (c0 DESC, vkey)", true),
        ] {
            let change = analyze(sql, &postgres).storage_change;
            let change = change.unwrap_or_else(|| panic!("{sql}"));
            assert_eq!(change.table, "t0", "{sql}");
            assert_eq!(change.waits_for_users, waits, "{sql}");
        }
        for sql in ["VACUUM t0", "VACUUM (FULL) t0", "VACUUM", "DROP INDEX x1"] {
            assert_eq!(analyze(sql, &postgres).kind, StatementKind::Opaque, "{sql}");
        }
    }

    #[test]
    fn an_engine_that_does_not_have_it_by_its_dialect_is_not_asked() {
        let tidb = dialect_of("tidb", "8.5");
        let effect = analyze("CREATE INDEX x1 ON t0 (c0)", &tidb);
        assert_eq!(effect.kind, StatementKind::Opaque);
    }

    #[test]
    fn sqlite_refuses_where_others_wait() {
        let sqlite = dialect_of("sqlite", "3");
        for sql in ["REINDEX t0", "CREATE INDEX x1 ON t0 (c0 DESC, vkey)"] {
            let change = analyze(sql, &sqlite).storage_change;
            let change = change.unwrap_or_else(|| panic!("{sql}"));
            assert_eq!(change.table, "t0", "{sql}");
            assert!(!change.waits_for_users, "{sql}");
        }
        for sql in [
            "REINDEX",
            "REINDEX TABLE t0",
            "VACUUM t0",
            "DROP INDEX x1 ON t0",
        ] {
            assert_eq!(analyze(sql, &sqlite).kind, StatementKind::Opaque, "{sql}");
        }
    }
}
