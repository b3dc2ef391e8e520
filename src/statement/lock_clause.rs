//! Lock clauses, those that the SQL parser does not read among them: they go in as one that it reads, and
//! come out as they were written.

use super::token::{SqlToken, stands, tokens};
use crate::dialect::Dialect;
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

/// The lock clauses of a statement, in the order of its text.
#[derive(Clone, Debug, Default)]
pub(super) struct LockClauses {
    written: Vec<&'static LockWords>,
}

impl LockClauses {
    /// The text that the parser reads, and the clauses as they were written.
    pub(super) fn take(sql: &str, words: &[SqlToken<'_>], dialect: &Dialect) -> (String, Self) {
        let (mut text, mut at) = (String::new(), 0);
        let mut written = Vec::new();
        for index in 0..words.len() {
            let clause = LockWords::at(words, index);
            if let Some(clause) = clause.filter(|clause| clause.is_known(dialect)) {
                text.push_str(&sql[at..words[index].span.start]);
                text.push_str(clause.read_as);
                at = words[index + clause.words.len() - 1].span.end;
                written.push(clause);
            }
        }
        text.push_str(&sql[at..]);
        (text, Self { written })
    }

    /// A text as the parser prints it, with the clauses as they were written. None where some are gone
    /// and it cannot be told which.
    pub(super) fn put_back(&self, text: &str, dialect: &Dialect) -> Option<String> {
        if self
            .written
            .iter()
            .all(|clause| clause.text() == clause.read_as)
        {
            return Some(text.to_owned());
        }
        let words = tokens(text, dialect)?;
        let printed = |at: &usize| LockWords::at(&words, *at).is_some();
        let printed: Vec<usize> = (0..words.len()).filter(printed).collect();
        let all_there = printed.len() == self.written.len();
        let (mut restored, mut at) = (String::new(), 0);
        for (number, index) in printed.into_iter().enumerate() {
            let read = LockWords::at(&words, index)?;
            let mut same = self.written.iter().filter(|w| w.read_as == read.read_as);
            let written = match all_there {
                true => *self.written.get(number)?,
                false => {
                    let first = *same.next()?;
                    same.all(|other| *other == first).then_some(first)?
                }
            };
            restored.push_str(&text[at..words[index].span.start]);
            restored.push_str(&written.text());
            at = words[index + read.words.len() - 1].span.end;
        }
        restored.push_str(&text[at..]);
        Some(restored)
    }

    pub(super) fn count(&self) -> usize {
        self.written.len()
    }

    /// The strength of the weakest.
    pub(super) fn weakest(&self) -> Option<LockStrength> {
        self.written.iter().map(|clause| clause.strength).min()
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
