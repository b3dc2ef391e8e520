//! What `doctor` asks of a PostgreSQL server.

use std::collections::BTreeMap;

use super::connection::PostgresSession;
use super::names::READ_WRITE;
use crate::engine::access::Access;
use crate::engine::cell::{first_text, named_values};
use crate::engine::diagnosis::{Demand, DiagnosisLine, Topic};
use crate::engine::disk;
use crate::engine::error::EngineError;
use crate::engine::session::BareSession;

/// Settings that limit a run. `data_directory` is shown to superusers only.
const LIMITS: &str = "SELECT name, setting FROM pg_catalog.pg_settings WHERE name IN \
     ('default_transaction_read_only', 'max_connections', 'superuser_reserved_connections', \
     'reserved_connections', 'data_directory')";

/// Processes of clients have a port, -1 on a socket; the server's own have none. The session that
/// asks is closed before a run begins.
const OPEN_CONNECTIONS: &str = "SELECT count(*) FROM pg_catalog.pg_stat_activity \
     WHERE client_port IS NOT NULL AND pid <> pg_catalog.pg_backend_pid()";

const STANDBY: &str = "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'yes' ELSE 'no' END";

/// Read-only modes, connections and disk.
pub(super) fn resources(
    session: &mut PostgresSession,
    access: &Access,
    demand: &Demand,
) -> Result<Vec<DiagnosisLine>, EngineError> {
    let rows = session.rows(LIMITS)?;
    let settings: BTreeMap<String, String> = named_values(&rows).collect();
    let is_standby = first_text(&session.rows(STANDBY)?).as_deref() == Some("yes");
    let open = first_text(&session.rows(OPEN_CONNECTIONS)?);
    let open = open.and_then(|count| count.parse().ok()).unwrap_or(0);
    let folder = settings.get("data_directory").map(String::as_str);
    Ok(vec![
        read_only_line(&settings, is_standby, demand),
        connections_line(&settings, open, demand),
        disk::line_of_server(access, folder),
    ])
}

fn read_only_line(
    settings: &BTreeMap<String, String>,
    is_standby: bool,
    demand: &Demand,
) -> DiagnosisLine {
    if is_standby {
        let remedy = "name its primary in the target";
        return DiagnosisLine::read_only("the server is a standby", demand, remedy);
    }
    let mode = "default_transaction_read_only";
    if settings.get(mode).is_some_and(|value| value == "on") {
        return DiagnosisLine::read_only(&format!("{mode} = on"), demand, READ_WRITE);
    }
    DiagnosisLine::good(Topic::ReadOnly, "the server is in no read-only mode")
}

/// Connections that are reserved for superusers count as taken, also for a superuser.
fn connections_line(
    settings: &BTreeMap<String, String>,
    open: u64,
    demand: &Demand,
) -> DiagnosisLine {
    let number = |name: &str| {
        settings
            .get(name)
            .and_then(|value| value.parse::<u64>().ok())
    };
    let Some(all) = number("max_connections") else {
        return DiagnosisLine::unknown(Topic::Connections, "max_connections is not shown");
    };
    let kept = number("superuser_reserved_connections").unwrap_or(0)
        + number("reserved_connections").unwrap_or(0);
    let raise = |sum| {
        let all = sum + kept;
        format!("ALTER SYSTEM SET max_connections = {all} and a restart")
    };
    DiagnosisLine::connections(all.saturating_sub(kept), open, demand, raise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::diagnosis::Health;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
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
    fn a_standby_and_a_read_only_default_take_no_writes() {
        let off = settings(&[("default_transaction_read_only", "off")]);
        let on = settings(&[("default_transaction_read_only", "on")]);
        let health = |settings, standby| read_only_line(settings, standby, &demand(1)).health;
        assert_eq!(health(&off, false), Health::Good);
        assert_eq!(health(&off, true), Health::Bad);
        assert_eq!(health(&on, false), Health::Bad);
        let remedy = read_only_line(&on, false, &demand(1)).remedy;
        assert!(remedy.expect("a remedy").contains("read_only = off"));
    }

    #[test]
    fn reserved_connections_are_not_ours() {
        let limits = settings(&[
            ("max_connections", "20"),
            ("superuser_reserved_connections", "3"),
        ]);
        assert_eq!(
            connections_line(&limits, 4, &demand(13)).health,
            Health::Good
        );
        let over = connections_line(&limits, 5, &demand(13));
        assert_eq!(over.health, Health::Bad);
        let remedy = over.remedy.expect("a remedy");
        assert!(remedy.contains("max_connections = 21"), "{remedy}");
    }
}
