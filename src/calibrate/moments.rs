//! When a transaction's snapshot is taken, and whether a statement that waited mixes two moments.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage, accepted};
use crate::dialect::{Capability, Dialect, SnapshotPoint};
use crate::model::{Doubt, ErrorClass, IsolationLevel, Outcome, ReadMode, Role};
use crate::statement::analyze;

/// One thing that the dialect says of moments.
pub(super) enum Moment {
    /// Whether a transaction has its snapshot after this opening and statement.
    Opening {
        /// Which of the dialect's openings.
        begin: &'static str,
        sql: Option<&'static str>,
        /// What the dialect says.
        claim: bool,
    },
    /// Whether a transaction has its snapshot after this read.
    Read(&'static str),
    /// Whether a transaction has its snapshot still after these statements, which read and return to a
    /// savepoint.
    Return {
        statements: &'static [&'static str],
        /// What the dialect says.
        claim: bool,
    },
    /// Whether a statement of this form that waited mixes two moments.
    Wait {
        form: &'static str,
        sql: &'static str,
    },
    /// Whether an UPDATE that waited looks again at the row that changed meanwhile, and at no other.
    SecondLook,
    /// Whether an UPDATE that waited for a change which was rolled back reads as of when it was sent.
    GoesOn,
}

/// What the dialect says of moments at this level. `waits`: statements wait for locks.
pub(super) fn at(dialect: &Dialect, waits: bool, level: IsolationLevel) -> Vec<Moment> {
    let mut moments = Vec::new();
    if dialect.read_mode(level, Role::PlainSelect, true) == ReadMode::TransactionSnapshot {
        moments.extend(CANDIDATES.iter().filter_map(|candidate| {
            let claim = match dialect.snapshot_point {
                SnapshotPoint::FirstConsistentRead => candidate.first_consistent_read,
                SnapshotPoint::FirstStatement => candidate.first_statement,
                SnapshotPoint::Begin => Some(true),
            };
            let is_spelled = dialect.spelling.begin.contains_key(candidate.begin);
            claim.filter(|_| is_spelled).map(|claim| Moment::Opening {
                begin: candidate.begin,
                sql: candidate.sql,
                claim,
            })
        }));
        moments.extend(READS.iter().map(|sql| Moment::Read(sql)));
        if dialect.supports(Capability::Savepoint) {
            let begins_anew = dialect.claims(Doubt::EarlySavepoint);
            moments.extend(begins_anew.map(|begins_anew| Moment::Return {
                statements: EARLY_SAVEPOINT,
                claim: !begins_anew,
            }));
            moments.push(Moment::Return {
                statements: LATE_SAVEPOINT,
                claim: true,
            });
        }
    }
    if waits {
        let forms = WAITING_FORMS.iter();
        moments.extend(forms.map(|(form, sql)| Moment::Wait { form, sql }));
        if !dialect.re_evaluates_after_wait.is_empty() {
            moments.push(Moment::SecondLook);
        }
        if !dialect.begins_anew_after_wait.is_empty() {
            moments.push(Moment::GoesOn);
        }
    }
    moments
}

impl Moment {
    /// The key of the dialect file that it proves.
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::Opening { .. } | Self::Read(_) => "snapshot-point",
            Self::Return { .. } => "known.early-savepoint",
            Self::Wait { .. } => "mixes-after-wait",
            Self::SecondLook => "re-evaluates-after-wait",
            Self::GoesOn => "begins-anew-after-wait",
        }
    }

    /// Asks the server.
    pub(super) fn probe(
        &self,
        stage: &mut Stage<'_>,
        level: IsolationLevel,
    ) -> Result<CalibratedEntry, Halt> {
        let dialect = stage.server.dialect();
        let subject = format!("{} at {}", self.key(), level.slug());
        match self {
            Self::Opening { begin, sql, claim } => {
                let begin = dialect
                    .spelling
                    .begin
                    .get(*begin)
                    .map_or("", String::as_str);
                let sql = sql.map(|sql| spelled(stage, sql));
                let sql: Vec<&str> = sql.as_deref().into_iter().collect();
                let taken = takes_snapshot(stage, begin, &sql)?;
                let form = [&[begin], sql.as_slice()].concat().join("; ");
                Ok(taken_entry(subject, form, Some(*claim), taken))
            }
            Self::Read(sql) => {
                let claim = analyze(sql, dialect).surely_takes_snapshot.then_some(true);
                let taken = takes_snapshot(stage, stage.begin(), &[sql])?;
                Ok(taken_entry(subject, (*sql).to_owned(), claim, taken))
            }
            Self::Return { statements, claim } => {
                let taken = takes_snapshot(stage, stage.begin(), statements)?;
                Ok(taken_entry(
                    subject,
                    statements.join("; "),
                    Some(*claim),
                    taken,
                ))
            }
            Self::Wait { form, sql } => {
                let claim = dialect.mixes_after_wait.contains(&level);
                let mixed = mixes(stage, sql)?;
                stage.reset()?;
                Ok(mixed_entry(subject, form, claim, mixed))
            }
            Self::SecondLook => {
                let claim = dialect.re_evaluates_after_wait.contains(&level);
                let looked = looks_again(stage)?;
                stage.reset()?;
                Ok(second_look_entry(subject, claim, &looked))
            }
            Self::GoesOn => {
                let claim = dialect.begins_anew_after_wait.contains(&level);
                let outcome = goes_on(stage)?;
                stage.reset()?;
                Ok(goes_on_entry(subject, claim, outcome))
            }
        }
    }
}

