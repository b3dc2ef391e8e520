//! What a run with the oracle of recovery has to be given, and what its server has to promise.

use crate::campaign::RunSettings;
use crate::cli::exit::Failure;
use crate::cli::value::oracles_named;
use crate::engine::Server;

/// Whether the server is killed in this run, and by which oracle.
fn killer(settings: &RunSettings) -> Option<&'static str> {
    let oracles = oracles_named(&settings.oracles, settings.learner);
    let killer = oracles.iter().find(|oracle| oracle.needs().crash);
    killer.map(|oracle| oracle.name())
}

/// Checks what can be checked without a server.
///
/// # Errors
/// When there is no restart command and one is needed, or the other way round, and when others would work
/// on a server that is killed.
pub(super) fn check_settings(settings: &RunSettings) -> Result<(), Failure> {
    let Some(killer) = killer(settings) else {
        let given = match (&settings.restart_command, settings.claim_durable) {
            (Some(_), _) => "--restart-command",
            (None, true) => "--claim-durable",
            (None, false) => return Ok(()),
        };
        return Err(Failure::usage(format!(
            "{given} is for --oracle recovery, which no other oracle judges beside: name it, or leave \
             {given} out"
        )));
    };
    if settings.oracles.len() > 1 {
        return Err(Failure::usage(format!(
            "--oracle {killer} kills the server, which no other oracle judges beside: name it alone"
        )));
    }
    if settings.workers > 1 {
        return Err(Failure::usage(format!(
            "--oracle {killer} kills the server, so one worker works on it: leave out --workers"
        )));
    }
    if settings.restart_command.is_none() {
        return Err(Failure::usage(format!(
            "--oracle {killer} needs --restart-command CMD: a command that kills the server by SIGKILL and \
             starts it again; docs/oracle-recovery.md has examples"
        )));
    }
    Ok(())
}

/// Refuses a server that does not promise what the oracle judges.
///
/// # Errors
/// When nothing is known of the engine's promise, or a setting breaks it and the user did not claim it.
pub(super) fn check_server(settings: &RunSettings, server: &dyn Server) -> Result<(), Failure> {
    let Some(killer) = killer(settings) else {
        return Ok(());
    };
    let (dialect, name) = (server.dialect(), server.identity().in_short());
    if dialect.durability.is_empty() {
        return Err(Failure::usage(format!(
            "--oracle {killer} does not judge {name}: its dialect names no settings by which a commit \
             survives a crash; mariadb, mysql and postgres have them"
        )));
    }
    let found = server.settings(&dialect.durability_variables())?;
    let unkept = dialect.unkept(&found);
    if unkept.is_empty() || settings.claim_durable {
        return Ok(());
    }
    let (mut has, mut remedies) = (Vec::new(), Vec::new());
    for setting in unkept {
        let value = found.get(&setting.variable).map_or("unset", String::as_str);
        has.push(format!("{} = {value}", setting.variable));
        remedies.push(setting.remedy());
    }
    Err(Failure::usage(format!(
        "{name} does not promise that an acknowledged commit survives a crash: it has {}. Put {} into its \
         configuration and start it again; or add --claim-durable, and lost commits are findings all the \
         same",
        has.join(", "),
        remedies.join(", ")
    )))
}
