//! Statements cut into tokens: enough to tell commands apart and to find tables and conditions.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexemeKind {
    /// A keyword, a name or a number.
    Word,
    /// A quoted name.
    Quoted,
    /// A string literal.
    Literal,
    /// One character of anything else.
    Mark,
}

/// A piece of a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'t> {
    pub(super) kind: LexemeKind,
    pub(super) text: &'t str,
    /// Where it begins in the statement, in bytes.
    pub(super) at: usize,
    /// How many parentheses are open around it.
    pub(super) depth: usize,
}

impl Lexeme<'_> {
    /// Whether it is this keyword.
    pub(super) fn is(&self, word: &str) -> bool {
        self.kind == LexemeKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(super) fn is_mark(&self, mark: &str) -> bool {
        self.kind == LexemeKind::Mark && self.text == mark
    }

    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// The name that it spells, in lower case; none where it cannot be a name.
    pub(super) fn name(&self) -> Option<String> {
        match self.kind {
            LexemeKind::Word => Some(self.text.to_ascii_lowercase()),
            LexemeKind::Quoted => {
                let inner = self.text.get(1..self.text.len().saturating_sub(1))?;
                Some(inner.replace("\"\"", "\"").to_ascii_lowercase())
            }
            LexemeKind::Literal | LexemeKind::Mark => None,
        }
    }
}

/// Cuts a statement; comments are dropped, and so is a semicolon at the end.
pub(super) fn tokens(sql: &str) -> Vec<Lexeme<'_>> {
    let bytes = sql.as_bytes();
    let mut found: Vec<Lexeme<'_>> = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        let (kind, end) = match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at = sql[at..].find('\n').map_or(sql.len(), |length| at + length);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = sql[at + 2..].find("*/");
                at = end.map_or(sql.len(), |length| at + length + 4);
                continue;
            }
            b'\'' => (LexemeKind::Literal, quoted_end(bytes, at)),
            b'"' | b'`' => (LexemeKind::Quoted, quoted_end(bytes, at)),
            byte if is_word(byte) => {
                let length = bytes[at..].iter().take_while(|byte| is_word(**byte));
                (LexemeKind::Word, at + length.count())
            }
            _ => (LexemeKind::Mark, at + 1),
        };
        let text = &sql[at..end];
        if text == ")" && kind == LexemeKind::Mark {
            depth = depth.saturating_sub(1);
        }
        found.push(Lexeme {
            kind,
            text,
            at,
            depth,
        });
        if text == "(" && kind == LexemeKind::Mark {
            depth += 1;
        }
        at = end;
    }
    if found.last().is_some_and(|last| last.is_mark(";")) {
        found.pop();
    }
    found
}

/// Letters, digits, `_`, `$`, and every byte of a character beyond ASCII.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Where a quoted text that begins here ends; a doubled quote is part of it.
fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        if bytes[at] == quote {
            if bytes.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    bytes.len()
}

/// Whether these keywords stand here, one after the other.
pub(super) fn stands(tokens: &[Lexeme<'_>], at: usize, words: &[&str]) -> bool {
    words
        .iter()
        .enumerate()
        .all(|(offset, word)| tokens.get(at + offset).is_some_and(|token| token.is(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_names_and_comments_are_told_apart() {
        let sql = "SELECT \"a\"\"b\", 'it''s (' FROM t -- end\n WHERE (x>=1);";
        let found = tokens(sql);
        let texts: Vec<&str> = found.iter().map(|token| token.text).collect();
        let expected = [
            "SELECT",
            "\"a\"\"b\"",
            ",",
            "'it''s ('",
            "FROM",
            "t",
            "WHERE",
            "(",
            "x",
            ">",
            "=",
            "1",
            ")",
        ];
        assert_eq!(texts, expected);
        assert_eq!(found[1].name().as_deref(), Some("a\"b"));
        assert_eq!(found[8].depth, 1);
        assert_eq!(found[12].depth, 0);
    }
}
