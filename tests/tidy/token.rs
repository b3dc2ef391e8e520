//! A source as tokens with their lines. Comments are gone, doc comments too.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::Source;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Sign,
    /// A string, number or character, as it is written.
    Literal,
    /// One of `(`, `[`, `{`, or the place where a macro's fragment begins.
    Open,
    Close,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) text: String,
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    /// Where it ends: literals may have several lines.
    pub(crate) last_line: usize,
    /// Of an `Open`: the index of its `Close`.
    pub(crate) close: usize,
}

impl Token {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::Literal && self.text == text
    }
}

/// The tokens of a source.
///
/// # Panics
///
/// When it is no Rust: a planted source is meant to be, and the others compile.
pub(crate) fn tokens(source: &Source) -> Vec<Token> {
    let stream = TokenStream::from_str(&source.text)
        .unwrap_or_else(|error| panic!("{}: {error}", source.path));
    let mut found = Vec::new();
    flatten(stream, &mut found);
    found
}

fn flatten(stream: TokenStream, found: &mut Vec<Token>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        let doc = doc_comment(&trees[at..]);
        if doc > 0 {
            at += doc;
            continue;
        }
        match &trees[at] {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                let opened = found.len();
                found.push(token(TokenKind::Open, open, group.span_open()));
                flatten(group.stream(), found);
                found[opened].close = found.len();
                found.push(token(TokenKind::Close, close, group.span_close()));
            }
            TokenTree::Ident(word) => {
                found.push(token(TokenKind::Word, &word.to_string(), word.span()));
            }
            TokenTree::Punct(sign) => {
                found.push(token(TokenKind::Sign, &sign.to_string(), sign.span()));
            }
            TokenTree::Literal(literal) => {
                found.push(token(
                    TokenKind::Literal,
                    &literal.to_string(),
                    literal.span(),
                ));
            }
        }
        at += 1;
    }
}

fn token(kind: TokenKind, text: &str, span: proc_macro2::Span) -> Token {
    Token {
        kind,
        text: text.to_owned(),
        line: span.start().line,
        last_line: span.end().line,
        close: 0,
    }
}

/// How many trees a doc comment at the start takes: `#[doc = ".."]` or `#![doc = ".."]`, or none.
fn doc_comment(trees: &[TokenTree]) -> usize {
    let is_sign =
        |tree: &TokenTree, sign| matches!(tree, TokenTree::Punct(p) if p.as_char() == sign);
    if !trees.first().is_some_and(|tree| is_sign(tree, '#')) {
        return 0;
    }
    let inner = usize::from(trees.get(1).is_some_and(|tree| is_sign(tree, '!')));
    let Some(TokenTree::Group(group)) = trees.get(1 + inner) else {
        return 0;
    };
    let mut inside = group.stream().into_iter();
    let named = matches!(inside.next(), Some(TokenTree::Ident(word)) if word == "doc");
    let text = inside.next().is_some_and(|tree| is_sign(&tree, '='));
    if named && text { 2 + inner } else { 0 }
}

#[test]
fn comments_are_no_tokens_and_strings_are_one() {
    let text = "//! doc\n/// doc\n#[derive(A)]\nstruct B; // why\nconst C: &str = \"a::b\nc\";";
    let found = tokens(&Source::new("src/a.rs", text));
    let words: Vec<&str> = found.iter().map(|token| token.text.as_str()).collect();
    let expected = [
        "#",
        "[",
        "derive",
        "(",
        "A",
        ")",
        "]",
        "struct",
        "B",
        ";",
        "const",
        "C",
        ":",
        "&",
        "str",
        "=",
        "\"a::b\nc\"",
        ";",
    ];
    assert_eq!(words, expected);
    let literal = &found[found.len() - 2];
    assert_eq!((literal.line, literal.last_line), (5, 6));
    assert_eq!(found[3].close, 5);
}
