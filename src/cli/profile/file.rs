//! The file of profiles: `[profile.nightly]` with a key for each option of `fuzz`.

use std::ops::Range;

use clap::{Arg, ArgAction, Command};
use toml::de::{DeTable, DeValue};

use crate::cli::exit::Failure;
use crate::engine::Target;

/// What no profile holds: it says which settings are read, and what is done with them.
const NOT_SETTINGS: &[&str] = &["profile", "config", "explain-settings", "help", "version"];

/// The key of the server, which has no option.
const TARGET: &str = "target";

/// A setting of a profile.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProfileKey {
    /// Of the argument.
    pub(super) id: String,
    /// As it would be typed; none of a switch that is off.
    pub(super) argument: Option<String>,
}

/// A profile of a file, in the order of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) keys: Vec<ProfileKey>,
}

/// A file on its way to a profile.
struct ProfileReader<'a> {
    text: &'a str,
    /// As messages call it.
    path: &'a str,
    definition: &'a Command,
}

/// The profile of this name. Every profile of the file is checked.
///
/// # Errors
/// With the line and the remedy.
pub(super) fn read(
    text: &str,
    path: &str,
    name: &str,
    definition: &Command,
) -> Result<Profile, Failure> {
    let reader = ProfileReader {
        text,
        path,
        definition,
    };
    let root = DeTable::parse(text)
        .map_err(|error| reader.wrong(&error.span().unwrap_or_default(), error.message()))?;
    let mut named = Vec::new();
    for (key, value) in root.get_ref() {
        let profiles = value.get_ref().as_table();
        let Some(profiles) = profiles.filter(|_| key.get_ref() == "profile") else {
            let message = format!(
                "{:?} is no table of profiles: write [profile.NAME]",
                key.get_ref()
            );
            return Err(reader.wrong(&key.span(), &message));
        };
        for (key, value) in profiles {
            let Some(settings) = value.get_ref().as_table() else {
                let message = format!("{0:?} is no profile: write [profile.{0}]", key.get_ref());
                return Err(reader.wrong(&key.span(), &message));
            };
            named.push((key.get_ref().to_string(), reader.profile(settings)?));
        }
    }
    let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
    let found = named.into_iter().find(|(found, _)| found == name);
    found.map(|(_, profile)| profile).ok_or_else(|| {
        Failure::usage(format!(
            "{path} has no profile {name:?}: it has {}",
            match names.is_empty() {
                true => "none".to_owned(),
                false => names.join(", "),
            }
        ))
    })
}

impl ProfileReader<'_> {
    fn wrong(&self, span: &Range<usize>, message: &str) -> Failure {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Failure::usage(format!("{}:{line}: {message}", self.path))
    }

    fn profile(&self, settings: &DeTable<'_>) -> Result<Profile, Failure> {
        let mut keys = Vec::new();
        for (key, value) in settings {
            let name = key.get_ref().as_ref();
            let setting = self.setting(name, value.get_ref());
            keys.push(setting.map_err(|message| self.wrong(&key.span(), &message))?);
        }
        Ok(Profile { keys })
    }

    fn setting(&self, name: &str, value: &DeValue<'_>) -> Result<ProfileKey, String> {
        let Some(option) = self.option(name) else {
            return Err(self.unknown(name));
        };
        let argument = match (option.get_action(), value) {
            (ArgAction::SetTrue, DeValue::Boolean(true)) => Some(format!("--{name}")),
            (ArgAction::SetTrue, DeValue::Boolean(false)) => None,
            (ArgAction::SetTrue, _) => return Err(format!("{name} is true or false")),
            _ => Some(worded(name, value)?),
        };
        if let Some(argument) = &argument {
            self.check(name, argument)?;
        }
        Ok(ProfileKey {
            id: option.get_id().to_string(),
            argument,
        })
    }

    /// The option of a key, or the argument of the server.
    fn option(&self, name: &str) -> Option<&Arg> {
        let mut options = self.definition.get_arguments();
        options.find(|option| match option.get_long() {
            Some(long) => long == name && !NOT_SETTINGS.contains(&long),
            None => name == TARGET && option.get_id() == TARGET,
        })
    }

    fn unknown(&self, name: &str) -> String {
        if name.contains("password") {
            return format!(
                "a password does not belong in this file: {name} is no setting; name a file that only \
                 you can read as password-file, or set RASHOMON_PASSWORD"
            );
        }
        let longs = self.definition.get_arguments().filter_map(Arg::get_long);
        let names = longs
            .chain([TARGET])
            .filter(|name| !NOT_SETTINGS.contains(name));
        let nearest = names.min_by_key(|known| strsim::damerau_levenshtein(name, known));
        format!(
            "fuzz has no setting {name:?}; did you mean {:?}?",
            nearest.unwrap_or_default()
        )
    }

    /// Refuses what the command line would refuse.
    fn check(&self, name: &str, argument: &str) -> Result<(), String> {
        if name == TARGET
            && let Ok(target) = argument.parse::<Target>()
            && target.password().is_some()
        {
            return Err(
                "a password does not belong in this file: leave it out of the URL, and name a file that \
                 only you can read as password-file, or set RASHOMON_PASSWORD"
                    .to_owned(),
            );
        }
        let alone = Command::new("fuzz").args(self.option(name).cloned());
        let read = alone.try_get_matches_from(["fuzz", argument]);
        read.map(|_| ()).map_err(|error| {
            let text = error.to_string();
            let text = text.lines().next().unwrap_or_default();
            text.trim_start_matches("error: ").to_owned()
        })
    }
}

