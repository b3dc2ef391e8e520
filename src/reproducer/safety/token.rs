//! The tokens of a statement that is checked.

use super::super::scanner;

/// A word, a quoted name or a character, words in capitals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    /// A name in back-ticks or double quotes, in capitals.
    Name(String),
    Text,
    Sign(char),
}

impl Token {
    /// A keyword or a sign, as text.
    pub(super) fn is(&self, text: &str) -> bool {
        match self {
            Self::Word(word) => word == text,
            Self::Sign(sign) => text.len() == 1 && text.starts_with(*sign),
            Self::Name(_) | Self::Text => false,
        }
    }

    pub(super) fn identifier(&self) -> Option<&str> {
        match self {
            Self::Word(word) | Self::Name(word) => Some(word),
            Self::Text | Self::Sign(_) => None,
        }
    }
}

pub(super) fn one_of(token: &Token, words: &[&str]) -> bool {
    words.iter().any(|word| token.is(word))
}

/// How many bytes of the text are the word that it begins with; 0 where it begins with none.
pub(super) fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .unwrap_or(text.len())
}

/// Cuts a statement into tokens, comments left out.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < sql.len() {
        let rest = &sql[at..];
        if rest.starts_with("/*!") || rest.starts_with("/*M!") {
            return Err("an executable comment hides what it runs".to_owned());
        }
        // What one engine or mode reads as a comment or an escape, another reads as text.
        let minus = rest
            .strip_prefix("--")
            .is_some_and(|rest| !rest.starts_with(char::is_whitespace) && !rest.is_empty());
        if rest.starts_with('#') || minus {
            return Err("a comment for some engines only".to_owned());
        }
        let length = scanner::token_length(sql, at).ok_or("a quote or comment has no end")?;
        let whole = &rest[..length];
        let first = rest.chars().next().unwrap_or(' ');
        let length_of_word = word_length(rest);
        if length_of_word > 0 {
            tokens.push(Token::Word(rest[..length_of_word].to_uppercase()));
            at += length_of_word;
            continue;
        }
        match first {
            '\'' | '`' | '"' if whole.contains("\\'") || whole.contains("\\\"") => {
                return Err("a backslash before a quote".to_owned());
            }
            '\'' => tokens.push(Token::Text),
            '`' | '"' => tokens.push(Token::Name(whole[1..length - 1].to_uppercase())),
            _ if length > first.len_utf8() || first.is_whitespace() => {}
            _ => tokens.push(Token::Sign(first)),
        }
        at += length;
    }
    Ok(tokens)
}

/// The parts between commas outside of parentheses.
pub(super) fn split_at_commas(tokens: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0_i32;
    tokens
        .split(|token| {
            depth += i32::from(token.is("(")) - i32::from(token.is(")"));
            depth == 0 && token.is(",")
        })
        .collect()
}
