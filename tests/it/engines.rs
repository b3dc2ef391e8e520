//! Every engine keeps the promises of the traits in `src/engine/mod.rs`, on a live server.

use rashomon::dialect::ServerVersion;
use rashomon::engine::{self, EngineError, OpenOptions, Server, TransactionState};
use rashomon::model::{Clustering, Column, ErrorClass, Outcome, TableShape, Value};

use crate::servers::{Needs, url};

fn options(run_id: &str) -> OpenOptions {
    OpenOptions {
        run_id: run_id.to_owned(),
        ..OpenOptions::default()
    }
}

/// Runs a check on SQLite in both journal modes, and on every server there is.
fn on_every_engine(test: &str, check: impl Fn(&dyn Server)) {
    let servers = [Needs::MariaDb, Needs::MySql, Needs::Postgres];
    let urls = ["sqlite:", "sqlite:?journal=delete"]
        .into_iter()
        .map(str::to_owned)
        .chain(servers.into_iter().filter_map(|needs| url(test, needs)));
    for url in urls {
        let server = engine::open(&url, &options(test)).unwrap_or_else(|error| panic!("{error}"));
        check(&*server);
    }
}

fn shape() -> TableShape {
    let column = |name: &str, sql_type: &str| Column {
        name: name.to_owned(),
        sql_type: sql_type.to_owned(),
        generated: false,
        stored: false,
        collation: None,
        folding: rashomon::model::Folding::default(),
        not_null: false,
        counted: false,
    };
    TableShape {
        name: "t".to_owned(),
        columns: vec![column("pkey", "INTEGER"), column("c", "VARCHAR(16)")],
        row_key: Some("pkey".to_owned()),
        version_key: None,
        primary_key: Some(vec!["pkey".to_owned()]),
        unique_keys: vec![vec!["pkey".to_owned()]],
        exclusions: Vec::new(),
        indexes: Vec::new(),
        other_indexes: Vec::new(),
        loose_keys: Vec::new(),
        later_indexes: Vec::new(),
        foreign_keys: Vec::new(),
        partitioning: None,
        storage_engine: None,
        clustering: Clustering::default(),
    }
}

const CREATE: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, c VARCHAR(16))";

#[test]
fn statements_are_answered_with_typed_rows_counts_and_classes() {
    on_every_engine("engines_statements", |server| {
        let name = "rashomon_engines_statements";
        server.create_database(name).expect("create");
        let mut connection = server.connect(name).expect("connect");
        // A number with an exponent is exact in PostgreSQL.
        let number = match server.identity().engine.as_str() {
            "postgres" => Value::Decimal("1.5".to_owned()),
            _ => Value::Real(1.5),
        };
        let mut run = |sql: &str| {
            connection
                .execute(sql)
                .unwrap_or_else(|e| panic!("{sql}: {e}"))
        };
        assert_eq!(run(CREATE), Outcome::Affected(0));
        assert_eq!(
            run("INSERT INTO t VALUES (2, 'b'), (1, NULL)"),
            Outcome::Affected(2)
        );
        assert_eq!(run("BEGIN"), Outcome::Affected(0));
        assert_eq!(
            run("UPDATE t SET c = 'x' WHERE pkey = 2"),
            Outcome::Affected(1)
        );
        assert_eq!(run("ROLLBACK"), Outcome::Affected(0));
        assert_eq!(
            run("SELECT pkey, c, 1.5e0 FROM t ORDER BY pkey"),
            Outcome::Rows(vec![
                vec![Value::Integer(1), Value::Null, number.clone()],
                vec![Value::Integer(2), Value::Text("b".to_owned()), number],
            ])
        );
        assert_eq!(
            run("INSERT INTO t VALUES (1, 'dup')").error_class(),
            Some(ErrorClass::Duplicate)
        );
        assert_eq!(
            connection.contents(&shape()).expect("contents"),
            Outcome::Rows(vec![
                vec![Value::Integer(1), Value::Null],
                vec![Value::Integer(2), Value::Text("b".to_owned())],
            ])
        );
        drop(connection);
        server.drop_database(name).expect("drop");
    });
}

