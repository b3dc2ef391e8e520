//! The constraints in the list of CREATE TABLE that are no part of a column.

use std::ops::Range;

use super::shape::element_ranges;
use super::token::{SqlToken, TokenKind, stands, tokens, without_end};
use crate::dialect::Dialect;

/// First words of the elements that are no columns, in the grammars of MySQL, MariaDB, PostgreSQL and
/// SQLite.
const FIRST_WORDS: [&str; 9] = [
    "CHECK",
    "CONSTRAINT",
    "EXCLUDE",
    "FOREIGN",
    "FULLTEXT",
    "INDEX",
    "KEY",
    "PRIMARY",
    "UNIQUE",
];

/// Where the keys, checks and foreign keys of a CREATE TABLE stand, in bytes, each with the comma before
/// it. None for other statements.
pub fn constraints(sql: &str, dialect: &Dialect) -> Vec<Range<usize>> {
    let Some(words) = tokens(sql, dialect) else {
        return Vec::new();
    };
    let words = without_end(&words);
    let elements = elements(words).into_iter();
    let bytes =
        |range: Range<usize>| words[range.start - 2].span.end..words[range.end - 1].span.end;
    elements.map(bytes).collect()
}

/// Where the actions of foreign keys stand, in bytes: `ON DELETE CASCADE`, with the blank before it.
pub fn foreign_key_actions(sql: &str, dialect: &Dialect) -> Vec<Range<usize>> {
    let Some(words) = tokens(sql, dialect) else {
        return Vec::new();
    };
    let words = without_end(&words);
    let mut actions = Vec::new();
    for element in elements(words) {
        for at in element {
            let begins =
                stands(words, at, &["ON", "DELETE"]) || stands(words, at, &["ON", "UPDATE"]);
            let last = match words.get(at + 2) {
                Some(word) if word.is_any(&["NO", "SET"]) => at + 3,
                _ => at + 2,
            };
            if begins && last < words.len() {
                actions.push(words[at - 1].span.end..words[last].span.end);
            }
        }
    }
    actions
}

/// The constraints that stand behind another element, in tokens.
fn elements(words: &[SqlToken<'_>]) -> Vec<Range<usize>> {
    let Some((_, elements)) = element_ranges(words) else {
        return Vec::new();
    };
    let is_constraint = |range: &Range<usize>| {
        let first = &words[range.start];
        first.kind == TokenKind::Word && FIRST_WORDS.iter().any(|word| first.is(word))
    };
    elements.into_iter().skip(1).filter(is_constraint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    const TABLE: &str = "CREATE TABLE t (pkey INT PRIMARY KEY, `key` INT, f INT, KEY (f), \
        CONSTRAINT k FOREIGN KEY (f) REFERENCES u (pkey) ON DELETE SET NULL ON UPDATE CASCADE, \
        CHECK (f IN (1, 2))) ENGINE=InnoDB";

    fn parts(
        of: impl Fn(&str, &Dialect) -> Vec<Range<usize>>,
        sql: &'static str,
    ) -> Vec<&'static str> {
        let ranges = of(sql, &dialect("mysql")).into_iter();
        ranges.map(|range| &sql[range]).collect()
    }

    #[test]
    fn constraints_are_told_from_columns() {
        assert_eq!(
            parts(constraints, TABLE),
            [
                ", KEY (f)",
                ", CONSTRAINT k FOREIGN KEY (f) REFERENCES u (pkey) ON DELETE SET NULL ON UPDATE CASCADE",
                ", CHECK (f IN (1, 2))",
            ]
        );
        assert!(parts(constraints, "CREATE INDEX i ON t (f)").is_empty());
    }

    #[test]
    fn the_actions_of_a_foreign_key_are_found_one_by_one() {
        let actions = parts(foreign_key_actions, TABLE);
        assert_eq!(actions, [" ON DELETE SET NULL", " ON UPDATE CASCADE"]);
    }
}
