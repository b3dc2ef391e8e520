//! The wrong-database guard: what is created, dropped, and which servers are refused.

use super::connection::Session;
use super::{
    Access, LOCK_WAIT_S, MAINTENANCE, first_text, has_forced_drop, literal, quoted, text_of,
};
use crate::dialect::Version;
use crate::engine::EngineError;
use crate::engine::doctor::DiagnosisLine;
use crate::engine::marker::{Leftover, MARKER_TABLE, Marker, is_ours};
use crate::model::{Outcome, Row};

/// Tables that somebody made, in the database of the connection.
const USER_TABLES: &str = "SELECT count(*) FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'm', 'f') \
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'";

/// A connection that acts for the guard.
pub(super) struct Guard {
    session: Session,
    access: Access,
    run_id: String,
    version: Version,
}

impl Guard {
    pub(super) fn new(session: Session, access: Access, run_id: String, version: Version) -> Self {
        Self {
            session,
            access,
            run_id,
            version,
        }
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

    /// Databases that are neither the server's nor ours. The one that every installation brings
    /// along counts when there are tables in it.
    fn foreign_databases(&mut self) -> Result<Vec<String>, EngineError> {
        let mut foreign = Vec::new();
        for name in self.databases()? {
            if is_ours(&name) {
                continue;
            }
            if name != MAINTENANCE || self.has_tables()? {
                foreign.push(name);
            }
        }
        Ok(foreign)
    }

    /// Whether somebody keeps tables in the server's own database. One that we may not enter is
    /// somebody's.
    fn has_tables(&self) -> Result<bool, EngineError> {
        let mut session = match self.access.session(Some(MAINTENANCE)) {
            Ok(session) => session,
            Err(EngineError::Login { .. }) => return Ok(true),
            Err(error) => return Err(error),
        };
        let rows = session.rows(USER_TABLES)?;
        Ok(first_text(&rows).as_deref() != Some("0"))
    }

    /// Every database but the templates.
    fn databases(&mut self) -> Result<Vec<String>, EngineError> {
        let sql = "SELECT datname FROM pg_catalog.pg_database WHERE NOT datistemplate \
                   ORDER BY datname";
        let rows = self.session.rows(sql)?;
        Ok(rows
            .iter()
            .filter_map(|row| text_of(row.first()?))
            .collect())
    }

    /// Creates a database with its marker. Its name was checked.
    pub(super) fn create(&mut self, name: &str) -> Result<(), EngineError> {
        if self.databases()?.iter().any(|database| database == name) {
            match self.marker(name)? {
                Some(marker) if marker.gives_way_to(&self.run_id) => self.drop(name)?,
                _ => {
                    return Err(EngineError::Unsafe(format!(
                        "the database {name} exists and is not ours to replace"
                    )));
                }
            }
        }
        // Texts are compared byte by byte, whatever the server's own locale.
        let sql = format!(
            "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'",
            quoted(name)
        );
        match self.session.send(&sql)? {
            // `insufficient_privilege`.
            Outcome::Rejected(error) if error.code == "42501" => {
                let user = first_text(&self.session.rows("SELECT current_user")?);
                return Err(EngineError::Privilege {
                    cause: format!("{} {}", error.code, error.message),
                    grant: grant(&user.unwrap_or_default()),
                });
            }
            Outcome::Rejected(error) => {
                return Err(EngineError::Rejected {
                    engine: super::NAME,
                    sql,
                    message: format!("{} {}", error.code, error.message),
                });
            }
            _ => {}
        }
        let marker = Marker::of_this_process(&self.run_id);
        let mut inside = self.access.session(Some(name))?;
        inside.run(&format!(
            "CREATE TABLE {MARKER_TABLE} (run_id text NOT NULL, host text NOT NULL, \
             pid bigint NOT NULL, created text NOT NULL)"
        ))?;
        inside.run(&format!(
            "INSERT INTO {MARKER_TABLE} VALUES ({}, {}, {}, \
             to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'))",
            literal(&marker.run_id),
            literal(&marker.host),
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
        self.session
            .run(&format!("SET lock_timeout = '{LOCK_WAIT_S}s'"))?;
        // Connections of ours that have just been closed may still be on their way out.
        let force = if has_forced_drop(&self.version) {
            " WITH (FORCE)"
        } else {
            ""
        };
        self.session
            .run(&format!("DROP DATABASE {}{force}", quoted(name)))
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

    /// The marker of a database with a name of ours. A database that we may not enter, or a table
    /// that is not there, is no marker.
    fn marker(&self, database: &str) -> Result<Option<Marker>, EngineError> {
        let mut inside = match self.access.session(Some(database)) {
            Ok(session) => session,
            Err(EngineError::Login { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let sql = format!("SELECT run_id, host, pid, created FROM {MARKER_TABLE}");
        let Outcome::Rows(rows) = inside.send(&sql)? else {
            return Ok(None);
        };
        Ok(rows.first().and_then(marker_of))
    }

    /// Privileges and safety, for `doctor`. Changes nothing.
    pub(super) fn examine(&mut self) -> Result<Vec<DiagnosisLine>, EngineError> {
        let rows = self.session.rows(
            "SELECT CASE WHEN rolcreatedb OR rolsuper THEN 'yes' ELSE 'no' END, rolname \
             FROM pg_catalog.pg_roles WHERE rolname = current_user",
        )?;
        let may = first_text(&rows).as_deref() == Some("yes");
        let user = rows.first().and_then(|row| text_of(row.get(1)?));
        let privilege = if may {
            "databases of ours: granted".to_owned()
        } else {
            let grant = grant(&user.unwrap_or_default());
            format!("databases of ours: missing; give it with: {grant}")
        };
        let foreign = self.foreign_databases()?;
        let safety = if foreign.is_empty() {
            "no databases but the server's and ours".to_owned()
        } else {
            format!(
                "databases of somebody else: {}; refused without --allow-shared-server",
                foreign.join(", ")
            )
        };
        Ok(vec![
            DiagnosisLine::new("privilege", may, privilege),
            DiagnosisLine::new("safety", foreign.is_empty(), safety),
            DiagnosisLine::new(
                "capability",
                true,
                "workload, watch and clean work here; cases are not generated for PostgreSQL yet",
            ),
        ])
    }
}

/// Lets a login make databases.
fn grant(user: &str) -> String {
    format!("ALTER ROLE {} CREATEDB", quoted(user))
}

fn marker_of(row: &Row) -> Option<Marker> {
    let [run_id, host, pid, created] = row.as_slice() else {
        return None;
    };
    Some(Marker {
        run_id: text_of(run_id)?,
        host: text_of(host)?,
        pid: text_of(pid)?.parse().ok()?,
        created: text_of(created)?,
    })
}
