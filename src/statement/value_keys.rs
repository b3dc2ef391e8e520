//! Which rows an INSERT or REPLACE with a VALUES list can make.

use std::collections::BTreeSet;

use sqlparser::ast::{SetExpr, Statement};

use super::parse::{Parsed, number};
use super::query::last_name;
use crate::dialect::Dialect;

/// The values that an INSERT or REPLACE gives a column in its VALUES list; None where one of them is no
/// integer as it stands, where the column is not listed, and for any other statement.
pub fn value_keys(sql: &str, column: &str, dialect: &Dialect) -> Option<BTreeSet<i64>> {
    let parsed = Parsed::of(sql, dialect)?;
    let Statement::Insert(insert) = &parsed.tree else {
        return None;
    };
    let SetExpr::Values(values) = insert.source.as_ref()?.body.as_ref() else {
        return None;
    };
    let named = |name: &str| name.eq_ignore_ascii_case(column);
    let mut columns = insert.columns.iter();
    let place = columns.position(|name| last_name(name).is_some_and(named))?;
    values
        .rows
        .iter()
        .map(|row| number(row.get(place)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    #[test]
    fn keys_are_known_where_each_stands_in_its_row() {
        let mysql = dialect("mysql");
        let keys = |sql: &str| Some(value_keys(sql, "pkey", &mysql)?.into_iter().collect());
        let table: [(&str, Option<Vec<i64>>); 6] = [
            (
                "REPLACE INTO t (c, PKEY) VALUES (1, 3), (1, 5)",
                Some(vec![3, 5]),
            ),
            (
                "INSERT INTO t (pkey) VALUES (3) ON DUPLICATE KEY UPDATE c = 1",
                Some(vec![3]),
            ),
            ("INSERT INTO t (pkey) VALUES (1 + 1)", None),
            ("INSERT INTO t (c) VALUES (1)", None),
            ("INSERT INTO t VALUES (1)", None),
            ("REPLACE INTO t (pkey) SELECT pkey FROM u", None),
        ];
        for (sql, expected) in table {
            assert_eq!(keys(sql), expected, "{sql}");
        }
    }
}
