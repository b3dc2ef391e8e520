//! The command line: one file per subcommand, exit codes, streams.
//!
//! Data goes to standard output, progress and logs to standard error. `README.md` lists the exit
//! codes; [`exit::Exit`] is the table.

mod calibration;
mod case_file;
pub mod exit;
mod log;
mod memory_use;
mod output;
mod output_file;
mod panic;
mod profile;
mod quantity;
mod seed;
mod server;
mod shell;
mod signals;
mod terminal;
mod text_file;
mod value;

mod bench;
mod bisect;
mod calibrate;
mod check;
mod clean;
mod completions;
mod doctor;
mod export;
mod fuzz;
mod man;
mod minimize;
mod replay;
mod report;
mod selftest;
mod status;
mod triage;
mod watch;
mod workload;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use exit::{Exit, Failure};
use profile::{ReadArguments, UnreadArguments};

/// A differential-testing fuzzer for transactional SQL engines.
///
/// Runs the same transactions interleaved and serially; where the two accounts differ and nothing
/// documented explains it, a minimized script is left that shows it.
#[derive(Parser, Debug)]
#[command(name = "rashomon", version, max_term_width = 100, after_help = EXIT_CODES)]
struct CommandLine {
    /// What to log to standard error: error, warn, info, debug, trace, or MODULE=LEVEL,..
    #[arg(
        long,
        global = true,
        value_name = "LEVEL",
        env = "RASHOMON_LOG",
        default_value = "warn"
    )]
    log: String,

    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 clean, 1 new finding (flaky ones included) or reproduced, 2 usage or configuration,
3 inconclusive, 4 nothing to run, 5 environment (server down, disk full; before 1), 6 refused for
safety, 70 internal error, 130/143 interrupted.";

#[derive(Subcommand, Debug)]
enum Command {
    Fuzz(Box<fuzz::FuzzArguments>),
    Status(status::StatusArguments),
    Replay(replay::ReplayArguments),
    Minimize(minimize::MinimizeArguments),
    Bisect(bisect::BisectArguments),
    Export(export::ExportArguments),
    Triage(triage::TriageArguments),
    Report(report::ReportArguments),
    Calibrate(calibrate::CalibrateArguments),
    Doctor(doctor::DoctorArguments),
    Clean(clean::CleanArguments),
    Bench(bench::BenchArguments),
    Selftest(selftest::SelftestArguments),
    Workload(workload::WorkloadArguments),
    Check(check::CheckArguments),
    Watch(watch::WatchArguments),
    Completions(completions::CompletionsArguments),
    Man(man::ManArguments),
}

/// Runs the program with the process's own arguments.
pub fn main() -> ExitCode {
    panic::install();
    let exit = run(std::env::args_os());
    // A reader that closed the pipe (`| head`) is no failure.
    let _ = std::io::stdout().flush();
    exit.into()
}

/// Parses the arguments and runs the command.
fn run(arguments: impl Iterator<Item = OsString>) -> Exit {
    let mut output = output::Output::new();
    let read = match profile::read(&command(), arguments.collect(), &mut output) {
        Ok(ReadArguments::Ended(exit)) => return exit,
        Ok(ReadArguments::Command(matches)) => CommandLine::from_arg_matches(&matches),
        Err(UnreadArguments::Failure(failure)) => return say(&failure),
        Err(UnreadArguments::Clap(error)) => Err(error),
    };
    let arguments = match read {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers: exit 0, on standard output. The rest is exit 2.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Clean
            };
        }
    };
    let result = log::start(&arguments.log).and_then(|()| match arguments.command {
        Command::Fuzz(arguments) => fuzz::run(&arguments, &mut output),
        Command::Status(arguments) => status::run(&arguments, &mut output),
        Command::Replay(arguments) => replay::run(&arguments, &mut output),
        Command::Minimize(arguments) => minimize::run(&arguments, &mut output),
        Command::Bisect(arguments) => bisect::run(&arguments, &mut output),
        Command::Export(arguments) => export::run(&arguments, &mut output),
        Command::Triage(arguments) => triage::run(&arguments, &mut output),
        Command::Report(arguments) => report::run(&arguments, &mut output),
        Command::Bench(arguments) => bench::run(&arguments, &mut output),
        Command::Selftest(arguments) => selftest::run(&arguments, &mut output),
        Command::Calibrate(arguments) => calibrate::run(&arguments, &mut output),
        Command::Doctor(arguments) => doctor::run(&arguments, &mut output),
        Command::Clean(arguments) => clean::run(&arguments, &mut output),
        Command::Workload(arguments) => workload::run(&arguments, &mut output),
        Command::Check(arguments) => check::run(&arguments, &mut output),
        Command::Watch(arguments) => watch::run(&arguments, &mut output),
        Command::Completions(arguments) => {
            completions::run(&arguments, &mut CommandLine::command())
        }
        Command::Man(arguments) => man::run(&arguments, CommandLine::command(), &mut output),
    });
    result.unwrap_or_else(|failure| say(&failure))
}

