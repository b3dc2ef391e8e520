//! `LOCK TABLE .. IN .. MODE`.

use super::token::{SqlToken, object_name, stands};
use crate::dialect::{Capability, Dialect};
use crate::model::{Effect, StatementKind, TableLock, TableLockMode};

/// The effect of a LOCK TABLE that names its tables one by one, where the dialect has it; None for any other statement,
/// such as one with ONLY, which leaves partitions alone.
pub(super) fn analyze(words: &[SqlToken<'_>], dialect: &Dialect) -> Option<Effect> {
    if !dialect.supports(Capability::LockTable) || !stands(words, 0, &["LOCK"]) {
        return None;
    }
    let names_kind = stands(words, 1, &["TABLE"]);
    let mut tables = Vec::new();
    let mut at = if names_kind { 2 } else { 1 };
    loop {
        let (table, after) = object_name(words, at)?;
        tables.push(table);
        at = after;
        match words.get(at) {
            Some(comma) if comma.is_mark(',') => at += 1,
            _ => break,
        }
    }
    let (mode, rest) = mode(&words[at..])?;
    let nowait = stands(rest, 0, &["NOWAIT"]);
    (rest.len() == usize::from(nowait)).then(|| Effect {
        nowait,
        table_lock: Some(TableLock { tables, mode }),
        ..Effect::of_kind(StatementKind::LockTable)
    })
}

/// The mode, and the words behind it. Without one it is the strongest.
fn mode<'w, 'a>(words: &'w [SqlToken<'a>]) -> Option<(TableLockMode, &'w [SqlToken<'a>])> {
    if !stands(words, 0, &["IN"]) {
        return Some((TableLockMode::AccessExclusive, words));
    }
    let end = words.iter().position(|word| word.is("MODE"))?;
    let named = &words[1..end];
    let is = |mode: &TableLockMode| {
        let sql = mode.sql();
        let parts: Vec<&str> = sql.split(' ').collect();
        parts.len() == named.len() && stands(named, 0, &parts)
    };
    let mode = TableLockMode::ALL.into_iter().find(is)?;
    Some((mode, &words[end + 1..]))
}

#[cfg(test)]
mod tests {
    use crate::dialect::dialect_of;
    use crate::model::{StatementKind, TableLock, TableLockMode};
    use crate::statement::analyze;

    #[test]
    fn tables_and_mode_are_read() {
        let postgres = dialect_of("postgres", "18");
        let all: [(&str, &[&str], TableLockMode, bool); 4] = [
            (
                "LOCK TABLE t0",
                &["t0"],
                TableLockMode::AccessExclusive,
                false,
            ),
            (
                "lock t0 nowait",
                &["t0"],
                TableLockMode::AccessExclusive,
                true,
            ),
            (
                "LOCK TABLE t0, \"t1\" IN SHARE ROW EXCLUSIVE MODE;",
                &["t0", "t1"],
                TableLockMode::ShareRowExclusive,
                false,
            ),
            (
                "LOCK TABLE t0 IN SHARE MODE NOWAIT",
                &["t0"],
                TableLockMode::Share,
                true,
            ),
        ];
        for (sql, tables, mode, nowait) in all {
            let effect = analyze(sql, &postgres);
            let tables = tables.iter().map(|&table| table.to_owned()).collect();
            assert_eq!(effect.kind, StatementKind::LockTable, "{sql}");
            assert_eq!(effect.table_lock, Some(TableLock { tables, mode }), "{sql}");
            assert_eq!(effect.nowait, nowait, "{sql}");
        }
    }

    #[test]
    fn what_locks_less_than_it_names_or_is_of_another_engine_stays_opaque() {
        for (sql, engine, version) in [
            ("LOCK TABLE ONLY t0 IN SHARE MODE", "postgres", "18"),
            ("LOCK TABLE t0 IN SHARED MODE", "postgres", "18"),
            ("LOCK TABLE t0 * IN SHARE MODE", "postgres", "18"),
            ("LOCK TABLES t0 READ", "mysql", "9.7"),
            ("LOCK TABLE t0 IN SHARE MODE", "mysql", "9.7"),
        ] {
            let effect = analyze(sql, &dialect_of(engine, version));
            assert_eq!(effect.kind, StatementKind::Opaque, "{sql}");
        }
    }
}
