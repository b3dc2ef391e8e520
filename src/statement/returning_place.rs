//! Where the RETURNING of a DELETE stands that has an ORDER BY or a LIMIT: the SQL parser reads it before them, and
//! MariaDB takes it behind them only (MariaDB manual, "DELETE").

use super::token::{outside_parentheses, tokens, without_end};
use crate::dialect::{Capability, Dialect};

/// The text as the parser reads it.
pub(super) fn as_read(sql: &str, dialect: &Dialect) -> String {
    swapped(sql, dialect, |order, returning| order < returning)
}

/// A text as the parser prints it, in the order in which the engine takes it.
pub(super) fn as_written(text: &str, dialect: &Dialect) -> String {
    swapped(text, dialect, |order, returning| returning < order)
}

/// The DELETE with its RETURNING and what orders or limits it in each other's place, where they stand so; any other
/// text as it is.
fn swapped(sql: &str, dialect: &Dialect, stand_so: impl Fn(usize, usize) -> bool) -> String {
    match places(sql, dialect) {
        Some((order, returning, end)) if stand_so(order, returning) => {
            let (first, second) = (order.min(returning), order.max(returning));
            let (head, tail) = (&sql[..first], &sql[end..]);
            format!(
                "{head}{} {}{tail}",
                &sql[second..end],
                sql[first..second].trim_end()
            )
        }
        Some(_) | None => sql.to_owned(),
    }
}

/// Where the ORDER BY or LIMIT, and the RETURNING, of a DELETE begin, and where it ends.
fn places(sql: &str, dialect: &Dialect) -> Option<(usize, usize, usize)> {
    let has_both = [Capability::ReturningDelete, Capability::WriteLimit];
    if !has_both.iter().all(|it| dialect.supports(*it)) {
        return None;
    }
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    if !words.first()?.is("DELETE") {
        return None;
    }
    let place = |names: &[&str]| {
        let mut top = outside_parentheses(words);
        let found = top.find(|(_, word)| names.iter().any(|name| word.is(name)));
        found.map(|(_, word)| word.span.start)
    };
    let end = words.last()?.span.end;
    Some((place(&["ORDER", "LIMIT"])?, place(&["RETURNING"])?, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Form, Role, StatementKind};
    use crate::statement::tests::dialect;
    use crate::statement::{analyze, simplify};

    const DELETE: &str = "DELETE FROM t WHERE a IN (SELECT b FROM u ORDER BY b LIMIT 1) ORDER BY pkey LIMIT 2 \
                          RETURNING pkey, a";

    #[test]
    fn a_delete_that_orders_its_rows_and_returns_them_is_read() {
        let effect = analyze(DELETE, &dialect("mariadb"));
        assert_eq!(effect.kind, StatementKind::Delete);
        let mut roles = effect
            .uses
            .iter()
            .map(|used| (used.table.as_str(), used.role));
        assert!(roles.any(|used| used == ("t", Role::DeleteTarget)));
        assert!(effect.forms.contains(&Form::Limit));
    }

    #[test]
    fn smaller_ones_have_it_in_the_place_where_the_engine_takes_it() {
        let smaller = simplify(DELETE, &dialect("mariadb"));
        let expected = [
            "DELETE FROM t ORDER BY pkey LIMIT 2 RETURNING pkey, a",
            "DELETE FROM t WHERE a IN (SELECT b FROM u ORDER BY b LIMIT 1) RETURNING pkey, a",
            "DELETE FROM t WHERE a IN (SELECT b FROM u ORDER BY b LIMIT 1) ORDER BY pkey LIMIT 2",
            "DELETE FROM t WHERE a IN (SELECT b FROM u ORDER BY b LIMIT 1) ORDER BY pkey LIMIT 2 RETURNING pkey",
        ];
        for text in expected {
            assert!(smaller.iter().any(|s| s == text), "{text}: {smaller:#?}");
        }
        let strays = smaller.iter().filter(|text| {
            let (returning, limit) = (text.rfind(" RETURNING"), text.rfind(" LIMIT 2"));
            returning.is_some() && returning < limit
        });
        assert_eq!(strays.count(), 0, "{smaller:#?}");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let (mariadb, sqlite) = (dialect("mariadb"), dialect("sqlite"));
        for sql in [
            "DELETE FROM t WHERE a = 'ORDER BY RETURNING' LIMIT 1",
            "DELETE FROM t RETURNING *",
            "INSERT INTO t SELECT a FROM u ORDER BY a LIMIT 1 RETURNING *",
        ] {
            assert_eq!(as_read(sql, &mariadb), sql);
        }
        let other = "DELETE FROM t ORDER BY a RETURNING *";
        assert_eq!(as_read(other, &sqlite), other);
        assert_eq!(
            as_read(other, &mariadb),
            "DELETE FROM t RETURNING * ORDER BY a"
        );
    }
}
