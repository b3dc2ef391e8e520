//! What a statement asks for: transaction control, a setting, a change of the schema, or rows.

use std::collections::BTreeSet;

use super::token::{Lexeme, stands, tokens};
use crate::model::IsolationLevel;

/// A statement as the engine understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionCommand {
    Begin {
        /// WITH CONSISTENT SNAPSHOT.
        snapshot: bool,
        read_only: bool,
    },
    Commit,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    Release(String),
    /// The level of the transactions that begin from now on.
    SetLevel(IsolationLevel),
    /// A setting that changes nothing here.
    Set,
    /// CREATE, DROP, ALTER.
    ChangeSchema,
    Query(Query),
}

/// A statement that reads or writes rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) writes: bool,
    /// Without lock clauses.
    pub(super) sql: String,
    pub(super) lock: Option<LockClause>,
    /// How many parentheses are open around each lock clause: the tables named there are locked.
    pub(super) lock_depths: BTreeSet<usize>,
}

/// What the lock clauses of a SELECT ask for, the strongest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockClause {
    /// FOR UPDATE; else FOR SHARE.
    pub(super) exclusive: bool,
    pub(super) wait: WaitPolicy,
}

/// What to do about rows that another transaction holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitPolicy {
    Wait,
    NoWait,
    SkipLocked,
}

impl SessionCommand {
    /// Whether a failed transaction takes it.
    pub(super) fn leaves_failure(&self) -> bool {
        match self {
            Self::Commit | Self::Rollback | Self::RollbackTo(_) => true,
            Self::Begin { .. }
            | Self::Savepoint(_)
            | Self::Release(_)
            | Self::SetLevel(_)
            | Self::Set
            | Self::ChangeSchema
            | Self::Query(_) => false,
        }
    }

    /// Reads a statement. What is not understood is a query, and SQLite says what is wrong with it.
    pub(super) fn read(sql: &str) -> Self {
        let words = tokens(sql);
        let Some(first) = words.first() else {
            return Self::Set;
        };
        if first.is("BEGIN") || stands(&words, 0, &["START", "TRANSACTION"]) {
            let has = |mode: &[&str]| (0..words.len()).any(|at| stands(&words, at, mode));
            return Self::Begin {
                snapshot: has(&["CONSISTENT", "SNAPSHOT"]),
                read_only: has(&["READ", "ONLY"]),
            };
        }
        if first.is_any(&["COMMIT", "END"]) {
            return Self::Commit;
        }
        if first.is("ROLLBACK") {
            return match after_to(&words) {
                Some(name) => Self::RollbackTo(name),
                None => Self::Rollback,
            };
        }
        if first.is_any(&["SAVEPOINT", "RELEASE"])
            && let Some(name) = words.last().and_then(Lexeme::name)
        {
            return match first.is("SAVEPOINT") {
                true => Self::Savepoint(name),
                false => Self::Release(name),
            };
        }
        if first.is("SET") {
            return level(&words).map_or(Self::Set, Self::SetLevel);
        }
        if first.is_any(&["CREATE", "DROP", "ALTER"]) {
            return Self::ChangeSchema;
        }
        Self::Query(query(sql, &words))
    }
}