/// A statement after which the snapshot is, or is not, taken.
struct Candidate {
    /// Opens the transaction, by its name in the dialect.
    begin: &'static str,
    /// Follows in the same transaction; none asks about the opening itself.
    sql: Option<&'static str>,
    /// Whether the snapshot is taken by then, at each snapshot point: none where it is not used.
    first_consistent_read: Option<bool>,
    first_statement: Option<bool>,
}

/// What snapshot points mean, statement by statement. The entries about a SELECT hold only where
/// the analysis of statements says of it that it surely reads.
const CANDIDATES: &[Candidate] = &[
    Candidate {
        begin: "plain",
        sql: None,
        first_consistent_read: Some(false),
        first_statement: Some(false),
    },
    Candidate {
        begin: "consistent-snapshot",
        sql: None,
        first_consistent_read: Some(true),
        first_statement: Some(true),
    },
    Candidate {
        begin: "plain",
        sql: Some("INSERT INTO w VALUES ({key}, 1)"),
        first_consistent_read: Some(false),
        first_statement: None,
    },
    Candidate {
        begin: "plain",
        sql: Some("UPDATE w SET c = c + 1 WHERE pkey = 1"),
        first_consistent_read: Some(false),
        first_statement: None,
    },
    Candidate {
        begin: "plain",
        sql: Some("DELETE FROM w WHERE pkey = 2"),
        first_consistent_read: Some(false),
        first_statement: None,
    },
    Candidate {
        begin: "plain",
        sql: Some("SELECT pkey FROM w {update}"),
        first_consistent_read: Some(false),
        first_statement: None,
    },
    Candidate {
        begin: "plain",
        sql: Some("{fix} w"),
        first_consistent_read: Some(true),
        first_statement: Some(true),
    },
    Candidate {
        begin: "plain",
        sql: Some("{fix} z"),
        first_consistent_read: Some(true),
        first_statement: Some(true),
    },
];

/// A savepoint before the first table, and one after it.
const EARLY_SAVEPOINT: &[&str] = &["SAVEPOINT a", "SELECT * FROM w", "ROLLBACK TO SAVEPOINT a"];
const LATE_SAVEPOINT: &[&str] = &[
    "SELECT * FROM w",
    "SAVEPOINT a",
    "SELECT * FROM z",
    "ROLLBACK TO SAVEPOINT a",
];

/// Reads that take the snapshot if the analysis of statements says that they surely do.
const READS: &[&str] = &[
    "SELECT * FROM w",
    "SELECT pkey FROM w",
    "SELECT 7 FROM w",
    "SELECT * FROM z",
    "SELECT COUNT(*) FROM w",
    "SELECT COUNT(*) FROM z",
    "SELECT MAX(pkey) FROM w",
    "SELECT MIN(c) FROM z",
    "SELECT * FROM w CROSS JOIN z",
    "SELECT DISTINCT c FROM w ORDER BY c",
    "SELECT c, COUNT(*) FROM w GROUP BY c",
    "SELECT w.c FROM w WHERE w.pkey = 1",
    "SELECT c FROM w WHERE pkey = 99",
    "SELECT c FROM w WHERE 1 = 0",
    "SELECT c FROM w LIMIT 0",
    "SELECT 1",
];

fn taken_entry(
    subject: String,
    form: String,
    claim: Option<bool>,
    taken: Option<bool>,
) -> CalibratedEntry {
    let word = |taken: bool| match taken {
        true => "taken by then",
        false => "not yet taken",
    };
    let (claimed, proof) = match (claim, taken) {
        (_, None) => (
            "",
            Proof::DoesNotApply("no other session can commit meanwhile".to_owned()),
        ),
        (None, _) => (
            "",
            Proof::DoesNotApply("nothing is built on this statement".to_owned()),
        ),
        (Some(claim), Some(taken)) if claim == taken => (word(claim), Proof::Right),
        (Some(claim), Some(_)) => (word(claim), Proof::Wrong),
    };
    CalibratedEntry::new(subject, form, claimed.to_owned(), proof).measured(taken.map_or("", word))
}