/// The command line. What looks like a negative number after an option that takes one is its
/// value, so that the option says what it takes: clap would call it an unexpected argument.
fn command() -> clap::Command {
    let takes_hyphens = |argument: clap::Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        match names.first().map(clap::builder::Str::as_str) {
            Some("N" | "INDEX" | "SEED" | "PCT") => argument.allow_negative_numbers(true),
            Some("TIME" | "SIZE") => argument.allow_hyphen_values(true),
            _ => argument,
        }
    };
    CommandLine::command().mut_subcommands(|command| command.mut_args(takes_hyphens))
}

/// Says why the command gave up, on one line unless the reason has several.
fn say(failure: &Failure) -> Exit {
    if failure.message.is_empty() {
        return failure.exit;
    }
    let style = terminal::Style::of_stderr();
    let text = terminal::printable(&failure.message);
    // Nothing can be said of a closed standard error.
    let _ = writeln!(std::io::stderr(), "{} {text}", style.red("error:"));
    failure.exit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn every_subcommand_has_an_example() {
        for command in CommandLine::command().get_subcommands() {
            let help = command.clone().render_long_help().to_string();
            assert!(
                help.contains("Example"),
                "{}: no example in its --help",
                command.get_name()
            );
            assert!(help.contains("rashomon "), "{}: {help}", command.get_name());
        }
    }

    /// The commands in the fenced blocks of a document, or in the examples of a help text.
    fn commands_in(text: &str) -> Vec<Vec<String>> {
        text.lines()
            .flat_map(|line| line.split(" | "))
            .map(str::trim)
            .filter(|line| line.starts_with("rashomon ") && !line.contains("rashomon history"))
            .map(|line| line.split(['#', '>', '<']).next().unwrap_or_default())
            .map(|line| {
                // Quotes come in pairs: what lies between them is one word.
                line.split('\'')
                    .enumerate()
                    .flat_map(|(number, part)| match number % 2 {
                        0 => part.split_whitespace().map(str::to_owned).collect(),
                        _ => vec![part.to_owned()],
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn every_command_in_the_documents_is_one_that_the_program_takes() {
        let documents = [
            include_str!("../../README.md"),
            include_str!("../../docs/checkers.md"),
            include_str!("../../docs/workload.md"),
            include_str!("../../docs/reproducer-format.md"),
            include_str!("../../docs/exports.md"),
            include_str!("../../docs/triage.md"),
            include_str!("../../docs/report.md"),
            include_str!("../../docs/profiles.md"),
        ];
        let mut texts: Vec<String> = documents.map(str::to_owned).to_vec();
        for command in command().get_subcommands() {
            texts.extend(command.get_after_help().map(ToString::to_string));
        }
        let commands: Vec<Vec<String>> = texts.iter().flat_map(|text| commands_in(text)).collect();
        assert!(commands.len() > 20, "{commands:?}");
        for words in commands {
            let taken = command().try_get_matches_from(&words);
            assert!(taken.is_ok(), "{words:?}: {}", taken.unwrap_err());
        }
    }

    /// A consumer of the lines of JSON finds each command in a schema: docs/events.schema.json has `fuzz`.
    #[test]
    fn every_command_with_lines_of_json_has_a_schema() {
        let schema = include_str!("../../docs/commands.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
        let prints_json = |command: &&clap::Command| {
            let formats = command.get_arguments().find(|one| one.get_id() == "format");
            let formats = formats
                .map(clap::Arg::get_possible_values)
                .unwrap_or_default();
            formats.iter().any(|one| one.get_name() == "json")
        };
        let command = command();
        let names = command.get_subcommands().filter(prints_json);
        let names: Vec<&str> = names.map(clap::Command::get_name).collect();
        assert!(names.len() > 10, "{names:?}");
        for name in names.iter().filter(|name| **name != "fuzz") {
            assert!(schema["$defs"][name]["oneOf"].is_array(), "{name}");
        }
    }

    /// A shell completes a level to its names, not to those of files.
    #[test]
    fn options_that_take_a_level_know_its_names() {
        let command = command();
        let arguments = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments);
        let takes_level = |one: &&clap::Arg| {
            let names = one.get_value_names().unwrap_or_default();
            names.iter().any(|name| name == "LEVEL")
        };
        let of_levels: Vec<&clap::Arg> = arguments.filter(takes_level).collect();
        assert!(of_levels.len() >= 4, "{of_levels:?}");
        for argument in of_levels {
            let names = argument.get_possible_values();
            let mut names = names.iter().map(clap::builder::PossibleValue::get_name);
            assert!(names.any(|name| name == "repeatable-read"), "{argument}");
        }
    }

    #[test]
    fn the_examples_fit_the_width_of_the_help() {
        for command in command().get_subcommands() {
            let examples = command.get_after_help().map(ToString::to_string);
            for line in examples.unwrap_or_default().lines() {
                assert!(line.len() <= 100, "{}: {line}", command.get_name());
            }
        }
    }
}
