//! Statement texts and what they mean, row by row.

use super::{analyze, setup_kind, shapes};
use crate::dialect::{BUILTIN, Dialect, Version, parse};
use crate::model::{RowOrder, SetupKind, SetupStatement, StatementKind};

pub(super) fn dialect(engine: &str) -> Dialect {
    let (name, text) = BUILTIN
        .iter()
        .find(|(name, _)| *name == engine)
        .expect("a built-in dialect");
    parse(name, text, &Version(vec![99])).expect("built-in dialects parse")
}

/// `update: t=update-target u=update-source`, with marks for the other facts.
fn meaning(sql: &str, engine: &str) -> String {
    let effect = analyze(sql, &dialect(engine));
    let mut text = format!("{}:", effect.kind);
    for table in &effect.uses {
        text.push_str(&format!(" {}={}", table.table, table.role));
    }
    if effect.row_order == RowOrder::Total {
        text.push_str(" total");
    }
    if effect.surely_takes_snapshot {
        text.push_str(" snapshot");
    }
    if effect.depends_on_locks {
        text.push_str(" locks");
    }
    if let Some(savepoint) = &effect.savepoint {
        text.push_str(&format!(" @{savepoint}"));
    }
    text
}

#[test]
fn mysql_statements_mean_what_they_say() {
    let cases = [
        ("BEGIN", "begin:"),
        ("begin work;", "begin:"),
        (
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "begin-snapshot:",
        ),
        ("START TRANSACTION READ ONLY", "begin:"),
        ("COMMIT;", "commit:"),
        ("ROLLBACK", "rollback:"),
        ("ROLLBACK TO SAVEPOINT a", "rollback-to: @a"),
        ("ROLLBACK WORK TO `b c`", "rollback-to: @b c"),
        ("SAVEPOINT a", "savepoint: @a"),
        ("RELEASE SAVEPOINT a", "release-savepoint: @a"),
        ("SET innodb_snapshot_isolation=ON", "set:"),
        ("SELECT * FROM t", "select: t=plain-select snapshot"),
        ("SELECT 1", "select:"),
        ("SELECT * FROM t WHERE a = 1", "select: t=plain-select"),
        ("SELECT * FROM t LIMIT 1", "select: t=plain-select"),
        (
            "SELECT * FROM t ORDER BY t.pkey DESC",
            "select: t=plain-select total snapshot",
        ),
        (
            "SELECT * FROM t, u ORDER BY t.pkey",
            "select: t=plain-select u=plain-select snapshot",
        ),
        (
            "SELECT * FROM t AS a JOIN t AS b ON a.c = b.c ORDER BY a.pkey, b.pkey",
            "select: t=plain-select total",
        ),
        (
            "SELECT c AS pkey FROM t ORDER BY pkey",
            "select: t=plain-select snapshot",
        ),
        (
            "SELECT c FROM t GROUP BY c ORDER BY pkey",
            "select: t=plain-select snapshot",
        ),
        (
            "SELECT pkey FROM t UNION SELECT pkey FROM u ORDER BY pkey",
            "select: t=plain-select u=plain-select",
        ),
        (
            "SELECT * FROM t FOR UPDATE",
            "locking-select: t=locking-select",
        ),
        (
            "SELECT * FROM t LOCK IN SHARE MODE",
            "locking-select: t=locking-select",
        ),
        (
            "SELECT * FROM t FOR UPDATE NOWAIT",
            "locking-select: t=locking-select locks",
        ),
        (
            "SELECT * FROM t FOR SHARE SKIP LOCKED",
            "locking-select: t=locking-select locks",
        ),
        (
            "SELECT * FROM t WHERE a IN (SELECT a FROM u) LOCK IN SHARE MODE",
            "locking-select: t=locking-select u=locking-select-source",
        ),
        (
            "SELECT * FROM t WHERE a IN (SELECT a FROM u FOR UPDATE) FOR UPDATE",
            "locking-select: t=locking-select u=locking-select",
        ),
        (
            "SELECT * FROM (SELECT a FROM u) AS d, t FOR UPDATE",
            "locking-select: t=locking-select u=locking-select-source",
        ),
        (
            "WITH w AS (SELECT a FROM u) SELECT * FROM w, t",
            "select: t=plain-select u=plain-select",
        ),
        ("WITH t AS (SELECT a FROM t) SELECT * FROM t", "opaque:"),
        (
            "UPDATE t SET c = (SELECT MAX(a) FROM u) WHERE b IN (SELECT b FROM w)",
            "update: t=update-target u=update-source w=update-source",
        ),
        (
            "UPDATE t AS a JOIN u AS b ON a.pkey = b.pkey SET a.c = b.c",
            "update: t=update-target u=update-join-source",
        ),
        (
            "UPDATE t JOIN u ON t.pkey = u.pkey SET t.c = 1, u.c = 2",
            "update: t=update-target u=update-target",
        ),
        (
            "UPDATE t AS a JOIN t AS b ON a.pkey = b.c SET a.c = b.c",
            "update: t=update-target t=update-join-source",
        ),
        (
            "UPDATE t SET c = 1 ORDER BY pkey LIMIT 1",
            "update: t=update-target",
        ),
        (
            "DELETE FROM t WHERE a = (SELECT 1 FROM u)",
            "delete: t=delete-target u=delete-source",
        ),
        (
            "DELETE a FROM t AS a JOIN u AS b ON a.pkey = b.pkey WHERE b.c = 1",
            "delete: t=delete-target u=delete-source",
        ),
        ("INSERT INTO t VALUES (1, 2)", "insert: t=insert-target"),
        ("INSERT INTO t SET a = 1", "insert: t=insert-target"),
        (
            "INSERT INTO t (a) VALUES ((SELECT MAX(a) FROM u))",
            "insert: t=insert-target u=insert-values-source",
        ),
        (
            "INSERT IGNORE INTO t SELECT * FROM u WHERE a IN (SELECT a FROM w)",
            "insert-select: t=insert-target u=insert-select-source w=insert-select-source",
        ),
        (
            "INSERT INTO t (a) SELECT a FROM t ON DUPLICATE KEY UPDATE a = 1",
            "insert-select: t=insert-target t=insert-select-source",
        ),
        (
            "REPLACE INTO t SELECT * FROM u",
            "replace: t=insert-target u=insert-select-source",
        ),
        ("SELECT * FROM t WHERE a = 'unclosed", "opaque:"),
        ("DROP TABLE t", "opaque:"),
        ("UPDATE", "opaque:"),
        ("", "opaque:"),
    ];
    for (sql, expected) in cases {
        assert_eq!(meaning(sql, "mysql"), expected, "{sql}");
        assert_eq!(meaning(sql, "mariadb"), expected, "{sql}");
    }
}