#[test]
fn the_transaction_state_is_the_servers_own() {
    on_every_engine("engines_state", |server| {
        let name = "rashomon_engines_state";
        server.create_database(name).expect("create");
        let mut connection = server.connect(name).expect("connect");
        let mut expect = |sql: &str, state: TransactionState| {
            connection
                .execute(sql)
                .unwrap_or_else(|e| panic!("{sql}: {e}"));
            assert_eq!(
                connection.transaction_state().expect("state"),
                state,
                "{sql}"
            );
        };
        use TransactionState::{None, Open};
        expect(CREATE, None);
        expect("BEGIN", Open);
        expect("INSERT INTO t VALUES (1, 'a')", Open);
        expect("INSERT INTO t VALUES (1, 'a')", Open);
        expect("SELECT nonsense", Open);
        expect("COMMIT", None);
        expect("INSERT INTO t VALUES (1, 'a')", None);
        expect("BEGIN", Open);
        expect("SELECT * FROM t", Open);
        expect("ROLLBACK", None);
        drop(connection);
        server.drop_database(name).expect("drop");
    });
}

#[test]
fn only_databases_with_our_name_and_marker_are_dropped() {
    on_every_engine("engines_guard", |server| {
        for name in [
            "prod",
            "rashomon_",
            "rashomon_a`; DROP DATABASE x",
            "mysql",
            "../x",
        ] {
            for answer in [server.create_database(name), server.drop_database(name)] {
                assert!(
                    matches!(answer, Err(EngineError::Unsafe(_))),
                    "{name}: {answer:?}"
                );
            }
            assert!(server.connect(name).is_err(), "{name}");
        }
        let name = "rashomon_engines_guard";
        server.create_database(name).expect("create");
        let mut connection = server.connect(name).expect("connect");
        connection
            .execute("DROP TABLE rashomon_marker")
            .expect("drop the marker");
        let answer = server.drop_database(name);
        assert!(matches!(answer, Err(EngineError::Unsafe(_))), "{answer:?}");
        let answer = server.create_database(name);
        assert!(matches!(answer, Err(EngineError::Unsafe(_))), "{answer:?}");
        connection
            .execute("CREATE TABLE rashomon_marker (run_id VARCHAR(9), host VARCHAR(9), pid INTEGER, created VARCHAR(9))")
            .expect("marker");
        let forged = "INSERT INTO rashomon_marker VALUES ('r', 'far', 1, '')";
        connection.execute(forged).expect("marker");
        drop(connection);
        let kept = engine::clean(server).expect("clean");
        let ours = kept.iter().find(|c| c.database == name).expect("listed");
        assert!(
            ours.kept.as_deref().is_some_and(|why| why.contains("far")),
            "{ours:?}"
        );
        server.drop_database(name).expect("drop");
    });
}

#[test]
fn databases_of_this_run_are_replaced_and_those_of_dead_runs_cleaned() {
    on_every_engine("engines_clean", |server| {
        let name = "rashomon_engines_clean";
        server.create_database(name).expect("create");
        server.create_database(name).expect("create again");
        let mut child = std::process::Command::new("true").spawn().expect("spawn");
        let pid = child.id();
        child.wait().expect("wait");
        let mut connection = server.connect(name).expect("connect");
        connection
            .execute(&format!("UPDATE rashomon_marker SET pid = {pid}"))
            .expect("update");
        drop(connection);
        let cleaned = engine::clean(server).expect("clean");
        let ours = cleaned.iter().find(|c| c.database == name).expect("listed");
        assert_eq!(ours.kept, None);
        let left = server.leftovers().expect("leftovers");
        assert!(left.iter().all(|l| l.database != name), "{left:?}");
    });
}

