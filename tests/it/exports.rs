//! Exports run on live servers, by the tools that they are made for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::MutexGuard;

use mysql::prelude::Queryable as _;
use rashomon::export::format_named;
use rashomon::reproducer::{self, CaseFile, SessionSetup};
use tempfile::TempDir;

use crate::finds::{finds, python};
use crate::program::{files, folder, run, shown};
use crate::servers::{self, Needs};

/// Runs tests by Debian's mysqltest in a database of their own on one server.
struct MysqlTest {
    program: String,
    /// The folder with `include/`.
    suite: String,
    url: url::Url,
    database: String,
    folder: tempfile::TempDir,
    /// No other test of its kind reads `innodb_trx` meanwhile.
    _alone: MutexGuard<'static, ()>,
}

impl MysqlTest {
    /// None where there is no server or no mysqltest; the test has said then that it did not run.
    fn on(test: &str, needs: Needs) -> Option<Self> {
        let url = servers::url(test, needs)?;
        let given = |name: &str, otherwise: &str| {
            std::env::var(name).unwrap_or_else(|_| otherwise.to_owned())
        };
        let program = given("RASHOMON_TEST_MYSQLTEST", "mysqltest");
        let suite = given(
            "RASHOMON_TEST_MYSQLTEST_SUITE",
            "/usr/share/mysql/mysql-test",
        );
        let has_suite = Path::new(&suite)
            .join("include/wait_condition.inc")
            .exists();
        let mut version = Command::new(if has_suite { program.as_str() } else { "false" });
        if !servers::tool(test, "mysqltest", version.arg("--version")) {
            return None;
        }
        let url = url::Url::parse(&url).expect("a URL");
        let database = format!("bug_to_test_{}", std::process::id());
        let this = Self {
            program,
            suite,
            url,
            database,
            folder: folder(),
            _alone: servers::alone_with_innodb_trx(),
        };
        this.query(&format!("CREATE DATABASE {}", this.database));
        Some(this)
    }

    fn client(&self) -> mysql::Conn {
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(self.url.host_str())
            .tcp_port(self.url.port().unwrap_or(3306))
            .user(Some(self.url.username()))
            .pass(self.url.password());
        mysql::Conn::new(options).expect("a client")
    }

    fn query(&self, sql: &str) {
        self.client().query_drop(sql).expect("it is executed");
    }

    /// Where the server listens for clients of this machine: a test connects to `localhost`, which mysqltest takes for
    /// the socket.
    fn socket(&self) -> String {
        let socket = self.client().query_first("SELECT @@socket");
        socket.expect("it is answered").expect("a row")
    }

    /// Exports a case and runs its test: what mysqltest said where it failed.
    fn run(&self, case: &CaseFile, times: usize) -> Result<(), String> {
        let exported = format_named("mtr").expect("the format").write(case);
        let exported = exported.map_err(|reason| format!("refused: {reason}"))?;
        let path = |name: &str| shown(&self.folder.path().join(name));
        let (_, result) = exported.beside.ok_or("there is no result")?;
        std::fs::write(path("case.test"), &exported.text).expect("it is written");
        std::fs::write(path("case.result"), &result).expect("it is written");
        let socket = self.socket();
        for _ in 0..times {
            let output = Command::new(&self.program)
                .arg("--no-defaults")
                .arg(format!("--basedir={}/", self.suite))
                .arg(format!(
                    "--host={}",
                    self.url.host_str().unwrap_or("127.0.0.1")
                ))
                .arg(format!("--port={}", self.url.port().unwrap_or(3306)))
                .arg(format!("--socket={socket}"))
                .arg(format!("--user={}", self.url.username()))
                .arg(format!("--database={}", self.database))
                .arg(format!("--test-file={}", path("case.test")))
                .arg(format!("--result-file={}", path("case.result")))
                .arg(format!("--logdir={}", shown(self.folder.path())))
                .output()
                .expect("mysqltest runs");
            if !output.status.success() {
                let text = [output.stdout, output.stderr].concat();
                let reject = std::fs::read_to_string(path("case.reject")).unwrap_or_default();
                // What a failed test leaves behind is in the way of the next one.
                self.query(&format!("DROP DATABASE {}", self.database));
                self.query(&format!("CREATE DATABASE {}", self.database));
                let text = String::from_utf8_lossy(&text).into_owned();
                return Err(format!("{}: {text}\n{reject}", output.status));
            }
        }
        Ok(())
    }
}

impl Drop for MysqlTest {
    fn drop(&mut self) {
        self.query(&format!("DROP DATABASE IF EXISTS {}", self.database));
    }
}

