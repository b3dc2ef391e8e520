//! The text of a dialect file, and errors that name a place in it.

use toml::Spanned;

use super::ServerVersion;

/// A dialect file that cannot be used, with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct DialectError {
    /// The name of the file, as it was given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in bytes.
    pub column: usize,
    /// What is wrong there, and what was expected.
    pub message: String,
}

/// Where errors point: the file's name and its text.
pub(super) struct DialectText<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl DialectText<'_> {
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> DialectError {
        let before = &self.text[..at.min(self.text.len())];
        DialectError {
            file: self.name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.len() - before.rfind('\n').map_or(0, |i| i + 1) + 1,
            message: message.into(),
        }
    }

    /// Looks a word up among the allowed ones.
    pub(super) fn word<T: Copy>(
        &self,
        word: &Spanned<String>,
        of: &[(&str, T)],
    ) -> Result<T, DialectError> {
        let allowed = of.iter().find(|(name, _)| name == word.get_ref());
        allowed.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
            let (word, at) = (word.get_ref(), word.span().start);
            self.error(
                at,
                format!("unknown word {word:?}: one of {}", names.join(", ")),
            )
        })
    }

    /// As [`DialectText::word`], for the value of a key, which the error names.
    pub(super) fn value<T: Copy>(
        &self,
        key: &str,
        word: &Spanned<String>,
        of: &[(&str, T)],
    ) -> Result<T, DialectError> {
        self.word(word, of).map_err(|error| DialectError {
            message: format!("{key}: {}", error.message),
            ..error
        })
    }

    /// Whether a version lies in `since..until`.
    pub(super) fn is_within(
        &self,
        since: Option<&Spanned<String>>,
        until: Option<&Spanned<String>>,
        version: &ServerVersion,
    ) -> Result<bool, DialectError> {
        let parse = |text: &Spanned<String>| {
            let parsed: ServerVersion = text.get_ref().parse().unwrap_or_default();
            if parsed.to_string() == *text.get_ref() {
                Ok(parsed)
            } else {
                let message = format!("{:?} is no version: numbers and dots", text.get_ref());
                Err(self.error(text.span().start, message))
            }
        };
        let from = since.map(parse).transpose()?;
        let before = until.map(parse).transpose()?;
        Ok(from.is_none_or(|from| *version >= from)
            && before.is_none_or(|before| *version < before))
    }
}
