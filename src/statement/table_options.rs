//! The clauses behind the column list of CREATE TABLE.

use std::ops::Range;

use super::shape::element_ranges;
use super::token::without_end;
use super::token::{SqlToken, TokenKind, tokens};
use crate::dialect::Dialect;

/// First words of clauses, in the grammars of MySQL, MariaDB and SQLite.
const FIRST_WORDS: &[&str] = &[
    "AUTO_INCREMENT",
    "AVG_ROW_LENGTH",
    "CHARACTER",
    "CHARSET",
    "CHECKSUM",
    "COLLATE",
    "COMMENT",
    "COMPRESSION",
    "DEFAULT",
    "ENCRYPTION",
    "ENGINE",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PAGE_COMPRESSED",
    "ROW_FORMAT",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STRICT",
    "TABLESPACE",
    "TRANSACTIONAL",
    "WITH",
    "WITHOUT",
];

/// Where the clauses behind the column list of a CREATE TABLE stand, in bytes, each with the blank or
/// the comma before it: engine, character set, collation, partitions. None for other statements.
pub fn table_options(sql: &str, dialect: &Dialect) -> Vec<Range<usize>> {
    let Some(words) = tokens(sql, dialect) else {
        return Vec::new();
    };
    let words = without_end(&words);
    let Some(close) = element_ranges(words).and_then(|(_, elements)| Some(elements.last()?.end))
    else {
        return Vec::new();
    };
    let starts: Vec<usize> = (close + 1..words.len())
        .filter(|at| begins_clause(words, close, *at))
        .collect();
    let partition = |at: &usize| words[*at].is("PARTITION");
    let mut options = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = match starts.get(index + 1) {
            Some(next) if !partition(start) => *next,
            _ => words.len(),
        };
        options.push(words[start - 1].span.end..words[end - 1].span.end);
        if partition(start) {
            break;
        }
    }
    options
}

/// Whether a clause begins at this word: `CHARSET` behind `DEFAULT` belongs to its clause, and so does
/// what stands behind the comma that begins one.
fn begins_clause(words: &[SqlToken<'_>], close: usize, at: usize) -> bool {
    let word = &words[at];
    if word.is_mark(',') {
        return true;
    }
    let before = &words[at - 1];
    let continues =
        at > close + 1 && (before.is("DEFAULT") || before.is_mark(',') || before.is_mark('='));
    let first = word.is("PARTITION") || FIRST_WORDS.iter().any(|first| word.is(first));
    word.kind == TokenKind::Word && first && !continues
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(sql: &str, expect: &Expect) {
        let dialect = crate::dialect::dialect_of("mysql", "9.7.0");
        let options: Vec<&str> = table_options(sql, &dialect)
            .into_iter()
            .map(|range| &sql[range])
            .collect();
        expect.assert_eq(&options.join("|"));
    }

    #[test]
    fn the_clauses_behind_the_column_list_are_told_apart() {
        check(
            "CREATE TABLE t0 (c0 INT DEFAULT 1) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 \
             COLLATE=utf8mb4_bin COMMENT 'a, ENGINE' PARTITION BY HASH (c0) PARTITIONS 3;",
            &expect![[
                r#" ENGINE=InnoDB| DEFAULT CHARSET=utf8mb4| COLLATE=utf8mb4_bin| COMMENT 'a, ENGINE'| PARTITION BY HASH (c0) PARTITIONS 3"#
            ]],
        );
        check(
            "CREATE TABLE IF NOT EXISTS t0 (c0 INT) WITHOUT ROWID, STRICT",
            &expect![[r#" WITHOUT ROWID|, STRICT"#]],
        );
        check("CREATE TABLE t0 (c0 INT)", &expect![""]);
        check("INSERT INTO t0 (c0) VALUES (1)", &expect![""]);
    }
}
