//! Session variables that choose how a statement is carried out, and must not change what it answers.

use serde::Deserialize;
use toml::Spanned;

use super::ServerVersion;
use super::text::{DialectError, DialectText};

/// A session variable of the optimizer, with values that the generator may draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSetting {
    /// As a SET or PRAGMA spells it.
    pub variable: String,
    /// Values other than the default one, as SQL.
    pub values: Vec<String>,
}

/// A session variable that changes what statements mean, and what the generator may give it: a session that
/// sets one is judged by statements run alone under the same value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionMode {
    /// As a SET spells it.
    pub variable: String,
    /// What every session begins with, as SQL.
    pub usual: String,
    /// The other values that are judged and drawn, as SQL.
    pub others: Vec<String>,
}

/// An entry of a dialect file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanSettingEntry {
    variable: String,
    values: Vec<String>,
    since: Option<Spanned<String>>,
    until: Option<Spanned<String>>,
}

/// The settings that a server of this version has. A variable may have several entries.
pub(super) fn plan_settings(
    source: &DialectText<'_>,
    entries: Vec<PlanSettingEntry>,
    version: &ServerVersion,
) -> Result<Vec<PlanSetting>, DialectError> {
    let mut found = Vec::new();
    for entry in entries {
        if source.is_within(entry.since.as_ref(), entry.until.as_ref(), version)? {
            found.push(PlanSetting {
                variable: entry.variable,
                values: entry.values,
            });
        }
    }
    Ok(found)
}
