//! Removes a column from a table and from the statements that fill it.

use std::collections::BTreeSet;

use sqlparser::ast::{SetExpr, Statement};

use super::analyze;
use super::parse::Parsed;
use super::shape::element_ranges;
use super::simplify::without_position;
use super::token::without_end;
use super::token::{SqlToken, tokens};
use crate::dialect::Dialect;
use crate::model::TableShape;

/// The statement without a column of a table: CREATE TABLE without its definition, INSERT without
/// its value in each row, any statement that does not name it unchanged. None when the statement
/// names the column otherwise: as key part, in an expression, in SET.
pub fn without_column(
    sql: &str,
    table: &TableShape,
    column: &str,
    dialect: &Dialect,
) -> Option<String> {
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    let smaller = if let Some((name, elements)) = element_ranges(words)
        && name.eq_ignore_ascii_case(&table.name)
    {
        let own = elements
            .iter()
            .find(|range| is_name(&words[range.start], column));
        match own {
            Some(_) if elements.len() == 1 => return None,
            Some(own) => cut(sql, words, own),
            None => sql.to_owned(),
        }
    } else {
        without_value(sql, words, table, column, dialect)?
    };
    let again = tokens(&smaller, dialect)?;
    (!names_column(&again, sql, table, column, dialect)).then_some(smaller)
}

fn is_name(token: &SqlToken<'_>, name: &str) -> bool {
    token
        .name()
        .is_some_and(|text| text.eq_ignore_ascii_case(name))
}

/// The text without one element of a list, and without the comma beside it.
fn cut(sql: &str, words: &[SqlToken<'_>], element: &std::ops::Range<usize>) -> String {
    let after = words.get(element.end).filter(|word| word.is_mark(','));
    let (start, end) = match after {
        Some(_) => (
            words[element.start].span.start,
            words
                .get(element.end + 1)
                .map_or(sql.len(), |word| word.span.start),
        ),
        None => (
            words[element.start - 1].span.start,
            words[element.end - 1].span.end,
        ),
    };
    format!("{}{}", &sql[..start], &sql[end..])
}

/// An INSERT into the table without the column's value; any other statement as it is.
fn without_value(
    sql: &str,
    words: &[SqlToken<'_>],
    table: &TableShape,
    column: &str,
    dialect: &Dialect,
) -> Option<String> {
    let inserts = words
        .first()
        .is_some_and(|word| word.is("INSERT") || word.is("REPLACE"));
    let writes = analyze(sql, dialect)
        .targets()
        .any(|target| target.eq_ignore_ascii_case(&table.name));
    if !inserts || !writes {
        return Some(sql.to_owned());
    }
    let parsed = Parsed::new(sql, words, dialect)?;
    let Statement::Insert(insert) = &parsed.tree else {
        return None;
    };
    let listed = insert.columns.iter().position(|name| {
        let name = super::query::last_name(name).unwrap_or_default();
        name.eq_ignore_ascii_case(column)
    });
    let values = matches!(
        insert.source.as_ref().map(|query| query.body.as_ref()),
        Some(SetExpr::Values(_))
    );
    let place = match listed {
        Some(place) => place,
        None if !insert.columns.is_empty() => return Some(sql.to_owned()),
        None if values => table.column(column)?,
        // Which column a SELECT * fills without a column list is unknown here.
        None => return None,
    };
    let smaller = without_position(insert, place)?;
    parsed.print(&Statement::Insert(smaller), dialect)
}

/// Whether a statement still names the column: after its table's name or alias, or alone in a
/// statement that uses the table.
fn names_column(
    words: &[SqlToken<'_>],
    original: &str,
    table: &TableShape,
    column: &str,
    dialect: &Dialect,
) -> bool {
    if !words.iter().any(|word| is_name(word, &table.name)) {
        return false;
    }
    let effect = analyze(original, dialect);
    let others: BTreeSet<String> = effect
        .uses
        .iter()
        .map(|used| used.table.to_ascii_lowercase())
        .filter(|name| !name.eq_ignore_ascii_case(&table.name))
        .collect();
    (0..words.len()).any(|at| {
        let qualifier = (at >= 2 && words[at - 1].is_mark('.'))
            .then(|| words[at - 2].name())
            .flatten();
        // An alias may be this table's; only the name of another table surely is not.
        let of_another = qualifier.is_some_and(|name| others.contains(&name.to_ascii_lowercase()));
        is_name(&words[at], column) && !of_another
    })
}