/// The name in ROLLBACK TO SAVEPOINT name.
fn after_to(words: &[Lexeme<'_>]) -> Option<String> {
    words.iter().position(|word| word.is("TO"))?;
    words.last()?.name()
}

/// The level in SET .. ISOLATION LEVEL name.
fn level(words: &[Lexeme<'_>]) -> Option<IsolationLevel> {
    let at = words.iter().position(|word| word.is("LEVEL"))? + 1;
    let levels = [
        (
            ["READ", "UNCOMMITTED"].as_slice(),
            IsolationLevel::ReadUncommitted,
        ),
        (
            ["READ", "COMMITTED"].as_slice(),
            IsolationLevel::ReadCommitted,
        ),
        (
            ["REPEATABLE", "READ"].as_slice(),
            IsolationLevel::RepeatableRead,
        ),
        (["SERIALIZABLE"].as_slice(), IsolationLevel::Serializable),
    ];
    let found = levels.iter().find(|(name, _)| stands(words, at, name));
    found.map(|(_, level)| *level)
}

const WRITES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "REPLACE"];

fn query(sql: &str, words: &[Lexeme<'_>]) -> Query {
    let verb = match words.first() {
        Some(first) if first.is("WITH") => words.iter().enumerate().find_map(|(at, word)| {
            let is_call = words.get(at + 1).is_some_and(|next| next.is_mark("("));
            let is_clause = at > 0 && words[at - 1].is("FOR");
            (word.depth == 0 && word.is_any(&WRITES) && !is_call && !is_clause).then_some(word)
        }),
        first => first,
    };
    let (text, lock, lock_depths) = without_lock_clauses(sql, words);
    Query {
        writes: verb.is_some_and(|verb| verb.is_any(&WRITES)),
        sql: text,
        lock,
        lock_depths,
    }
}

/// The text without its lock clauses, what they ask for together, and how deep they stand.
fn without_lock_clauses(
    sql: &str,
    words: &[Lexeme<'_>],
) -> (String, Option<LockClause>, BTreeSet<usize>) {
    const CLAUSES: [(&[&str], bool); 3] = [
        (&["FOR", "UPDATE"], true),
        (&["FOR", "SHARE"], false),
        (&["LOCK", "IN", "SHARE", "MODE"], false),
    ];
    let mut lock: Option<LockClause> = None;
    let mut depths = BTreeSet::new();
    let (mut text, mut kept) = (String::new(), 0);
    for (at, word) in words.iter().enumerate() {
        let clause = CLAUSES.iter().find(|(clause, _)| stands(words, at, clause));
        let Some((clause, exclusive)) = clause else {
            continue;
        };
        let after = at + clause.len();
        let (wait, length) = if stands(words, after, &["NOWAIT"]) {
            (WaitPolicy::NoWait, 1)
        } else if stands(words, after, &["SKIP", "LOCKED"]) {
            (WaitPolicy::SkipLocked, 2)
        } else {
            (WaitPolicy::Wait, 0)
        };
        text.push_str(&sql[kept..word.at]);
        depths.insert(word.depth);
        kept = words[after + length - 1].end();
        let earlier = lock.is_some_and(|lock| lock.exclusive);
        lock = Some(LockClause {
            exclusive: *exclusive || earlier,
            wait,
        });
    }
    text.push_str(&sql[kept..]);
    (text, lock, depths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_statements_are_read_in_every_spelling() {
        let begin = |snapshot, read_only| SessionCommand::Begin {
            snapshot,
            read_only,
        };
        let level = |level| SessionCommand::SetLevel(level);
        for (sql, expected) in [
            ("BEGIN", begin(false, false)),
            ("START TRANSACTION READ ONLY", begin(false, true)),
            (
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                begin(true, false),
            ),
            ("commit;", SessionCommand::Commit),
            ("ROLLBACK", SessionCommand::Rollback),
            (
                "ROLLBACK TO SAVEPOINT s1",
                SessionCommand::RollbackTo("s1".into()),
            ),
            ("RELEASE SAVEPOINT S1", SessionCommand::Release("s1".into())),
            (
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                level(IsolationLevel::ReadCommitted),
            ),
            ("CREATE TABLE t (a INT)", SessionCommand::ChangeSchema),
        ] {
            assert_eq!(SessionCommand::read(sql), expected, "{sql}");
        }
    }

    #[test]
    fn lock_clauses_are_taken_off_wherever_they_stand() {
        let sql = "SELECT a FROM t WHERE a IN (SELECT b FROM u FOR UPDATE) FOR SHARE SKIP LOCKED";
        let SessionCommand::Query(query) = SessionCommand::read(sql) else {
            panic!("a query");
        };
        assert_eq!(query.sql, "SELECT a FROM t WHERE a IN (SELECT b FROM u ) ");
        let lock = LockClause {
            exclusive: true,
            wait: WaitPolicy::SkipLocked,
        };
        assert_eq!(query.lock, Some(lock));
        assert_eq!(query.lock_depths, [0, 1].into());
        assert!(!query.writes);
    }

    #[test]
    fn a_write_after_with_is_a_write() {
        let writes =
            |sql| matches!(SessionCommand::read(sql), SessionCommand::Query(query) if query.writes);
        assert!(writes("WITH w AS (SELECT 1) UPDATE t SET a = 1"));
        assert!(!writes("WITH w AS (SELECT 1) SELECT * FROM w FOR UPDATE"));
        assert!(writes("REPLACE INTO t VALUES (1)"));
        assert!(!writes(
            "WITH w AS (SELECT 1) SELECT REPLACE('a', 'b', 'c')"
        ));
    }
}
