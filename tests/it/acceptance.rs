//! What the grammar writes, engines accept: cases run one transaction after another, and every
//! production is counted.

use std::collections::BTreeMap;
use std::io::Write;

use rashomon::engine::{self, OpenOptions, Server};
use rashomon::generate::{GenerateOptions, Generated, VersionKeys, generate};
use rashomon::grammar::{Grammar, is_meant_to_fail};
use rashomon::model::{Outcome, SetupKind};

use crate::servers::{Needs, url};

/// Uses and acceptances of each production, and examples of what was rejected.
#[derive(Default)]
struct Tally {
    productions: BTreeMap<String, (u32, u32)>,
    statements: u32,
    accepted: u32,
    examples: BTreeMap<String, String>,
}

impl Tally {
    fn count(&mut self, labels: &[std::sync::Arc<str>], sql: &str, outcome: &Outcome) {
        let rejected = match outcome {
            Outcome::Rejected(error) => Some(format!("{error:?}")),
            Outcome::Rows(_) | Outcome::Affected(_) => None,
        };
        if !labels.iter().any(|label| is_meant_to_fail(label)) {
            self.statements += 1;
            self.accepted += u32::from(rejected.is_none());
        }
        for label in labels {
            let (uses, accepted) = self.productions.entry(label.to_string()).or_default();
            *uses += 1;
            *accepted += u32::from(rejected.is_none());
            if let Some(error) = &rejected {
                let example = format!("{sql}  -- {error}");
                self.examples.entry(label.to_string()).or_insert(example);
            }
        }
    }

    /// Every production used often enough to judge, accepted less often than 9 times in 10 by more
    /// than chance explains: two standard deviations. One that is meant to fail, and seldom does.
    fn complaints(&self) -> Vec<String> {
        let too_few = |uses: u32, accepted: u32| {
            let uses = f64::from(uses);
            f64::from(accepted) < uses * 0.9 - 2.0 * (uses * 0.09).sqrt()
        };
        let fails = |label: &str, uses: u32, accepted: u32| match is_meant_to_fail(label) {
            true => accepted * 10 > uses * 7,
            false => too_few(uses, accepted),
        };
        self.productions
            .iter()
            .filter(|(label, (uses, accepted))| *uses >= 40 && fails(label, *uses, *accepted))
            .map(|(label, (uses, accepted))| {
                let example = self.examples.get(label).map_or("", String::as_str);
                format!("{label}: {accepted} of {uses}, such as {example}")
            })
            .collect()
    }
}

/// How many cases each engine gets.
fn cases() -> u64 {
    std::env::var("RASHOMON_ACCEPTANCE_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(150)
}

/// Runs cases serially; the set-up must be accepted whole.
fn run(server: &dyn Server, database: &str, version_keys: VersionKeys) -> Tally {
    let dialect = server.dialect().clone();
    let grammar = Grammar::builtin(&dialect.engine).expect("built-in grammars are whole");
    let options = GenerateOptions {
        version_keys,
        // A mode is a session's own, and here one connection runs the statements of all sessions.
        mode_percent: 0,
        ..GenerateOptions::default()
    };
    let _ = server.drop_database(database);
    server.create_database(database).expect("create");
    let mut connection = server.connect(database).expect("connect");
    let mut execute = |sql: &str| {
        connection
            .execute(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    };
    let mut tally = Tally::default();
    let mut schema: Vec<String> = Vec::new();
    let mut tables: Vec<String> = Vec::new();
    for index in 0..cases() {
        let Generated { case, productions } = generate(2026, index, &options, &grammar, &dialect);
        let wanted = case.setup.iter().filter(|s| s.kind == SetupKind::Schema);
        let wanted: Vec<String> = wanted.map(|s| s.sql.clone()).collect();
        if wanted != schema {
            for table in tables.drain(..) {
                execute(&format!("DROP TABLE {table}"));
            }
            for sql in &wanted {
                let outcome = execute(sql);
                assert!(
                    !matches!(outcome, Outcome::Rejected(_)),
                    "{sql}: {outcome:?}"
                );
            }
            schema = wanted;
            tables = case.tables.iter().map(|table| table.name.clone()).collect();
        }
        for table in &tables {
            execute(&format!("DELETE FROM {table}"));
        }
        for row in case.setup.iter().filter(|s| s.kind == SetupKind::Rows) {
            let outcome = execute(&row.sql);
            assert!(
                !matches!(outcome, Outcome::Rejected(_)),
                "{}: {outcome:?}",
                row.sql
            );
        }
        let mut serial: Vec<_> = case.statements.iter().collect();
        serial.sort_by_key(|statement| statement.id);
        for statement in serial {
            let outcome = execute(&statement.sql);
            tally.count(&productions[&statement.id], &statement.sql, &outcome);
        }
    }
    drop(connection);
    server.drop_database(database).expect("drop");
    tally
}

/// Checks one engine in both disciplines.
fn check(test: &str, target: &str) {
    let options = OpenOptions {
        run_id: test.to_owned(),
        ..OpenOptions::default()
    };
    let server = engine::open(target, &options).unwrap_or_else(|error| panic!("{error}"));
    for version_keys in [VersionKeys::Always, VersionKeys::Never] {
        let tally = run(&*server, &format!("rashomon_{test}"), version_keys);
        let complaints = tally.complaints();
        let _ = writeln!(
            std::io::stderr(),
            "{test}, version keys {version_keys:?}: {} of {} statements accepted, {} productions",
            tally.accepted,
            tally.statements,
            tally.productions.len()
        );
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
        assert!(tally.accepted * 100 >= tally.statements * 95);
    }
}

#[test]
fn sqlite_accepts_generated_statements() {
    check("acceptance_sqlite", "sqlite:");
}

#[test]
fn mariadb_accepts_generated_statements() {
    let test = "acceptance_mariadb";
    if let Some(url) = url(test, Needs::MariaDb) {
        check(test, &url);
    }
}

#[test]
fn mysql_accepts_generated_statements() {
    let test = "acceptance_mysql";
    if let Some(url) = url(test, Needs::MySql) {
        check(test, &url);
    }
}
