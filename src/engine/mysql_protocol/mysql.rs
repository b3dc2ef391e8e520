//! What is MySQL's own.

use super::connection::{MySqlSession, ReadOnlyModes, StateQuestion};
use super::product::{Grant, Product, SelfDescription};
use super::watcher::{InnodbStatus, LockTables, LockViewWatcher};
use crate::dialect::ServerVersion;
use crate::engine::connection::Watcher;
use crate::engine::error::EngineError;

pub(super) const MYSQL: Product = Product {
    name: "mysql",
    is_described_by: is_mysql,
    version: |text| text.parse().unwrap_or_default(),
    ask_store: None,
    watch,
    grants,
    marks_snapshots: false,
    system_databases: &["information_schema", "mysql", "performance_schema", "sys"],
    variables: &[],
    lift_time_limit: " /*!50708 , max_execution_time = 0 */",
    state_question: StateQuestion::SetLevel,
    read_only: ReadOnlyModes::READ_ONLY,
};

/// Words after the numbers of the version of MySQL's own builds, of its packages and of Percona's,
/// Google's and Azure's builds of the same sources. Other products that speak the protocol put
/// their own name there (`8.0.11-TiDB-v8.5.0`, `8.0.30-Vitess`).
const BUILD_WORDS: [&str; 24] = [
    "0ubuntu",
    "advanced",
    "asan",
    "azure",
    "build",
    "cloudsql",
    "cluster",
    "commercial",
    "community",
    "debian",
    "debug",
    "dmr",
    "enterprise",
    "er",
    "google",
    "gpl",
    "labs",
    "log",
    "lts",
    "ndb",
    "rc",
    "ubuntu",
    "valgrind",
    "xtradb",
];

/// Products that give a plain version of MySQL's and their name in the comment only.
const NAMED_IN_COMMENT: [&str; 6] = [
    "dolt",
    "doris",
    "oceanbase",
    "singlestore",
    "starrocks",
    "tidb",
];

/// Whether every word of the version text is one of a build of MySQL, and the comment does not name
/// another product.
fn is_mysql(server: &SelfDescription) -> bool {
    let version = server.version.to_ascii_lowercase();
    let begins_with_number = version.starts_with(|c: char| c.is_ascii_digit());
    let mut words = version
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.len() > 1);
    let comment = server.comment.to_ascii_lowercase();
    begins_with_number
        && words.all(|word| BUILD_WORDS.contains(&word))
        && !NAMED_IN_COMMENT.iter().any(|name| comment.contains(name))
}

/// From here on `performance_schema.data_lock_waits` exists.
fn has_lock_tables(version: &ServerVersion) -> bool {
    *version >= ServerVersion(vec![8, 0, 1])
}

fn watch(session: MySqlSession, version: &ServerVersion) -> Result<Box<dyn Watcher>, EngineError> {
    if has_lock_tables(version) {
        Ok(Box::new(LockViewWatcher::new(LockTables::new(session)?)))
    } else {
        Ok(Box::new(LockViewWatcher::new(InnodbStatus::new(session)?)))
    }
}

fn grants(version: &ServerVersion) -> Vec<Grant> {
    if has_lock_tables(version) {
        vec![Grant {
            what: "SELECT on performance_schema",
            sql: "GRANT SELECT ON performance_schema.* TO {user}",
            proof: "SELECT 1 FROM performance_schema.data_lock_waits LIMIT 1",
        }]
    } else {
        vec![Grant::PROCESS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_described(version: &str, comment: &str) -> bool {
        is_mysql(&SelfDescription {
            version: version.to_owned(),
            comment: comment.to_owned(),
        })
    }

    #[test]
    fn builds_of_mysql_are_mysql() {
        for (version, comment) in [
            ("5.6.51", "MySQL Community Server (GPL)"),
            ("5.7.44-log", "MySQL Community Server (GPL)"),
            ("8.0.36-0ubuntu0.22.04.1", "(Ubuntu)"),
            (
                "8.0.35-27",
                "Percona Server (GPL), Release 27, Revision 2f8eeab",
            ),
            ("8.0.36-commercial", "MySQL Enterprise Server - Commercial"),
            ("8.0.31-google", "(Google)"),
            ("8.4.6-azure", "MySQL Community Server - GPL"),
            ("9.7.0", "Source distribution"),
            ("9.0.0-er-debug", "Source distribution"),
        ] {
            assert!(is_described(version, comment), "{version} {comment}");
        }
    }

    #[test]
    fn other_products_of_the_protocol_are_not_mysql() {
        for (version, comment) in [
            (
                "8.0.11-TiDB-v8.5.0",
                "TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible",
            ),
            ("5.7.25-TiDB-v4.0.2", ""),
            ("10.11.18-MariaDB", "mariadb.org binary distribution"),
            ("8.0.30-Vitess", "ServerVersion: 20.0.0"),
            ("5.7.25-OceanBase-v4.2.1.0", "OceanBase 4.2.1.0"),
            ("5.7.32", "SingleStoreDB source distribution"),
            ("8.0.33", "Dolt"),
            ("8.0.33", "StarRocks version 3.3.5"),
            ("23.8.1.1-ClickHouse", ""),
            ("", ""),
        ] {
            assert!(!is_described(version, comment), "{version} {comment}");
        }
    }
}