#[test]
fn servers_report_product_and_version() {
    on_every_engine("engines_identity", |server| {
        let identity = server.identity();
        assert!(identity.version > ServerVersion(vec![3]), "{identity:?}");
        assert!(!identity.variables.is_empty());
        assert_eq!(identity.engine, server.dialect().engine);
    });
}

#[test]
fn a_table_recreated_by_another_connection_is_read_with_its_new_columns() {
    on_every_engine("a_table_made_anew", |server| {
        let name = "rashomon_test_made_anew";
        server.create_database(name).expect("it is made");
        let mut writer = server.connect(name).expect("connected");
        let mut reader = server.connect(name).expect("connected");
        for (columns, row) in [
            ("pkey INTEGER", "1"),
            ("pkey INTEGER, c INTEGER", "1, 2"),
            ("a INTEGER", "3"),
        ] {
            for sql in [
                "DROP TABLE IF EXISTS t".to_owned(),
                format!("CREATE TABLE t ({columns})"),
                format!("INSERT INTO t VALUES ({row})"),
            ] {
                writer.execute(&sql).expect("it is answered");
            }
            let expected = row
                .split(", ")
                .map(|n| Value::Integer(n.parse().expect("a number")));
            assert_eq!(
                reader.execute("SELECT * FROM t").expect("it is answered"),
                Outcome::Rows(vec![expected.collect()])
            );
        }
        drop((reader, writer));
        server.drop_database(name).expect("it is dropped");
    });
}

/// At SERIALIZABLE plain reads lock, so that a READ ONLY transaction can lose a deadlock.
#[test]
fn read_only_outlives_a_deadlock_and_the_question_for_the_state_until_the_session_ends_one() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("engines_read_only", needs) else {
            continue;
        };
        let server = engine::open(&url, &options("engines_read_only")).expect("open");
        let name = "rashomon_engines_read_only";
        server.create_database(name).expect("create");
        let mut reader = server.connect(name).expect("connect");
        let mut writer = server.connect(name).expect("connect");
        let mut watcher = server.watcher().expect("watcher");
        let mut read = |sql: &str| reader.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        read(CREATE);
        read("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
        read("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
        read("START TRANSACTION READ ONLY");
        read("SELECT * FROM t WHERE pkey = 1");
        for sql in [
            "BEGIN",
            "INSERT INTO t VALUES (5, 'weight'), (6, 'weight'), (7, 'weight')",
            "UPDATE t SET c = 'x' WHERE pkey = 2",
        ] {
            writer.execute(sql).expect("an answer");
        }
        let id = writer.id();
        let thread = std::thread::spawn(move || {
            let outcome = writer.execute("UPDATE t SET c = 'x' WHERE pkey = 1");
            (writer, outcome)
        });
        while watcher.waiting(&[id]).expect("poll").is_empty() {
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
        let lost = read("SELECT * FROM t WHERE pkey = 2");
        assert_eq!(lost.error_class(), Some(ErrorClass::Deadlock), "{lost:?}");
        let (mut writer, outcome) = thread.join().expect("the writer");
        assert_eq!(outcome.expect("an answer"), Outcome::Affected(1));
        writer.execute("ROLLBACK").expect("an answer");
        assert_eq!(
            reader.transaction_state().expect("state"),
            TransactionState::None
        );
        let insert = "INSERT INTO t VALUES (3, 'c')";
        let refused = reader.execute(insert).expect("an answer");
        let class = refused.error_class();
        assert_eq!(class, Some(ErrorClass::ReadOnly), "{refused:?}");
        for (sql, outcome) in [
            ("ROLLBACK", Outcome::Affected(0)),
            (insert, Outcome::Affected(1)),
        ] {
            assert_eq!(reader.execute(sql).expect("an answer"), outcome, "{sql}");
        }
        drop((reader, writer));
        server.drop_database(name).expect("drop");
    }
}