#[test]
fn exported_tests_of_right_answers_pass_and_those_of_a_bug_fail_where_it_is() {
    const TEST: &str = "exported_tests_of_right_answers_pass_and_those_of_a_bug_fail_where_it_is";
    let Some(suite) = MysqlTest::on(TEST, Needs::MariaDb) else {
        return;
    };
    let innodb = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases/innodb");
    let files = std::fs::read_dir(innodb).expect("the folder is there");
    let right = files.map(|file| file.expect("a file").path());
    // The others depend on innodb_snapshot_isolation.
    let right = right.filter(|path| {
        let case = reproducer::load(path).expect("it reads");
        case.lines.iter().all(|line| line.expectations().is_empty())
    });
    // MariaDB has none of MySQL's bugs that we found.
    let right: Vec<PathBuf> = right.chain(finds("mysql")).collect();
    let mut passed = 0;
    for path in &right {
        let case = reproducer::load(path).expect("it reads");
        match suite.run(&case, 2) {
            Ok(()) => passed += 1,
            Err(reason) if reason.starts_with("refused: ") => {}
            Err(reason) => panic!("{}: {reason}", path.display()),
        }
    }
    assert!(passed >= 20, "{passed} of {}", right.len());
    for path in finds("mariadb") {
        let case = reproducer::load(&path).expect("it reads");
        let failed = suite.run(&case, 1).expect_err("the bug is there");
        assert!(failed.contains("mismatch"), "{}: {failed}", path.display());
    }
}

/// Stands in for docker: starts nothing, and runs the script on the server of the test.
const DOCKER: &str = r#"#!/bin/sh
echo "$1" >>"$DOCKER_LOG"
case "$1 $2" in
    "run --rm") exec "$PYTHON" - $SERVER ;;
esac
"#;