/// Whether the snapshot is taken by then: another session's later commit is not seen. None when
/// the other session cannot commit.
fn takes_snapshot(
    stage: &mut Stage<'_>,
    begin: &str,
    statements: &[&str],
) -> Result<Option<bool>, Halt> {
    stage.tested.must(begin)?;
    for sql in statements {
        stage.tested.must(sql)?;
    }
    let change = "UPDATE u SET c = 101 WHERE pkey = 1";
    let committed = match stage.other.run(change)? {
        Outcome::Rejected(error) if error.class == ErrorClass::Busy => false,
        outcome @ (Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_)) => {
            accepted(change, outcome).map(|_| true)?
        }
    };
    let seen = stage
        .tested
        .must("SELECT pkey FROM u WHERE pkey = 1 AND c = 101")?;
    let taken = seen.rows().is_empty();
    stage.reset()?;
    Ok(committed.then_some(taken))
}

fn spelled(stage: &Stage<'_>, sql: &str) -> String {
    let spelling = &stage.server.dialect().spelling;
    let update = spelling
        .lock_clauses
        .get("update")
        .map_or("", String::as_str);
    let sql = sql
        .replace("{key}", &stage.key().to_string())
        .replace("{update}", update);
    match sql.strip_prefix("{fix} ") {
        Some(table) => spelling.fix_snapshot.replace("{table}", table),
        None => sql,
    }
}

/// Statements that meet rows 1, 2 and 3 in this order, wait at row 2, and tell of each whether
/// they saw its old or its new value.
const WAITING_FORMS: [(&str, &str); 2] = [
    ("update", "UPDATE t SET c = c + 1000 WHERE c > 50"),
    ("delete", "DELETE FROM t WHERE c > 50"),
];

/// What a statement showed that was to wait at row 2: in words, and whether it saw row 1 as it was
/// before and row 3 as it is after. None where the answer does not tell.
type Mixture = (String, Option<bool>);

fn mixed_entry(
    subject: String,
    form: &str,
    claim: bool,
    (measured, mixed): Mixture,
) -> CalibratedEntry {
    let claimed = match claim {
        true => "rows mix two moments",
        false => "rows are of one moment",
    };
    let proof = match mixed {
        None => Proof::DoesNotApply("the answer tells nothing of rows".to_owned()),
        Some(mixed) if mixed == claim => Proof::Right,
        Some(_) => Proof::Wrong,
    };
    CalibratedEntry::new(subject, form.to_owned(), claimed.to_owned(), proof).measured(measured)
}

/// Lets a statement wait at row 2, and changes rows 1 and 3 meanwhile.
fn mixes(stage: &mut Stage<'_>, sql: &str) -> Result<Mixture, Halt> {
    let begin = stage.begin();
    // Rows 1 and 3 are out of reach before the other session's transaction, row 2 is in it.
    stage.other.must("UPDATE t SET c = 60 WHERE pkey = 2")?;
    stage.other.must(begin)?;
    stage.other.must("UPDATE t SET c = 70 WHERE pkey = 2")?;
    stage.tested.must(begin)?;
    if !matches!(stage.ask(sql)?, Reply::Waits) {
        return Ok(("it does not wait".to_owned(), None));
    }
    // Where the statement keeps the rows it passed, this is a deadlock, and one session is its victim.
    let both = "UPDATE t SET c = 99 WHERE pkey IN (1, 3)";
    let outcome = stage.ask_other(both)?;
    let lost = matches!(&outcome, Reply::Answered(Outcome::Rejected(_)));
    let answered = stage.tested_is_done();
    if matches!(outcome, Reply::Waits) {
        // The tested session lost: its rollback lets the other one go on.
        stage.tested.finish()?;
        let rollback = stage.server.dialect().spelling.rollback.clone();
        stage.tested.run(&rollback)?;
        stage.other.finish()?;
        return Ok(("it keeps what it passed".to_owned(), Some(false)));
    }
    let commit = stage.server.dialect().spelling.commit.clone();
    stage.other.run(&commit)?;
    let outcome = stage.tested.finish()?;
    Ok(judge(&outcome, lost || answered))
}

