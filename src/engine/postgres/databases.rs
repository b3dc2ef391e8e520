//! Databases of PostgreSQL, for the guard.

use super::connection::PostgresSession;
use super::names::{MAINTENANCE, NAME, READ_WRITE, literal, quoted};
use crate::dialect::ServerVersion;
use crate::engine::access::Access;
use crate::engine::cell::{first_text, text_of};
use crate::engine::error::EngineError;
use crate::engine::guard::Databases;
use crate::engine::marker::{MARKER_TABLE, Marker, is_ours};
use crate::engine::session::{BareSession, missing_privilege, rows_of};
use crate::model::Outcome;

/// Tables that are not the server's own, in the database of the connection.
const USER_TABLES: &str = "SELECT count(*) FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'm', 'f') \
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'";

/// The databases of a server, through a connection, and one more for what lies inside a database.
pub(in crate::engine) struct PostgresDatabases {
    session: PostgresSession,
    access: Access,
    version: ServerVersion,
}

impl PostgresDatabases {
    pub(super) fn new(session: PostgresSession, access: Access, version: ServerVersion) -> Self {
        Self {
            session,
            access,
            version,
        }
    }

    /// Whether the maintenance database holds tables. If this login may not connect to it, it counts
    /// as holding some.
    fn has_tables(&self) -> Result<bool, EngineError> {
        let mut session = match PostgresSession::open(&self.access, Some(MAINTENANCE)) {
            Ok(session) => session,
            Err(EngineError::Login { .. }) => return Ok(true),
            Err(error) => return Err(error),
        };
        let rows = session.rows(USER_TABLES)?;
        Ok(first_text(&rows).as_deref() != Some("0"))
    }

    /// A database that we may not enter has none.
    fn marker_inside(&self, name: &str) -> Result<Option<Marker>, EngineError> {
        let mut inside = match PostgresSession::open(&self.access, Some(name)) {
            Ok(session) => session,
            Err(EngineError::Login { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let sql = format!("SELECT run_id, host, pid, created FROM {MARKER_TABLE}");
        let Outcome::Rows(rows) = inside.send(&sql)? else {
            return Ok(None);
        };
        Ok(rows.first().and_then(Marker::of_row))
    }
}

impl Databases for PostgresDatabases {
    /// Every database but the templates.
    fn names(&mut self) -> Result<Vec<String>, EngineError> {
        let sql = "SELECT datname FROM pg_catalog.pg_database WHERE NOT datistemplate \
                   ORDER BY datname";
        let rows = self.session.rows(sql)?;
        Ok(rows
            .iter()
            .filter_map(|row| text_of(row.first()?))
            .collect())
    }

    /// The one that every installation brings along counts when there are tables in it.
    fn foreign(&mut self) -> Result<Vec<String>, EngineError> {
        let mut foreign = Vec::new();
        for name in self.names()? {
            if is_ours(&name) {
                continue;
            }
            if name != MAINTENANCE || self.has_tables()? {
                foreign.push(name);
            }
        }
        Ok(foreign)
    }

    /// One that another run drops while we look ends our connection first, and is not there the next time.
    fn marker(&mut self, name: &str) -> Result<Option<Marker>, EngineError> {
        match self.marker_inside(name) {
            Err(EngineError::ConnectionLost { .. }) => self.marker_inside(name),
            marker_or_error => marker_or_error,
        }
    }

    fn make(&mut self, name: &str, marker: &Marker) -> Result<(), EngineError> {
        // Texts are compared byte by byte, whatever the server's own locale.
        let sql = format!(
            "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'",
            quoted(name)
        );
        match self.session.send(&sql)? {
            // `insufficient_privilege`.
            Outcome::Rejected(error) if error.code == "42501" => {
                let user = first_text(&self.session.rows("SELECT current_user")?);
                return Err(missing_privilege(&error, &grant(&user.unwrap_or_default())));
            }
            // `read_only_sql_transaction`.
            Outcome::Rejected(error) if error.code == "25006" => {
                return Err(EngineError::ReadOnly {
                    cause: format!("{} {}", error.code, error.message),
                    remedy: READ_WRITE.to_owned(),
                });
            }
            outcome @ (Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_)) => {
                rows_of(NAME, &sql, outcome)?
            }
        };
        let mut inside = PostgresSession::open(&self.access, Some(name))?;
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

    fn remove(&mut self, name: &str) -> Result<(), EngineError> {
        // Connections of ours that have just been closed may still be on their way out.
        let force = if has_forced_drop(&self.version) {
            " WITH (FORCE)"
        } else {
            ""
        };
        self.session
            .run(&format!("DROP DATABASE {}{force}", quoted(name)))
    }
}

/// Lets a login make databases.
fn grant(user: &str) -> String {
    format!("ALTER ROLE {} CREATEDB", quoted(user))
}

/// From here on DROP DATABASE ends the connections that hold it up.
fn has_forced_drop(version: &ServerVersion) -> bool {
    *version >= ServerVersion(vec![13])
}
