//! Smaller variants of one statement, for the minimizer.
//!
//! Candidates are made from the syntax tree, printed, and read again. Each keeps the properties
//! that the oracles rely on ([`sound`]): version keys, row keys, and every clause that makes the
//! answer depend on the data alone. A candidate whose answer depends on the order of rows would be
//! a false alarm.

mod expression;
mod sound;
mod structure;

use std::collections::BTreeSet;

use sqlparser::ast::Statement;

use super::analyze;
use super::parse::Parsed;
use super::token::without_end;
use super::token::{SqlToken, tokens};
use crate::dialect::Dialect;
use sound::Guards;
pub(super) use structure::without_position;

/// Smaller variants of a statement, the shortest text first; none of an opaque statement or of
/// transaction control. Each has the kind of the original.
pub fn simplify(sql: &str, dialect: &Dialect) -> Vec<String> {
    let Some(words) = tokens(sql, dialect) else {
        return Vec::new();
    };
    let effect = analyze(sql, dialect);
    let words = without_end(&words);
    if effect.kind.is_control() {
        return Vec::new();
    }
    let Some(parsed) = Parsed::new(sql, words, dialect) else {
        return Vec::new();
    };
    let guards = Guards::of(&parsed.tree);
    let mut trees: Vec<Statement> = structure::candidates(&parsed.tree);
    trees.extend(expression::candidates(&parsed.tree));
    trees.extend(
        without_aliases(sql, words)
            .iter()
            .filter_map(|text| Some(Parsed::new(text, &tokens(text, dialect)?, dialect)?.tree)),
    );
    let original = parsed.print(&parsed.tree, dialect).unwrap_or_default();
    let mut seen = BTreeSet::from([original.clone()]);
    let mut found: Vec<String> = trees
        .iter()
        .filter(|tree| guards.hold(tree))
        .filter_map(|tree| parsed.print(tree, dialect))
        .filter(|text| text.len() <= original.len() && seen.insert(text.clone()))
        .filter(|text| {
            let smaller = analyze(text, dialect);
            let targets: Vec<&str> = effect.targets().collect();
            smaller.kind == effect.kind
                && (smaller.targets().count() > 0) != targets.is_empty()
                && smaller.targets().all(|target| targets.contains(&target))
        })
        .collect();
    found.sort_by_key(String::len);
    found
}

/// The statement without one alias each: of a table that it names once.
fn without_aliases(sql: &str, words: &[SqlToken<'_>]) -> Vec<String> {
    let is = |word: &SqlToken<'_>, name: &str| word.name().as_deref() == Some(name);
    (1..words.len().saturating_sub(1))
        .filter(|at| words[*at].is("AS"))
        .filter_map(|at| {
            let (table, alias) = (words[at - 1].name()?, words[at + 1].name()?);
            if words.iter().filter(|word| is(word, &table)).count() != 1 {
                return None;
            }
            let mut text = String::new();
            let mut copied = 0;
            for (index, word) in words.iter().enumerate() {
                if index == at {
                    text.push_str(sql[copied..word.span.start].trim_end());
                    copied = words[at + 1].span.end;
                } else if index != at + 1 && word.name().as_ref() == Some(&alias) {
                    text.push_str(&sql[copied..word.span.start]);
                    text.push_str(words[at - 1].text);
                    copied = word.span.end;
                }
            }
            text.push_str(&sql[copied..]);
            Some(text)
        })
        .collect()
}
