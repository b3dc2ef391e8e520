//! `rashomon report`: what runs have left in a folder, as a page of one file.

use std::path::PathBuf;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::Overwriting;
use super::terminal::{counted, printable};
use crate::campaign::unix_seconds;
use crate::report;
use crate::reproducer::Registry;
use crate::triage::TriageFolder;

/// Writes what runs have found as a page of HTML, in one file that loads nothing
///
/// What ran, the groups that `rashomon triage` lists, the smallest case of each as lanes with what was
/// answered and what is right, the cycle of transactions where there is one, and every export to copy
/// (docs/report.md). Needs no server.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon report reproducers -o report.html
  rashomon report all -o monday.html --force")]
pub(super) struct ReportArguments {
    /// The folder of the findings: what `fuzz` takes as --out
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Where to write the page
    #[arg(short, alias = "output", value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    overwriting: Overwriting,
}

pub(super) fn run(arguments: &ReportArguments, output: &mut Output) -> Result<Exit, Failure> {
    arguments.overwriting.check(&arguments.output)?;
    let builtin = Registry::builtin().map_err(|error| Failure::usage(error.to_string()))?;
    let folder = TriageFolder::read(&arguments.folder, builtin)?;
    let details = report::details(&folder);
    let page = report::page(&folder, &details, unix_seconds());
    arguments
        .overwriting
        .write(&arguments.output, page.as_bytes())?;
    let groups = counted(folder.groups.len() as u64, "group");
    let name = arguments.output.display().to_string();
    output.line(&format!("{}: {groups}", printable(&name)))?;
    Ok(Exit::Clean)
}
