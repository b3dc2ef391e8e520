//! `rashomon calibrate`: every read mode of the dialect, proved on the live server.

use serde_json::json;

use super::calibration::{calibrated, entry_json, told};
use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::{ServerArguments, random_u64};
use super::signals;
use super::terminal::{Style, printable};
use super::value::OutputFormat;
use crate::calibrate::Proof;
use crate::campaign::StopFlag;
use crate::engine;

/// Proves every entry of the dialect file on the live server
///
/// Read modes per level and role, the snapshot point, and what waits: scripted sessions decide each
/// from data. Exit 0 when the file and the server agree, 1 when they differ: then the server or the
/// file is wrong, and the statements to tell which are printed. Ctrl-C drops the database in use.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  rashomon calibrate 'mysql://root@127.0.0.1:3306'")]
pub(super) struct CalibrateArguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://..., tidb://..., postgres://...
    target: String,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,

    #[command(flatten)]
    server: ServerArguments,
}

pub(super) fn run(arguments: &CalibrateArguments, output: &mut Output) -> Result<Exit, Failure> {
    let run_id = format!("calibrate{:08x}", random_u64()? >> 32);
    let options = arguments.server.open_options(&run_id)?;
    let stop = StopFlag::default();
    signals::listen(&stop)?;
    let server = engine::open(&arguments.target, &options)?;
    let report = calibrated(&*server, &stop)?;
    let identity = server.identity();
    let (right, wrong, idle) = report.counts();
    match arguments.format {
        OutputFormat::Json => {
            for entry in &report.entries {
                output.json(&entry_json(entry))?;
            }
            output.json(&json!({
                "v": 1,
                "event": "summary",
                "target": identity.in_short(),
                "server": identity.version_text,
                "right": right,
                "wrong": wrong,
                "does_not_apply": idle,
            }))?;
        }
        OutputFormat::Human => {
            let style = Style::of_stdout();
            for entry in &report.entries {
                let line = printable(&entry.to_string());
                output.line(&match entry.proof {
                    Proof::Right => line,
                    Proof::Wrong => style.red(&line),
                    Proof::DoesNotApply(_) => style.faint(&line),
                })?;
            }
            for entry in report.wrong() {
                output.line(&format!("\n{}", told(entry)))?;
            }
            output.line(&format!(
                "{} {}: {right} entries hold, {wrong} do not, {idle} do not apply",
                identity.engine,
                printable(&identity.version_text)
            ))?;
        }
    }
    Ok(if wrong == 0 {
        Exit::Clean
    } else {
        Exit::Finding
    })
}
