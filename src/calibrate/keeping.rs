//! What a read that locks keeps from others, and who waits for whom.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage};
use crate::dialect::{Capability, Dialect, LockReach, LockingWrite};
use crate::model::{ErrorClass, IsolationLevel, LockStrength, Outcome, ReadMode, Role};

/// One thing that follows from what the dialect says of locks at a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping<'d> {
    first: First<'d>,
    second: Second<'d>,
    /// What the second session is told.
    claim: SecondAnswer,
}

/// What the session does that comes first. Its transaction stays open.
#[derive(Clone, Copy, Debug)]
enum First<'d> {
    /// `SELECT .. FROM u WHERE c < 3` under this lock clause, by its name; none for a plain SELECT. It finds
    /// the rows 1 and 2.
    Read(Option<&'d str>),
    /// A write of row 1.
    Write(WrittenRow),
}

/// What comes second.
#[derive(Clone, Copy, Debug)]
enum Second<'d> {
    Write(WrittenRow),
    /// A read of row 1 under this lock clause.
    Read(&'d str),
}

/// A write: of a row that was found, or of one that would be found.
#[derive(Clone, Copy, Debug)]
struct WrittenRow {
    /// For people.
    form: &'static str,
    /// `{key}` to be replaced.
    sql: &'static str,
    /// What it does to a row that was found; none where it makes one that would be found.
    change: Option<LockingWrite>,
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

const WRITES: [WrittenRow; 6] = [
    WrittenRow {
        form: "a found row is changed",
        sql: "UPDATE u SET c = 55 WHERE pkey = 1",
        change: Some(LockingWrite::Update),
    },
    WrittenRow {
        form: "a found row is given its own values",
        sql: "UPDATE u SET c = c WHERE pkey = 1",
        change: Some(LockingWrite::Update),
    },
    WrittenRow {
        form: "the key of a found row is changed",
        sql: "UPDATE u SET pkey = {key} WHERE pkey = 1",
        change: Some(LockingWrite::UpdateOfKey),
    },
    WrittenRow {
        form: "a found row is deleted",
        sql: "DELETE FROM u WHERE pkey = 1",
        change: Some(LockingWrite::Delete),
    },
    WrittenRow {
        form: "a fitting row is inserted",
        sql: "INSERT INTO u VALUES ({key}, 2)",
        change: None,
    },
    WrittenRow {
        form: "an unfit row is made to fit",
        sql: "UPDATE u SET c = 2 WHERE pkey = 3",
        change: None,
    },
];

/// The lock clauses whose names are strengths, and how they end where they do not wait.
const NOWAIT: &str = "-nowait";
const SKIP_LOCKED: &str = "-skip-locked";

/// What there is to prove of locks at this level; nothing where the dialect promises none.
pub(super) fn at(dialect: &Dialect, level: IsolationLevel) -> Vec<Keeping<'_>> {
    let Some(reach) = dialect.lock_reach(level) else {
        return Vec::new();
    };
    let clauses: Vec<LockName<'_>> = lock_names(dialect).collect();
    let waiting = || clauses.iter().filter(|clause| clause.waits);
    let mut all = Vec::new();
    let plain = dialect.read_mode(level, Role::PlainSelect, true) == ReadMode::Current;
    let readers = waiting().map(|clause| (Some(clause.name), clause.strength));
    let readers = readers.chain(plain.then_some((None, LockStrength::Share)));
    for (clause, strength) in readers {
        for write in WRITES {
            let kept = match write.change {
                Some(change) => {
                    let rules = &dialect.lock_rules;
                    rules.exclude(strength, rules.of_write(change))
                }
                None => reach == LockReach::Ranges,
            };
            all.push(Keeping {
                first: First::Read(clause),
                second: Second::Write(write),
                claim: if kept {
                    SecondAnswer::Waits
                } else {
                    SecondAnswer::Goes
                },
            });
        }
    }
    for second in &clauses {
        let firsts = waiting().map(|first| (First::Read(Some(first.name)), first.strength));
        let changes = WRITES.iter().filter_map(|write| {
            let strength = dialect.lock_rules.of_write(write.change?);
            Some((First::Write(*write), strength))
        });
        all.extend(firsts.chain(changes).map(|(first, strength)| Keeping {
            first,
            second: Second::Read(second.name),
            claim: second.claim(dialect.lock_rules.exclude(strength, second.strength)),
        }));
    }
    all
}

