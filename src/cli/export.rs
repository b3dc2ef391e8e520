//! `rashomon export`: a case file as a script, a report or a test of the engine's own suite.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};

use super::case_file;
use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::Overwriting;
use crate::export::{self, FORMATS};

/// Writes a case file for people and tools that do not know rashomon
///
/// Needs no server: the answers come from the notes of the file. A format that does not fit a case is
/// refused, with the reason and the formats that do.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon export reproducers/mysql/wrong-count-4e04dd3e.sql --to issue
  rashomon export reproducers/mysql/wrong-count-4e04dd3e.sql --to python -o bug.py
  rashomon export reproducers/mysql/wrong-count-4e04dd3e.sql --to mtr -o bug.test")]
pub(super) struct ExportArguments {
    /// The case file, or - for standard input
    file: PathBuf,

    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    to: String,

    /// Where to write it [default: standard output]
    #[arg(short, alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    overwriting: Overwriting,

    /// Export the file without the safety check
    #[arg(long)]
    trust: bool,
}

/// The names of the formats, each with who reads it.
fn format_names() -> PossibleValuesParser {
    let names = FORMATS
        .iter()
        .map(|format| PossibleValue::new(format.name()).help(format.about()));
    PossibleValuesParser::new(names)
}

pub(super) fn run(arguments: &ExportArguments, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.output {
        arguments.overwriting.check(path)?;
    }
    let file = case_file::load(&arguments.file, arguments.trust)?;
    let name = &arguments.to;
    let format = export::format_named(name)
        .ok_or_else(|| Failure::usage(format!("there is no format {name}")))?;
    let exported = format.write(&file).map_err(|reason| {
        Failure::usage(format!(
            "{}: --to {name} does not apply: {reason}; formats that apply: {}",
            arguments.file.display(),
            export::applicable(&file).join(", ")
        ))
    })?;
    let Some(path) = &arguments.output else {
        output.line(exported.text.trim_end())?;
        return Ok(Exit::Clean);
    };
    let beside = exported.beside.as_ref();
    let beside = beside.map(|(extension, text)| (path.with_extension(extension), text));
    if let Some((beside, _)) = &beside {
        if beside == path {
            return Err(Failure::usage(format!(
                "{} is the name of the file beside the test: name it .{}",
                path.display(),
                format.extension()
            )));
        }
        arguments.overwriting.check(beside)?;
    }
    arguments
        .overwriting
        .write(path, exported.text.as_bytes())?;
    output.line(&format!("{}: {}", path.display(), format.about()))?;
    if let Some((beside, text)) = beside {
        arguments.overwriting.write(&beside, text.as_bytes())?;
        output.line(&format!("{}: beside it", beside.display()))?;
    }
    if let Some(remark) = &exported.remark {
        output.line(remark)?;
    }
    Ok(Exit::Clean)
}
