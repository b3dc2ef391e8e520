//! Our own finds, shown by what is exported for the maintainers of the engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use mysql::prelude::Queryable as _;
use rashomon::export::{DoesNotApply, format_named};
use rashomon::reproducer::{self, CaseFile};

use crate::program::{files, folder, shown};
use crate::servers::{self, Needs};

/// Our own finds of an engine.
pub(crate) fn finds(engine: &str) -> Vec<PathBuf> {
    let least = if engine == "postgres" { 1 } else { 2 };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("reproducers")
        .join(engine);
    let files = std::fs::read_dir(root).expect("the folder is there");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= least, "{paths:?}");
    paths
}

/// The Python that has PyMySQL and psycopg2: the first one of the path need not be Debian's.
pub(crate) fn python() -> String {
    std::env::var("RASHOMON_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// A script of each find, run by Python against a server: exit code and output.
fn scripts_of(finds: &[PathBuf], url: &str) -> Vec<(String, Option<i32>, String)> {
    let run_one = |find: &PathBuf| {
        let file = reproducer::load(find).expect("it reads");
        let (code, text) = script_of(&file, url).unwrap_or_else(|reason| panic!("{reason}"));
        (shown(find), code, text)
    };
    finds.iter().map(run_one).collect()
}

/// The script of a case, run by Python against a server: exit code and output.
fn script_of(case: &CaseFile, url: &str) -> Result<(Option<i32>, String), DoesNotApply> {
    let format = format_named("python").expect("the format");
    let folder = folder();
    let script = folder.path().join("bug.py");
    std::fs::write(&script, format.write(case)?.text).expect("it is written");
    let url = url::Url::parse(url).expect("a URL");
    let output = Command::new(python())
        .arg(&script)
        .args(["--host", url.host_str().unwrap_or("127.0.0.1")])
        .args(["--port", &url.port().unwrap_or(3306).to_string()])
        .args(["--user", url.username()])
        .args(["--password", url.password().unwrap_or_default()])
        .output()
        .expect("Python runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok((output.status.code(), text))
}

/// Whether that Python has a module; says that the test did not run where it has not.
fn has_module(test: &str, module: &str) -> bool {
    let mut import = Command::new(python());
    servers::tool(
        test,
        module,
        import.args(["-c", &format!("import {module}")]),
    )
}

/// The same on PostgreSQL, of which there is one: an account of another name, and codes that are no numbers.
#[test]
fn the_python_scripts_of_our_finds_of_postgresql_show_them() {
    const TEST: &str = "the_python_scripts_of_our_finds_of_postgresql_show_them";
    let Some(url) = servers::url(TEST, Needs::Postgres) else {
        return;
    };
    if !has_module(TEST, "psycopg2") {
        return;
    }
    for (find, code, text) in scripts_of(&finds("postgres"), &url) {
        assert_eq!(code, Some(1), "{find}:\n{text}");
        assert!(text.contains("waits for a lock"), "{find}:\n{text}");
        assert!(text.contains("<-- WRONG, expected: "), "{find}:\n{text}");
    }
    // A server that has no such statement shows nothing, and one that gives the right answer neither.
    let folder = folder();
    for (sql, code) in [("MERGE t0", 2), ("SELECT c0 FROM t0", 0)] {
        let text = format!(
            "--! format = 1\n--! engine = \"postgres\"\n--! isolation = \"READ COMMITTED\"\n\
             /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, c0 BYTEA);\n\
             /* init */ INSERT INTO t0 VALUES (1, '\\x00ff');\n\
             /* s1 */ {sql}; -- @got (x'01')  @expect (x'00ff')\n"
        );
        let find = folder.path().join(format!("{code}.sql"));
        std::fs::write(&find, text).expect("it is written");
        for (_, got, text) in scripts_of(&[find], &url) {
            assert_eq!(got, Some(code), "{sql}:\n{text}");
        }
    }
}

#[test]
fn the_python_scripts_of_our_finds_show_them_and_only_where_they_are() {
    const TEST: &str = "the_python_scripts_of_our_finds_show_them_and_only_where_they_are";
    if !has_module(TEST, "pymysql") {
        return;
    }
    for (needs, own, other) in [
        (Needs::MariaDb, "mariadb", "mysql"),
        (Needs::MySql, "mysql", "mariadb"),
    ] {
        let Some(url) = servers::url(TEST, needs) else {
            continue;
        };
        for (find, code, text) in scripts_of(&finds(own), &url) {
            assert_eq!(code, Some(1), "{find} on {own}:\n{text}");
            assert!(text.contains("<-- WRONG, expected: "), "{find}:\n{text}");
        }
        for (find, code, text) in scripts_of(&finds(other), &url) {
            // MySQL has no RETURNING, and a server that refuses the statement shows nothing.
            let is_refused = text.contains(" RETURNING ");
            assert_eq!(
                text.contains("Nothing is proved"),
                is_refused,
                "{find}:\n{text}"
            );
            let due = if is_refused { 2 } else { 0 };
            assert_eq!(code, Some(due), "{find} on {own}:\n{text}");
        }
    }
}

/// The cases of the corpus that hold what we found in an engine, by the find.
fn cases_of_finds(engine: &str) -> BTreeMap<String, Vec<CaseFile>> {
    let mut cases: BTreeMap<String, Vec<CaseFile>> = BTreeMap::new();
    for path in files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases"),
        ".sql",
    ) {
        let file = reproducer::load(&path).expect("it reads");
        let known = file.header.known.clone();
        let find = known.filter(|id| id.starts_with("unfiled:"));
        let is_of_engine = file.header.engine.as_deref() == Some(engine);
        if let Some(find) = find.filter(|_| is_of_engine) {
            cases.entry(find).or_default().push(file);
        }
    }
    cases
}

/// Not each case of a find can be told: in some an answer that is wrong alone shows only beside the same statements
/// one after another.
#[test]
fn a_python_script_shows_each_find_of_the_corpus() {
    const TEST: &str = "a_python_script_shows_each_find_of_the_corpus";
    for (needs, engine, module, least) in [
        (Needs::MariaDb, "mariadb", "pymysql", 5),
        (Needs::MySql, "mysql", "pymysql", 10),
        (Needs::Postgres, "postgres", "psycopg2", 4),
    ] {
        let Some(url) = servers::url(TEST, needs).filter(|_| has_module(TEST, module)) else {
            continue;
        };
        // Their statements wait for row locks.
        let _alone = (needs != Needs::Postgres).then(servers::alone_with_innodb_trx);
        let finds = cases_of_finds(engine);
        assert!(finds.len() >= least, "{engine}: {}", finds.len());
        for (find, cases) in finds {
            let mut others = Vec::new();
            let shows = cases.iter().any(|case| match script_of(case, &url) {
                Ok((Some(1), _)) => true,
                other => {
                    others.push(other);
                    false
                }
            });
            assert!(shows, "{find}: {others:?}");
        }
    }
}

/// The statements of a report with the client that each is pasted into, and what the comment behind
/// it says was seen.
fn pasted(report: &str) -> Vec<(u32, String, Option<String>)> {
    let steps = report.split("## How to repeat").nth(1).expect("steps");
    let steps = steps.split("Side by side").next().expect("steps");
    let mut client = 1;
    let mut statements = Vec::new();
    let mut inside = false;
    for line in steps.lines() {
        let number = line
            .strip_prefix("Client ")
            .or_else(|| line.strip_prefix("Prepare client "))
            .and_then(|rest| rest.trim_end_matches(':').parse().ok());
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            let (sql, seen) = match line.split_once(";  -- ") {
                Some((sql, seen)) => (sql, seen.split(';').next().map(str::to_owned)),
                None => (line.trim_end_matches(';'), None),
            };
            statements.push((client, sql.to_owned(), seen));
        } else if let Some(number) = number {
            client = number;
        }
    }
    statements
}

/// Executes a statement and words its answer as a report does; none where it was rejected.
fn answer(client: &mut mysql::Conn, sql: &str) -> Option<String> {
    let mut result = client.query_iter(sql).ok()?;
    if result.columns().as_ref().is_empty() {
        let changed = result.affected_rows();
        let rows = if changed == 1 { "row" } else { "rows" };
        return Some(format!("{changed} {rows} changed"));
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        let cells = row.expect("a row").unwrap();
        let cells: Vec<String> = cells.iter().map(|cell| cell.as_sql(true)).collect();
        // The text protocol gives numbers as texts.
        let cells: Vec<&str> = cells.iter().map(|cell| cell.trim_matches('\'')).collect();
        rows.push(format!("({})", cells.join(", ")));
    }
    Some(match rows.is_empty() {
        true => "an empty result".to_owned(),
        false => rows.join(" "),
    })
}

/// Pastes what a report says into clients: how many answers it tells, and which of them came out
/// otherwise.
fn differing(options: &mysql::OptsBuilder, report: &str) -> (usize, Vec<String>) {
    let mut clients: Vec<mysql::Conn> = Vec::new();
    let mut compared = 0;
    let mut differing = Vec::new();
    for (number, sql, seen) in pasted(report) {
        while clients.len() < number as usize {
            clients.push(mysql::Conn::new(options.clone()).expect("a client"));
        }
        let got = answer(&mut clients[number as usize - 1], &sql);
        if got.is_none() {
            differing.push(format!("rejected: {sql}"));
        }
        if seen.is_some() {
            compared += 1;
            if got != seen {
                differing.push(format!("{sql}: {got:?} and not {seen:?}"));
            }
        }
    }
    (compared, differing)
}

#[test]
fn the_reports_of_our_finds_show_them_when_they_are_pasted_into_clients() {
    const TEST: &str = "the_reports_of_our_finds_show_them_when_they_are_pasted_into_clients";
    let format = format_named("issue").expect("the format");
    for (needs, engine) in [(Needs::MariaDb, "mariadb"), (Needs::MySql, "mysql")] {
        let Some(url) = servers::url(TEST, needs) else {
            continue;
        };
        let options = url::Url::parse(&url).expect("a URL");
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(options.host_str())
            .tcp_port(options.port().unwrap_or(3306))
            .user(Some(options.username()))
            .pass(options.password());
        let database = format!("bug_to_repeat_{}", std::process::id());
        for find in finds(engine) {
            let file = reproducer::load(&find).expect("it reads");
            let report = format.write(&file).expect("it applies").text;
            let report = report.replace("bug_to_repeat", &database);
            let (compared, differing) = differing(&options, &report);
            // A database that is left over would make the next tests refuse the server.
            let drop = format!("DROP DATABASE IF EXISTS {database}");
            let mut client = mysql::Conn::new(options.clone()).expect("a client");
            client.query_drop(drop).expect("it is dropped");
            assert_eq!(differing, Vec::<String>::new(), "{}", find.display());
            let written = std::fs::read_to_string(&find).expect("it reads");
            let seen = written.matches("@got").count();
            assert!(
                seen >= 2 && compared >= seen,
                "{}: {compared} of {seen}",
                find.display()
            );
        }
    }
}
