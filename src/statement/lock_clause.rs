//! Lock clauses, those that the SQL parser does not read among them: they go in as one that it reads, and
//! come out as they were written.

use super::token::{SqlToken, TokenKind, stands, tokens};
use crate::dialect::{Capability, Dialect};
use crate::model::LockStrength;

/// One spelling of a lock clause.
#[derive(Debug, PartialEq, Eq)]
struct LockWords {
    words: &'static [&'static str],
    strength: LockStrength,
    /// What the parser reads in its place.
    read_as: &'static str,
}

const SHARE: &str = "FOR SHARE";
const UPDATE: &str = "FOR UPDATE";

const SPELLINGS: [LockWords; 5] = [
    LockWords {
        words: &["FOR", "UPDATE"],
        strength: LockStrength::Update,
        read_as: UPDATE,
    },
    LockWords {
        words: &["FOR", "NO", "KEY", "UPDATE"],
        strength: LockStrength::NoKeyUpdate,
        read_as: UPDATE,
    },
    LockWords {
        words: &["FOR", "SHARE"],
        strength: LockStrength::Share,
        read_as: SHARE,
    },
    LockWords {
        words: &["LOCK", "IN", "SHARE", "MODE"],
        strength: LockStrength::Share,
        read_as: SHARE,
    },
    LockWords {
        words: &["FOR", "KEY", "SHARE"],
        strength: LockStrength::KeyShare,
        read_as: SHARE,
    },
];

impl LockWords {
    fn text(&self) -> String {
        self.words.join(" ")
    }

    /// Whether the dialect has a lock clause that begins so, where only some engines have one.
    fn is_known(&self, dialect: &Dialect) -> bool {
        let common = matches!(self.strength, LockStrength::Share | LockStrength::Update);
        let text = self.text();
        let mut clauses = dialect.spelling.lock_clauses.values();
        common || clauses.any(|clause| clause.starts_with(&text))
    }

