//! Where the servers are: URLs in the environment, set by `scripts/test`.

use std::io::Write;

/// A kind of server that tests ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Needs {
    MariaDb,
    /// With its binary log on, in rows, and snapshot isolation.
    MariaDbBinlog,
    MySql,
    Postgres,
}

impl Needs {
    fn variable(self) -> &'static str {
        match self {
            Self::MariaDb => "RASHOMON_TEST_MARIADB",
            Self::MariaDbBinlog => "RASHOMON_TEST_MARIADB_BINLOG",
            Self::MySql => "RASHOMON_TEST_MYSQL",
            Self::Postgres => "RASHOMON_TEST_POSTGRES",
        }
    }
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
    let required = std::env::var("RASHOMON_REQUIRE_SERVERS").unwrap_or_default();
    let kind = variable.trim_start_matches("RASHOMON_TEST_").to_lowercase();
    let is_required = required == "1" || required.split(',').any(|word| word.trim() == kind);
    assert!(
        !is_required,
        "{test}: {variable} is not set, and RASHOMON_REQUIRE_SERVERS={required}"
    );
    // Straight to the file descriptor: the test harness swallows what `eprintln!` prints.
    let _ = writeln!(
        std::io::stderr(),
        "NOT RUN: {test}: {variable} is not set (see scripts/test)"
    );
    None
}

#[test]
fn required_servers_are_reachable() {
    for needs in [
        Needs::MariaDb,
        Needs::MariaDbBinlog,
        Needs::MySql,
        Needs::Postgres,
    ] {
        let test = "required_servers_are_reachable";
        assert!(
            url(test, needs).is_none_or(|url| url.contains("://")),
            "{needs:?}: not a URL"
        );
    }
}
