//! The tables of an UPDATE that stand between commas: the SQL parser reads joins there and nothing else. A comma is an inner join
//! without a condition (MySQL manual, "JOIN Clause").

use std::borrow::Cow;

use super::token::{outside_parentheses, tokens};
use crate::dialect::{Capability, Dialect};

/// The text as the parser reads it.
pub(super) fn as_read<'s>(sql: &'s str, dialect: &Dialect) -> Cow<'s, str> {
    match commas(sql, dialect) {
        Some(commas) if !commas.is_empty() => {
            let mut text = sql.to_owned();
            for at in commas.into_iter().rev() {
                text.replace_range(at..=at, " CROSS JOIN ");
            }
            Cow::Owned(text)
        }
        Some(_) | None => Cow::Borrowed(sql),
    }
}

/// Where the commas between the tables of an UPDATE stand.
fn commas(sql: &str, dialect: &Dialect) -> Option<Vec<usize>> {
    if !dialect.supports(Capability::MultiTableUpdate) {
        return None;
    }
    let words = tokens(sql, dialect)?;
    if !words.first()?.is("UPDATE") {
        return None;
    }
    let outside: Vec<_> = outside_parentheses(&words).map(|(_, word)| word).collect();
    let set = outside.iter().position(|word| word.is("SET"))?;
    let commas = outside[..set].iter().filter(|word| word.is_mark(','));
    Some(commas.map(|word| word.span.start).collect())
}

#[cfg(test)]
mod tests {
    use crate::model::{Role, StatementKind};
    use crate::statement::tests::dialect;
    use crate::statement::{analyze, simplify};

    #[test]
    fn tables_between_commas_are_joined_ones() {
        let by_comma = "UPDATE t a, (SELECT b, c FROM u) AS v, w SET a.b = 1, a.c = 2 WHERE a.b = v.b AND w.b = 3";
        let by_join =
            by_comma
                .replacen(", (", " CROSS JOIN (", 1)
                .replacen(", w", " CROSS JOIN w", 1);
        for engine in ["mysql", "mariadb"] {
            let dialect = dialect(engine);
            let effect = analyze(by_comma, &dialect);
            assert_eq!(effect.kind, StatementKind::Update, "{engine}");
            assert_eq!(effect, analyze(&by_join, &dialect), "{engine}");
            let mut uses = effect.uses.iter();
            assert!(uses.any(|used| used.table == "w" && used.role != Role::UpdateTarget));
            let mut smaller = simplify(by_comma, &dialect).into_iter();
            let tables = |sql: String| analyze(&sql, &dialect).kind == StatementKind::Update;
            assert!(smaller.all(tables), "{engine}");
        }
        // No engine without it reads it.
        let opaque = analyze(by_comma, &dialect("postgres")).kind;
        assert_eq!(opaque, StatementKind::Opaque);
    }
}
