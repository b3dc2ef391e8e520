//! What holds level by level, and what holds instead on servers with some variables.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::LockReach;
use super::answer::{SERIALIZATION_CAUSES, SerializationCause};
use super::text::{DialectError, DialectText};
use crate::model::{ConsistencyModel, IsolationLevel};

/// A consistency model that a level promises instead, on servers with these variables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromiseEntry {
    level: Spanned<String>,
    model: Spanned<String>,
    when: BTreeMap<String, String>,
}

/// What a serialization failure needs instead at a level, on servers with these variables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CauseEntry {
    level: Spanned<String>,
    cause: Spanned<String>,
    when: BTreeMap<String, String>,
}

/// What a serialization failure needs on this server, by level.
pub(super) fn causes(
    source: &DialectText<'_>,
    entries: &BTreeMap<Spanned<String>, Spanned<String>>,
    changes: &[CauseEntry],
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<IsolationLevel, SerializationCause>, DialectError> {
    let mut causes = BTreeMap::new();
    for (level, cause) in entries {
        let level = source.word(level, &level_words())?;
        causes.insert(level, source.word(cause, &SERIALIZATION_CAUSES)?);
    }
    for change in changes {
        let level = source.word(&change.level, &level_words())?;
        let cause = source.word(&change.cause, &SERIALIZATION_CAUSES)?;
        if has_all(variables, &change.when) {
            causes.insert(level, cause);
        }
    }
    Ok(causes)
}

/// The model that each level promises on this server; a level that promises nothing has no entry.
pub(super) fn promises(
    source: &DialectText<'_>,
    table: &BTreeMap<Spanned<String>, Spanned<String>>,
    changes: &[PromiseEntry],
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<IsolationLevel, ConsistencyModel>, DialectError> {
    let mut promised = BTreeMap::new();
    for (level, model) in table {
        let key = format!("promises.{}", level.get_ref());
        let level = source.word(level, &level_words())?;
        promised.insert(level, source.value(&key, model, &model_words())?);
    }
    for change in changes {
        let level = source.word(&change.level, &level_words())?;
        let model = source.value("promise-change.model", &change.model, &model_words())?;
        if has_all(variables, &change.when) {
            promised.insert(level, model);
        }
    }
    Ok(promised)
}

const LOCK_REACHES: [(&str, LockReach); 2] =
    [("rows", LockReach::Rows), ("ranges", LockReach::Ranges)];

/// What locking reads keep from others at each level; a level where nothing is has no entry.
pub(super) fn locks(
    source: &DialectText<'_>,
    table: &BTreeMap<Spanned<String>, Spanned<String>>,
) -> Result<BTreeMap<IsolationLevel, LockReach>, DialectError> {
    let entries = table.iter().map(|(level, reach)| {
        let key = format!("locks.{}", level.get_ref());
        let level = source.word(level, &level_words())?;
        Ok((level, source.value(&key, reach, &LOCK_REACHES)?))
    });
    entries.collect()
}

/// Whether a server has these variables with these values.
pub(super) fn has_all(
    variables: &BTreeMap<String, String>,
    when: &BTreeMap<String, String>,
) -> bool {
    when.iter().all(|(name, value)| {
        let found = variables.get(name);
        found.is_some_and(|found| found.eq_ignore_ascii_case(value))
    })
}

pub(super) fn level_words() -> Vec<(&'static str, IsolationLevel)> {
    IsolationLevel::ALL
        .iter()
        .map(|level| (level.slug(), *level))
        .collect()
}

/// The models that a level may promise: linearizability is not one, since a level cannot bound a
/// transaction to one object.
fn model_words() -> [(&'static str, ConsistencyModel); 6] {
    ConsistencyModel::LADDER.map(|model| (model.slug(), model))
}
