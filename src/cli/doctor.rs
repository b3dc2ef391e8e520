//! `rashomon doctor`: whether a run could begin on a target.

use serde_json::json;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::server::ServerArguments;
use super::terminal::{Style, counted, printable};
use super::value::{OutputFormat, positive};
use crate::engine::{self, Diagnosis, DiagnosisLine, Health};
use crate::execute::CONNECTIONS_BESIDE_SESSIONS;
use crate::generate::GenerateOptions;
use crate::oracle::ORACLES;
use crate::workload::SESSIONS_MAX;

/// Proves what fuzz needs: connection, version, privileges, connections, disk, oracles
///
/// Makes a database of ours, writes to it and drops it; changes nothing else. What is missing is
/// named with the statement that mends it, and the last line says whether fuzz can begin. The exit
/// code is that of such a fuzz: 0 when it can begin, 2 where cases are not generated for the engine,
/// 5 when something is missing, 6 when the server holds databases that are not ours.
///
/// With --format json each line is an object with `event` "check" (`topic`, `ok`, which is null
/// where it cannot be known, `text`, `remedy`) or "oracle" (`name`, `applies`, `about`); the last
/// has `event` "summary", `target`, `workers`, `ready` and the topics that are `missing`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DoctorArguments {
    /// The server: sqlite:, mysql://USER:PW@HOST:PORT?socket=PATH, mariadb://..., tidb://..., postgres://...
    target: String,

    /// Workers of the run that is planned: each has connections of its own
    #[arg(long, value_name = "N", value_parser = positive, default_value = "1")]
    workers: u64,

    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,

    #[command(flatten)]
    server: ServerArguments,
}

const EXAMPLES: &str = "\
Examples:
  rashomon doctor 'mariadb://root@127.0.0.1:3306?socket=/run/mysqld/mysqld.sock'
  rashomon doctor 'mysql://root@127.0.0.1:3306' --workers 8 --format json";

pub(super) fn run(arguments: &DoctorArguments, output: &mut Output) -> Result<Exit, Failure> {
    let options = arguments.server.open_options("doctor")?;
    let connections = connections(arguments.workers);
    let diagnosis = engine::doctor(&arguments.target, &options, connections);
    match arguments.format {
        OutputFormat::Human => print_lines(&diagnosis, output)?,
        OutputFormat::Json => print_json(&diagnosis, arguments, output)?,
    }
    Ok(exit(diagnosis))
}

/// How many connections a run of so many workers may have open at once.
fn connections(workers: u64) -> u64 {
    let generated = *GenerateOptions::default().sessions.end();
    let sessions = generated.max(SESSIONS_MAX as usize);
    let each = (sessions + CONNECTIONS_BESIDE_SESSIONS) as u64;
    // A worker that makes its database anew has one more for that.
    workers.saturating_mul(each).saturating_add(1)
}

/// The code with which `fuzz` would end.
fn exit(diagnosis: Diagnosis) -> Exit {
    if diagnosis.is_refused() {
        return Exit::Refused;
    }
    let is_healthy = diagnosis.is_healthy();
    match diagnosis.error {
        Some(error) => Failure::from(error).exit,
        None if is_healthy => Exit::Clean,
        None if diagnosis.dialect.is_none() => Exit::Usage,
        None => Exit::Environment,
    }
}

fn print_lines(diagnosis: &Diagnosis, output: &mut Output) -> Result<(), Failure> {
    let style = Style::of_stdout();
    for line in &diagnosis.lines {
        let mark = match line.health {
            Health::Good => style.green("ok"),
            Health::Bad => style.red("!!"),
            Health::Unknown => style.yellow("??"),
        };
        let remedy = match &line.remedy {
            Some(remedy) => format!("; mend it with: {}", printable(remedy)),
            None => String::new(),
        };
        let (topic, text) = (line.topic.slug(), printable(&line.text));
        output.line(&format!("{mark}  {topic:<11}  {text}{remedy}"))?;
    }
    for oracle in ORACLES {
        let Some(dialect) = &diagnosis.dialect else {
            break;
        };
        let (mark, text) = match oracle.excludes_engine(dialect) {
            None => (style.green("ok"), oracle.about().to_owned()),
            Some(why) => (
                style.faint("--"),
                format!("does not apply here: {}", why.about()),
            ),
        };
        output.line(&format!(
            "{mark}  {:<11}  {}: {text}",
            "oracle",
            oracle.name()
        ))?;
    }
    let verdict = verdict(diagnosis);
    output.line(&match diagnosis.is_healthy() {
        true => style.green(&verdict),
        false => style.red(&verdict),
    })
}

