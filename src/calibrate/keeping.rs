//! What a read that locks keeps from others, and who waits for whom.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage};
use crate::dialect::{Capability, Dialect, LockReach};
use crate::model::{ErrorClass, IsolationLevel, Outcome, ReadMode, Role};

/// One thing that follows from what the dialect says of locks at a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping {
    /// For people.
    form: &'static str,
    /// The lock clause of the session that comes first, by its name; none for a plain SELECT.
    clause: Option<&'static str>,
    /// What comes second.
    second: Second,
    /// What the second session is told.
    claim: SecondAnswer,
}

/// What comes while a transaction is open in which `SELECT .. FROM u WHERE c < 3` has found the rows
/// 1 and 2.
#[derive(Clone, Copy, Debug)]
enum Second {
    /// A write, `{key}` to be replaced.
    Write(&'static str),
    /// A read of row 1 under this lock clause.
    Read(&'static str),
}

/// What is told to the one who comes second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecondAnswer {
    Waits,
    Refused,
    /// A read that leaves the row out.
    Skips,
    Goes,
}

impl SecondAnswer {
    fn words(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Refused => "refused at once",
            Self::Skips => "leaves the row out",
            Self::Goes => "does not wait",
        }
    }
}

/// A write of another session: a row that was found, or one that would be found.
const WRITES: [(&str, &str, LockReach); 4] = [
    (
        "a found row is changed",
        "UPDATE u SET c = 55 WHERE pkey = 1",
        LockReach::Rows,
    ),
    (
        "a found row is deleted",
        "DELETE FROM u WHERE pkey = 1",
        LockReach::Rows,
    ),
    (
        "a fitting row is inserted",
        "INSERT INTO u VALUES ({key}, 2)",
        LockReach::Ranges,
    ),
    (
        "an unfit row is made to fit",
        "UPDATE u SET c = 2 WHERE pkey = 3",
        LockReach::Ranges,
    ),
];

/// Two reads that lock: the clause of the first, that of the second, and what the second is told.
const READS: [(&str, &str, &str, SecondAnswer); 6] = [
    (
        "update, then update",
        "update",
        "update",
        SecondAnswer::Waits,
    ),
    ("update, then share", "update", "share", SecondAnswer::Waits),
    ("share, then update", "share", "update", SecondAnswer::Waits),
    ("share, then share", "share", "share", SecondAnswer::Goes),
    (
        "update, then NOWAIT",
        "update",
        "update-nowait",
        SecondAnswer::Refused,
    ),
    (
        "update, then SKIP LOCKED",
        "update",
        "update-skip-locked",
        SecondAnswer::Skips,
    ),
];

/// What there is to prove of locks at this level; nothing where the dialect promises none.
pub(super) fn at(dialect: &Dialect, level: IsolationLevel) -> Vec<Keeping> {
    let Some(reach) = dialect.lock_reach(level) else {
        return Vec::new();
    };
    let plain = dialect.read_mode(level, Role::PlainSelect, true) == ReadMode::Current;
    let clauses = [Some("update"), Some("share")];
    let clauses = clauses
        .into_iter()
        .filter(|clause| is_spelled(dialect, clause));
    let clauses = clauses.chain(plain.then_some(None));
    let mut all = Vec::new();
    for clause in clauses {
        for (form, sql, needed) in WRITES {
            let kept = needed == LockReach::Rows || reach == LockReach::Ranges;
            all.push(Keeping {
                form,
                clause,
                second: Second::Write(sql),
                claim: if kept {
                    SecondAnswer::Waits
                } else {
                    SecondAnswer::Goes
                },
            });
        }
    }
    let reads = READS.iter().filter(|(_, first, second, _)| {
        let mut both = [first, second].into_iter();
        both.all(|clause| is_spelled(dialect, &Some(clause)))
    });
    all.extend(reads.map(|&(form, first, second, claim)| Keeping {
        form,
        clause: Some(first),
        second: Second::Read(second),
        claim,
    }));
    all
}

/// Whether the engine has this lock clause, in this version; it has none at all by not asking.
fn is_spelled(dialect: &Dialect, clause: &Option<&str>) -> bool {
    let Some(clause) = *clause else {
        return true;
    };
    let needed = match clause {
        "update-nowait" => Some(Capability::Nowait),
        "update-skip-locked" => Some(Capability::SkipLocked),
        _ => None,
    };
    dialect.spelling.lock_clauses.contains_key(clause)
        && needed.is_none_or(|needed| dialect.supports(needed))
}

impl Keeping {
    /// The key of the dialect file that it proves.
    pub(super) fn key() -> &'static str {
        "locks"
    }

    fn must_not_wait(self) -> bool {
        matches!(self.claim, SecondAnswer::Refused | SecondAnswer::Skips)
    }

    /// Asks the server.
    pub(super) fn probe(
        self,
        stage: &mut Stage<'_>,
        level: IsolationLevel,
    ) -> Result<CalibratedEntry, Halt> {
        let begin = stage.begin();
        let first = locking("SELECT pkey FROM u WHERE c < 3", self.clause, stage);
        let second = match self.second {
            Second::Write(sql) => sql.replace("{key}", &stage.key().to_string()),
            Second::Read(clause) => {
                locking("SELECT pkey FROM u WHERE pkey = 1", Some(clause), stage)
            }
        };
        stage.tested.must(begin)?;
        stage.tested.must(&first)?;
        stage.other.must(begin)?;
        let got = match stage.ask_other(&second)? {
            Reply::Waits if self.must_not_wait() && stage.other_answers_by_itself() => {
                told(&stage.other.finish()?)
            }
            Reply::Waits => {
                let rollback = stage.server.dialect().spelling.rollback.clone();
                stage.tested.must(&rollback)?;
                stage.other.finish()?;
                Some(SecondAnswer::Waits)
            }
            Reply::Answered(outcome) => told(&outcome),
        };
        stage.reset()?;
        let clause = match self.second {
            Second::Write(_) => self.clause.unwrap_or("plain SELECT"),
            Second::Read(_) => "reads",
        };
        let proof = match got {
            Some(got) if got == self.claim => Proof::Right,
            Some(_) | None => Proof::Wrong,
        };
        let entry = CalibratedEntry::new(
            format!("{}.{}", Self::key(), level.slug()),
            format!("{clause}: {}", self.form),
            self.claim.words().to_owned(),
            proof,
        );
        Ok(entry.measured(got.map_or("another error", SecondAnswer::words)))
    }
}

fn told(outcome: &Outcome) -> Option<SecondAnswer> {
    match outcome {
        Outcome::Rejected(error) => {
            (error.class == ErrorClass::LockTimeout).then_some(SecondAnswer::Refused)
        }
        Outcome::Rows(rows) if rows.is_empty() => Some(SecondAnswer::Skips),
        Outcome::Rows(_) | Outcome::Affected(_) => Some(SecondAnswer::Goes),
    }
}

fn locking(sql: &str, clause: Option<&str>, stage: &Stage<'_>) -> String {
    let clauses = &stage.server.dialect().spelling.lock_clauses;
    let clause = clause.and_then(|name| clauses.get(name));
    match clause {
        Some(clause) => format!("{sql} {clause}"),
        None => sql.to_owned(),
    }
}
