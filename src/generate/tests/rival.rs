//! Statements that are aimed at what another session has left open.

use super::{beside, case, parts};
use crate::dialect::Dialect;
use crate::generate::GenerateOptions;
use crate::model::{CaseStatement, StatementKind, TestCase, Value};
use crate::statement::{RowWrite, row_write};

/// The key of the one row that an INSERT gives.
fn inserted_key(statement: &CaseStatement, dialect: &Dialect) -> Option<(String, i64)> {
    match row_write(&statement.sql, dialect)? {
        RowWrite::Insert { table, rows, .. } => match (rows.len(), rows.first()?.first()?) {
            (1, Value::Integer(key)) => Some((table, *key)),
            _ => None,
        },
        RowWrite::Update { .. } | RowWrite::Delete { .. } => None,
    }
}

/// How often, in these cases, an INSERT names the key of another one that is not committed, a read outside of
/// transactions locks rows of a table in which another session has written, a read comes behind a return, and a change is
/// committed between the beginning of a transaction with its snapshot and its first read.
#[derive(Debug, Default)]
struct Meetings {
    same_key: usize,
    lone_reads: usize,
    after_return: usize,
    late_reads: usize,
}

impl Meetings {
    fn of(engine: &str, (rival_percent, late_read_percent): (usize, usize)) -> Self {
        let dialect = &parts(engine).1;
        let options = GenerateOptions {
            rival_percent,
            late_read_percent,
            ..GenerateOptions::default()
        };
        let mut meetings = Self::default();
        for index in 0..300 {
            let case = &case(engine, 5, index, &options).case;
            for at in 0..case.statements.len() {
                meetings.count(case, at, dialect);
            }
        }
        meetings
    }

    fn count(&mut self, case: &TestCase, at: usize, dialect: &Dialect) {
        let statement = &case.statements[at];
        let transaction = statement.id.transaction;
        let own = || (case.statements.iter()).filter(|s| s.id.transaction == transaction);
        let kind = statement.effect.kind;
        if kind == StatementKind::Insert {
            let key = inserted_key(statement, dialect);
            let is_same = |s: &CaseStatement| inserted_key(s, dialect) == key;
            let meets = key.is_some() && beside(case, at).any(is_same);
            self.same_key += usize::from(meets);
        }
        if kind == StatementKind::LockingSelect && !own().any(|s| s.effect.kind.is_begin()) {
            let table = &statement.effect.uses[0].table;
            let writes =
                |s: &CaseStatement| s.effect.counted_targets().any(|target| target == table);
            self.lone_reads += usize::from(beside(case, at).any(writes));
        }
        if kind == StatementKind::Select {
            let before = own().take_while(|s| s.id != statement.id);
            let last = before.last().map(|s| s.effect.kind);
            self.after_return += usize::from(last == Some(StatementKind::RollbackTo));
            let begun = case.statements[..at]
                .iter()
                .rposition(|s| s.session == statement.session);
            self.late_reads +=
                usize::from(begun.is_some_and(|begun| is_late(case, begun, at, dialect)));
        }
    }
}

/// Whether a transaction begins with its snapshot there, and another commits a change of a table before it reads that.
fn is_late(case: &TestCase, begun: usize, read: usize, dialect: &Dialect) -> bool {
    let with_snapshot = dialect.spelling.begin.get("consistent-snapshot");
    let used = case.statements[read].effect.uses.first();
    let Some(table) = used.map(|used| used.table.as_str()) else {
        return false;
    };
    let writes = |s: &CaseStatement| s.effect.counted_targets().any(|target| target == table);
    let mut ends = case.statements[begun..read].iter().filter(|s| {
        let mut own = case
            .statements
            .iter()
            .filter(|o| o.id.transaction == s.id.transaction);
        let is_lone = !own.clone().any(|o| o.effect.kind.is_begin());
        (is_lone || s.effect.kind == StatementKind::Commit) && own.any(writes)
    });
    with_snapshot == Some(&case.statements[begun].sql) && ends.next().is_some()
}

#[test]
fn statements_meet_what_another_session_has_left_open() {
    for engine in ["mariadb", "mysql", "postgres", "sqlite"] {
        let (with, without) = (Meetings::of(engine, (30, 45)), Meetings::of(engine, (0, 0)));
        let told = format!("{engine}: {with:?}, without {without:?}");
        assert!(with.same_key >= 10 && without.same_key <= 2, "{told}");
        let locks = engine != "sqlite";
        assert_eq!(with.lone_reads >= 30, locks, "{told}");
        assert!(with.after_return >= without.after_return + 10, "{told}");
        let snapshots = matches!(engine, "mariadb" | "mysql");
        assert_eq!(with.late_reads >= 12, snapshots, "{told}");
        assert!(without.late_reads <= 4, "{told}");
    }
}
