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

/// Where errors point: a dialect file, and behind it the files that it is laid over.
#[derive(Debug)]
pub(super) struct DialectText<'a> {
    /// Name, text and the offset of its first byte. The offsets of a file begin a byte behind the end of the one
    /// before it, so that each offset is a place of one file.
    files: Vec<(String, &'a str, usize)>,
}

impl<'a> DialectText<'a> {
    pub(super) fn new(name: &str, text: &'a str) -> Self {
        Self {
            files: vec![(name.to_owned(), text, 0)],
        }
    }

    /// Adds a file, and gives the offset of its first byte.
    pub(super) fn add(&mut self, name: &str, text: &'a str) -> usize {
        let end = self.files.last().map_or(0, |(_, text, at)| at + text.len());
        self.files.push((name.to_owned(), text, end + 1));
        end + 1
    }

    /// The first place with these letters, in the first file that has them; its beginning where none has.
    pub(super) fn place_of(&self, letters: &str) -> usize {
        let mut places = self.files.iter().filter_map(|(_, text, offset)| {
            let at = text.find(letters)?;
            Some(offset + at)
        });
        places.next().unwrap_or(0)
    }
}

impl DialectText<'_> {
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> DialectError {
        let holds = |(_, _, offset): &&(String, &str, usize)| *offset <= at;
        let file = self.files.iter().rev().find(holds);
        let (name, text, offset) = file.map_or(("", "", 0), |(name, text, offset)| {
            (name.as_str(), *text, *offset)
        });
        let before = &text[..(at - offset).min(text.len())];
        DialectError {
            file: name.to_owned(),
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
