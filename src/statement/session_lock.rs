//! Locks of tables that belong to a session and not to its transaction: `LOCK TABLES`, `FLUSH TABLES .. WITH READ LOCK`.

use super::token::{SqlToken, stands, tokens, without_end};
use crate::dialect::{Capability, Dialect};
use crate::model::{Effect, StatementKind};

/// What a statement, once it is accepted, makes of the tables that its session has locked (MySQL manual, "LOCK TABLES and UNLOCK
/// TABLES Statements", "FLUSH Statement").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionLock {
    /// It locks some until an UNLOCK TABLES, or until a transaction begins.
    OfTables,
    /// It locks all of them until an UNLOCK TABLES.
    OfServer,
    /// A transaction begins: those that were locked by name are free.
    LetsGoOfTables,
    /// They are free.
    LetsGo,
}

impl SessionLock {
    /// Whether the session holds such locks once the statement is accepted.
    pub fn holds(self) -> bool {
        match self {
            Self::OfTables | Self::OfServer => true,
            Self::LetsGoOfTables | Self::LetsGo => false,
        }
    }
}

/// None for a statement that leaves such locks as they were, which is every one where sessions have none.
pub fn session_lock(sql: &str, effect: &Effect, dialect: &Dialect) -> Option<SessionLock> {
    if !dialect.supports(Capability::SessionTableLocks) {
        return None;
    }
    if effect.kind.is_begin() || effect.chains {
        return Some(SessionLock::LetsGoOfTables);
    }
    if effect.kind != StatementKind::Opaque {
        return None;
    }
    let words = tokens(sql, dialect)?;
    let words = without_end(&words);
    let first = words.first()?;
    if first.is("UNLOCK") {
        return Some(SessionLock::LetsGo);
    }
    if first.is("LOCK") {
        let names_tables = words
            .get(1)
            .is_some_and(|word| word.is_any(&["TABLE", "TABLES"]));
        return names_tables.then_some(SessionLock::OfTables);
    }
    first.is("FLUSH").then(|| flush(words)).flatten()
}

/// `FLUSH [LOCAL] TABLES [t, ..] {WITH READ LOCK | FOR EXPORT}`.
fn flush(words: &[SqlToken<'_>]) -> Option<SessionLock> {
    let stands_somewhere = |phrase: &[&str]| (0..words.len()).any(|at| stands(words, at, phrase));
    if stands_somewhere(&["FOR", "EXPORT"]) {
        return Some(SessionLock::OfTables);
    }
    let of_all = ["TABLE", "TABLES"].map(|word| stands_somewhere(&[word, "WITH", "READ", "LOCK"]));
    match of_all.contains(&true) {
        true => Some(SessionLock::OfServer),
        false => stands_somewhere(&["WITH", "READ", "LOCK"]).then_some(SessionLock::OfTables),
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionLock, session_lock};
    use crate::dialect::dialect_of;
    use crate::statement::analyze;

    #[test]
    fn what_becomes_of_the_tables_that_a_session_locks_is_read() {
        for (sql, wanted) in [
            ("LOCK TABLES t READ, u WRITE;", Some(SessionLock::OfTables)),
            ("lock table t write", Some(SessionLock::OfTables)),
            ("FLUSH TABLES t WITH READ LOCK", Some(SessionLock::OfTables)),
            ("FLUSH TABLES t FOR EXPORT", Some(SessionLock::OfTables)),
            (
                "FLUSH LOCAL TABLES WITH READ LOCK",
                Some(SessionLock::OfServer),
            ),
            ("FLUSH TABLES", None),
            ("UNLOCK TABLES", Some(SessionLock::LetsGo)),
            ("START TRANSACTION", Some(SessionLock::LetsGoOfTables)),
            ("COMMIT", None),
            ("LOCK INSTANCE FOR BACKUP", None),
            ("SELECT a FROM t LOCK IN SHARE MODE", None),
        ] {
            for engine in ["mysql", "mariadb"] {
                let dialect = dialect_of(engine, "11.8");
                let found = session_lock(sql, &analyze(sql, &dialect), &dialect);
                assert_eq!(found, wanted, "{engine}: {sql}");
            }
        }
        let postgres = dialect_of("postgres", "18");
        let sql = "LOCK TABLE ONLY t";
        assert_eq!(session_lock(sql, &analyze(sql, &postgres), &postgres), None);
    }
}
