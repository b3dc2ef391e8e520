//! Sentences of the manuals that a wrong answer violates.

use crate::export::client_step::ClientStep;
use crate::export::scenario::Scenario;
use crate::model::{IsolationLevel, StatementKind};
use crate::reproducer::Expectation;

/// A sentence of a manual.
#[derive(Debug)]
pub(super) struct ManualSentence {
    /// The engine whose manual it is, as case files name it.
    engine: &'static str,
    rule: ManualRule,
    /// It is about clients that have executed a statement with this first.
    setting: Option<&'static str>,
    /// The title of its page.
    pub(super) page: &'static str,
    pub(super) address: &'static str,
    /// As it stands there.
    pub(super) text: &'static str,
}

/// What a sentence of a manual is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ManualRule {
    /// A statement under NOWAIT and a locked row.
    Nowait,
    /// A plain SELECT at READ COMMITTED.
    FreshSnapshot,
    /// A plain SELECT at REPEATABLE READ.
    FirstSnapshot,
    /// A plain SELECT at SERIALIZABLE.
    SerializableRead,
    /// A locking SELECT.
    LatestRows,
    /// The rows that an UPDATE changes.
    UpdatedRows,
    /// The number that a DELETE answers, and the rows it takes away.
    DeletedRows,
}

const SENTENCES: &[ManualSentence] = &[
    ManualSentence {
        engine: "mysql",
        rule: ManualRule::Nowait,
        setting: None,
        page: "Locking Reads",
        address: "https://dev.mysql.com/doc/refman/en/innodb-locking-reads.html",
        text: "A locking read that uses NOWAIT never waits to acquire a row lock. The query executes \
               immediately, failing with an error if a requested row is locked.",
    },
    ManualSentence {
        engine: "mysql",
        rule: ManualRule::FreshSnapshot,
        setting: None,
        page: "Transaction Isolation Levels",
        address: "https://dev.mysql.com/doc/refman/en/innodb-transaction-isolation-levels.html",
        text: "Each consistent read, even within the same transaction, sets and reads its own fresh \
               snapshot.",
    },
    ManualSentence {
        engine: "mysql",
        rule: ManualRule::FirstSnapshot,
        setting: None,
        page: "Transaction Isolation Levels",
        address: "https://dev.mysql.com/doc/refman/en/innodb-transaction-isolation-levels.html",
        text: "Consistent reads within the same transaction read the snapshot established by the first \
               read.",
    },
    ManualSentence {
        engine: "mysql",
        rule: ManualRule::SerializableRead,
        setting: None,
        page: "Transaction Isolation Levels",
        address: "https://dev.mysql.com/doc/refman/en/innodb-transaction-isolation-levels.html",
        text: "This level is like REPEATABLE READ, but InnoDB implicitly converts all plain SELECT \
               statements to SELECT ... FOR SHARE if autocommit is disabled.",
    },
    ManualSentence {
        engine: "mysql",
        rule: ManualRule::LatestRows,
        setting: None,
        page: "Locking Reads",
        address: "https://dev.mysql.com/doc/refman/en/innodb-locking-reads.html",
        text: "A SELECT ... FOR UPDATE reads the latest available data, setting exclusive locks on each \
               row it reads.",
    },
    ManualSentence {
        engine: "mysql",
        rule: ManualRule::UpdatedRows,
        setting: None,
        page: "UPDATE Statement",
        address: "https://dev.mysql.com/doc/refman/en/update.html",
        text: "The WHERE clause, if given, specifies the conditions that identify which rows to update.",
    },
    ManualSentence {
        engine: "mysql",
        rule: ManualRule::DeletedRows,
        setting: None,
        page: "DELETE Statement",
        address: "https://dev.mysql.com/doc/refman/en/delete.html",
        text: "The DELETE statement deletes rows from tbl_name and returns the number of deleted rows.",
    },
    ManualSentence {
        engine: "mariadb",
        rule: ManualRule::FreshSnapshot,
        setting: None,
        page: "SET TRANSACTION",
        address: "https://mariadb.com/kb/en/set-transaction/",
        text: "Each consistent read, even within the same transaction, sets and reads its own fresh \
               snapshot.",
    },
    ManualSentence {
        engine: "mariadb",
        rule: ManualRule::FirstSnapshot,
        setting: None,
        page: "SET TRANSACTION",
        address: "https://mariadb.com/kb/en/set-transaction/",
        text: "All consistent reads within the same transaction read the snapshot established by the \
               first read.",
    },
    ManualSentence {
        engine: "mariadb",
        rule: ManualRule::SerializableRead,
        setting: None,
        page: "SERIALIZABLE",
        address: "https://mariadb.com/kb/en/transactions-serializable/",
        text: "Similar to REPEATABLE READ, but InnoDB implicitly converts all plain SELECT statements to \
               SELECT ... LOCK IN SHARE MODE if autocommit is disabled.",
    },
    ManualSentence {
        engine: "mariadb",
        rule: ManualRule::UpdatedRows,
        setting: None,
        page: "UPDATE",
        address: "https://mariadb.com/kb/en/update/",
        text: "The WHERE clause, if given, specifies the conditions that identify which rows to update.",
    },
    ManualSentence {
        engine: "mariadb",
        rule: ManualRule::DeletedRows,
        setting: None,
        page: "DELETE",
        address: "https://mariadb.com/kb/en/delete/",
        text: "For the single-table syntax, the DELETE statement deletes rows from tbl_name and returns \
               a count of the number of deleted rows.",
    },
    ManualSentence {
        engine: "tidb",
        rule: ManualRule::FirstSnapshot,
        setting: None,
        page: "TiDB Transaction Isolation Levels",
        address: "https://docs.pingcap.com/tidb/stable/transaction-isolation-levels",
        text: "The Repeatable Read isolation level only sees data committed before the transaction begins, and \
               it never sees either uncommitted data or changes committed during transaction execution by \
               concurrent transactions.",
    },
    ManualSentence {
        engine: "tidb",
        rule: ManualRule::UpdatedRows,
        setting: Some("tidb_txn_mode = 'pessimistic'"),
        page: "TiDB Pessimistic Transaction Mode",
        address: "https://docs.pingcap.com/tidb/stable/pessimistic-transaction",
        text: "When you execute UPDATE, DELETE or INSERT statements, the latest committed data is read, data is \
               modified, and a pessimistic lock is applied on the modified rows.",
    },
    ManualSentence {
        engine: "tidb",
        rule: ManualRule::DeletedRows,
        setting: Some("tidb_txn_mode = 'pessimistic'"),
        page: "TiDB Pessimistic Transaction Mode",
        address: "https://docs.pingcap.com/tidb/stable/pessimistic-transaction",
        text: "When you execute UPDATE, DELETE or INSERT statements, the latest committed data is read, data is \
               modified, and a pessimistic lock is applied on the modified rows.",
    },
    ManualSentence {
        engine: "postgres",
        rule: ManualRule::Nowait,
        setting: None,
        page: "SELECT",
        address: "https://www.postgresql.org/docs/current/sql-select.html",
        text: "With NOWAIT, the statement reports an error, rather than waiting, if a selected row cannot be \
               locked immediately.",
    },
    ManualSentence {
        engine: "postgres",
        rule: ManualRule::FreshSnapshot,
        setting: None,
        page: "Transaction Isolation",
        address: "https://www.postgresql.org/docs/current/transaction-iso.html",
        text: "When a transaction uses this isolation level, a SELECT query (without a FOR UPDATE/SHARE \
               clause) sees only data committed before the query began; it never sees either uncommitted data \
               or changes committed by concurrent transactions during the query's execution.",
    },
    ManualSentence {
        engine: "postgres",
        rule: ManualRule::FirstSnapshot,
        setting: None,
        page: "Transaction Isolation",
        address: "https://www.postgresql.org/docs/current/transaction-iso.html",
        text: "The Repeatable Read isolation level only sees data committed before the transaction began; it \
               never sees either uncommitted data or changes committed by concurrent transactions during the \
               transaction's execution.",
    },
    ManualSentence {
        engine: "postgres",
        rule: ManualRule::SerializableRead,
        setting: None,
        page: "Transaction Isolation",
        address: "https://www.postgresql.org/docs/current/transaction-iso.html",
        text: "This level emulates serial transaction execution for all committed transactions; as if \
               transactions had been executed one after another, serially, rather than concurrently.",
    },
    ManualSentence {
        engine: "postgres",
        rule: ManualRule::UpdatedRows,
        setting: None,
        page: "UPDATE",
        address: "https://www.postgresql.org/docs/current/sql-update.html",
        text: "UPDATE changes the values of the specified columns in all rows that satisfy the condition.",
    },
    ManualSentence {
        engine: "postgres",
        rule: ManualRule::DeletedRows,
        setting: None,
        page: "DELETE",
        address: "https://www.postgresql.org/docs/current/sql-delete.html",
        text: "DELETE deletes rows that satisfy the WHERE clause from the specified table.",
    },
];