fn second_look_entry(subject: String, claim: bool, looked: &SecondLook) -> CalibratedEntry {
    let claimed = match claim {
        true => "looks at it again",
        false => "does not look again",
    };
    let (measured, again) = match looked {
        SecondLook::Again => ("looks at it again".to_owned(), true),
        SecondLook::Refused(code) => (format!("refused ({code})"), false),
        SecondLook::Other(told) => (told.clone(), false),
    };
    let proof = match again == claim {
        true => Proof::Right,
        false => Proof::Wrong,
    };
    let form = "update of a row that changed".to_owned();
    CalibratedEntry::new(subject, form, claimed.to_owned(), proof).measured(measured)
}

/// What became of an UPDATE that waited for a row.
enum SecondLook {
    /// It chose rows by its snapshot, and changed what the one that it waited for holds now.
    Again,
    Refused(String),
    Other(String),
}

/// Lets an UPDATE wait at row 2, the only one that its snapshot chooses, and makes row 3 fit meanwhile.
fn looks_again(stage: &mut Stage<'_>) -> Result<SecondLook, Halt> {
    let commit = stage.server.dialect().spelling.commit.clone();
    stage.other.must("UPDATE t SET c = 60 WHERE pkey = 2")?;
    stage.other.must(stage.begin())?;
    stage.other.must("UPDATE t SET c = 70 WHERE pkey = 2")?;
    stage.other.must("UPDATE t SET c = 99 WHERE pkey = 3")?;
    stage.tested.must(stage.begin())?;
    if !matches!(
        stage.ask("UPDATE t SET c = c + 1000 WHERE c > 50")?,
        Reply::Waits
    ) {
        return Ok(SecondLook::Other("it does not wait".to_owned()));
    }
    stage.other.must(&commit)?;
    let count = match stage.tested.finish()? {
        Outcome::Rejected(error) => return Ok(SecondLook::Refused(error.code)),
        outcome @ (Outcome::Rows(_) | Outcome::Affected(_)) => outcome,
    };
    let changed = "SELECT pkey FROM t WHERE (pkey = 2 AND c = 1070) OR (pkey = 3 AND c = 99)";
    let rows = stage.tested.must(changed)?.rows().len();
    Ok(if count == Outcome::Affected(1) && rows == 2 {
        SecondLook::Again
    } else {
        SecondLook::Other(format!("{count}, and not of the row as it is"))
    })
}

/// Lets an UPDATE wait at row 2, whose change is rolled back, and makes row 3 fit meanwhile. None where it
/// does not wait.
fn goes_on(stage: &mut Stage<'_>) -> Result<Option<Outcome>, Halt> {
    let rollback = stage.server.dialect().spelling.rollback.clone();
    stage.other.must("UPDATE t SET c = 60 WHERE pkey = 2")?;
    stage.other.must(stage.begin())?;
    stage.other.must("UPDATE t SET c = 70 WHERE pkey = 2")?;
    stage.tested.must(stage.begin())?;
    if !matches!(
        stage.ask("UPDATE t SET c = c + 1000 WHERE c > 50")?,
        Reply::Waits
    ) {
        return Ok(None);
    }
    stage.third("UPDATE t SET c = 99 WHERE pkey = 3")?;
    stage.other.must(&rollback)?;
    Ok(Some(stage.tested.finish()?))
}

fn goes_on_entry(subject: String, claim: bool, outcome: Option<Outcome>) -> CalibratedEntry {
    let words = |goes_on: bool| match goes_on {
        true => "rows as of when it was sent",
        false => "rows as of the end of its wait",
    };
    let goes_on = match &outcome {
        Some(Outcome::Affected(1)) => Some(true),
        Some(Outcome::Affected(2)) => Some(false),
        _ => None,
    };
    let measured = match (goes_on, &outcome) {
        (Some(goes_on), _) => words(goes_on).to_owned(),
        (None, Some(outcome)) => outcome.to_string(),
        (None, None) => "it does not wait".to_owned(),
    };
    let proof = match goes_on == Some(claim) {
        true => Proof::Right,
        false => Proof::Wrong,
    };
    let form = "update that waited for a change that was rolled back".to_owned();
    CalibratedEntry::new(subject, form, words(claim).to_owned(), proof).measured(measured)
}

/// What the answer after the wait says: rows 2 and 3 only is a mixture.
fn judge(outcome: &Outcome, deadlock: bool) -> Mixture {
    match outcome {
        Outcome::Rejected(error) if error.class == ErrorClass::Serialization => {
            (format!("refused ({})", error.code), None)
        }
        Outcome::Rejected(error) => (format!("rejected ({})", error.code), Some(false)),
        _ if deadlock => ("it keeps what it passed".to_owned(), Some(false)),
        Outcome::Affected(2) => ("rows 2 and 3, not 1".to_owned(), Some(true)),
        Outcome::Affected(count) => (format!("{count} rows"), Some(false)),
        Outcome::Rows(_) => ("rows".to_owned(), None),
    }
}
