//! Whether a run could begin on a target, proved as far as it can be.

use super::connection::Connection;
use super::diagnosis::{Demand, Diagnosis, DiagnosisLine, Health, Topic};
use super::error::EngineError;
use super::opening::OpenOptions;
use super::registry::engine_of;
use super::server::{Server, require_cases};
use super::target::Target;
use crate::dialect::Dialect;
use crate::model::Outcome;

/// Examines a target for a run that opens so many connections.
///
/// A database of ours is made, written and dropped; nothing else is changed. Where the server holds
/// databases that are not ours, and [`OpenOptions::allow_shared_server`] does not permit that, not
/// even this is done.
pub fn doctor(target: &str, options: &OpenOptions, connections: u64) -> Diagnosis {
    let mut lines = Vec::new();
    let (dialect, error) = match examine(target, options, connections, &mut lines) {
        Ok(dialect) => (dialect, None),
        Err(error) => {
            lines.push(DiagnosisLine::of_error(Topic::Connection, &error));
            (None, Some(error))
        }
    };
    Diagnosis {
        lines,
        error,
        dialect,
    }
}

/// Adds its lines, and gives the dialect where the engine takes cases.
fn examine(
    target: &str,
    options: &OpenOptions,
    connections: u64,
    lines: &mut Vec<DiagnosisLine>,
) -> Result<Option<Dialect>, EngineError> {
    let target: Target = target.parse()?;
    // A shared server is a line of the diagnosis, not the end of it.
    let tolerant = OpenOptions {
        allow_shared_server: true,
        ..options.clone()
    };
    let server = engine_of(&target)?.open(&target, &tolerant)?;
    let identity = server.identity();
    lines.push(DiagnosisLine::good(Topic::Connection, target.to_string()));
    lines.push(DiagnosisLine::good(
        Topic::Version,
        format!("{} {}", identity.engine, identity.version_text),
    ));
    for (name, value) in &identity.variables {
        let text = format!("{name} = {value}");
        lines.push(DiagnosisLine::good(Topic::Variable, text));
    }
    let takes_cases = require_cases(&*server);
    if let Err(error) = &takes_cases {
        lines.push(DiagnosisLine {
            remedy: Some("name another engine for fuzz".to_owned()),
            ..DiagnosisLine::of_error(Topic::Cases, error)
        });
    }
    let variables = server.dialect().durability_variables();
    if !variables.is_empty() {
        let settings = server.settings(&variables)?;
        lines.push(DiagnosisLine::durability(server.dialect(), &settings));
    }
    let safety = server.examine_safety(options.allow_shared_server)?;
    let is_safe = safety.health != Health::Bad;
    lines.push(safety);
    let trial = match is_safe {
        true => try_database(&*server),
        false => DiagnosisLine::unknown(
            Topic::Databases,
            "not tried, because the server holds databases that are not ours",
        ),
    };
    let demand = Demand {
        connections,
        can_write: trial.health == Health::Good,
    };
    lines.push(trial);
    lines.extend(server.examine(&demand)?);
    Ok(takes_cases.ok().map(|()| server.dialect().clone()))
}

/// Makes a database of ours, writes to it and drops it.
fn try_database(server: &dyn Server) -> DiagnosisLine {
    let name = format!("rashomon_doctor_{}", std::process::id());
    let written = server
        .create_database(&name)
        .and_then(|()| write_to(server, &name));
    let dropped = server.drop_database(&name);
    match written.and(dropped) {
        Ok(()) => DiagnosisLine::good(
            Topic::Databases,
            "one of ours was made, written and dropped",
        ),
        Err(error) => DiagnosisLine::of_error(Topic::Databases, &error),
    }
}

/// Makes a table there and a row in it.
fn write_to(server: &dyn Server, database: &str) -> Result<(), EngineError> {
    let mut connection = server.connect(database)?;
    let options = &server.dialect().spelling.table_options;
    let table = format!("CREATE TABLE t (pkey INTEGER PRIMARY KEY, c INTEGER){options}");
    for sql in [
        table.as_str(),
        "INSERT INTO t VALUES (1, 1)",
        "DROP TABLE t",
    ] {
        accepted(&mut *connection, sql)?;
    }
    Ok(())
}

fn accepted(connection: &mut dyn Connection, sql: &str) -> Result<(), EngineError> {
    match connection.execute(sql)? {
        Outcome::Rows(_) | Outcome::Affected(_) => Ok(()),
        Outcome::Rejected(error) => Err(EngineError::Rejected {
            engine: "the server",
            sql: sql.to_owned(),
            message: format!("{} {}", error.code, error.message),
        }),
    }
}
