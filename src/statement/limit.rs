//! A query without the LIMIT that cuts its result.

use super::token::{tokens, without_end};
use crate::dialect::Dialect;

/// The same SELECT without its own LIMIT, whatever clause comes behind that; None where it has none, or is of several
/// queries.
pub fn without_limit(sql: &str, dialect: &Dialect) -> Option<String> {
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    let mut depth = 0_usize;
    let mut own = Vec::new();
    for word in words {
        if word.is_mark('(') {
            depth += 1;
        } else if word.is_mark(')') {
            depth = depth.checked_sub(1)?;
        } else if depth == 0 {
            own.push(word);
        }
    }
    let selects = own.iter().filter(|word| word.is("SELECT")).count();
    let at = own.iter().position(|word| word.is("LIMIT"))?;
    if selects != 1 {
        return None;
    }
    let mut behind = own[at..].iter();
    let clause = behind.find(|word| word.is("FOR") || word.is("LOCK"));
    let rest = clause.map_or("", |clause| &sql[clause.span.start..]);
    Some(format!("{}{rest}", &sql[..own[at].span.start]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;

    #[test]
    fn the_limit_of_the_query_itself_goes_and_no_other() {
        let mysql = dialect_of("mysql", "9.7");
        for (sql, expected) in [
            (
                "SELECT a FROM t ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED",
                Some("SELECT a FROM t ORDER BY a FOR UPDATE SKIP LOCKED"),
            ),
            ("SELECT a FROM t LIMIT 2, 3;", Some("SELECT a FROM t ")),
            (
                "SELECT a FROM (SELECT b FROM t LIMIT 1) AS q LIMIT 3 LOCK IN SHARE MODE",
                Some("SELECT a FROM (SELECT b FROM t LIMIT 1) AS q LOCK IN SHARE MODE"),
            ),
            ("SELECT a FROM (SELECT b FROM t LIMIT 1) AS q", None),
            ("SELECT 'LIMIT 1' FROM t", None),
            ("SELECT a FROM t UNION SELECT b FROM u LIMIT 1", None),
        ] {
            assert_eq!(without_limit(sql, &mysql).as_deref(), expected, "{sql}");
        }
    }
}
