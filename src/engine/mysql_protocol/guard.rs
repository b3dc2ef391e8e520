//! The wrong-database guard: what is created, dropped, and which servers are refused.

use super::connection::Session;
use super::{LOCK_WAIT_S, number_of, rows_of, text_of};
use crate::engine::EngineError;
use crate::engine::doctor::DiagnosisLine;
use crate::engine::marker::{Leftover, MARKER_TABLE, Marker, is_ours};
use crate::model::Outcome;

/// Databases of the server's own.
const SYSTEM: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Gives the login everything in databases of ours, and nothing elsewhere.
const OWN_DATABASES: &str = "GRANT ALL ON `rashomon\\_%`.* TO {user}";

/// A privilege beside the one on our databases.
pub(super) struct Grant {
    what: &'static str,
    /// `{user}` stands for the account.
    sql: &'static str,
    /// A statement that only works with it.
    proof: &'static str,
}

impl Grant {
    pub(super) fn new(what: &'static str, sql: &'static str, proof: &'static str) -> Self {
        Self { what, sql, proof }
    }
}

/// A connection that acts for the guard.
pub(super) struct Guard {
    session: Session,
    run_id: String,
}

impl Guard {
    pub(super) fn new(session: Session, run_id: String) -> Self {
        Self { session, run_id }
    }

    /// Refuses a server that holds databases of somebody else.
    pub(super) fn check_safe(mut self, allow_shared_server: bool) -> Result<(), EngineError> {
        let foreign = self.foreign_databases()?;
        if foreign.is_empty() || allow_shared_server {
            return Ok(());
        }
        Err(EngineError::Unsafe(format!(
            "the server holds databases that are not ours: {}; a test server of its own is safe, \
             --allow-shared-server goes on in spite of them",
            foreign.join(", ")
        )))
    }

    /// Databases that are neither the server's nor ours. An empty `test`, which installations
    /// bring along, counts for nothing.
    fn foreign_databases(&mut self) -> Result<Vec<String>, EngineError> {
        let names = self.databases()?;
        let has_tables = names.iter().any(|name| name == "test") && !self.is_empty("test")?;
        Ok(foreign_among(names, has_tables))
    }

    fn databases(&mut self) -> Result<Vec<String>, EngineError> {
        let rows = self.session.rows("SHOW DATABASES")?;
        Ok(rows
            .iter()
            .filter_map(|row| text_of(row.first()?))
            .collect())
    }

    fn is_empty(&mut self, database: &str) -> Result<bool, EngineError> {
        let rows = self
            .session
            .rows(&format!("SHOW TABLES FROM `{database}`"))?;
        Ok(rows.is_empty())
    }

    /// Creates a database with its marker. Its name was checked.
    pub(super) fn create(&mut self, name: &str) -> Result<(), EngineError> {
        let exists = self.databases()?.iter().any(|database| database == name);
        if exists {
            match self.marker(name)? {
                Some(marker) if marker.gives_way_to(&self.run_id) => self.drop(name)?,
                _ => {
                    return Err(EngineError::Unsafe(format!(
                        "the database {name} exists and is not ours to replace"
                    )));
                }
            }
        }
        let account = self.session.account()?;
        let grant = OWN_DATABASES.replace("{user}", &account);
        self.session
            .privileged(&format!("CREATE DATABASE `{name}`"), &grant)?;
        self.session.run(&format!(
            "CREATE TABLE `{name}`.{MARKER_TABLE} (run_id VARCHAR(190) NOT NULL, \
             host VARCHAR(190) NOT NULL, pid INT UNSIGNED NOT NULL, created DATETIME NOT NULL) \
             ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
        ))?;
        let marker = Marker::of_this_process(&self.run_id);
        self.session.run(&format!(
            "INSERT INTO `{name}`.{MARKER_TABLE} VALUES ({}, {}, {}, UTC_TIMESTAMP())",
            hex(&marker.run_id),
            hex(&marker.host),
            marker.pid
        ))
    }

    /// Drops a database that carries our marker; one that is not there is dropped already.
    pub(super) fn drop(&mut self, name: &str) -> Result<(), EngineError> {
        if !self.databases()?.iter().any(|database| database == name) {
            return Ok(());
        }
        if self.marker(name)?.is_none() {
            return Err(EngineError::Unsafe(format!(
                "the database {name} carries no marker of ours: not dropped"
            )));
        }
        // A connection that still has a transaction open there must not hold us up for a day.
        self.session
            .run(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT_S}"))?;
        self.session.run(&format!("DROP DATABASE `{name}`"))
    }