/// A setting as it would be typed.
fn worded(name: &str, value: &DeValue<'_>) -> Result<String, String> {
    let word = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    };
    let text = match value.as_array() {
        Some(values) => {
            let words: Option<Vec<String>> = values.iter().map(|v| word(v.get_ref())).collect();
            words.map(|words| words.join(","))
        }
        None => word(value),
    };
    let text = text.ok_or_else(|| {
        format!("{name} is a text, a whole number, or a list of them, as after --{name}")
    })?;
    Ok(match name {
        TARGET => text,
        _ => format!("--{name}={text}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Command {
        let mut command = crate::cli::command();
        command.build();
        command
            .find_subcommand("fuzz")
            .expect("it is there")
            .clone()
    }

    fn refusal(text: &str) -> String {
        let read = read(text, "r.toml", "a", &definition());
        read.expect_err("it is refused").message
    }

    #[test]
    fn the_profiles_of_the_page_are_what_they_say() {
        let page = include_str!("../../../docs/profiles.md");
        let blocks = page.split("```toml\n").skip(1);
        let text: String = blocks.filter_map(|rest| rest.split("```").next()).collect();
        for (name, argument) in [
            ("nightly", "--wait-for-server=15m"),
            ("release-gate", "--cases=20000"),
            ("soak", "--oracle=txcheck,serial,isolation,history"),
        ] {
            let profile = read(&text, "r.toml", name, &definition());
            let profile = profile.unwrap_or_else(|failure| panic!("{}", failure.message));
            let arguments: Vec<String> = profile
                .keys
                .into_iter()
                .filter_map(|key| key.argument)
                .collect();
            assert!(arguments.iter().any(|a| a == argument), "{arguments:?}");
            let words = ["rashomon", "fuzz"].map(str::to_owned);
            let all =
                crate::cli::command().try_get_matches_from(words.into_iter().chain(arguments));
            assert!(all.is_ok(), "{name}: {}", all.unwrap_err());
        }
    }

    #[test]
    fn every_option_of_fuzz_is_a_setting_by_its_long_name() {
        let definition = definition();
        let reader = ProfileReader {
            text: "",
            path: "r.toml",
            definition: &definition,
        };
        for option in definition.get_arguments().filter_map(Arg::get_long) {
            let is_setting = reader.option(option).is_some();
            assert_eq!(is_setting, !NOT_SETTINGS.contains(&option), "{option}");
        }
        assert!(reader.option(TARGET).is_some());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_the_remedy() {
        for (lines, says) in [
            (
                "worker = 2",
                "r.toml:3: fuzz has no setting \"worker\"; did you mean \"workers\"?",
            ),
            ("taget = \"sqlite:\"", "did you mean \"target\"?"),
            (
                "for = \"soon\"",
                "r.toml:3: invalid value 'soon' for '--for <TIME>'",
            ),
            (
                "workers = 0",
                "r.toml:3: invalid value '0' for '--workers <N>'",
            ),
            (
                "workers = 1.5",
                "workers is a text, a whole number, or a list of them",
            ),
            ("brief = \"yes\"", "r.toml:3: brief is true or false"),
            ("profile = \"b\"", "fuzz has no setting \"profile\""),
            (
                "password = \"s3cret\"",
                "a password does not belong in this file",
            ),
            (
                "target = \"mysql://u:s3cret@h:1\"",
                "a password does not belong in this file",
            ),
            ("seed = ", "r.toml:3: "),
        ] {
            let message = refusal(&format!("[profile.a]\nseed = 1\n{lines}\n"));
            assert!(message.contains(says), "{lines}: {message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
        for (text, says) in [
            ("[profile.b]\n", "r.toml has no profile \"a\": it has b"),
            ("", "it has none"),
            ("[profiles.a]\n", "write [profile.NAME]"),
            (
                "[profile]\na = 1\n",
                "r.toml:2: \"a\" is no profile: write [profile.a]",
            ),
            ("[profile.a]\n[profile.b]\nx = 1\n", "r.toml:3: "),
        ] {
            let message = refusal(text);
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn switches_are_on_or_off_and_numbers_are_as_they_are_typed() {
        let text =
            "[profile.a]\nbrief = true\ndoublecheck = false\ncases = 1_000\ntarget = \"sqlite:\"\n";
        let profile = read(text, "r.toml", "a", &definition()).expect("it reads");
        let arguments: Vec<Option<&str>> = profile
            .keys
            .iter()
            .map(|key| key.argument.as_deref())
            .collect();
        assert_eq!(
            arguments,
            [Some("--brief"), None, Some("--cases=1000"), Some("sqlite:")]
        );
    }
}
