//! The classes of errors: by code, and by message where one code stands for many.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::ErrorMessage;
use super::text::{DialectError, DialectText};
use crate::model::ErrorClass;

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum CodeEntry {
    Number(i64),
    Text(String),
}

impl CodeEntry {
    /// As the engine gives it.
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// The class of errors of one code whose message contains some words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageEntry {
    code: CodeEntry,
    says: String,
    class: Spanned<String>,
}

pub(super) fn errors(
    source: &DialectText<'_>,
    table: &BTreeMap<Spanned<String>, Vec<CodeEntry>>,
) -> Result<BTreeMap<String, ErrorClass>, DialectError> {
    let classes = class_words();
    let mut all = BTreeMap::new();
    for (class, codes) in table {
        let class = source.word(class, &classes)?;
        for code in codes {
            all.insert(code.text(), class);
        }
    }
    Ok(all)
}

pub(super) fn error_messages(
    source: &DialectText<'_>,
    entries: &[MessageEntry],
) -> Result<Vec<ErrorMessage>, DialectError> {
    let read = |entry: &MessageEntry| {
        Ok(ErrorMessage {
            code: entry.code.text(),
            says: entry.says.clone(),
            class: source.word(&entry.class, &class_words())?,
        })
    };
    entries.iter().map(read).collect()
}

pub(super) fn class_words() -> Vec<(&'static str, ErrorClass)> {
    ErrorClass::ALL
        .iter()
        .map(|class| (class.slug(), *class))
        .collect()
}
