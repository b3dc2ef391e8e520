//! `rashomon doctor`: what can be said of a target before it is used.

use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::ServerArguments;
use super::terminal::{Style, printable};
use crate::engine;
use crate::oracle::ORACLES;

/// Examines a target: connection, version, variables, privileges, safety, oracles
///
/// Changes nothing on the server. A missing privilege is named with the GRANT that gives it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  rashomon doctor 'mariadb://root@127.0.0.1:3306?socket=/run/mysqld/mysqld.sock'"
)]
pub(super) struct DoctorArguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://...
    target: String,

    #[command(flatten)]
    server: ServerArguments,
}

pub(super) fn run(arguments: &DoctorArguments, output: &mut Output) -> Result<Exit, Failure> {
    let options = arguments.server.open_options("doctor")?;
    let diagnosis = engine::doctor(&arguments.target, &options);
    let style = Style::of_stdout();
    for line in &diagnosis.lines {
        let mark = if line.ok {
            style.green("ok")
        } else {
            style.red("!!")
        };
        output.line(&format!(
            "{mark}  {:<10}  {}",
            line.topic,
            printable(&line.text)
        ))?;
    }
    if let Some(error) = diagnosis.error {
        // The last line said it; the code is what is left to tell.
        return Ok(Failure::from(error).exit);
    }
    for oracle in ORACLES.iter().filter(|_| diagnosis.takes_cases) {
        output.line(&format!(
            "{}  {:<10}  {}: {}",
            style.green("ok"),
            "oracle",
            oracle.name(),
            oracle.about()
        ))?;
    }
    Ok(if diagnosis.lines.iter().all(|line| line.ok) {
        Exit::Clean
    } else {
        Exit::Environment
    })
}
