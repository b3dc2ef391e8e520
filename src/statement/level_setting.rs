//! Statements that set an isolation level, and for what.

use super::token::{SqlToken, stands, tokens, without_end};
use crate::dialect::Dialect;
use crate::model::IsolationLevel;

/// What a statement sets the level of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelScope {
    /// Of the transaction that it begins.
    Begun,
    /// Of the transaction that it stands in, before that has done anything; where the engine has it outside, of the next one.
    OneTransaction,
    /// Of every later transaction of its session.
    Session,
}

/// The level that a statement sets, where it sets nothing else (MySQL manual, "SET TRANSACTION Statement"; PostgreSQL manual, "SET
/// TRANSACTION" and "BEGIN"); none for any other statement, and where the words may mean something else.
pub fn level_set(sql: &str, dialect: &Dialect) -> Option<(LevelScope, IsolationLevel)> {
    let tokens = tokens(sql, dialect)?;
    let words = without_end(&tokens);
    if words.iter().any(|word| word.is_mark(',')) {
        return None;
    }
    if words.first()?.is_any(&["BEGIN", "START"]) {
        let (_, level) = named_level(words)?;
        return Some((LevelScope::Begun, level));
    }
    words.first().filter(|word| word.is("SET"))?;
    let of_session = &["SET", "SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"];
    let starts: [(LevelScope, &[&str]); 3] = [
        (LevelScope::OneTransaction, &["SET", "TRANSACTION"]),
        (LevelScope::Session, &["SET", "SESSION", "TRANSACTION"]),
        (LevelScope::Session, of_session),
    ];
    for (scope, start) in starts {
        if stands(words, 0, start) {
            let (at, level) = named_level(words)?;
            // A mode beside it, as READ ONLY, is no level.
            let is_all =
                at == start.len() && words.len() == at + 2 + level.sql().split(' ').count();
            return is_all.then_some((scope, level));
        }
    }
    let level = variable_level(words)?;
    Some((LevelScope::Session, level))
}

/// Where `ISOLATION LEVEL ..` stands, and the level that it names.
fn named_level(words: &[SqlToken<'_>]) -> Option<(usize, IsolationLevel)> {
    let at = (0..words.len()).find(|at| stands(words, *at, &["ISOLATION", "LEVEL"]))?;
    let is_named = |level: &IsolationLevel| {
        let name: Vec<&str> = level.sql().split(' ').collect();
        stands(words, at + 2, &name)
    };
    let level = IsolationLevel::ALL.into_iter().find(is_named)?;
    Some((at, level))
}

/// The value of the variable that holds the level of a session's transactions: `SET SESSION transaction_isolation = 'READ-COMMITTED'`,
/// `SET default_transaction_isolation TO 'read committed'`.
fn variable_level(words: &[SqlToken<'_>]) -> Option<IsolationLevel> {
    let has_scope = words.get(1)?.is("SESSION");
    let [variable, equals, value] = &words[1 + usize::from(has_scope)..] else {
        return None;
    };
    let is_of_session = variable.is("default_transaction_isolation")
        || (has_scope && variable.is_any(&["transaction_isolation", "tx_isolation"]));
    let assigns = equals.is_mark('=') || equals.is("TO");
    let level = value.text.trim_matches(['\'', '"']).parse().ok();
    level.filter(|_| is_of_session && assigns)
}

#[cfg(test)]
mod tests {
    use super::{LevelScope, level_set};
    use crate::dialect::dialect_of;
    use crate::model::IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};

    #[test]
    fn a_level_is_read_with_what_it_is_of() {
        use LevelScope::{Begun, OneTransaction, Session};
        for (sql, scope, level) in [
            ("BEGIN ISOLATION LEVEL SERIALIZABLE;", Begun, Serializable),
            (
                "START TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
                Begun,
                RepeatableRead,
            ),
            (
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
                OneTransaction,
                ReadCommitted,
            ),
            (
                "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                Session,
                Serializable,
            ),
            (
                "set session characteristics as transaction isolation level serializable",
                Session,
                Serializable,
            ),
            (
                "SET SESSION transaction_isolation = 'READ-COMMITTED'",
                Session,
                ReadCommitted,
            ),
            (
                "SET default_transaction_isolation TO 'repeatable read'",
                Session,
                RepeatableRead,
            ),
        ] {
            for engine in ["postgres", "mysql"] {
                let found = level_set(sql, &dialect_of(engine, "18"));
                assert_eq!(found, Some((scope, level)), "{engine}: {sql}");
            }
        }
    }

    #[test]
    fn what_sets_something_else_is_not_read() {
        for sql in [
            "begin isolation level read committed, read only",
            "BEGIN",
            "SET TRANSACTION READ ONLY",
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY",
            "SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET transaction_isolation = 'READ-COMMITTED'",
            "SET SESSION transaction_isolation = 'READ-COMMITTED', autocommit = 0",
            "SELECT 1",
        ] {
            assert_eq!(level_set(sql, &dialect_of("mysql", "9.7")), None, "{sql}");
        }
    }
}