#[test]
fn sqlite_statements_mean_what_they_say() {
    let cases = [
        ("BEGIN IMMEDIATE", "begin-immediate:"),
        ("BEGIN DEFERRED TRANSACTION", "begin:"),
        ("END", "commit:"),
        (
            "INSERT OR REPLACE INTO t VALUES (1)",
            "replace: t=insert-target",
        ),
        (
            "UPDATE t SET c = u.c FROM u WHERE t.pkey = u.pkey",
            "update: t=update-target u=update-source",
        ),
        (
            "INSERT INTO t (pkey) VALUES (1) ON CONFLICT (pkey) DO UPDATE SET c = 1",
            "insert: t=insert-target",
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(meaning(sql, "sqlite"), expected, "{sql}");
    }
}

#[test]
fn shapes_read_what_people_write() {
    let setup: Vec<SetupStatement> = [
        "CREATE TABLE t0(c0 BOOLEAN UNIQUE, c1 REAL ZEROFILL NOT NULL, c2 BIGINT, c3 VARCHAR(100) UNIQUE NOT NULL) ENGINE=InnoDB",
        "CREATE INDEX ic0 ON t0(c2 ASC, c0, c3 DESC, c1)",
        "create table t1 (id int primary key , a int, index(a), unique key uk(a, id))",
        "CREATE TABLE IF NOT EXISTS db.`t2` (pkey BIGINT NOT NULL, vkey INT, c0 DECIMAL(10,2) DEFAULT 1.5, \
         g INT GENERATED ALWAYS AS (c0 + 1) STORED, txt TEXT, KEY k (txt(4)), PRIMARY KEY (pkey)) \
         PARTITION BY HASH(pkey) PARTITIONS 2",
        "CREATE UNIQUE INDEX u2 ON t2 (vkey)",
        "ALTER TABLE t1 ADD COLUMN b TEXT, ADD UNIQUE (b(3))",
        "CREATE TABLE gone (a INT)",
        "DROP TABLE gone",
    ]
    .iter()
    .map(|sql| SetupStatement {
        sql: (*sql).to_owned(),
        kind: setup_kind(sql, &dialect("mysql")),
    })
    .collect();
    assert!(setup.iter().all(|s| s.kind == SetupKind::Schema));
    let found: Vec<String> = shapes(&setup, &dialect("mysql"))
        .iter()
        .map(|table| {
            let columns: Vec<String> = table
                .columns
                .iter()
                .map(|c| {
                    format!(
                        "{}:{}{}",
                        c.name,
                        c.sql_type,
                        if c.generated { "*" } else { "" }
                    )
                })
                .collect();
            format!(
                "{} {} {:?} {:?}/{:?}",
                table.name,
                columns.join(" "),
                table.unique_keys,
                table.row_key,
                table.version_key
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "t0 c0:BOOLEAN c1:REAL ZEROFILL c2:BIGINT c3:VARCHAR(100) [[\"c0\"], [\"c3\"]] None/None",
            "t1 id:int a:int b:TEXT [[\"id\"], [\"a\", \"id\"], [\"b\"]] None/None",
            "t2 pkey:BIGINT vkey:INT c0:DECIMAL(10,2) g:INT* txt:TEXT [[\"pkey\"], [\"vkey\"]] \
             Some(\"pkey\")/Some(\"vkey\")",
        ]
    );
}

#[test]
fn rows_and_schema_are_told_apart() {
    let mysql = dialect("mysql");
    assert_eq!(
        setup_kind("insert into t values (1)", &mysql),
        SetupKind::Rows
    );
    assert_eq!(
        setup_kind("/* c */ REPLACE INTO t VALUES (1)", &mysql),
        SetupKind::Rows
    );
    assert_eq!(
        setup_kind("CREATE VIEW v AS SELECT 1", &mysql),
        SetupKind::Schema
    );
}

#[test]
fn kinds_that_control_name_no_table() {
    for sql in [
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT a",
        "SET autocommit = 0",
    ] {
        let effect = analyze(sql, &dialect("mariadb"));
        assert!(effect.kind.is_control() && effect.uses.is_empty(), "{sql}");
        assert_ne!(effect.kind, StatementKind::Opaque);
    }
}
