//! Functions and variables whose value no second run repeats.

use super::token::{SqlToken, TokenKind, tokens};
use crate::dialect::Dialect;

/// Functions of MySQL, MariaDB, SQLite and PostgreSQL whose value depends on the session, the moment
/// or chance. MySQL manual, "Built-In Function and Operator Reference"; sqlite.org, "Built-In Scalar
/// SQL Functions"; PostgreSQL manual, "System Information Functions" and "Sequence Manipulation
/// Functions".
const FUNCTIONS: &[&str] = &[
    "benchmark",
    "changes",
    "clock_timestamp",
    "connection_id",
    "curdate",
    "currval",
    "curtime",
    "database",
    "found_rows",
    "gen_random_uuid",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "last_insert_rowid",
    "lastval",
    "nextval",
    "now",
    "pg_backend_pid",
    "rand",
    "random",
    "random_bytes",
    "randomblob",
    "release_all_locks",
    "release_lock",
    "row_count",
    "schema",
    "session_user",
    "setval",
    "statement_timestamp",
    "sysdate",
    "system_user",
    "total_changes",
    "transaction_timestamp",
    "txid_current",
    "unix_timestamp",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
    "uuid_v4",
    "uuid_v7",
];

/// The same where no parentheses need follow.
const WORDS: &[&str] = &[
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
];

/// Whether a statement calls such a function or reads a variable.
pub(super) fn calls(words: &[SqlToken<'_>]) -> bool {
    let is_any = |word: &SqlToken<'_>, of: &[&str]| of.iter().any(|name| word.is(name));
    words.iter().enumerate().any(|(at, word)| {
        let is_called = words.get(at + 1).is_some_and(|next| next.is_mark('('));
        // A name after a dot is a column.
        let is_column = at > 0 && words[at - 1].is_mark('.');
        (word.kind == TokenKind::Word && word.text.starts_with('@'))
            || (is_called && is_any(word, FUNCTIONS))
            || (!is_column && is_any(word, WORDS))
    })
}

/// The same of a statement's text. False for a text that cannot be cut into tokens.
pub fn is_unrepeatable(sql: &str, dialect: &Dialect) -> bool {
    tokens(sql, dialect).is_some_and(|words| calls(&words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;

    fn unrepeatable(sql: &str) -> bool {
        is_unrepeatable(sql, &dialect_of("mysql", "9.7.0"))
    }

    #[test]
    fn functions_of_session_moment_and_chance_are_unrepeatable() {
        for sql in [
            "SELECT UUID()",
            "INSERT INTO t VALUES (connection_id ())",
            "UPDATE t SET c = CURRENT_TIMESTAMP",
            "SELECT @x",
            "SELECT @@autocommit",
            "SELECT database()",
        ] {
            assert!(unrepeatable(sql), "{sql}");
        }
    }

    #[test]
    fn columns_and_texts_of_the_same_name_are_repeatable() {
        for sql in [
            "SELECT user, uuid FROM t",
            "SELECT 'UUID()' FROM t",
            "SELECT t.current_date FROM t",
            "SELECT `now` FROM t WHERE c = 'a@b'",
        ] {
            assert!(!unrepeatable(sql), "{sql}");
        }
    }
}