/// A lock clause by its name.
struct LockName<'d> {
    name: &'d str,
    strength: LockStrength,
    waits: bool,
    skips: bool,
}

impl LockName<'_> {
    /// What it is told about a row under a lock that excludes its own, or that does not.
    fn claim(&self, excluded: bool) -> SecondAnswer {
        match (excluded, self.waits, self.skips) {
            (false, ..) => SecondAnswer::Goes,
            (true, true, _) => SecondAnswer::Waits,
            (true, false, true) => SecondAnswer::Skips,
            (true, false, false) => SecondAnswer::Refused,
        }
    }
}

/// Every lock clause that this version of the engine has, by what it is.
fn lock_names(dialect: &Dialect) -> impl Iterator<Item = LockName<'_>> {
    let names = LockStrength::ALL.into_iter().flat_map(|strength| {
        let of = move |ending: &str| format!("{}{ending}", strength.slug());
        ["", NOWAIT, SKIP_LOCKED].map(|ending| (strength, ending, of(ending)))
    });
    names.filter_map(|(strength, ending, name)| {
        let needed = match ending {
            NOWAIT => Some(Capability::Nowait),
            SKIP_LOCKED => Some(Capability::SkipLocked),
            _ => None,
        };
        let clauses = &dialect.spelling.lock_clauses;
        let (name, _) = clauses.get_key_value(&name)?;
        needed
            .is_none_or(|needed| dialect.supports(needed))
            .then_some(LockName {
                name,
                strength,
                waits: needed.is_none(),
                skips: ending == SKIP_LOCKED,
            })
    })
}

impl Keeping<'_> {
    /// The key of the dialect file that it proves.
    pub(super) fn key() -> &'static str {
        "locks"
    }

    fn must_not_wait(self) -> bool {
        matches!(self.claim, SecondAnswer::Refused | SecondAnswer::Skips)
    }

    /// For people.
    fn form(self) -> String {
        let read = |clause: Option<&str>| clause.unwrap_or("plain SELECT").to_owned();
        match (self.first, self.second) {
            (First::Read(clause), Second::Write(write)) => {
                format!("{}: {}", read(clause), write.form)
            }
            (First::Read(first), Second::Read(second)) => {
                format!("reads: {}, then {second}", read(first))
            }
            (First::Write(write), Second::Read(second)) => format!("{}, then {second}", write.form),
            (First::Write(one), Second::Write(other)) => {
                format!("{}, then {}", one.form, other.form)
            }
        }
    }

    /// Asks the server.
    pub(super) fn probe(
        self,
        stage: &mut Stage<'_>,
        level: IsolationLevel,
    ) -> Result<CalibratedEntry, Halt> {
        let begin = stage.begin();
        let first = match self.first {
            First::Read(clause) => locking("SELECT pkey FROM u WHERE c < 3", clause, stage),
            First::Write(write) => write.text(stage),
        };
        let second = match self.second {
            Second::Write(write) => write.text(stage),
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
        let proof = match got {
            Some(got) if got == self.claim => Proof::Right,
            Some(_) | None => Proof::Wrong,
        };
        let entry = CalibratedEntry::new(
            format!("{}.{}", Self::key(), level.slug()),
            self.form(),
            self.claim.words().to_owned(),
            proof,
        );
        Ok(entry.measured(got.map_or("another error", SecondAnswer::words)))
    }
}

impl WrittenRow {
    fn text(self, stage: &mut Stage<'_>) -> String {
        self.sql.replace("{key}", &stage.key().to_string())
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
