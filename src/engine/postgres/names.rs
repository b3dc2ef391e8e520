//! Names of PostgreSQL, and how names and texts stand in statements.

/// As URLs and dialect files name the engine.
pub(super) const NAME: &str = "postgres";

/// Where we log in unless the URL names a database: it is there on every server.
pub(super) const MAINTENANCE: &str = "postgres";

/// Ends a read-only default of the server. A standby stays read-only: its primary takes writes.
pub(super) const READ_WRITE: &str =
    "ALTER SYSTEM SET default_transaction_read_only = off; SELECT pg_reload_conf()";

/// An identifier in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Text as a literal. The server's `standard_conforming_strings` is on, as it is by default since
/// 9.1 and always from 19 on; the session sets it all the same.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
