//! Statement texts and what they mean, row by row.

use super::{analyze, setup_kind, shapes, simplify, without_column};
use crate::dialect::{Dialect, dialect_of};
use crate::model::{RowOrder, SetupKind, SetupStatement, StatementKind};

pub(super) fn dialect(engine: &str) -> Dialect {
    dialect_of(engine, "99")
}

/// `update: t=update-target u=update-source`, with marks for the other facts.
pub(super) fn meaning(sql: &str, engine: &str) -> String {
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

/// What MySQL and MariaDB statements mean.
const MYSQL: &[(&str, &str)] = &[
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
        "locking-select: t=locking-select",
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
    (
        "DELETE FROM t USING u WHERE t.pkey = u.pkey AND u.c = 1",
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

#[test]
fn analyze_reads_mysql_and_mariadb_statements() {
    for (sql, expected) in MYSQL {
        assert_eq!(meaning(sql, "mysql"), *expected, "{sql}");
        assert_eq!(meaning(sql, "mariadb"), *expected, "{sql}");
    }
}

/// What SQLite statements mean.
const SQLITE: &[(&str, &str)] = &[
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

#[test]
fn analyze_reads_sqlite_statements() {
    for (sql, expected) in SQLITE {
        assert_eq!(meaning(sql, "sqlite"), *expected, "{sql}");
    }
}

#[test]
fn a_primary_key_orders_rows_of_sqlite_where_it_is_the_rowid_or_there_is_none() {
    for (table, clusters) in [
        ("(pkey BIGINT PRIMARY KEY)", false),
        ("(pkey INTEGER PRIMARY KEY)", true),
        ("(pkey integer, PRIMARY KEY (pkey))", true),
        ("(pkey INTEGER, b INTEGER, PRIMARY KEY (pkey, b))", false),
        ("(pkey BIGINT PRIMARY KEY) WITHOUT ROWID", true),
        ("(pkey INTEGER NOT NULL UNIQUE)", false),
    ] {
        let sql = format!("CREATE TABLE t {table}");
        let kind = SetupKind::Schema;
        let found = shapes(&[SetupStatement { sql, kind }], &dialect("sqlite"));
        assert_eq!(found[0].clustered_key().is_some(), clusters, "{table}");
    }
}

#[test]
fn shapes_read_hand_written_set_ups() {
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
fn setup_kind_separates_rows_from_schema() {
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
fn transaction_control_names_no_table() {
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

/// The variants of a MySQL statement, among which these must be.
fn has(sql: &str, wanted: &[&str]) -> Vec<String> {
    let found = simplify(sql, &dialect("mysql"));
    for text in wanted {
        assert!(
            found.iter().any(|one| one == text),
            "{sql}: {text} not in {found:#?}"
        );
    }
    found
}

#[test]
fn simplified_statements_are_smaller_and_keep_their_keys() {
    let mysql = dialect("mysql");
    has(
        "SELECT t1.c0, t2.c1 FROM t1 JOIN t2 ON t1.pkey = t2.pkey WHERE t1.c0 = 1 AND t2.c1 > 2 ORDER BY t1.pkey",
        &[
            "SELECT t1.c0 FROM t1 WHERE t1.c0 = 1 ORDER BY t1.pkey",
            "SELECT t2.c1 FROM t2 WHERE t2.c1 > 2",
            "SELECT t1.c0, t2.c1 FROM t1 JOIN t2 ON t1.pkey = t2.pkey ORDER BY t1.pkey",
        ],
    );
    has(
        "SELECT * FROM (SELECT pkey FROM t1 WHERE c0 = 1) AS q",
        &["SELECT * FROM t1 AS q"],
    );
    has(
        "SELECT c0 FROM t1 UNION SELECT c0 FROM t2",
        &["SELECT c0 FROM t1", "SELECT c0 FROM t2"],
    );
    has(
        "WITH q AS (SELECT pkey FROM t1) SELECT * FROM t2, q",
        &["SELECT pkey FROM t1", "SELECT * FROM t2, q"],
    );
    has(
        "SELECT * FROM t1 WHERE c0 IN (1, 2) LOCK IN SHARE MODE",
        &[
            "SELECT * FROM t1 LOCK IN SHARE MODE",
            "SELECT * FROM t1 WHERE c0 IN (1) LOCK IN SHARE MODE",
        ],
    );
    let updates = has(
        "UPDATE t1 SET vkey = 1000, c0 = (c0 + 2) WHERE t1.pkey = 3 AND (c1 = 1 OR c2 = 2)",
        &[
            "UPDATE t1 SET vkey = 1000, c0 = (2) WHERE t1.pkey = 3 AND (c1 = 1 OR c2 = 2)",
            "UPDATE t1 SET vkey = 1000 WHERE t1.pkey = 3 AND (c1 = 1 OR c2 = 2)",
            "UPDATE t1 SET vkey = 1000, c0 = (c0 + 2) WHERE t1.pkey = 3",
        ],
    );
    assert!(
        updates.iter().all(|text| text.contains("vkey = 1000")),
        "{updates:#?}"
    );
    let inserts = has(
        "INSERT INTO t1 (pkey, vkey, c0, c1) VALUES (9, 1000, 1, 'a'), (10, 1000, 2, 'b')",
        &[
            "INSERT INTO t1 (pkey, vkey, c0, c1) VALUES (9, 1000, 1, 'a')",
            "INSERT INTO t1 (pkey, vkey, c1) VALUES (9, 1000, 'a'), (10, 1000, 'b')",
        ],
    );
    assert!(
        inserts
            .iter()
            .all(|text| text.contains("(pkey, vkey") && text.contains(", 1000"))
    );
    has(
        "INSERT INTO t1 (pkey, vkey) VALUES (3, 1000) ON DUPLICATE KEY UPDATE vkey = 1000, c0 = 1",
        &["INSERT INTO t1 (pkey, vkey) VALUES (3, 1000)"],
    );
    has(
        "SELECT r1.c0 FROM t1 JOIN t2 AS r1 FORCE INDEX (i) ON t1.pkey = r1.pkey",
        &["SELECT r1.c0 FROM t1 JOIN t2 AS r1 ON t1.pkey = r1.pkey"],
    );
    has(
        "UPDATE t1 USE INDEX (i) SET vkey = 1000 WHERE c0 > 1",
        &["UPDATE t1 SET vkey = 1000 WHERE c0 > 1"],
    );
    assert_eq!(simplify("BEGIN", &mysql), Vec::<String>::new());
    assert_eq!(simplify("DELETE FROM t1", &mysql), Vec::<String>::new());
}

#[test]
fn simplify_yields_no_statement_whose_answer_depends_on_row_order() {
    let mysql = dialect("mysql");
    let never = [
        (
            "SELECT c0, COUNT(*) FROM t1 GROUP BY c0",
            "SELECT c0, COUNT(*) FROM t1",
        ),
        (
            "SELECT c0 FROM t1 ORDER BY pkey LIMIT 2",
            "SELECT c0 FROM t1 LIMIT 2",
        ),
        (
            "DELETE FROM t1 ORDER BY pkey LIMIT 2",
            "DELETE FROM t1 LIMIT 2",
        ),
        (
            "SELECT * FROM t1 WHERE c0 = (SELECT c0 FROM t2 WHERE pkey = 1)",
            "SELECT * FROM t1 WHERE c0 = (SELECT c0 FROM t2)",
        ),
        (
            "UPDATE t1 SET vkey = 1000, c0 = c0 + 1 WHERE pkey = 1",
            "UPDATE t1 SET vkey = 1000, c0 = c0 + 1",
        ),
        (
            "UPDATE t1 JOIN t2 ON t1.pkey = t2.pkey SET t1.c0 = 1, t1.vkey = 1000, t2.vkey = 1000",
            "UPDATE t1 JOIN t2 ON t1.pkey = t2.pkey SET t1.c0 = 1, t2.vkey = 1000",
        ),
    ];
    for (sql, bad) in never {
        assert!(!simplify(sql, &mysql).contains(&bad.to_owned()), "{sql}");
    }
    let from =
        "UPDATE t1 SET vkey = 1000, c0 = t2.c0 FROM t2 WHERE t1.pkey = t2.pkey AND t2.c0 > 1";
    let found = simplify(from, &dialect("sqlite"));
    assert!(!found.is_empty());
    for text in &found {
        assert!(
            !text.contains("FROM t2") || text.contains("t1.pkey = t2.pkey"),
            "{text}"
        );
    }
}

#[test]
fn without_column_removes_it_from_create_table_and_insert() {
    let mysql = dialect("mysql");
    let create = "CREATE TABLE t1 (pkey BIGINT PRIMARY KEY, c0 DECIMAL(10,2) DEFAULT 1.5, c1 INT) ENGINE=InnoDB";
    let setup = [SetupStatement {
        sql: create.to_owned(),
        kind: SetupKind::Schema,
    }];
    let table = &shapes(&setup, &mysql)[0];
    let cases = [
        (
            create,
            "c0",
            Some("CREATE TABLE t1 (pkey BIGINT PRIMARY KEY, c1 INT) ENGINE=InnoDB"),
        ),
        (
            create,
            "c1",
            Some(
                "CREATE TABLE t1 (pkey BIGINT PRIMARY KEY, c0 DECIMAL(10,2) DEFAULT 1.5) ENGINE=InnoDB",
            ),
        ),
        ("CREATE TABLE t1 (c0 INT, KEY (c0))", "c0", None),
        ("CREATE INDEX i ON t1 (c0)", "c0", None),
        (
            "CREATE INDEX i ON t1 (c0)",
            "c1",
            Some("CREATE INDEX i ON t1 (c0)"),
        ),
        (
            "INSERT INTO t1 (pkey, c0) VALUES (1, 2), (3, 4)",
            "c0",
            Some("INSERT INTO t1 (pkey) VALUES (1), (3)"),
        ),
        (
            "INSERT INTO t1 VALUES (1, 2, 3)",
            "c0",
            Some("INSERT INTO t1 VALUES (1, 3)"),
        ),
        (
            "INSERT INTO t1 (pkey, c0) SELECT a, b FROM t2",
            "c0",
            Some("INSERT INTO t1 (pkey) SELECT a FROM t2"),
        ),
        ("INSERT INTO t1 SELECT * FROM t2", "c0", None),
        ("UPDATE t1 SET c0 = 1", "c0", None),
        ("UPDATE t1 SET c0 = 1", "c1", Some("UPDATE t1 SET c0 = 1")),
        (
            "SELECT t2.c0 FROM t1, t2",
            "c0",
            Some("SELECT t2.c0 FROM t1, t2"),
        ),
        ("SELECT c0 FROM t2", "c0", Some("SELECT c0 FROM t2")),
        ("SELECT r.c0 FROM t1 AS r", "c0", None),
    ];
    for (sql, column, expected) in cases {
        let found = without_column(sql, table, column, &mysql);
        assert_eq!(found.as_deref(), expected, "{sql} without {column}");
    }
}

#[test]
fn simplify_removes_the_alias_of_a_table_named_once() {
    has(
        "UPDATE t1 AS r1 SET r1.c0 = r1.c1 WHERE r1.pkey = 1",
        &["UPDATE t1 SET t1.c0 = t1.c1 WHERE t1.pkey = 1"],
    );
    let twice = simplify(
        "SELECT * FROM t1 AS r1 JOIN t1 ON r1.c0 = t1.c0",
        &dialect("mysql"),
    );
    assert!(!twice.contains(&"SELECT * FROM t1 JOIN t1 ON t1.c0 = t1.c0".to_owned()));
}

#[test]
fn indexes_on_generated_columns_and_partitions_are_found_in_every_form() {
    let one = |texts: &[&str]| {
        let setup: Vec<SetupStatement> = texts
            .iter()
            .map(|sql| SetupStatement {
                sql: (*sql).to_owned(),
                kind: SetupKind::Schema,
            })
            .collect();
        let shapes = shapes(&setup, &dialect("mysql"));
        let [table] = shapes.as_slice() else {
            panic!("{shapes:?}");
        };
        let stored: Vec<bool> = table
            .indexed_generated_columns()
            .map(|c| c.stored)
            .collect();
        let partitioning = table.partitioning.as_ref();
        (
            stored,
            partitioning.map(|p| format!("{} {}", p.method, p.columns.join(" "))),
        )
    };
    let columns = "a INT, g INT GENERATED ALWAYS AS (a + 1) VIRTUAL";
    let plain = format!("CREATE TABLE t ({columns}, KEY (a))");
    assert_eq!(one(&[&plain]), (vec![], None));
    assert_eq!(
        one(&[&plain, "CREATE INDEX i ON t (a, g DESC)"]),
        (vec![false], None)
    );
    assert_eq!(
        one(&[&plain, "ALTER TABLE t ADD INDEX j (g)"]),
        (vec![false], None)
    );
    let inside = format!("CREATE TABLE t ({columns}, INDEX k (g(3)), UNIQUE (a))");
    assert_eq!(one(&[&inside]), (vec![false], None));
    let stored = "CREATE TABLE t (a INT, g INT AS (a + 1) STORED, KEY (g))";
    assert_eq!(one(&[stored]), (vec![true], None));
    let linear = format!("CREATE TABLE t ({columns}) PARTITION BY LINEAR KEY (`A`) PARTITIONS 3");
    assert_eq!(one(&[&linear]), (vec![], Some("key a".to_owned())));
    let range = format!(
        "CREATE TABLE t ({columns}) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (2))"
    );
    assert_eq!(one(&[&range]), (vec![], Some("range a".to_owned())));
    let parted =
        format!("CREATE TABLE t ({columns}) ENGINE=InnoDB PARTITION BY HASH (a) PARTITIONS 3");
    assert_eq!(one(&[&parted]), (vec![], Some("hash a".to_owned())));
}

#[test]
fn a_result_is_row_by_row_only_where_no_row_depends_on_another() {
    let dialect = dialect("mysql");
    let of = |sql: &str| {
        let effect = analyze(sql, &dialect);
        (effect.row_by_row, effect.outer_join)
    };
    for sql in [
        "SELECT a FROM t WHERE a < 3 FOR UPDATE SKIP LOCKED",
        "SELECT t.a + 1, u.b FROM t JOIN u ON t.a = u.b WHERE t.a IN (1, 2) ORDER BY t.a",
        "SELECT a FROM t INNER JOIN u USING (a)",
        "SELECT a FROM t, u",
    ] {
        assert_eq!(of(sql), (true, false), "{sql}");
    }
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT DISTINCT a FROM t",
        "SELECT a FROM t LIMIT 2",
        "SELECT a FROM t GROUP BY a",
        "SELECT a FROM t WHERE a IN (SELECT b FROM u)",
        "SELECT a FROM (SELECT a FROM t) d",
        "SELECT a FROM t UNION SELECT b FROM u",
        "WITH x AS (SELECT a FROM t) SELECT a FROM x",
        "UPDATE t SET a = 1",
    ] {
        assert_eq!(of(sql), (false, false), "{sql}");
    }
    for sql in [
        "SELECT a FROM t LEFT JOIN u ON t.a = u.b",
        "SELECT a FROM t RIGHT OUTER JOIN u ON t.a = u.b FOR UPDATE",
        "SELECT a FROM t WHERE a IN (SELECT b FROM u LEFT JOIN v ON u.b = v.b)",
    ] {
        assert_eq!(of(sql), (false, true), "{sql}");
    }
}
