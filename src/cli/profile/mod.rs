//! `fuzz --profile NAME`: settings from a file, behind those of the command line.
//!
//! A profile becomes arguments, so that every option is read, checked and refused as if it had been
//! typed. Those that the command line gives, or that contradict what it gives, are left out.

mod explain;
mod file;

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::text_file;
use file::{Profile, ProfileKey};

/// Where a profile is looked for unless `--config` names another file.
pub(super) const CONFIG_FILE: &str = "rashomon.toml";

/// `--profile`, `--config` and `--explain-settings`.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Profile")]
pub(super) struct ProfileArguments {
    /// Take the settings of this profile of the file; those of the command line come before them
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,

    /// The file of the profiles
    #[arg(long, value_name = "FILE", default_value = CONFIG_FILE, requires = "profile")]
    pub(super) config: std::path::PathBuf,

    /// Print every setting with its value and where it comes from, and run nothing
    #[arg(long)]
    pub(super) explain_settings: bool,
}

/// What the arguments of the program come to.
pub(super) enum ReadArguments {
    Command(ArgMatches),
    /// Nothing is left to run.
    Ended(Exit),
}

/// Why they come to nothing.
pub(super) enum UnreadArguments {
    /// Help and the version, too.
    Clap(clap::Error),
    Failure(Failure),
}

/// Reads the arguments of the program, with those of the profile that they name.
pub(super) fn read(
    command: &Command,
    arguments: Vec<OsString>,
    output: &mut Output,
) -> Result<ReadArguments, UnreadArguments> {
    let typed = command.clone().try_get_matches_from(&arguments);
    let typed = typed.map_err(UnreadArguments::Clap)?;
    let Some(("fuzz", fuzz)) = typed.subcommand() else {
        return Ok(ReadArguments::Command(typed));
    };
    let mut built = command.clone();
    built.build();
    let definition = built.find_subcommand("fuzz").cloned().unwrap_or_default();
    let profile = match fuzz.get_one::<String>("profile") {
        Some(name) => Some(load(fuzz, name, &definition).map_err(UnreadArguments::Failure)?),
        None => None,
    };
    let keys = profile.iter().flat_map(|profile| &profile.keys);
    let keys: Vec<&ProfileKey> = keys
        .filter(|key| !is_overruled(key, fuzz, &definition))
        .collect();
    let mut all = arguments;
    let end = all.iter().position(|word| word == "--");
    let end = end.unwrap_or(all.len());
    let added = keys.iter().filter_map(|key| key.argument.clone());
    all.splice(end..end, added.map(OsString::from));
    let matches = command.clone().try_get_matches_from(&all);
    let matches = matches.map_err(UnreadArguments::Clap)?;
    match matches.subcommand() {
        Some(("fuzz", full)) if full.get_flag("explain_settings") => {
            let name = fuzz.get_one::<String>("profile");
            let told = explain::settings(&definition, fuzz, full, (name, &keys));
            explain::print(&told, full, output).map_err(UnreadArguments::Failure)?;
            Ok(ReadArguments::Ended(Exit::Clean))
        }
        _ => Ok(ReadArguments::Command(matches)),
    }
}

fn load(fuzz: &ArgMatches, name: &str, definition: &Command) -> Result<Profile, Failure> {
    let path = fuzz.get_one::<std::path::PathBuf>("config");
    let path = path.map_or(Path::new(CONFIG_FILE), |path| path.as_path());
    let text = text_file::read(path).map_err(|failure| {
        Failure::usage(format!(
            "{}; --profile takes its settings from {CONFIG_FILE} here, or from the file of --config",
            failure.message
        ))
    })?;
    file::read(&text, &path.display().to_string(), name, definition)
}

/// Whether the command line gives the option itself, or one that excludes it.
fn is_overruled(key: &ProfileKey, typed: &ArgMatches, definition: &Command) -> bool {
    let is_typed = |id: &str| typed.value_source(id) == Some(ValueSource::CommandLine);
    let mut others = definition.get_arguments();
    let excludes = |other: &clap::Arg| {
        let names = |arg: &&clap::Arg| arg.get_id().as_str() == key.id;
        is_typed(other.get_id().as_str())
            && definition.get_arg_conflicts_with(other).iter().any(names)
    };
    is_typed(&key.id) || others.any(excludes)
}