    /// Every database with a name of ours.
    pub(super) fn leftovers(&mut self) -> Result<Vec<Leftover>, EngineError> {
        let names = self.databases()?.into_iter().filter(|name| is_ours(name));
        let mut all = Vec::new();
        for database in names {
            let marker = self.marker(&database)?;
            all.push(Leftover { database, marker });
        }
        Ok(all)
    }

    /// The marker of a database with a name of ours. A table that is not there, or not readable,
    /// is no marker.
    fn marker(&mut self, database: &str) -> Result<Option<Marker>, EngineError> {
        let sql = format!("SELECT run_id, host, pid, created FROM `{database}`.{MARKER_TABLE}");
        let Outcome::Rows(rows) = self.session.send(&sql)? else {
            return Ok(None);
        };
        Ok(rows.first().and_then(|row| {
            let [run_id, host, pid, created] = row.as_slice() else {
                return None;
            };
            Some(Marker {
                run_id: text_of(run_id)?,
                host: text_of(host)?,
                pid: u32::try_from(number_of(pid)?).ok()?,
                created: text_of(created)?,
            })
        }))
    }

    /// Privileges and safety, for `doctor`. Changes nothing.
    pub(super) fn examine(&mut self, needs: &[Grant]) -> Result<Vec<DiagnosisLine>, EngineError> {
        let account = self.session.account()?;
        let own = OWN_DATABASES.replace("{user}", &account);
        let mut lines = vec![self.own_databases_line(&own)?];
        for need in needs {
            let ok = !matches!(self.session.send(need.proof)?, Outcome::Rejected(_));
            let text = if ok {
                format!("{}: granted", need.what)
            } else {
                let grant = need.sql.replace("{user}", &account);
                format!("{}: missing; give it with: {grant}", need.what)
            };
            lines.push(DiagnosisLine::new("privilege", ok, text));
        }
        let foreign = self.foreign_databases()?;
        lines.push(if foreign.is_empty() {
            DiagnosisLine::new("safety", true, "no databases but the server's and ours")
        } else {
            let text = format!(
                "databases of somebody else: {}; refused without --allow-shared-server",
                foreign.join(", ")
            );
            DiagnosisLine::new("safety", false, text)
        });
        Ok(lines)
    }

    /// Whether databases of ours can be made: tried by asking for the definition of one that is
    /// not there, which needs a privilege on it and changes nothing.
    fn own_databases_line(&mut self, grant: &str) -> Result<DiagnosisLine, EngineError> {
        let sql = "SHOW CREATE DATABASE `rashomon_doctor`";
        let denied = match self.session.send(sql)? {
            Outcome::Rejected(error) => error.code == "1044",
            outcome => rows_of(self.session.engine(), sql, outcome).map(|_| false)?,
        };
        Ok(if denied {
            let text = format!("databases of ours: missing; give it with: {grant}");
            DiagnosisLine::new("privilege", false, text)
        } else {
            DiagnosisLine::new("privilege", true, "databases of ours: granted")
        })
    }
}

/// The names that are neither the server's nor ours. `test` counts if it has tables.
fn foreign_among(names: Vec<String>, test_has_tables: bool) -> Vec<String> {
    names
        .into_iter()
        .filter(|name| !SYSTEM.contains(&name.to_ascii_lowercase().as_str()))
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
        let clean = ["information_schema", "mysql", "sys", "test", "rashomon_a_1"];
        assert!(foreign_among(names(&clean), false).is_empty());
        assert_eq!(foreign_among(names(&clean), true), ["test"]);
        let shared = [
            "MYSQL",
            "prod",
            "rashomon",
            "rashomon_x-y",
            "performance_schema",
        ];
        let foreign = foreign_among(names(&shared), false);
        assert_eq!(foreign, ["prod", "rashomon", "rashomon_x-y"]);
    }

    #[test]
    fn a_literal_of_ours_needs_no_escaping() {
        assert_eq!(hex("a'\\"), "X'61275C'");
    }
}
