//! A form of EDN or JSON, and what it stands for as a key or a value.

use crate::history::{Atom, Builder};

/// A form. A keyword `:ok`, a symbol `ok` and a string `"ok"` say the same where a format expects
/// one of its own names, and are three different keys or values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Nil,
    Bool(bool),
    Integer(i64),
    /// A string.
    Text(String),
    /// A keyword of EDN, without its colon.
    Keyword(String),
    /// A bare word that is none of the others.
    Symbol(String),
    List(Vec<Form>),
    Map(Vec<(Form, Form)>),
    /// A number that is no integer of 64 bits, as written.
    Number(String),
}

/// What the text of a keyword begins with.
const KEYWORD: char = ':';

/// What the text of a symbol begins with. No symbol of EDN begins like this.
const SYMBOL: char = '\'';

/// What stands around a string that would be taken for a keyword or a symbol without it.
const QUOTE: char = '"';

impl Form {
    /// The form of a bare word.
    pub(super) fn word(word: String) -> Self {
        match word.as_str() {
            "nil" | "null" => return Self::Nil,
            "true" => return Self::Bool(true),
            "false" => return Self::Bool(false),
            _ => {}
        }
        let digits = word.strip_suffix('N').unwrap_or(&word);
        if let Ok(integer) = digits.parse() {
            return Self::Integer(integer);
        }
        let first = word.trim_start_matches(['-', '+']).chars().next();
        if first.is_some_and(|c| c.is_ascii_digit()) {
            return Self::Number(word);
        }
        Self::Symbol(word)
    }

    /// The value of a field, when the form is a map that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        entries
            .iter()
            .find(|(key, _)| key.name() == Some(name))
            .map(|(_, value)| value)
    }

    /// The name that a keyword, a symbol or a string says.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Keyword(text) | Self::Symbol(text) => Some(text),
            Self::Nil
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::List(_)
            | Self::Map(_)
            | Self::Number(_) => None,
        }
    }

    /// What kind of form it is, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a truth value",
            Self::Integer(_) => "an integer",
            Self::Text(_) => "a text",
            Self::Keyword(_) => "a keyword",
            Self::Symbol(_) => "a symbol",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Number(_) => "a number that is no integer of 64 bits",
        }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        let Self::List(items) = self else {
            return None;
        };
        Some(items)
    }

    /// The form as a key, a value or a session.
    ///
    /// # Errors
    /// When it is a form that stands for none, or there are too many texts.
    pub(super) fn atom(&self, builder: &mut Builder) -> Result<Atom, String> {
        let text = match self {
            Self::Nil => return Ok(Atom::NIL),
            Self::Integer(value) => {
                let atom = Atom::integer(*value);
                return atom.ok_or_else(|| format!("the integer {value} is too small"));
            }
            Self::Text(text) if text.starts_with([KEYWORD, SYMBOL, QUOTE]) => {
                &format!("{QUOTE}{text}{QUOTE}")
            }
            Self::Text(text) => text,
            Self::Keyword(name) => &format!("{KEYWORD}{name}"),
            Self::Symbol(name) => &format!("{SYMBOL}{name}"),
            Self::Bool(_) | Self::List(_) | Self::Map(_) | Self::Number(_) => {
                return Err(format!("expected a key or a value, found {}", self.kind()));
            }
        };
        builder.text(text).map_err(|error| error.to_string())
    }

    /// The form whose [`Form::atom`] is this text; none where no form has it.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_word_byte);
        if let Some(name) = text.strip_prefix(KEYWORD) {
            return is_word(name).then(|| Self::Keyword(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(SYMBOL) {
            let form = is_word(name).then(|| Self::word(name.to_owned()))?;
            let is_bare = !name.starts_with([KEYWORD, '#']) && matches!(form, Self::Symbol(_));
            return is_bare.then_some(form);
        }
        if let Some(rest) = text.strip_prefix(QUOTE) {
            let inner = rest.strip_suffix(QUOTE)?;
            let needs_it = inner.starts_with([KEYWORD, SYMBOL, QUOTE]);
            return needs_it.then(|| Self::Text(inner.to_owned()));
        }
        Some(Self::Text(text.to_owned()))
    }
}

/// What a keyword, a symbol or a number is made of.
#[inline] // Asked of every byte by another file, which is another unit of code generation.
pub(super) fn is_word_byte(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b",;[](){}\"".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_keyword_symbol_and_string_is_a_text_of_its_own_and_is_found_again_from_it() {
        let mut builder = Builder::new(Atom::NIL);
        let mut atoms = Vec::new();
        for name in ["x", ":x", "'x", "\"x", "\":x", "\":x\"", "", ":", "a b"] {
            let mut forms = vec![Form::Text(name.to_owned())];
            if !name.is_empty() && name.bytes().all(is_word_byte) {
                forms.push(Form::Keyword(name.to_owned()));
                if !name.starts_with(KEYWORD) {
                    forms.push(Form::Symbol(name.to_owned()));
                }
            }
            for form in forms {
                let atom = form.atom(&mut builder).expect("few texts");
                assert!(!atoms.contains(&atom), "{form:?}");
                atoms.push(atom);
                let text = builder.texts().show(atom);
                assert_eq!(Form::of_text(&text), Some(form), "{text}");
            }
        }
        for text in [":", ":a b", "'1", "'nil", "'#a", "\"x", "\"\"", "\""] {
            assert_eq!(Form::of_text(text), None, "{text}");
        }
    }
}
