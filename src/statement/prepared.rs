//! Prepared statements in their SQL form: PREPARE and EXECUTE.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::model::{StatementKind, Value};

/// What a session has prepared, by the text.
#[derive(Clone, Debug, Default)]
pub struct PreparedStatements {
    names: BTreeMap<String, String>,
    count: usize,
}

/// How a statement is sent that is prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedText {
    /// What prepares it, where the session has not done so.
    pub prepare: Option<String>,
    pub execute: String,
}

impl PreparedStatements {
    /// How this statement is sent; none where it is sent as it stands, for no engine prepares it or this one
    /// prepares nothing.
    pub fn sent(
        &mut self,
        kind: StatementKind,
        sql: &str,
        dialect: &Dialect,
    ) -> Option<PreparedText> {
        let spelling = dialect.spelling.prepared.as_ref()?;
        if !may_be_prepared(kind) {
            return None;
        }
        let known = self.names.get(sql).cloned();
        let is_new = known.is_none();
        let name = known.unwrap_or_else(|| {
            self.count += 1;
            let name = format!("p{}", self.count);
            self.names.insert(sql.to_owned(), name.clone());
            name
        });
        let text = dialect.literal(&Value::Text(sql.to_owned()));
        let prepare = || {
            let named = spelling.prepare.replace("{name}", &name);
            named.replace("{text}", &text).replace("{statement}", sql)
        };
        Some(PreparedText {
            prepare: is_new.then(prepare),
            execute: spelling.execute.replace("{name}", &name),
        })
    }

    /// Forgets a statement whose PREPARE was rejected.
    pub fn forget(&mut self, sql: &str) {
        self.names.remove(sql);
    }
}

/// Reads and writes. What begins and ends transactions is prepared by some engines only.
pub fn may_be_prepared(kind: StatementKind) -> bool {
    match kind {
        StatementKind::Select
        | StatementKind::LockingSelect
        | StatementKind::Insert
        | StatementKind::InsertSelect
        | StatementKind::Replace
        | StatementKind::Update
        | StatementKind::Delete
        | StatementKind::Merge => true,
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::BeginImmediate
        | StatementKind::Commit
        | StatementKind::Rollback
        | StatementKind::RollbackTo
        | StatementKind::Savepoint
        | StatementKind::ReleaseSavepoint
        | StatementKind::Set
        | StatementKind::PhysicalDdl
        | StatementKind::LockTable
        | StatementKind::Opaque => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::dialect;

    #[test]
    fn a_text_is_prepared_once_and_again_after_a_rejection() {
        let dialect = dialect("mysql");
        let mut session = PreparedStatements::default();
        let sql = "SELECT 'a' FROM t";
        let first = session.sent(StatementKind::Select, sql, &dialect).unwrap();
        let prepare = first.prepare.as_deref();
        assert_eq!(prepare, Some("PREPARE p1 FROM 'SELECT ''a'' FROM t'"));
        assert_eq!(first.execute, "EXECUTE p1");
        let again = session.sent(StatementKind::Select, sql, &dialect).unwrap();
        assert_eq!((again.prepare, again.execute), (None, first.execute));
        session.forget(sql);
        let next = session.sent(StatementKind::Select, sql, &dialect).unwrap();
        assert_eq!(next.execute, "EXECUTE p2");
        assert!(next.prepare.is_some());
    }

    #[test]
    fn what_is_not_prepared_is_sent_as_it_stands() {
        let mut session = PreparedStatements::default();
        let (mysql, sqlite) = (dialect("mysql"), dialect("sqlite"));
        assert_eq!(session.sent(StatementKind::Commit, "COMMIT", &mysql), None);
        let read = session.sent(StatementKind::Select, "SELECT 1", &sqlite);
        assert_eq!(read, None);
        let postgres = dialect("postgres");
        let read = session.sent(StatementKind::Select, "SELECT 1", &postgres);
        let prepare = read.unwrap().prepare;
        assert_eq!(prepare.as_deref(), Some("PREPARE p1 AS SELECT 1"));
    }
}
