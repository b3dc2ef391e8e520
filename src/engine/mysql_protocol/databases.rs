//! Databases of MySQL and MariaDB, for the guard.

use super::connection::MySqlSession;
use crate::engine::cell::text_of;
use crate::engine::error::EngineError;
use crate::engine::guard::Databases;
use crate::engine::marker::{MARKER_TABLE, Marker, is_ours};
use crate::engine::session::BareSession;
use crate::model::{Outcome, Row};

/// Gives the login everything in databases of ours, and nothing elsewhere.
const OWN_DATABASES: &str = "GRANT ALL ON `rashomon\\_%`.* TO {user}";

/// The databases of a server, through a connection.
pub(in crate::engine) struct MySqlDatabases {
    session: MySqlSession,
    /// Databases of the server's own.
    system: &'static [&'static str],
}

impl MySqlDatabases {
    pub(super) fn new(session: MySqlSession, system: &'static [&'static str]) -> Self {
        Self { session, system }
    }

    fn is_empty(&mut self, database: &str) -> Result<bool, EngineError> {
        let rows = self
            .session
            .rows(&format!("SHOW TABLES FROM `{database}`"))?;
        Ok(rows.is_empty())
    }

    fn mark(&mut self, name: &str, marker: &Marker) -> Result<(), EngineError> {
        self.session.run(&format!(
            "CREATE TABLE IF NOT EXISTS `{name}`.{MARKER_TABLE} (run_id VARCHAR(190) NOT NULL, \
             host VARCHAR(190) NOT NULL, pid INT UNSIGNED NOT NULL, created DATETIME NOT NULL) \
             ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
        ))?;
        self.session.run(&format!(
            "INSERT INTO `{name}`.{MARKER_TABLE} VALUES ({}, {}, {}, UTC_TIMESTAMP())",
            hex(&marker.run_id),
            hex(&marker.host),
            marker.pid
        ))
    }
}

impl Databases for MySqlDatabases {
    fn names(&mut self) -> Result<Vec<String>, EngineError> {
        let rows = self.session.rows("SHOW DATABASES")?;
        Ok(rows
            .iter()
            .filter_map(|row| text_of(row.first()?))
            .collect())
    }

    /// An empty `test`, which installations bring along, counts for nothing.
    fn foreign(&mut self) -> Result<Vec<String>, EngineError> {
        let names = self.names()?;
        let has_tables = names.iter().any(|name| name == "test") && !self.is_empty("test")?;
        Ok(foreign_among(names, self.system, has_tables))
    }

    fn marker(&mut self, name: &str) -> Result<Option<Marker>, EngineError> {
        let sql = format!("SELECT run_id, host, pid, created FROM `{name}`.{MARKER_TABLE}");
        let Outcome::Rows(rows) = self.session.send(&sql)? else {
            return Ok(None);
        };
        Ok(rows.first().and_then(Marker::of_row))
    }

    fn make(&mut self, name: &str, marker: &Marker) -> Result<(), EngineError> {
        let account = self.session.account()?;
        let grant = OWN_DATABASES.replace("{user}", &account);
        self.session
            .privileged(&format!("CREATE DATABASE `{name}`"), &grant)?;
        self.mark(name, marker)
    }

    fn mark_empty(&mut self, name: &str, marker: &Marker) -> Result<bool, EngineError> {
        let tables = self.session.rows(&format!("SHOW TABLES FROM `{name}`"))?;
        let is_markers = |row: &Row| row.first().and_then(text_of).as_deref() == Some(MARKER_TABLE);
        if !tables.iter().all(is_markers) {
            return Ok(false);
        }
        self.mark(name, marker)?;
        Ok(true)
    }

    fn remove(&mut self, name: &str) -> Result<(), EngineError> {
        self.session.run(&format!("DROP DATABASE `{name}`"))
    }
}

/// The names that are neither the server's nor ours. `test` counts if it has tables.
fn foreign_among(names: Vec<String>, system: &[&str], test_has_tables: bool) -> Vec<String> {
    names
        .into_iter()
        .filter(|name| !system.contains(&name.to_ascii_lowercase().as_str()))
        .filter(|name| !is_ours(name))
        .filter(|name| name != "test" || test_has_tables)
        .collect()
}

/// Text as a literal that needs no escaping, whatever the session's mode.
fn hex(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    format!("X'{digits}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_of_somebody_else_are_found() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        let system = ["information_schema", "mysql", "performance_schema", "sys"];
        let clean = ["information_schema", "mysql", "sys", "test", "rashomon_a_1"];
        assert!(foreign_among(names(&clean), &system, false).is_empty());
        assert_eq!(foreign_among(names(&clean), &system, true), ["test"]);
        let shared = [
            "MYSQL",
            "prod",
            "rashomon",
            "rashomon_x-y",
            "performance_schema",
        ];
        let foreign = foreign_among(names(&shared), &system, false);
        assert_eq!(foreign, ["prod", "rashomon", "rashomon_x-y"]);
    }

    #[test]
    fn a_literal_of_ours_needs_no_escaping() {
        assert_eq!(hex("a'\\"), "X'61275C'");
    }
}
