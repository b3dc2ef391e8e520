//! `--explain-settings`: every setting with its value and where it comes from.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use super::file::ProfileKey;
use crate::cli::exit::Failure;
use crate::cli::output::Output;
use crate::cli::terminal::printable;
use crate::cli::value::OutputFormat;
use crate::engine::Target;

/// The variable that holds the password.
const PASSWORD: &str = "RASHOMON_PASSWORD";

/// What is no setting of a run.
const NOT_SETTINGS: &[&str] = &["explain_settings", "help", "version"];

/// A setting as it is told.
pub(super) struct ToldSetting {
    name: String,
    /// None where it is not set.
    value: Option<String>,
    source: String,
}

/// Every setting of a run, in the order of `--help`. `typed`: what the command line gives; `full`: the
/// profile, too.
pub(super) fn settings(
    definition: &Command,
    typed: &ArgMatches,
    full: &ArgMatches,
    (profile, keys): (Option<&String>, &[&ProfileKey]),
) -> Vec<ToldSetting> {
    let is_told = |arg: &&Arg| !NOT_SETTINGS.contains(&arg.get_id().as_str());
    let mut told: Vec<ToldSetting> = definition
        .get_arguments()
        .filter(is_told)
        .map(|arg| {
            let id = arg.get_id().as_str();
            let is_typed = typed.value_source(id) == Some(ValueSource::CommandLine);
            let of_profile = keys.iter().any(|key| key.id == id);
            let source = match full.value_source(id) {
                _ if is_typed => "command line".to_owned(),
                _ if of_profile => format!("profile {}", profile.map_or("", |name| name)),
                Some(ValueSource::EnvVariable) => {
                    let name = arg.get_env().unwrap_or_default().to_string_lossy();
                    format!("environment {name}")
                }
                _ => "default".to_owned(),
            };
            ToldSetting {
                name: arg.get_long().unwrap_or(id).to_owned(),
                value: value(arg, full),
                source,
            }
        })
        .collect();
    let is_set = std::env::var_os(PASSWORD).is_some();
    told.push(ToldSetting {
        name: "password".to_owned(),
        value: is_set.then(|| "(not shown)".to_owned()),
        source: match is_set {
            true => format!("environment {PASSWORD}"),
            false => "default".to_owned(),
        },
    });
    told
}

/// The value of an argument, or the default that its help names.
fn value(arg: &Arg, full: &ArgMatches) -> Option<String> {
    let id = arg.get_id().as_str();
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        let word = if full.get_flag(id) { "true" } else { "false" };
        return Some(word.to_owned());
    }
    let Some(values) = full.get_raw(id) else {
        let help = arg.get_long_help().or(arg.get_help())?.to_string();
        let (_, rest) = help.split_once("[default: ")?;
        return Some(rest.split_once(']')?.0.to_owned());
    };
    let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
    let value = values.join(",");
    // A password in a URL is shown nowhere.
    Some(match value.parse::<Target>() {
        Ok(target) if id == "target" => target.to_string(),
        Ok(_) | Err(_) => value,
    })
}

pub(super) fn print(
    told: &[ToldSetting],
    full: &ArgMatches,
    output: &mut Output,
) -> Result<(), Failure> {
    let is_json = full.get_one::<OutputFormat>("format") == Some(&OutputFormat::Json);
    for ToldSetting {
        name,
        value,
        source,
    } in told
    {
        if is_json {
            output.json(&json!({
                "v": 1, "event": "setting", "name": name, "value": value, "source": source,
            }))?;
            continue;
        }
        let value = value.as_deref().unwrap_or("not set");
        output.line(&printable(&format!("{name:<20} {value:<34} {source}")))?;
    }
    if is_json {
        output.json(&json!({ "v": 1, "event": "summary", "settings": told.len() }))?;
    }
    Ok(())
}
