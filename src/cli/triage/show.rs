//! One group in full.

use serde_json::json;

use super::list::{group_json, painted};
use crate::campaign::unix_seconds;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::quantity::ago;
use crate::cli::shell;
use crate::cli::terminal::{Style, counted, printable};
use crate::cli::value::OutputFormat;
use crate::triage::{Group, TriageFolder};

/// Shows one group in full: state, shapes, runs, rechecks, and the case to read first
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  rashomon triage reproducers show 2fcdb124")]
pub(super) struct ShowArguments {
    /// The signature, or its first digits
    #[arg(value_name = "SIG", value_parser = super::findings::signature)]
    signature: String,
}

pub(super) fn run(
    arguments: &ShowArguments,
    folder: &TriageFolder,
    format: OutputFormat,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let group = super::findings::find(folder, &arguments.signature)?;
    match format {
        OutputFormat::Json => output.json(&in_json(group))?,
        OutputFormat::Human => {
            for line in in_words(group) {
                output.line(&line)?;
            }
            let path = &group.first_file().path;
            output.line("")?;
            match std::fs::read_to_string(path) {
                Ok(text) => output.line(&printable(text.trim_end()))?,
                Err(error) => output.line(&format!("cannot read {}: {error}", path.display()))?,
            }
        }
    }
    Ok(Exit::Clean)
}

fn in_json(group: &Group) -> serde_json::Value {
    let mut json = group_json(group);
    let shapes = group.shapes().into_iter();
    json["shapes"] = shapes
        .map(|(shape, count)| json!({ "shape": shape, "sightings": count }))
        .collect();
    json["seen"] = group
        .seen
        .iter()
        .map(|seen| {
            json!({
                "run": seen.run,
                "server": seen.server,
                "seed": seen.seed,
                "sightings": seen.sightings.count,
                "first_unix_s": seen.sightings.first_unix_s,
                "last_unix_s": seen.sightings.last_unix_s,
            })
        })
        .collect();
    json["rechecks"] = group
        .rechecks
        .iter()
        .map(|recheck| {
            json!({
                "server": recheck.server,
                "unix_s": recheck.unix_s,
                "result": recheck.result.slug(),
                "hits": recheck.hits,
                "runs": recheck.runs,
            })
        })
        .collect();
    json
}

/// The group in words without colours: who it is, what is wrong, and where it was seen.
pub(super) fn plain_words(group: &Group) -> Vec<String> {
    words(group, Style::PLAIN)
}

fn in_words(group: &Group) -> Vec<String> {
    words(group, Style::of_stdout())
}

fn words(group: &Group, style: Style) -> Vec<String> {
    let now = unix_seconds();
    let first = group.first_file();
    let state = painted(style, group.state, group.state.slug());
    let text = group
        .text()
        .unwrap_or_else(|| format!("{} [{}]", first.anomaly, first.levels));
    let mut lines = vec![
        format!("{}  {state}  {}", style.bold(&group.id), printable(&text)),
        format!("  {}", printable(&first.headline)),
    ];
    if let Some(known) = &group.explanation {
        let link = known.url.iter().map(|url| format!("  {url}"));
        let note = known.note.iter().map(|note| format!("  {note}"));
        let rest: String = link.chain(note).collect();
        lines.push(format!(
            "  known    {}{}",
            printable(&known.id),
            printable(&rest)
        ));
    }
    for seen in &group.seen {
        lines.push(format!(
            "  seen     {} by run {} (seed {}) on {}, first {} ago, last {} ago",
            counted(seen.sightings.count, "time"),
            printable(&seen.run),
            seen.seed,
            printable(&seen.server),
            ago(now, seen.sightings.first_unix_s),
            ago(now, seen.sightings.last_unix_s),
        ));
    }
    for recheck in &group.rechecks {
        lines.push(format!(
            "  recheck  {} on {}, {}/{} runs, {} ago",
            recheck.result.slug(),
            printable(&recheck.server),
            recheck.hits,
            recheck.runs,
            ago(now, recheck.unix_s),
        ));
    }
    for (shape, count) in group.shapes() {
        lines.push(format!("  shape    {count:>4} x {}", printable(&shape)));
    }
    for file in &group.files {
        let rate = file
            .reproduced
            .map_or(String::new(), |r| format!(", {r} runs"));
        lines.push(format!(
            "  file     {}: {}{rate}, {}",
            printable(&file.path.display().to_string()),
            counted(file.statements as u64, "statement"),
            printable(&file.server.in_full()),
        ));
    }
    let path = first.path.display().to_string();
    let path = shell::word(&path);
    lines.push(format!(
        "  Reproduce with: rashomon replay {} TARGET",
        printable(&path)
    ));
    lines
}
