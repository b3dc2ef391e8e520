//! `rashomon clean`: drops what dead runs left.

use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::ServerArguments;
use super::terminal::printable;
use crate::engine;

/// Drops the databases that dead runs left, and nothing else
///
/// A database is dropped when its name begins with rashomon_, it carries our marker, and the
/// process that made it is gone from this machine. Everything else stays, with the reason. For sqlite:
/// without a path these are the temporary folders of all runs.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  rashomon clean 'mariadb://root@127.0.0.1:3306?socket=/run/mysqld/mysqld.sock'"
)]
pub(super) struct CleanArguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://..., tidb://..., postgres://...
    target: String,

    #[command(flatten)]
    server: ServerArguments,
}

pub(super) fn run(arguments: &CleanArguments, output: &mut Output) -> Result<Exit, Failure> {
    let options = arguments.server.open_options("clean")?;
    let cleaned = engine::clean_target(&arguments.target, &options)?;
    if cleaned.is_empty() {
        output.line("nothing was left behind")?;
    }
    for database in &cleaned {
        let name = printable(&database.database);
        match &database.kept {
            None => output.line(&format!("dropped  {name}"))?,
            Some(reason) => output.line(&format!("kept     {name}: {}", printable(reason)))?,
        }
    }
    Ok(Exit::Clean)
}
