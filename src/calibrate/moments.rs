//! When a transaction's snapshot is taken, and whether a statement that waited mixes two moments.

use super::stage::{Reply, Stage};
use super::{Entry, Judgement};
use crate::dialect::SnapshotPoint;
use crate::engine::EngineError;
use crate::model::{ErrorClass, IsolationLevel, Outcome, ReadMode, Role};
use crate::statement::analyze;

/// Probes what the dialect says of moments at this level.
pub(super) fn probe(
    stage: &mut Stage<'_>,
    level: IsolationLevel,
    note: &mut dyn FnMut(Entry),
) -> Result<(), EngineError> {
    let dialect = stage.server.dialect();
    if dialect.read_mode(level, Role::PlainSelect, true) == ReadMode::TransactionSnapshot {
        for entry in snapshot_points(stage, level)? {
            note(entry);
        }
    }
    if stage.server.waits() {
        for (form, sql) in WAITING_FORMS {
            note(mixes(stage, level, form, sql)?);
            stage.reset()?;
        }
    }
    Ok(())
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

fn snapshot_points(
    stage: &mut Stage<'_>,
    level: IsolationLevel,
) -> Result<Vec<Entry>, EngineError> {
    let dialect = stage.server.dialect();
    let subject = format!("snapshot-point at {}", level.slug());
    let mut entries = Vec::new();
    for candidate in CANDIDATES {
        let claim = match dialect.snapshot_point {
            SnapshotPoint::FirstConsistentRead => candidate.first_consistent_read,
            SnapshotPoint::FirstStatement => candidate.first_statement,
        };
        let (Some(claim), Some(begin)) = (claim, dialect.spelling.begin.get(candidate.begin))
        else {
            continue;
        };
        let sql = candidate.sql.map(|sql| spelled(stage, sql));
        let taken = takes_snapshot(stage, begin, sql.as_deref())?;
        let form = format!(
            "{begin}{}{}",
            if sql.is_some() { "; " } else { "" },
            sql.unwrap_or_default()
        );
        entries.push(taken_entry(&subject, form, Some(claim), taken));
    }
    for sql in READS {
        let claim = analyze(sql, dialect).surely_takes_snapshot.then_some(true);
        let begin = stage.begin();
        let taken = takes_snapshot(stage, begin, Some(sql))?;
        entries.push(taken_entry(&subject, (*sql).to_owned(), claim, taken));
    }
    Ok(entries)
}

fn taken_entry(subject: &str, form: String, claim: Option<bool>, taken: Option<bool>) -> Entry {
    let word = |taken: bool| {
        if taken {
            "taken by then"
        } else {
            "not yet taken"
        }
    };
    let (claimed, judgement) = match (claim, taken) {
        (_, None) => (
            "",
            Judgement::DoesNotApply("nobody else can commit meanwhile".to_owned()),
        ),
        (None, _) => (
            "",
            Judgement::DoesNotApply("nothing is built on this statement".to_owned()),
        ),
        (Some(claim), Some(taken)) if claim == taken => (word(claim), Judgement::Right),
        (Some(claim), Some(_)) => (word(claim), Judgement::Wrong),
    };
    Entry {
        subject: subject.to_owned(),
        form,
        claimed: claimed.to_owned(),
        measured: taken.map_or(String::new(), |taken| word(taken).to_owned()),
        judgement,
    }
}

/// Whether the snapshot is taken by then: another session's later commit is not seen. None when
/// the other session cannot commit.
fn takes_snapshot(
    stage: &mut Stage<'_>,
    begin: &str,
    sql: Option<&str>,
) -> Result<Option<bool>, EngineError> {
    stage.tested.must(begin)?;
    if let Some(sql) = sql {
        stage.tested.must(sql)?;
    }
    let change = "UPDATE u SET c = 101 WHERE pkey = 1";
    let committed = match stage.other.run(change)? {
        Outcome::Rejected(error) if error.class == ErrorClass::Busy => false,
        outcome => super::stage::accepted(change, outcome).map(|_| true)?,
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

/// Whether a statement that waited at row 2 saw row 1 as it was before and row 3 as it is after.
fn mixes(
    stage: &mut Stage<'_>,
    level: IsolationLevel,
    form: &str,
    sql: &str,
) -> Result<Entry, EngineError> {
    let begin = stage.begin();
    // Rows 1 and 3 are out of reach before the other session's transaction, row 2 is in it.
    stage.other.must("UPDATE t SET c = 60 WHERE pkey = 2")?;
    stage.other.must(begin)?;
    stage.other.must("UPDATE t SET c = 70 WHERE pkey = 2")?;
    stage.tested.must(begin)?;
    let waited = matches!(stage.ask(sql)?, Reply::Waits);
    let mut measured = "it does not wait".to_owned();
    let mut mixed = None;
    if waited {
        // Where the statement keeps the rows it passed, this is a deadlock, and somebody loses.
        let both = "UPDATE t SET c = 99 WHERE pkey IN (1, 3)";
        let outcome = stage.ask_other(both)?;
        let commit = stage.server.dialect().spelling.commit.clone();
        let lost = matches!(&outcome, Reply::Answered(Outcome::Rejected(_)));
        let answered = stage.tested_is_done();
        if matches!(outcome, Reply::Waits) {
            // The tested session lost: its rollback lets the other one go on.
            stage.tested.finish()?;
            stage
                .tested
                .run(&stage.server.dialect().spelling.rollback.clone())?;
            stage.other.finish()?;
            (measured, mixed) = ("it keeps what it passed".to_owned(), Some(false));
        } else {
            stage.other.run(&commit)?;
            let outcome = stage.tested.finish()?;
            (measured, mixed) = judge(&outcome, lost || answered);
        }
    }
    let claim = stage.server.dialect().mixes_after_wait.contains(&level);
    let word = |mixes: bool| {
        if mixes {
            "rows mix two moments"
        } else {
            "rows are of one moment"
        }
    };
    Ok(Entry {
        subject: format!("mixes-after-wait at {}", level.slug()),
        form: form.to_owned(),
        claimed: word(claim).to_owned(),
        measured,
        judgement: match mixed {
            None => Judgement::DoesNotApply("the answer tells nothing of rows".to_owned()),
            Some(mixed) if mixed == claim => Judgement::Right,
            Some(_) => Judgement::Wrong,
        },
    })
}

/// What the answer after the wait says: rows 2 and 3 only is a mixture.
fn judge(outcome: &Outcome, deadlock: bool) -> (String, Option<bool>) {
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