    /// The clause that begins at this token.
    fn at(words: &[SqlToken<'_>], at: usize) -> Option<&'static Self> {
        let mut all = SPELLINGS.iter();
        all.find(|clause| stands(words, at, clause.words))
    }
}

/// `WAIT n` behind a lock clause: for how many seconds the statement may wait (MariaDB manual, "WAIT and NOWAIT").
#[derive(Clone, Debug, PartialEq, Eq)]
struct WaitLimit {
    text: String,
    /// It is NOWAIT then.
    is_zero: bool,
    /// Where it ends in the text.
    end: usize,
}

impl WaitLimit {
    fn at(sql: &str, words: &[SqlToken<'_>], at: usize, dialect: &Dialect) -> Option<Self> {
        let [wait, seconds] = words.get(at..at + 2)? else {
            return None;
        };
        let is_limit = dialect.supports(Capability::LockWaitLimit)
            && wait.is("WAIT")
            && seconds.kind == TokenKind::Number
            && seconds.text.bytes().all(|digit| digit.is_ascii_digit());
        is_limit.then(|| Self {
            text: sql[wait.span.start..seconds.span.end].to_owned(),
            is_zero: seconds.text.bytes().all(|digit| digit == b'0'),
            end: seconds.span.end,
        })
    }
}

/// A lock clause as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WrittenClause {
    clause: &'static LockWords,
    /// How long it waits; none where it does not say or does not wait, for which the parser has a word.
    limit: Option<String>,
}

/// The lock clauses of a statement, in the order of its text.
#[derive(Clone, Debug, Default)]
pub(super) struct LockClauses {
    written: Vec<WrittenClause>,
    /// How many of them wait for no time at all.
    unwaiting: usize,
}

impl LockClauses {
    /// The text that the parser reads, and the clauses as they were written.
    pub(super) fn take(sql: &str, words: &[SqlToken<'_>], dialect: &Dialect) -> (String, Self) {
        let (mut text, mut at) = (String::new(), 0);
        let mut clauses = Self::default();
        for index in 0..words.len() {
            let clause = LockWords::at(words, index);
            if let Some(clause) = clause.filter(|clause| clause.is_known(dialect)) {
                text.push_str(&sql[at..words[index].span.start]);
                text.push_str(clause.read_as);
                let behind = index + clause.words.len();
                at = words[behind - 1].span.end;
                let limit = WaitLimit::at(sql, words, behind, dialect);
                if let Some(limit) = &limit {
                    at = limit.end;
                }
                if limit.as_ref().is_some_and(|limit| limit.is_zero) {
                    text.push_str(" NOWAIT");
                    clauses.unwaiting += 1;
                }
                let limit = limit.filter(|limit| !limit.is_zero);
                clauses.written.push(WrittenClause {
                    clause,
                    limit: limit.map(|limit| limit.text),
                });
            }
        }
        text.push_str(&sql[at..]);
        (text, clauses)
    }

    /// A text as the parser prints it, with the clauses as they were written. None where some are gone
    /// and it cannot be told which.
    pub(super) fn put_back(&self, text: &str, dialect: &Dialect) -> Option<String> {
        if self.written.iter().all(|written| {
            written.limit.is_none() && written.clause.text() == written.clause.read_as
        }) {
            return Some(text.to_owned());
        }
        let words = tokens(text, dialect)?;
        let printed = |at: &usize| LockWords::at(&words, *at).is_some();
        let printed: Vec<usize> = (0..words.len()).filter(printed).collect();
        let all_there = printed.len() == self.written.len();
        let (mut restored, mut at) = (String::new(), 0);
        for (number, index) in printed.into_iter().enumerate() {
            let read = LockWords::at(&words, index)?;
            let mut same = self
                .written
                .iter()
                .filter(|written| written.clause.read_as == read.read_as);
            let written = match all_there {
                true => self.written.get(number)?,
                false => {
                    let first = same.next()?;
                    same.all(|other| other == first).then_some(first)?
                }
            };
            restored.push_str(&text[at..words[index].span.start]);
            restored.push_str(&written.clause.text());
            if let Some(limit) = &written.limit {
                restored.push(' ');
                restored.push_str(limit);
            }
            at = words[index + read.words.len() - 1].span.end;
        }
        restored.push_str(&text[at..]);
        Some(restored)
    }

    pub(super) fn count(&self) -> usize {
        self.written.len()
    }

    /// How many have `WAIT 0`, which is NOWAIT.
    pub(super) fn unwaiting(&self) -> usize {
        self.unwaiting
    }

    /// The strength of the weakest.
    pub(super) fn weakest(&self) -> Option<LockStrength> {
        self.written
            .iter()
            .map(|written| written.clause.strength)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StatementKind;
    use crate::statement::tests::dialect;
    use crate::statement::{analyze, simplify};

    #[test]
    fn clauses_of_which_some_wait_and_others_do_not_are_not_understood() {
        let join = "SELECT t.a FROM t JOIN u ON t.a = u.a";
        let nested = "SELECT t.a FROM t WHERE t.a IN (SELECT u.a FROM u FOR UPDATE";
        let table = [
            (join, "FOR UPDATE OF t FOR SHARE OF u SKIP LOCKED", false),
            (join, "FOR UPDATE OF t NOWAIT FOR SHARE OF u", false),
            (
                join,
                "FOR UPDATE OF t SKIP LOCKED FOR SHARE OF u SKIP LOCKED",
                true,
            ),
            (join, "FOR UPDATE OF t FOR SHARE OF u", true),
            (nested, "SKIP LOCKED) FOR UPDATE", false),
            (nested, ") FOR UPDATE SKIP LOCKED", true),
            (nested, ") FOR UPDATE NOWAIT", true),
        ];
        for (sql, clauses, is_understood) in table {
            let kind = analyze(&format!("{sql} {clauses}"), &dialect("postgres")).kind;
            assert_eq!(
                kind == StatementKind::LockingSelect,
                is_understood,
                "{sql} {clauses}: {kind:?}"
            );
        }
    }

    #[test]
    fn every_strength_is_read() {
        let table = [
            ("FOR UPDATE", LockStrength::Update),
            ("FOR NO KEY UPDATE NOWAIT", LockStrength::NoKeyUpdate),
            ("FOR SHARE SKIP LOCKED", LockStrength::Share),
            ("for key share", LockStrength::KeyShare),
            ("FOR UPDATE OF t FOR KEY SHARE OF u", LockStrength::KeyShare),
        ];
        for (clause, strength) in table {
            let sql = format!("SELECT t.a FROM t JOIN u ON t.a = u.a {clause}");
            let effect = analyze(&sql, &dialect("postgres"));
            assert_eq!(effect.kind, StatementKind::LockingSelect, "{sql}");
            assert_eq!(effect.lock, Some(strength), "{sql}");
        }
        let plain = analyze("SELECT a FROM t", &dialect("postgres"));
        assert_eq!(plain.lock, None);
    }

    #[test]
    fn a_clause_may_say_how_long_it_waits() {
        let told = |clause: &str, engine: &str| {
            let effect = analyze(&format!("SELECT a FROM t {clause}"), &dialect(engine));
            (effect.kind, effect.nowait)
        };
        let locking = StatementKind::LockingSelect;
        for (clause, nowait) in [
            ("FOR UPDATE WAIT 5", false),
            ("for update wait 0", true),
            ("LOCK IN SHARE MODE WAIT 10", false),
            ("LOCK IN SHARE MODE WAIT 0;", true),
            ("FOR UPDATE NOWAIT", true),
        ] {
            assert_eq!(told(clause, "mariadb"), (locking, nowait), "{clause}");
        }
        for clause in [
            "FOR UPDATE WAIT",
            "FOR UPDATE WAIT x",
            "FOR UPDATE WAIT 1.5",
        ] {
            assert_ne!(told(clause, "mariadb").0, locking, "{clause}");
        }
        assert_eq!(told("FOR UPDATE WAIT 5", "mysql").0, StatementKind::Opaque);
        let sql = "SELECT a FROM t WHERE a IN (1, 2) LOCK IN SHARE MODE WAIT 3";
        let smaller = simplify(sql, &dialect("mariadb"));
        let wanted = "SELECT a FROM t WHERE a IN (1) LOCK IN SHARE MODE WAIT 3";
        assert!(smaller.iter().any(|text| text == wanted), "{smaller:?}");
        assert!(smaller.iter().all(|text| text.ends_with("WAIT 3")));
    }

    #[test]
    fn a_clause_of_another_engine_is_not_understood() {
        for clause in ["FOR NO KEY UPDATE", "FOR KEY SHARE"] {
            let effect = analyze(&format!("SELECT a FROM t {clause}"), &dialect("mysql"));
            assert_eq!(effect.kind, StatementKind::Opaque, "{clause}");
        }
    }

    #[test]
    fn smaller_statements_keep_the_clause_as_it_was_written() {
        let sql = "SELECT a FROM t WHERE a IN (1, 2) FOR NO KEY UPDATE";
        let smaller = simplify(sql, &dialect("postgres"));
        let wanted = "SELECT a FROM t WHERE a IN (1) FOR NO KEY UPDATE";
        assert!(smaller.iter().any(|text| text == wanted), "{smaller:?}");
        assert!(smaller.iter().all(|text| !text.contains("FOR UPDATE")));
    }
}
