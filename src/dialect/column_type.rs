//! The column types that the generator draws, and what a collation holds for equal.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::text::{DialectError, DialectText};
use super::{ServerVersion, TypeClass, TypeSpec};
use crate::model::Folding;

/// An entry of a dialect file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TypeEntry {
    sql: String,
    class: Spanned<String>,
    weight: u32,
    #[serde(default)]
    indexable: bool,
    #[serde(default)]
    closed: bool,
    #[serde(default)]
    always_nullable: bool,
    collation: Option<Spanned<String>>,
    literals: Vec<String>,
    too_long: Option<String>,
    since: Option<Spanned<String>>,
}

/// What a collation holds for equal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CollationEntry {
    name: Spanned<String>,
    #[serde(default)]
    ignores: Vec<Spanned<String>>,
    since: Option<Spanned<String>>,
}

const CLASSES: [(&str, TypeClass); 10] = [
    ("integer", TypeClass::Integer),
    ("decimal", TypeClass::Decimal),
    ("real", TypeClass::Real),
    ("text", TypeClass::Text),
    ("bytes", TypeClass::Bytes),
    ("temporal", TypeClass::Temporal),
    ("unsigned", TypeClass::Unsigned),
    ("collated", TypeClass::Collated),
    ("time", TypeClass::Time),
    ("json", TypeClass::Json),
];

/// The types that a server of this version has.
pub(super) fn types(
    source: &DialectText<'_>,
    entries: &[TypeEntry],
    version: &ServerVersion,
) -> Result<Vec<TypeSpec>, DialectError> {
    let mut found = Vec::new();
    for entry in entries {
        if !source.is_within(entry.since.as_ref(), None, version)? {
            continue;
        }
        found.push(TypeSpec {
            sql: entry.sql.clone(),
            class: source.word(&entry.class, &CLASSES)?,
            weight: entry.weight,
            indexable: entry.indexable,
            closed: entry.closed,
            always_nullable: entry.always_nullable,
            collation: entry.collation.as_ref().map(|name| name.get_ref().clone()),
            literals: entry.literals.clone(),
            too_long: entry.too_long.clone(),
        });
    }
    Ok(found)
}

/// The types of columns that some schemas have beside the ordinary ones. Each collation must be one that the
/// file describes.
pub(super) fn extra_types(
    source: &DialectText<'_>,
    entries: &[TypeEntry],
    collations: &[CollationEntry],
    version: &ServerVersion,
) -> Result<Vec<TypeSpec>, DialectError> {
    for name in entries.iter().filter_map(|entry| entry.collation.as_ref()) {
        let mut known = collations.iter();
        if !known.any(|known| known.name.get_ref() == name.get_ref()) {
            let message = format!("no [[collation]] describes {:?}", name.get_ref());
            return Err(source.error(name.span().start, message));
        }
    }
    types(source, entries, version)
}

/// What each collation of a server of this version holds for equal, by its name.
pub(super) fn collations(
    source: &DialectText<'_>,
    entries: &[CollationEntry],
    version: &ServerVersion,
) -> Result<BTreeMap<String, Folding>, DialectError> {
    let mut found = BTreeMap::new();
    for entry in entries {
        if !source.is_within(entry.since.as_ref(), None, version)? {
            continue;
        }
        let mut folding = Folding::default();
        for word in &entry.ignores {
            let blanks = source.word(word, &[("case", false), ("trailing-blanks", true)])?;
            folding.case |= !blanks;
            folding.trailing_blanks |= blanks;
        }
        found.insert(entry.name.get_ref().clone(), folding);
    }
    Ok(found)
}
