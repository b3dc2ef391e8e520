//! Functions and variables whose value no second run repeats.

use super::token::{SqlToken, TokenKind, closing, tokens};
use crate::dialect::Dialect;

/// Functions of MySQL, MariaDB, SQLite and PostgreSQL whose value depends on the session, the moment
/// or chance. MySQL manual, "Built-In Function and Operator Reference"; sqlite.org, "Built-In Scalar
/// SQL Functions"; PostgreSQL manual, "System Information Functions" and "Sequence Manipulation
/// Functions".
const FUNCTIONS: &[&str] = &[
    "against",
    "benchmark",
    "changes",
    "clock_timestamp",
    "connection_id",
    "curdate",
    "current_database",
    "current_schema",
    "current_setting",
    "currval",
    "curtime",
    "database",
    "found_rows",
    "gen_random_uuid",
    "get_lock",
    "inet_client_port",
    "inet_server_port",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "last_insert_rowid",
    "lastval",
    "lo_creat",
    "lo_create",
    "nextval",
    "now",
    "pg_backend_pid",
    "pg_current_snapshot",
    "pg_current_wal_lsn",
    "pg_current_xact_id",
    "pg_current_xact_id_if_assigned",
    "pg_lock_status",
    "pg_postmaster_start_time",
    "rand",
    "random",
    "random_bytes",
    "random_normal",
    "randomblob",
    "release_all_locks",
    "release_lock",
    "row_count",
    "schema",
    "session_user",
    "set_config",
    "setval",
    "statement_timestamp",
    "sys_guid",
    "sysdate",
    "system_user",
    "timeofday",
    "to_regclass",
    "total_changes",
    "transaction_timestamp",
    "txid_current",
    "txid_current_if_assigned",
    "txid_current_snapshot",
    "unix_timestamp",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
    "uuid_v4",
    "uuid_v7",
    "uuidv4",
    "uuidv7",
];

/// The same where no parentheses need follow, and what a row has beside its columns (PostgreSQL manual, "System
/// Columns", and TABLESAMPLE of "SELECT").
const WORDS: &[&str] = &[
    "cmax",
    "cmin",
    "ctid",
    "current_catalog",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "regclass",
    "tableoid",
    "tablesample",
    "xmax",
    "xmin",
];

/// Functions whose value depends on the moment where they have so many arguments or fewer. sqlite.org, "Date And Time
/// Functions": without a time they mean now.
const OF_NOW: &[(&str, usize)] = &[
    ("date", 0),
    ("datetime", 0),
    ("julianday", 0),
    ("strftime", 1),
    ("time", 0),
    ("unixepoch", 0),
];

/// Texts that are the time of day once they are read as one. PostgreSQL manual, "Special Date/Time Inputs"; sqlite.org,
/// "Time Values".
const TEXTS_OF_NOW: &[&str] = &[
    "now",
    "subsec",
    "subsecond",
    "today",
    "tomorrow",
    "yesterday",
];

/// Functions of user locks, by what their names begin with. PostgreSQL manual, "Advisory Lock Functions".
const USER_LOCKS: &[&str] = &["pg_advisory_", "pg_try_advisory_"];

/// Whether a statement calls such a function or reads a variable.
pub(super) fn calls(words: &[SqlToken<'_>]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let is_called = words.get(at + 1).is_some_and(|next| next.is_mark('('));
        // A name after a dot is a column.
        let is_column = at > 0 && words[at - 1].is_mark('.');
        (word.kind == TokenKind::Word && word.text.starts_with('@'))
            || (is_called && (word.is_any(FUNCTIONS) || locks(word) || means_now(words, at)))
            || (!is_column && word.is_any(WORDS))
            || (word.kind == TokenKind::Text && is_now(word.text))
    })
}

fn locks(word: &SqlToken<'_>) -> bool {
    let name = word.text.to_ascii_lowercase();
    USER_LOCKS.iter().any(|prefix| name.starts_with(prefix))
}

fn is_now(text: &str) -> bool {
    let inner = text.trim_matches('\'').trim();
    let mut all = TEXTS_OF_NOW.iter();
    all.any(|word| word.eq_ignore_ascii_case(inner))
}

/// Whether a function that is called here takes the moment for what it is not given.
fn means_now(words: &[SqlToken<'_>], at: usize) -> bool {
    let Some((_, most)) = OF_NOW.iter().find(|(name, _)| words[at].is(name)) else {
        return false;
    };
    let Some(end) = closing(words, at + 1) else {
        return false;
    };
    let inner = &words[at + 2..end];
    let commas = inner.iter().filter(|word| word.is_mark(',')).count();
    let given = if inner.is_empty() { 0 } else { commas + 1 };
    given <= *most
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
            "SELECT ctid FROM t",
            "SELECT timestamp 'now'",
            "SELECT pg_try_advisory_xact_lock(1)",
            "SELECT strftime('%f'), date()",
            "SELECT * FROM t TABLESAMPLE BERNOULLI (50)",
            "SELECT * FROM t WHERE MATCH (c) AGAINST ('a')",
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
            "SELECT date('2024-01-01'), strftime('%Y', '2024-01-01'), t.xmin FROM t WHERE c = 'nowhere'",
        ] {
            assert!(!unrepeatable(sql), "{sql}");
        }
    }
}
