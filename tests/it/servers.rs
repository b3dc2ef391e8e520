//! Where the servers are: URLs in the environment, set by `scripts/test`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A kind of server that tests ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    MariaDb,
    /// With its binary log on, in rows, and snapshot isolation.
    MariaDbBinlog,
    MySql,
    Postgres,
    TiDb,
    /// TiDB 4.0, which shows no waits and has faults that later ones have not.
    TiDb4,
}

impl Needs {
    fn variable(self) -> &'static str {
        match self {
            Self::MariaDb => "RASHOMON_TEST_MARIADB",
            Self::MariaDbBinlog => "RASHOMON_TEST_MARIADB_BINLOG",
            Self::MySql => "RASHOMON_TEST_MYSQL",
            Self::Postgres => "RASHOMON_TEST_POSTGRES",
            Self::TiDb => "RASHOMON_TEST_TIDB",
            Self::TiDb4 => "RASHOMON_TEST_TIDB4",
        }
    }
}

/// InnoDB renews `innodb_trx` only where nobody has read it for 0.1 s (MySQL 5.6 manual, 14.15.2.3): two exports that wait
/// side by side on one server, each asking every 0.1 s, would both ask in vain.
static ALONE: Mutex<()> = Mutex::new(());

/// While it is held, no other test runs an export that reads `innodb_trx`.
pub(crate) fn alone_with_innodb_trx() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The URL of a server of this kind, or nothing after having said that the test did not run.
///
/// # Panics
/// When there is none and `RASHOMON_REQUIRE_SERVERS` names the kind (`mariadb`, `mysql`, with
/// commas) or is `1`.
#[must_use]
pub(crate) fn url(test: &str, needs: Needs) -> Option<String> {
    let variable = needs.variable();
    if let Ok(url) = std::env::var(variable)
        && !url.is_empty()
    {
        return Some(url);
    }
    let kind = variable.trim_start_matches("RASHOMON_TEST_").to_lowercase();
    missing(test, &kind, &format!("{variable} is not set"));
    None
}

/// Whether a tool is there, by a command of it that succeeds where it is; says that the test did not
/// run where it is not.
///
/// # Panics
/// When it is not there and `RASHOMON_REQUIRE_SERVERS` names it or is `1`.
#[must_use]
pub(crate) fn tool(test: &str, name: &str, try_it: &mut Command) -> bool {
    let tried = try_it.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = tried.is_ok_and(|status| status.success());
    if !is_there {
        missing(test, name, &format!("{name} is not there"));
    }
    is_there
}

/// Says that a test did not run, or panics where what it misses is required.
fn missing(test: &str, name: &str, why: &str) {
    let required = std::env::var("RASHOMON_REQUIRE_SERVERS").unwrap_or_default();
    let is_required = required == "1" || required.split(',').any(|word| word.trim() == name);
    assert!(
        !is_required,
        "{test}: {why}, and RASHOMON_REQUIRE_SERVERS={required}"
    );
    // Straight to the file descriptor: the test harness swallows what `eprintln!` prints.
    let _ = writeln!(
        std::io::stderr(),
        "NOT RUN: {test}: {why} (see scripts/test)"
    );
}

#[test]
fn required_servers_are_reachable() {
    for needs in [
        Needs::MariaDb,
        Needs::MariaDbBinlog,
        Needs::MySql,
        Needs::Postgres,
        Needs::TiDb,
        Needs::TiDb4,
    ] {
        let test = "required_servers_are_reachable";
        assert!(
            url(test, needs).is_none_or(|url| url.contains("://")),
            "{needs:?}: not a URL"
        );
    }
}
