//! Specs for isolationtester, run by isolationtester.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use rashomon::export::format_named;
use rashomon::model::IsolationLevel;
use rashomon::reproducer::{self, CaseFile, CaseLine, Cell, Expectation, Isolation, Tag};

use crate::servers::{self, Needs};

/// What isolationtester printed of one step.
#[derive(Debug, Default)]
struct ToldStep {
    waited: bool,
    failed: bool,
    /// In order, each cell as it is printed; none where it gave no rows.
    rows: Option<Vec<Vec<String>>>,
}

impl ToldStep {
    fn sorted_rows(&self) -> Option<Vec<Vec<String>>> {
        let mut rows = self.rows.clone()?;
        rows.sort();
        Some(rows)
    }
}

struct IsolationTester {
    program: String,
    connection: String,
}

impl IsolationTester {
    /// None where there is no server or no isolationtester; the test has said then that it did not run.
    fn on(test: &str) -> Option<Self> {
        let url = servers::url(test, Needs::Postgres)?;
        let program = std::env::var("RASHOMON_TEST_ISOLATIONTESTER");
        let program = program.unwrap_or_else(|_| "isolationtester".to_owned());
        if !servers::tool(test, "isolationtester", Command::new(&program).arg("-V")) {
            return None;
        }
        let parsed = url::Url::parse(&url).expect("a URL");
        let host = parsed.host_str().unwrap_or("127.0.0.1");
        let (port, user) = (parsed.port().unwrap_or(5432), parsed.username());
        let mut connection = format!("host={host} port={port} dbname=postgres");
        if !user.is_empty() {
            let _ = write!(connection, " user={user}");
        }
        if let Some(password) = parsed.password() {
            let _ = write!(connection, " password={password}");
        }
        Some(Self {
            program,
            connection,
        })
    }

    /// Exports a case and runs its spec: what it printed, and the same by steps.
    fn run(&self, case: &CaseFile) -> Result<(String, BTreeMap<String, ToldStep>), String> {
        let spec = format_named("pgspec").expect("the format").write(case);
        let spec = spec.map_err(|reason| reason.to_string())?.text;
        let mut child = Command::new(&self.program)
            .arg(&self.connection)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("isolationtester starts");
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(spec.as_bytes()).expect("it reads");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{spec}\n{text}");
        let steps = steps(&text);
        Ok((format!("{spec}\n{text}"), steps))
    }
}

/// The steps of what isolationtester prints.
fn steps(text: &str) -> BTreeMap<String, ToldStep> {
    let mut steps: BTreeMap<String, ToldStep> = BTreeMap::new();
    let mut current = String::new();
    let mut is_table = false;
    for line in text.lines() {
        if let Some((name, rest)) = line.strip_prefix("step ").and_then(|l| l.split_once(": ")) {
            name.clone_into(&mut current);
            is_table = false;
            let step = steps.entry(current.clone()).or_default();
            step.waited |= rest.ends_with("<waiting ...>");
        }
        let Some(step) = steps.get_mut(&current) else {
            continue;
        };
        step.failed |= line.starts_with("ERROR:");
        if !line.is_empty() && line.chars().all(|c| c == '-' || c == '+') {
            is_table = true;
            step.rows = Some(Vec::new());
        } else if line.starts_with('(') && (line.ends_with(" rows)") || line.ends_with(" row)")) {
            is_table = false;
        } else if is_table {
            let cells = line.split('|').map(normal);
            step.rows.get_or_insert_default().push(cells.collect());
        }
    }
    steps
}

/// A number as it counts, whatever zeros stand behind its point.
fn normal(text: &str) -> String {
    let number: Option<f64> = text.trim().parse().ok();
    number.map_or(text.trim().to_owned(), |number| number.to_string())
}

/// A cell as isolationtester prints it; none for bytes.
fn printed(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => Some(String::new()),
        Cell::Number(text) | Cell::Text(text) => Some(normal(text)),
        Cell::Bytes(_) => None,
    }
}

