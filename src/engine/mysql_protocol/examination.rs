//! What `doctor` asks of a server of MySQL's protocol.

use std::collections::BTreeMap;

use super::connection::{MySqlSession, ReadOnlyModes};
use super::product::Grant;
use crate::engine::access::Access;
use crate::engine::cell::named_values;
use crate::engine::diagnosis::{Demand, DiagnosisLine, Topic};
use crate::engine::disk;
use crate::engine::error::EngineError;
use crate::engine::session::BareSession;
use crate::model::Outcome;

/// Variables and a status counter that limit a run.
const LIMITS: [&str; 3] = ["max_connections", "max_user_connections", "datadir"];
const OPEN_CONNECTIONS: &str = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";

/// Whether the login has each of these privileges.
pub(super) fn privileges(
    session: &mut MySqlSession,
    grants: &[Grant],
) -> Result<Vec<DiagnosisLine>, EngineError> {
    let account = session.account()?;
    let mut lines = Vec::new();
    for need in grants {
        let is_denied = matches!(session.send(need.proof)?, Outcome::Rejected(_));
        lines.push(if is_denied {
            let grant = need.sql.replace("{user}", &account);
            DiagnosisLine::bad(Topic::Privilege, format!("{} is missing", need.what), grant)
        } else {
            DiagnosisLine::good(Topic::Privilege, format!("{} is granted", need.what))
        });
    }
    Ok(lines)
}

/// Read-only modes, connections and disk.
pub(super) fn resources(
    session: &mut MySqlSession,
    access: &Access,
    demand: &Demand,
    read_only: ReadOnlyModes,
) -> Result<Vec<DiagnosisLine>, EngineError> {
    let names = LIMITS.iter().chain(read_only.variables);
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    let rows = session.rows(&format!(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})",
        names.join(", ")
    ))?;
    let variables: BTreeMap<String, String> = named_values(&rows).collect();
    let rows = session.rows(OPEN_CONNECTIONS)?;
    let open = named_values(&rows).next();
    let open = open.and_then(|(_, count)| count.parse().ok()).unwrap_or(1);
    let mut lines = vec![read_only_line(&variables, demand, read_only)];
    lines.extend(connection_lines(&variables, open, demand));
    let folder = variables.get("datadir").map(String::as_str);
    lines.push(disk::line_of_server(access, folder));
    Ok(lines)
}

/// MariaDB has further words for `read_only` than ON and OFF.
fn read_only_line(
    variables: &BTreeMap<String, String>,
    demand: &Demand,
    modes: ReadOnlyModes,
) -> DiagnosisLine {
    let is_on = |name: &&str| {
        let value = variables.get(*name).map_or("OFF", String::as_str);
        !matches!(value, "OFF" | "0" | "")
    };
    let on: Vec<&str> = modes.variables.iter().copied().filter(is_on).collect();
    if on.is_empty() {
        return DiagnosisLine::good(Topic::ReadOnly, "the server is in no read-only mode");
    }
    let texts: Vec<String> = on.iter().map(|name| format!("{name} = ON")).collect();
    DiagnosisLine::read_only(&texts.join(", "), demand, modes.end)
}

/// One line for each limit that there is; 0 is no limit of an account.
fn connection_lines(
    variables: &BTreeMap<String, String>,
    open: u64,
    demand: &Demand,
) -> Vec<DiagnosisLine> {
    // The session that asks is closed before a run begins.
    let open = open.saturating_sub(1);
    ["max_connections", "max_user_connections"]
        .iter()
        .filter_map(|name| {
            let limit: u64 = variables.get(*name)?.parse().ok()?;
            (limit > 0).then(|| {
                let raise = |sum| format!("SET GLOBAL {name} = {sum}");
                DiagnosisLine::connections(limit, open, demand, raise)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::diagnosis::Health;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn demand(connections: u64) -> Demand {
        Demand {
            connections,
            can_write: false,
        }
    }

    #[test]
    fn a_read_only_server_is_told_with_the_statement_that_ends_the_mode() {
        let modes = ReadOnlyModes::READ_ONLY;
        let line = |pairs: &[(&str, &str)]| read_only_line(&variables(pairs), &demand(1), modes);
        assert_eq!(line(&[("read_only", "OFF")]).health, Health::Good);
        let line = line(&[("read_only", "ON"), ("super_read_only", "ON")]);
        assert_eq!(line.text, "read_only = ON, super_read_only = ON");
        assert_eq!(line.remedy.as_deref(), Some("SET GLOBAL read_only = OFF"));
    }

    #[test]
    fn every_limit_of_connections_is_held_against_the_demand() {
        let limits = variables(&[("max_connections", "20"), ("max_user_connections", "10")]);
        let lines = connection_lines(&limits, 3, &demand(13));
        let healths: Vec<Health> = lines.iter().map(|line| line.health).collect();
        assert_eq!(healths, [Health::Good, Health::Bad]);
        assert_eq!(
            lines[1].remedy.as_deref(),
            Some("SET GLOBAL max_user_connections = 15, or fewer --workers")
        );
        let unlimited = variables(&[("max_connections", "151"), ("max_user_connections", "0")]);
        assert_eq!(connection_lines(&unlimited, 3, &demand(13)).len(), 1);
    }
}