/// The sentence that the first wrong answer of a scenario violates; none where no sentence of the
/// manual is about such a statement at its level.
pub(super) fn sentence(scenario: &Scenario<'_>) -> Option<&'static ManualSentence> {
    let step = scenario.disputed().next()?;
    let is_refused = matches!(step.seen, Some(Expectation::Error(_)));
    if step.waits_wrongly() || (is_refused && !step.effect.nowait) {
        // All sentences but that of NOWAIT are about rows.
        return None;
    }
    let is_count = matches!(step.seen, Some(Expectation::Affected(_)));
    if is_count && matches!(step.right.first(), Some(Expectation::Rows(_))) {
        // Nor does one say which kind of answer is due.
        return None;
    }
    let client = step.client?;
    let rule = rule(step, scenario.level(client)?)?;
    let own = scenario.clients.get(&client)?;
    let holds = |setting: &str| own.iter().any(|sql| sql.contains(setting));
    let mut sentences = SENTENCES
        .iter()
        .filter(|s| s.rule == rule && s.engine == scenario.maintainers.engine);
    sentences.find(|s| s.setting.is_none_or(holds))
}

fn rule(step: &ClientStep, level: IsolationLevel) -> Option<ManualRule> {
    if step.effect.nowait {
        return Some(ManualRule::Nowait);
    }
    match step.effect.kind {
        StatementKind::Select => match level {
            IsolationLevel::ReadUncommitted => None,
            IsolationLevel::ReadCommitted => Some(ManualRule::FreshSnapshot),
            IsolationLevel::RepeatableRead => Some(ManualRule::FirstSnapshot),
            IsolationLevel::Serializable => Some(ManualRule::SerializableRead),
        },
        StatementKind::LockingSelect => Some(ManualRule::LatestRows),
        StatementKind::Update => Some(ManualRule::UpdatedRows),
        StatementKind::Delete => Some(ManualRule::DeletedRows),
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::BeginImmediate
        | StatementKind::Commit
        | StatementKind::Rollback
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint
        | StatementKind::Insert
        | StatementKind::InsertSelect
        | StatementKind::Replace
        | StatementKind::Merge
        | StatementKind::Set
        | StatementKind::PhysicalDdl
        | StatementKind::LockTable
        | StatementKind::Opaque => None,
    }
}