/// The rows that a line was seen to give, sorted; none where it gave none, or some in another form.
fn seen(line: &CaseLine) -> Option<Vec<Vec<String>>> {
    let mut seen = line.observations().into_iter();
    let Some(Expectation::Rows(rows)) = seen.find(|s| matches!(s, Expectation::Rows(_))) else {
        return None;
    };
    let row = |row: &Vec<Cell>| row.iter().map(printed).collect::<Option<Vec<String>>>();
    let mut rows = rows.iter().map(row).collect::<Option<Vec<_>>>()?;
    rows.sort();
    Some(rows)
}

/// The lines of a case with the names of their steps.
fn named_lines(case: &CaseFile) -> Vec<(String, &CaseLine)> {
    let mut number = 0;
    let mut ends = 0;
    let mut named = Vec::new();
    for line in &case.lines {
        match line.tag {
            Tag::Session(session) => {
                number += 1;
                named.push((format!("{session}_{number}"), line));
            }
            Tag::End => {
                ends += 1;
                named.push((format!("end{ends}"), line));
            }
            Tag::Init => {}
        }
    }
    named
}

/// Cases that are right at READ COMMITTED, by the reads that REPEATABLE READ answers otherwise: the set-up, and
/// lines of sessions with what they give.
const AT_READ_COMMITTED: [&[&str]; 20] = [
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT * FROM t; -- @got (1, 10) (2, 20)",
        "s2 T2.1: UPDATE t SET v = 11 WHERE k = 1; -- @got affected 1",
        "s1 T1.3: SELECT * FROM t; -- @got (1, 11) (2, 20)",
        "s1 T1.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT v FROM t WHERE k > 1; -- @got (20)",
        "s2 T2.1: INSERT INTO t VALUES (3, NULL); -- @got affected 1",
        "s1 T1.3: SELECT v FROM t WHERE k > 1; -- @got (20) (NULL)",
        "s1 T1.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT COUNT(*) FROM t; -- @got (2)",
        "s2 T2.1: DELETE FROM t WHERE k = 2; -- @got affected 1",
        "s1 T1.3: SELECT COUNT(*) FROM t; -- @got (1)",
        "s1 T1.4: ROLLBACK",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: UPDATE t SET v = v + 1 WHERE k = 1; -- @got affected 1",
        "s2 T2.1: BEGIN",
        "s2 T2.2: UPDATE t SET v = v * 2 WHERE k = 1; -- @waits s1  @got affected 1",
        "s1 T1.3: COMMIT; -- @resumes s2",
        "s2 T2.3: SELECT v FROM t WHERE k = 1; -- @got (22)",
        "s2 T2.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: DELETE FROM t WHERE k = 1; -- @got affected 1",
        "s2 T2.1: BEGIN",
        "s2 T2.2: SELECT v FROM t FOR UPDATE; -- @waits s1  @got (20)",
        "s1 T1.3: COMMIT; -- @resumes s2",
        "s2 T2.3: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT SUM(v) FROM t; -- @got (30)",
        "s2 T2.1: BEGIN",
        "s2 T2.2: UPDATE t SET v = v + 5; -- @got affected 2",
        "s1 T1.3: SELECT SUM(v) FROM t; -- @got (30)",
        "s2 T2.3: COMMIT",
        "s1 T1.4: SELECT SUM(v) FROM t; -- @got (40)",
        "s1 T1.5: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT k FROM t WHERE v = 20; -- @got (2)",
        "s2 T2.1: UPDATE t SET v = 20 WHERE k = 1; -- @got affected 1",
        "s1 T1.3: SELECT k FROM t WHERE v = 20; -- @got (1) (2)",
        "s1 T1.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SAVEPOINT a",
        "s1 T1.3: UPDATE t SET v = 0; -- @got affected 2",
        "s1 T1.4: ROLLBACK TO SAVEPOINT a",
        "s1 T1.5: SELECT v FROM t; -- @got (10) (20)",
        "s2 T2.1: UPDATE t SET v = 7 WHERE k = 2; -- @got affected 1",
        "s1 T1.6: SELECT v FROM t; -- @got (10) (7)",
        "s1 T1.7: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT v FROM t WHERE k = 1 FOR UPDATE; -- @got (10)",
        "s2 T2.1: BEGIN",
        "s2 T2.2: SELECT v FROM t WHERE k = 1 FOR SHARE; -- @waits s1  @got (99)",
        "s1 T1.3: UPDATE t SET v = 99 WHERE k = 1; -- @got affected 1",
        "s1 T1.4: COMMIT; -- @resumes s2",
        "s2 T2.3: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT t.k FROM t JOIN t AS u ON t.v = u.v + 10; -- @got (2)",
        "s2 T2.1: UPDATE t SET v = 30 WHERE k = 2; -- @got affected 1",
        "s1 T1.3: SELECT t.k FROM t JOIN t AS u ON t.v = u.v + 10; -- @got empty",
        "s1 T1.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT MAX(v) FROM t; -- @got (20)",
        "s2 T2.1: UPDATE t SET v = 50 WHERE k = 1; -- @got affected 1",
        "s1 T1.3: SELECT MAX(v) FROM t; -- @got (50)",
        "s1 T1.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: UPDATE t SET v = 11 WHERE k = 1; -- @got affected 1",
        "s2 T2.1: UPDATE t SET v = 21 WHERE k = 2; -- @got affected 1",
        "s1 T1.3: SELECT * FROM t; -- @got (1, 11) (2, 21)",
        "s1 T1.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT k FROM t; -- @got (1) (2)",
        "s2 T2.1: UPDATE t SET v = 0 WHERE k = 1; -- @got affected 1",
        "s1 T1.3: UPDATE t SET v = v + 1 WHERE k = 1; -- @got affected 1",
        "s1 T1.4: SELECT v FROM t WHERE k = 1; -- @got (1)",
        "s1 T1.5: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT COUNT(*) FROM t; -- @got (2)",
        "s2 T2.1: DELETE FROM t WHERE k = 2; -- @got affected 1",
        "s1 T1.3: DELETE FROM t WHERE k = 2; -- @got affected 0",
        "s1 T1.4: SELECT COUNT(*) FROM t; -- @got (1)",
        "s1 T1.5: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT k FROM t WHERE k = 3; -- @got empty",
        "s2 T2.1: INSERT INTO t VALUES (3, 30); -- @got affected 1",
        "s1 T1.3: INSERT INTO t SELECT k + 1, v FROM t WHERE k = 3; -- @got affected 1",
        "s1 T1.4: SELECT k FROM t WHERE k >= 3; -- @got (3) (4)",
        "s1 T1.5: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT v, COUNT(*) FROM t GROUP BY v; -- @got (10, 1) (20, 1)",
        "s2 T2.1: UPDATE t SET v = 10; -- @got affected 2",
        "s1 T1.3: SELECT v, COUNT(*) FROM t GROUP BY v; -- @got (10, 2)",
        "s1 T1.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: INSERT INTO t VALUES (3, 30); -- @got affected 1",
        "s2 T2.1: BEGIN",
        "s2 T2.2: SELECT COUNT(*) FROM t; -- @got (2)",
        "s2 T2.3: INSERT INTO t VALUES (3, 33) ON CONFLICT (k) DO UPDATE SET v = 33; \
         -- @waits s1  @got affected 1",
        "s1 T1.3: COMMIT; -- @resumes s2",
        "s2 T2.4: SELECT v FROM t WHERE k = 3; -- @got (33)",
        "s2 T2.5: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: UPDATE t SET v = 99 WHERE k = 1; -- @got affected 1",
        "s2 T2.1: BEGIN",
        "s2 T2.2: UPDATE t SET v = v + 1 WHERE k = 1; -- @waits s1  @got affected 1",
        "s1 T1.3: ROLLBACK; -- @resumes s2",
        "s3 T3.1: UPDATE t SET v = 21 WHERE k = 2; -- @got affected 1",
        "s2 T2.3: SELECT SUM(v) FROM t; -- @got (32)",
        "s2 T2.4: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SAVEPOINT a",
        "s1 T1.3: UPDATE t SET v = 0 WHERE k = 1; -- @got affected 1",
        "s1 T1.4: ROLLBACK TO SAVEPOINT a",
        "s2 T2.1: UPDATE t SET v = 5 WHERE k = 1; -- @got affected 1",
        "s1 T1.5: SELECT v FROM t WHERE k = 1; -- @got (5)",
        "s1 T1.6: COMMIT",
    ],
    &[
        "s1 T1.1: BEGIN",
        "s1 T1.2: SELECT k FROM t WHERE k = 1 FOR UPDATE; -- @got (1)",
        "s2 T2.1: BEGIN",
        "s2 T2.2: SELECT k FROM t FOR UPDATE SKIP LOCKED; -- @got (2)",
        "s1 T1.3: UPDATE t SET v = 1 WHERE k = 1; -- @got affected 1",
        "s1 T1.4: COMMIT",
        "s2 T2.3: SELECT v FROM t WHERE k = 1; -- @got (1)",
        "s2 T2.4: COMMIT",
    ],
];