/// The last line: whether a run can begin, or what is missing.
fn verdict(diagnosis: &Diagnosis) -> String {
    if diagnosis.is_healthy() {
        return "ready to fuzz".to_owned();
    }
    let topics = topics(diagnosis);
    let count = topics.len() as u64;
    format!(
        "not ready to fuzz: {} to mend: {}",
        counted(count, "thing"),
        topics.join(", ")
    )
}

fn topics(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let topics = diagnosis.missing().map(|line| line.topic.slug());
    topics.collect()
}

fn print_json(
    diagnosis: &Diagnosis,
    arguments: &DoctorArguments,
    output: &mut Output,
) -> Result<(), Failure> {
    for line in &diagnosis.lines {
        output.json(&line_json(line))?;
    }
    for oracle in ORACLES {
        let applies = |dialect| oracle.excludes_engine(dialect).is_none();
        output.json(&json!({
            "v": 1,
            "event": "oracle",
            "name": oracle.name(),
            "applies": diagnosis.dialect.as_ref().is_some_and(applies),
            "about": oracle.about(),
        }))?;
    }
    output.json(&json!({
        "v": 1,
        "event": "summary",
        "target": target_shown(&arguments.target),
        "workers": arguments.workers,
        "ready": diagnosis.is_healthy(),
        "missing": topics(diagnosis),
    }))
}

fn line_json(line: &DiagnosisLine) -> serde_json::Value {
    let ok = match line.health {
        Health::Good => Some(true),
        Health::Bad => Some(false),
        Health::Unknown => None,
    };
    json!({
        "v": 1,
        "event": "check",
        "topic": line.topic.slug(),
        "ok": ok,
        "text": line.text,
        "remedy": line.remedy,
    })
}

/// A target without its password; none where it is not understood and may hold one anywhere.
fn target_shown(target: &str) -> Option<String> {
    let target: engine::Target = target.parse().ok()?;
    Some(target.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::engine::{EngineError, Topic};

    fn line(topic: Topic, health: Health) -> DiagnosisLine {
        DiagnosisLine {
            topic,
            health,
            text: String::new(),
            remedy: None,
        }
    }

    fn diagnosis(lines: Vec<DiagnosisLine>) -> Diagnosis {
        Diagnosis {
            lines,
            error: None,
            dialect: Some(dialect_of("mariadb", "11.8")),
        }
    }

    #[test]
    fn every_worker_has_connections_of_its_own() {
        assert_eq!(connections(1), 13);
        assert_eq!(connections(8), 97);
        assert_eq!(connections(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_verdict_names_what_is_missing_and_the_exit_code_follows_it() {
        let healthy = diagnosis(vec![
            line(Topic::Databases, Health::Good),
            line(Topic::Disk, Health::Unknown),
        ]);
        assert_eq!(verdict(&healthy), "ready to fuzz");
        assert_eq!(exit(healthy), Exit::Clean);
        let sick = diagnosis(vec![
            line(Topic::ReadOnly, Health::Bad),
            line(Topic::Connections, Health::Bad),
        ]);
        assert_eq!(
            verdict(&sick),
            "not ready to fuzz: 2 things to mend: read-only, connections"
        );
        assert_eq!(exit(sick), Exit::Environment);
        let shared = diagnosis(vec![
            line(Topic::Safety, Health::Bad),
            line(Topic::Privilege, Health::Bad),
        ]);
        assert_eq!(exit(shared), Exit::Refused);
        let lost = Diagnosis {
            error: Some(EngineError::Target("x".to_owned())),
            ..diagnosis(vec![line(Topic::Connection, Health::Bad)])
        };
        assert_eq!(exit(lost), Exit::Usage);
    }
}
