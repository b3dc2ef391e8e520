//! Values of options that name something of ours: levels, oracles, formats, data files.

use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::exit::Failure;
pub(super) use super::quantity::positive;
use super::text_file;
use crate::dialect::Dialect;
use crate::generate::{LevelChoice, UnknownLevelChoice};
use crate::grammar::Grammar;
use crate::model::{IsolationLevel, UnknownLevel};
use crate::observe::{Learner, UnknownLearner};
use crate::oracle::{BY_PROBES, ORACLES, Oracle};
use crate::reproducer::Registry;

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OutputFormat {
    /// For people; may change.
    Human,
    /// One JSON object a line; the last is the summary.
    Json,
}

/// Reads a value as a function does, and knows the names that a shell may complete it to.
#[derive(Clone)]
pub(super) struct NameParser<T> {
    read: fn(&str) -> Result<T, String>,
    names: fn() -> Vec<&'static str>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for NameParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        self.read.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// The parser of `--observe`.
pub(super) fn learner_parser() -> NameParser<Learner> {
    NameParser {
        read: learner,
        names: || {
            [Learner::Observer, Learner::Probes]
                .map(Learner::slug)
                .to_vec()
        },
    }
}

/// The parser of an isolation level.
pub(super) fn level_parser() -> NameParser<IsolationLevel> {
    NameParser {
        read: level,
        names: || IsolationLevel::ALL.map(IsolationLevel::slug).to_vec(),
    }
}

/// The parser of `--isolation` where it may stand for several levels.
pub(super) fn levels_parser() -> NameParser<LevelChoice> {
    NameParser {
        read: levels,
        names: || {
            let single = IsolationLevel::ALL.map(IsolationLevel::slug);
            single.into_iter().chain(["all", "mixed"]).collect()
        },
    }
}

/// Reads `--observe`.
fn learner(text: &str) -> Result<Learner, String> {
    text.parse()
        .map_err(|error: UnknownLearner| error.to_string())
}

/// Reads `--isolation` where it may stand for several levels.
fn levels(text: &str) -> Result<LevelChoice, String> {
    text.parse()
        .map_err(|error: UnknownLevelChoice| error.to_string())
}

/// Reads an isolation level.
fn level(text: &str) -> Result<IsolationLevel, String> {
    if let "all" | "mixed" = text {
        return Err(format!("{text} stands for several levels: name one"));
    }
    text.parse()
        .map_err(|error: UnknownLevel| error.to_string())
}

/// The names that `--oracle` takes, each with what the oracle does.
pub(super) fn oracle_names() -> PossibleValuesParser {
    let oracles = ORACLES.iter();
    let named = oracles.map(|oracle| PossibleValue::new(oracle.name()).help(oracle.about()));
    let all = PossibleValue::new(EVERY_ORACLE)
        .help("every oracle, each where it applies; but for recovery, which kills the server");
    PossibleValuesParser::new(named.chain([all]))
}

/// Stands for every oracle.
const EVERY_ORACLE: &str = "all";

/// The oracles of these names, in the order of [`ORACLES`]. All where none is named, but for those that
/// have the server killed: they are asked for by name.
pub(super) fn oracles_named(
    names: &[String],
    learner: Option<Learner>,
) -> Vec<&'static dyn Oracle> {
    let wanted = |oracle: &dyn Oracle| {
        let is_all = names.is_empty() || names.iter().any(|name| name == EVERY_ORACLE);
        let is_named = names.iter().any(|name| name == oracle.name());
        is_named || (is_all && !oracle.needs().crash)
    };
    ORACLES
        .iter()
        .filter(|oracle| wanted(**oracle))
        .map(|oracle| {
            let named = |other: &&&dyn Oracle| other.name() == oracle.name();
            let by_probes = BY_PROBES.iter().find(named);
            match (learner, by_probes) {
                (Some(Learner::Probes), Some(other)) => *other,
                _ => *oracle,
            }
        })
        .collect()
}

/// `--known none`: nothing is known, neither by the registry nor by the dialect. A file of this name is
/// `./none`.
pub(super) fn nothing_is_known(known: Option<&Path>) -> bool {
    known == Some(Path::new("none"))
}

/// The registry of a file before the built-in one, or none.
pub(super) fn registry(path: Option<&Path>) -> Result<Registry, Failure> {
    if nothing_is_known(path) {
        return Ok(Registry::empty());
    }
    let wrong = |error: crate::reproducer::FormatError| Failure::usage(error.to_string());
    let builtin = Registry::builtin().map_err(wrong)?;
    match path {
        Some(path) => {
            text_file::check_plain(path)?;
            Ok(Registry::load(path).map_err(wrong)?.extended(builtin))
        }
        None => Ok(builtin),
    }
}

/// The grammar of a folder, or the built-in one.
pub(super) fn grammar(folder: Option<&Path>, dialect: &Dialect) -> Result<Grammar, Failure> {
    let grammar = match folder {
        Some(folder) => Grammar::load(folder, &dialect.engine),
        None => Grammar::builtin(&dialect.engine),
    };
    grammar.map_err(|error| Failure::usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_none_leaves_nothing_known_and_a_file_of_that_name_has_a_path() {
        let none = Path::new("none");
        assert!(nothing_is_known(Some(none)));
        let entries = |path| registry(path).map(|registry| registry.entries.len());
        assert!(matches!(entries(Some(none)), Ok(0)));
        assert!(matches!(entries(None), Ok(built_in) if built_in > 0));
        assert!(!nothing_is_known(Some(Path::new("./none"))) && !nothing_is_known(None));
    }

    #[test]
    fn an_unknown_level_names_all_the_known_ones() {
        let error = levels("snapshot").expect_err("no such level");
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
            levels("read-committed"),
            Ok(LevelChoice::One(IsolationLevel::ReadCommitted))
        );
    }
}
