//! Cuts by words, for the minimizer: finds and replaces names, splits VALUES lists into rows. The
//! rest of a text stays as it was written.

use super::token::{SqlToken, TokenKind, stands, tokens};
use crate::dialect::Dialect;
use crate::model::Effect;

/// Whether a statement contains a name, quoted or not, in any case. Keywords count as names. True
/// for a text with an unclosed quote or comment.
pub fn mentions(sql: &str, name: &str, dialect: &Dialect) -> bool {
    tokens(sql, dialect).is_none_or(|tokens| tokens.iter().any(|token| names(token, name)))
}

/// Whether words stand in a statement one right behind another, in any case. True for a text with an unclosed quote or comment.
pub fn mentions_together(sql: &str, words: &[&str], dialect: &Dialect) -> bool {
    tokens(sql, dialect).is_none_or(|tokens| (0..tokens.len()).any(|at| stands(&tokens, at, words)))
}

/// How often a statement reads or writes a table by its name: occurrences that no dot follows, as it
/// does where the name qualifies a column. None for a text with an unclosed quote or comment.
pub fn count_mentions(sql: &str, table: &str, dialect: &Dialect) -> Option<usize> {
    let tokens = tokens(sql, dialect)?;
    let is_table = |at: usize| {
        let qualifies = tokens.get(at + 1).is_some_and(|next| next.is_mark('.'));
        names(&tokens[at], table) && !qualifies
    };
    Some((0..tokens.len()).filter(|at| is_table(*at)).count())
}

/// Whether each row that a SELECT finds shows in its result by itself: row by row, without LIMIT, outer join or subquery.
pub fn shows_each_row(sql: &str, effect: &Effect, dialect: &Dialect) -> bool {
    effect.row_by_row
        && !effect.outer_join
        && !mentions(sql, "LIMIT", dialect)
        && count_mentions(sql, "SELECT", dialect) == Some(1)
}

/// The statement with every occurrence of a name replaced.
pub fn renamed(sql: &str, old: &str, new: &str, dialect: &Dialect) -> String {
    let Some(tokens) = tokens(sql, dialect) else {
        return sql.to_owned();
    };
    let mut text = String::new();
    let mut at = 0;
    for token in tokens.iter().filter(|token| names(token, old)) {
        text.push_str(&sql[at..token.span.start]);
        if token.kind == TokenKind::Quoted {
            text.push_str(&dialect.quote(new));
        } else {
            text.push_str(new);
        }
        at = token.span.end;
    }
    text.push_str(&sql[at..]);
    text
}

fn names(token: &SqlToken<'_>, name: &str) -> bool {
    match token.kind {
        TokenKind::Word => token.text.eq_ignore_ascii_case(name),
        TokenKind::Quoted => token
            .name()
            .is_some_and(|text| text.eq_ignore_ascii_case(name)),
        TokenKind::Text | TokenKind::Number | TokenKind::Mark => false,
    }
}

/// An `INSERT .. VALUES`, split at its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRows {
    /// The text up to the first row.
    before: String,
    /// Each row with its parentheses.
    rows: Vec<String>,
    /// The text after the last row.
    behind: String,
}

impl ValueRows {
    /// Splits a statement; None when it has no VALUES list.
    pub fn of(sql: &str, dialect: &Dialect) -> Option<Self> {
        let tokens = tokens(sql, dialect)?;
        let values = (0..tokens.len()).find(|index| {
            stands(&tokens, *index, &["VALUES"]) || stands(&tokens, *index, &["VALUE"])
        })?;
        let mut rows = Vec::new();
        let mut at = values + 1;
        let start = tokens.get(at)?.span.start;
        let mut end = start;
        while tokens.get(at).is_some_and(|token| token.is_mark('(')) {
            let close = closing(&tokens, at)?;
            end = tokens[close].span.end;
            rows.push(sql[tokens[at].span.start..end].to_owned());
            at = close + 1;
            if !tokens.get(at).is_some_and(|token| token.is_mark(',')) {
                break;
            }
            at += 1;
        }
        (!rows.is_empty()).then(|| Self {
            before: sql[..start].to_owned(),
            rows,
            behind: sql[end..].to_owned(),
        })
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Always false: a statement without rows is not split.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The statement with only the rows for whose index `keep` is true; None when no row is left.
    pub fn with(&self, keep: impl Fn(usize) -> bool) -> Option<String> {
        let rows: Vec<&str> = self
            .rows
            .iter()
            .enumerate()
            .filter(|(number, _)| keep(*number))
            .map(|(_, row)| row.as_str())
            .collect();
        (!rows.is_empty()).then(|| format!("{}{}{}", self.before, rows.join(", "), self.behind))
    }
}

/// The parenthesis that closes the one at a token.
fn closing(tokens: &[SqlToken<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.is_mark('(') {
            depth += 1;
        } else if token.is_mark(')') {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    #[test]
    fn renamed_replaces_names_and_leaves_strings_and_longer_names() {
        let mysql = dialect("mysql");
        let sql = "UPDATE t1 SET `T1`.c = 't1', t10 = 1 /* t1 */ WHERE t1.c > 0";
        assert!(mentions(sql, "t1", &mysql));
        assert!(!mentions("SELECT 't1' FROM t10", "t1", &mysql));
        assert_eq!(
            renamed(sql, "t1", "t0", &mysql),
            "UPDATE t0 SET `t0`.c = 't1', t10 = 1 /* t1 */ WHERE t0.c > 0"
        );
    }

    #[test]
    fn words_are_together_where_nothing_stands_between_them() {
        let sqlite = dialect("sqlite");
        let together = |sql| mentions_together(sql, &["OR", "ROLLBACK"], &sqlite);
        assert!(together(
            "INSERT or /* see below */ rollback INTO t VALUES (1)"
        ));
        assert!(!together("ROLLBACK TO SAVEPOINT a"));
        assert!(!together("UPDATE OR IGNORE t SET c = 'OR ROLLBACK'"));
        assert!(!together("SELECT a OR b AS rollback FROM t"));
    }

    #[test]
    fn value_rows_split_at_parentheses() {
        let sql = "INSERT INTO t (a, b) VALUES (1, ')'), (f(2), '('),(3, NULL) AS n";
        let rows = ValueRows::of(sql, &dialect("mysql")).unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!(
            rows.with(|number| number != 0).unwrap(),
            "INSERT INTO t (a, b) VALUES (f(2), '('), (3, NULL) AS n"
        );
        assert_eq!(rows.with(|_| false), None);
        assert_eq!(
            ValueRows::of("INSERT INTO t SELECT 1", &dialect("mysql")),
            None
        );
    }
}
