//! Values of options: durations, levels, formats.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use super::exit::Failure;
use crate::model::IsolationLevel;
use crate::observe::Learner;
use crate::oracle::{ORACLES, Oracle, TxCheck};
use crate::reproducer::Registry;

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people; may change.
    Human,
    /// One JSON object a line; the last is the summary.
    Json,
}

/// `--observe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Observe {
    /// Reads added to the sessions themselves
    Probes,
    /// An extra connection that reads beside the sessions
    Observer,
}

impl Observe {
    /// As the command line spells it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Probes => "probes",
            Self::Observer => "observer",
        }
    }

    /// From the command line's spelling.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        [Self::Probes, Self::Observer]
            .into_iter()
            .find(|observe| observe.word() == word)
    }
}

/// Reads an isolation level.
pub(super) fn level(text: &str) -> Result<IsolationLevel, String> {
    if let "all" | "mixed" = text {
        return Err(format!("{text} stands for several levels: name one"));
    }
    text.parse()
        .map_err(|error: <IsolationLevel as FromStr>::Err| error.to_string())
}

/// `--isolation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LevelArgument {
    One(IsolationLevel),
    /// Each case draws one.
    All,
    /// Each session draws one.
    Mixed,
}

impl FromStr for LevelArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "mixed" => Ok(Self::Mixed),
            level => level
                .parse()
                .map(Self::One)
                .map_err(|error: <IsolationLevel as FromStr>::Err| format!("{error}, all, mixed")),
        }
    }
}

impl std::fmt::Display for LevelArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(level) => f.write_str(level.slug()),
            Self::All => f.write_str("all"),
            Self::Mixed => f.write_str("mixed"),
        }
    }
}

/// Reads `90`, `90s`, `10m`, `1h30m`, `2d`; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration: write 30s, 10m, 1h30m or 2d");
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let mut seconds = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = rest[..end].parse().map_err(|_| wrong())?;
        let unit = rest[end..].chars().next().ok_or_else(wrong)?;
        let factor = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return Err(wrong()),
        };
        let part = number.checked_mul(factor).ok_or_else(wrong)?;
        seconds = seconds.checked_add(part).ok_or_else(wrong)?;
        rest = &rest[end + unit.len_utf8()..];
    }
    if text.is_empty() {
        Err(wrong())
    } else {
        Ok(Duration::from_secs(seconds))
    }
}

/// Reads a number of at least one.
pub(super) fn positive(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a whole number from 1".to_owned()),
    }
}

/// TxCheck with probes in the sessions, for `--observe probes`.
const TXCHECK_BY_PROBES: &dyn Oracle = &TxCheck {
    learner: Learner::Probes,
};

/// Checks the name of an oracle.
pub(super) fn oracle_name(name: &str) -> Result<String, String> {
    if name == "all" || ORACLES.iter().any(|oracle| oracle.name() == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = ORACLES.iter().map(|oracle| oracle.name()).collect();
    Err(format!("one of {}, all", names.join(", ")))
}

/// The oracles of these names, in the order of [`ORACLES`].
pub(super) fn oracles_named(
    names: &[String],
    observe: Option<Observe>,
) -> Vec<&'static dyn Oracle> {
    ORACLES
        .iter()
        .filter(|oracle| {
            names
                .iter()
                .any(|name| name == "all" || name == oracle.name())
        })
        .map(|oracle| match observe {
            Some(Observe::Probes) if oracle.name() == TXCHECK_BY_PROBES.name() => TXCHECK_BY_PROBES,
            _ => *oracle,
        })
        .collect()
}

/// The registry of a file before the built-in one.
pub(super) fn registry(path: Option<&Path>) -> Result<Registry, Failure> {
    let wrong = |error: crate::reproducer::FormatError| Failure::usage(error.to_string());
    let builtin = Registry::builtin().map_err(wrong)?;
    match path {
        Some(path) => Ok(Registry::load(path).map_err(wrong)?.extended(builtin)),
        None => Ok(builtin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let seconds = |text| duration(text).map(|d| d.as_secs());
        assert_eq!(seconds("45"), Ok(45));
        assert_eq!(seconds("30s"), Ok(30));
        assert_eq!(seconds("1h30m"), Ok(5400));
        assert_eq!(seconds("2d"), Ok(172_800));
        for wrong in [
            "",
            "m",
            "10x",
            "1h30",
            "-5s",
            "1.5h",
            "99999999999999999999s",
            "1\u{e9}",
        ] {
            assert!(duration(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_unknown_level_names_all_the_known_ones() {
        let error = "snapshot"
            .parse::<LevelArgument>()
            .expect_err("no such level");
        for word in [
            "read-uncommitted",
            "repeatable-read",
            "serializable",
            "all",
            "mixed",
        ] {
            assert!(error.contains(word), "{error}");
        }
        assert_eq!(
            "read-committed".parse(),
            Ok(LevelArgument::One(IsolationLevel::ReadCommitted))
        );
    }
}