/// A case of these lines.
fn case_of(lines: &[&str]) -> CaseFile {
    let mut text =
        "--! format = 1\n--! engine = \"postgres\"\n--! isolation = \"READ COMMITTED\"\n\
                    /* init */ CREATE TABLE t (k BIGINT NOT NULL PRIMARY KEY, v BIGINT);\n\
                    /* init */ INSERT INTO t (k, v) VALUES (1, 10), (2, 20);\n"
            .to_owned();
    for line in lines {
        let (tag, rest) = line.split_once(": ").expect("a tag");
        let end = if rest.contains(';') { "" } else { ";" };
        let _ = writeln!(text, "/* {tag} */ {rest}{end}");
    }
    reproducer::read(&text, "case.sql").expect("a case")
}

#[test]
fn specs_show_what_was_seen_and_not_at_another_level() {
    const TEST: &str = "specs_show_what_was_seen_and_not_at_another_level";
    let Some(tester) = IsolationTester::on(TEST) else {
        return;
    };
    let (mut compared, mut waited) = (0, 0);
    for lines in AT_READ_COMMITTED {
        let mut case = case_of(lines);
        let (text, steps) = tester.run(&case).expect("it applies");
        for (name, line) in named_lines(&case) {
            let step = steps.get(&name).unwrap_or_else(|| panic!("{name}\n{text}"));
            let waits = line.notes.iter().any(|note| note.name == "waits");
            assert_eq!(step.waited, waits, "{name}\n{text}");
            waited += usize::from(waits);
            if let Some(rows) = seen(line) {
                assert_eq!(step.sorted_rows(), Some(rows), "{name}\n{text}");
                compared += 1;
            }
        }
        // The level above answers at least one read otherwise, or refuses the statement that waited.
        case.header.isolation = Isolation::All(IsolationLevel::RepeatableRead);
        case.header.session_setup = None;
        let (text, steps) = tester.run(&case).expect("it applies");
        let is_same = |(name, line): (String, &CaseLine)| {
            let step = &steps[&name];
            !step.failed && seen(line).is_none_or(|rows| step.sorted_rows() == Some(rows))
        };
        assert!(!named_lines(&case).into_iter().all(is_same), "{text}");
    }
    assert!(
        compared >= 30 && waited >= 5,
        "{compared} answers, {waited} waits"
    );
}