#[test]
fn a_docker_script_passes_the_case_to_python_and_removes_its_server() {
    const TEST: &str = "a_docker_script_passes_the_case_to_python_and_removes_its_server";
    let mut driver = Command::new(python());
    if !servers::tool(TEST, "pymysql", driver.args(["-c", "import pymysql"])) {
        return;
    }
    let Some(url) = servers::url(TEST, Needs::MariaDb) else {
        return;
    };
    let url = url::Url::parse(&url).expect("a URL");
    let folder = folder();
    let docker = folder.path().join("docker");
    std::fs::write(&docker, DOCKER).expect("it is written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&docker, executable).expect("it is executable");
    let log = folder.path().join("log");
    let path = std::env::var("PATH").unwrap_or_default();
    for find in finds("mariadb") {
        std::fs::write(&log, "").expect("it is written");
        let case = reproducer::load(&find).expect("it reads");
        let script = format_named("docker").expect("the format").write(&case);
        let script = script.expect("it applies").text;
        let file = folder.path().join("bug.sh");
        std::fs::write(&file, script).expect("it is written");
        let output = Command::new("sh")
            .arg(&file)
            .env("PATH", format!("{}:{path}", shown(folder.path())))
            .env("DOCKER_LOG", &log)
            .env("PYTHON", python())
            .env(
                "SERVER",
                format!(
                    "--host {} --port {} --user {}",
                    url.host_str().unwrap_or("127.0.0.1"),
                    url.port().unwrap_or(3306),
                    url.username()
                ),
            )
            .output()
            .expect("sh runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{}: {text}", find.display());
        assert!(text.contains("THE BUG SHOWS"), "{text}");
        let called = std::fs::read_to_string(&log).expect("docker was called");
        assert_eq!(called, "run\nexec\nrun\nrm\n");
    }
}

/// The case files that a run of READ COMMITTED claimed REPEATABLE READ leaves: the smallest of each group.
fn finds_of_a_false_claim(url: &str, folder: &TempDir, seed: u32) -> Vec<PathBuf> {
    let seed = seed.to_string();
    let out = folder.path().join(&seed);
    let place = shown(&out);
    let levels = [
        "--isolation",
        "read-committed",
        "--claim",
        "repeatable-read",
    ];
    let limits = ["--oracle", "txcheck", "--seed", &seed, "--cases", "12"];
    let place = ["--out", &place, "--allow-shared-server"];
    let ran = run(&[&["fuzz", url][..], &levels, &limits, &place].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}{}", ran.out, ran.err);
    files(&out.join("mariadb"), ".sql")
}

#[test]
fn exported_tests_of_a_false_claim_pass_at_the_claimed_level_and_fail_at_the_run_one() {
    const TEST: &str =
        "exported_tests_of_a_false_claim_pass_at_the_claimed_level_and_fail_at_the_run_one";
    let Some(suite) = MysqlTest::on(TEST, Needs::MariaDb) else {
        return;
    };
    let url = servers::url(TEST, Needs::MariaDb).expect("it was there before");
    let folder = folder();
    let paths = (2..8).flat_map(|seed| finds_of_a_false_claim(&url, &folder, seed));
    let mtr = format_named("mtr").expect("the format");
    let (mut tried, mut refused) = (0, 0);
    for path in paths {
        let mut case = reproducer::load(&path).expect("it reads");
        let text = reproducer::write(&case);
        // A wrong answer of bytes has no text that mysqltest surely prints.
        if let Err(reason) = mtr.write(&case) {
            assert!(
                reason.to_string().contains("not certain"),
                "{reason}\n{text}"
            );
            refused += 1;
            continue;
        }
        let failed = suite.run(&case, 1).expect_err("the claim is false");
        assert!(failed.contains("mismatch"), "{failed}\n{text}");
        // The level that is claimed, in a file that still says what ran.
        let Some(SessionSetup::All(setup)) = &mut case.header.session_setup else {
            panic!("all sessions run at one level\n{text}");
        };
        for sql in setup {
            *sql = sql.replace("READ COMMITTED", "REPEATABLE READ");
        }
        match suite.run(&case, 2) {
            Ok(()) => {}
            // The claimed level takes gap locks that the run did without: the test skips itself.
            Err(failed) if failed.starts_with("exit status: 62") => continue,
            Err(failed) => panic!("{failed}\n{text}"),
        }
        tried += 1;
    }
    assert!(
        tried >= 3 && refused * 3 <= tried,
        "{tried}, {refused} refused"
    );
}

/// The subquery of the write takes no lock at READ COMMITTED and reads what was there before it waited; at REPEATABLE READ
/// it takes one behind the wait. The answer behind it tells the levels apart, and was seen at one count only.
#[test]
fn an_exported_test_is_skipped_where_a_write_that_waited_changes_more_at_the_claimed_level() {
    const TEST: &str =
        "an_exported_test_is_skipped_where_a_write_that_waited_changes_more_at_the_claimed_level";
    let Some(suite) = MysqlTest::on(TEST, Needs::MariaDb) else {
        return;
    };
    let text = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"READ COMMITTED\"\n\
                --! claim = \"REPEATABLE READ\"\n\
                --! session_setup = [\"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED\"]\n\
                /* init */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                /* init */ CREATE TABLE u (id INT PRIMARY KEY);\n\
                /* init */ INSERT INTO t VALUES (1, 10);\n\
                /* s2 */ BEGIN;\n\
                /* s2 */ SELECT id FROM u; -- @got empty\n\
                /* s1 */ BEGIN;\n\
                /* s1 */ UPDATE t SET v = 11 WHERE id = 1; -- @got affected 1\n\
                /* s2 */ UPDATE t SET v = v + 1 WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id); \
                -- @blocks s1  @got affected 0\n\
                /* s1 */ INSERT INTO u VALUES (1); -- @got affected 1\n\
                /* s1 */ COMMIT; -- @resumes s2\n\
                /* s2 */ SELECT id FROM u; -- @got (1)  @expect empty\n\
                /* s2 */ COMMIT;\n";
    let at_run_level = reproducer::read(text, "x.sql").expect("it reads");
    let failed = suite.run(&at_run_level, 1).expect_err("the claim is false");
    assert!(failed.contains("mismatch"), "{failed}");
    let setup = "LEVEL READ COMMITTED";
    let text = text.replace(setup, "LEVEL REPEATABLE READ");
    let at_claimed_level = reproducer::read(&text, "x.sql").expect("it reads");
    let skipped = suite
        .run(&at_claimed_level, 1)
        .expect_err("the test is skipped");
    assert!(skipped.starts_with("exit status: 62"), "{skipped}");
    assert!(
        skipped.contains("changes another number of rows"),
        "{skipped}"
    );
}

/// Go's own formatter parses what it formats.
#[test]
fn gofmt_has_nothing_to_change_in_tests_for_testkit() {
    const TEST: &str = "gofmt_has_nothing_to_change_in_tests_for_testkit";
    if !servers::tool(TEST, "gofmt", Command::new("gofmt").arg("-h")) {
        return;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases/tidb");
    let cases = files(&corpus, ".sql").into_iter().chain(finds("tidb"));
    let format = format_named("tidb-go").expect("the format");
    let folder = folder();
    let mut written = 0;
    for path in cases {
        let case = reproducer::load(&path).expect("it reads");
        let Ok(exported) = format.write(&case) else {
            continue;
        };
        written += 1;
        let place = folder.path().join(format!("{written}_test.go"));
        std::fs::write(place, exported.text).expect("it is written");
    }
    assert!(written >= 15, "{written}");
    let gofmt = Command::new("gofmt")
        .args(["-e", "-d"])
        .arg(folder.path())
        .output()
        .expect("gofmt runs");
    let told = [gofmt.stdout, gofmt.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(gofmt.status.success() && told.is_empty(), "{told}");
}
