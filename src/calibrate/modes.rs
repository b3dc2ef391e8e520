//! Which versions a statement reads: decided from what it saw of another session's change.
//!
//! Three experiments each. *During*: the change is not committed when the statement runs. *After*:
//! it was committed after the tested transaction took its snapshot. *Then*: the statement ran, and
//! the other session tries to change what it read.

use super::entry::{CalibratedEntry, Proof};
use super::stage::{Halt, Reply, Stage, accepted};
use super::variant::{Sign, Variant};
use crate::dialect::{Capability, Dialect};
use crate::model::{ErrorClass, IsolationLevel, Outcome, ReadMode};

/// The value before the change, and the one after it.
const OLD: i64 = 1;
const NEW: i64 = 101;

/// What a statement saw of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SeenChange {
    Old,
    New,
    /// It waited for the other session.
    Waited,
    /// It was refused because another session writes; nothing ever waits on such an engine.
    Busy,
    /// It was refused because what it wanted to read has changed since the snapshot.
    Refused(String),
    /// The other session could not make its change at all.
    Prevented,
}

impl SeenChange {
    fn word(&self) -> String {
        match self {
            Self::Old => "old".to_owned(),
            Self::New => "new".to_owned(),
            Self::Waited => "waits".to_owned(),
            Self::Busy => "busy".to_owned(),
            Self::Refused(code) => format!("refused ({code})"),
            Self::Prevented => "no other session can commit".to_owned(),
        }
    }
}

/// Probes one form at a level, inside a transaction (`explicit`) or outside.
pub(super) fn probe(
    stage: &mut Stage<'_>,
    level: IsolationLevel,
    form: &Variant,
    explicit: bool,
) -> Result<CalibratedEntry, Halt> {
    let during = during(stage, form, explicit)?;
    stage.reset()?;
    let after = after(stage, form, explicit)?;
    stage.reset()?;
    let keeps_out = if explicit {
        let kept = keeps_out(stage, form)?;
        stage.reset()?;
        Some(kept)
    } else {
        None
    };
    let claimed = stage.server.dialect().read_mode(level, form.role, explicit);
    let mut possible = possible_modes(&during, &after, explicit);
    let dialect = stage.server.dialect();
    let passes_over = dialect.supports(Capability::PassesOverUnfitRows);
    let may_pass_over = form.may_pass_over || (passes_over && form.role.takes_row_locks());
    if may_pass_over && (&during, &after) == (&SeenChange::Old, &SeenChange::New) {
        possible.push(ReadMode::Current);
    }
    // Whatever a target is looked for by, what fits is waited for.
    if form.role.is_target() && possible == [ReadMode::Current] {
        possible.push(ReadMode::Anything);
    }
    if form.role.takes_row_locks() {
        let seen = (&during, &after);
        possible.extend(beside_a_snapshot(dialect, level, seen, explicit));
    }
    let waits = stage.server.waits();
    let takes_locks =
        dialect.locks_rows_of(form.role) && !dialect.supports(Capability::LocksAtCommit);
    let locks = claimed == ReadMode::Current || takes_locks;
    let holds = keeps_out.is_none_or(|kept| !waits || kept == locks);
    let place = if explicit {
        "read-modes"
    } else {
        "autocommit-read-modes"
    };
    let then = match keeps_out {
        Some(true) => ", then locked",
        Some(false) => ", then free",
        None => "",
    };
    let words: Vec<&str> = possible.iter().map(|mode| mode.slug()).collect();
    let measured = match words.as_slice() {
        [] => "no mode".to_owned(),
        words => words.join(" or "),
    };
    let fits = |mode| possible.contains(&mode);
    let is_possible = fits(claimed)
        || (claimed == ReadMode::EitherSnapshot
            && (fits(ReadMode::TransactionSnapshot) || fits(ReadMode::StatementSnapshot)));
    let proof = if is_possible && holds {
        Proof::Right
    } else {
        Proof::Wrong
    };
    let entry = CalibratedEntry::new(
        format!("{place}.{}.{}", level.slug(), form.role),
        form.form.to_owned(),
        claimed.slug().to_owned(),
        proof,
    );
    Ok(entry.measured(format!(
        "{measured} (during: {}; after: {}{then})",
        during.word(),
        after.word(),
    )))
}

/// The snapshots that a wait for a row is in accord with, on an engine that chooses rows by a snapshot
/// and then locks them: a row that changed is looked at again at some levels, and refused at the others.
fn beside_a_snapshot(
    dialect: &Dialect,
    level: IsolationLevel,
    seen: (&SeenChange, &SeenChange),
    explicit: bool,
) -> Option<ReadMode> {
    let levels = &dialect.re_evaluates_after_wait;
    let looks_again = levels.contains(&level);
    match seen {
        _ if levels.is_empty() => None,
        (SeenChange::Waited, SeenChange::New) if looks_again => Some(ReadMode::StatementSnapshot),
        // Outside of a transaction the statement began after the change.
        (SeenChange::Waited, SeenChange::New) if !explicit => Some(ReadMode::TransactionSnapshot),
        (SeenChange::Waited, SeenChange::Refused(_)) if !looks_again => {
            Some(ReadMode::TransactionSnapshot)
        }
        _ => None,
    }
}

/// The modes that are in accord with what was seen.
fn possible_modes(during: &SeenChange, after: &SeenChange, explicit: bool) -> Vec<ReadMode> {
    use ReadMode::{Anything, Current, StatementSnapshot, TransactionSnapshot};
    match (during, after) {
        (SeenChange::New, SeenChange::New) => vec![Anything],
        // Alone in its transaction, a statement's snapshot is the transaction's.
        (SeenChange::Old, SeenChange::New) if explicit => vec![StatementSnapshot],
        (SeenChange::Old, SeenChange::New) => vec![StatementSnapshot, TransactionSnapshot],
        (SeenChange::Waited, SeenChange::New | SeenChange::Refused(_)) => vec![Current],
        (SeenChange::Old, SeenChange::Old) => vec![TransactionSnapshot],
        // Where nothing waits, a refusal says only that the statement would not have read on.
        (SeenChange::Busy, SeenChange::Old | SeenChange::Refused(_)) => vec![TransactionSnapshot],
        (SeenChange::Busy, SeenChange::New) if !explicit => {
            vec![StatementSnapshot, TransactionSnapshot]
        }
        (SeenChange::Old | SeenChange::Busy, SeenChange::Prevented) => vec![TransactionSnapshot],
        _ => Vec::new(),
    }
}

fn during(stage: &mut Stage<'_>, form: &Variant, explicit: bool) -> Result<SeenChange, Halt> {
    let (key, begin) = (stage.key(), stage.begin());
    stage.other.must(begin)?;
    stage.other.must(&form.subject.write(NEW, key))?;
    if explicit {
        stage.tested.must(begin)?;
    }
    seen(stage, form)
}

fn after(stage: &mut Stage<'_>, form: &Variant, explicit: bool) -> Result<SeenChange, Halt> {
    let (key, begin) = (stage.key(), stage.begin());
    if explicit {
        stage.tested.must(begin)?;
        stage.tested.must("SELECT pkey FROM w")?;
    }
    let change = form.subject.write(NEW, key);
    if let Outcome::Rejected(error) = stage.other.run(&change)? {
        return Ok(if error.class == ErrorClass::Busy {
            SeenChange::Prevented
        } else {
            SeenChange::Refused(error.code)
        });
    }
    seen(stage, form)
}

/// Whether the other session is kept from what the statement has read.
fn keeps_out(stage: &mut Stage<'_>, form: &Variant) -> Result<bool, Halt> {
    let (key, begin) = (stage.key(), stage.begin());
    stage.tested.must(begin)?;
    let sql = spelled(form.sql, stage.server.dialect(), OLD, key);
    stage.tested.must(&sql)?;
    stage.other.must(begin)?;
    let value = form.subject.foreign_value(OLD);
    let change = form.subject.write(value, key);
    match stage.ask_other_and_free(&change)? {
        Reply::Waits => Ok(true),
        Reply::Answered(Outcome::Rejected(error)) => Ok(error.class == ErrorClass::Busy),
        Reply::Answered(_) => Ok(false),
    }
}

/// Runs the statement and tells what it saw.
fn seen(stage: &mut Stage<'_>, form: &Variant) -> Result<SeenChange, Halt> {
    let key = stage.key();
    let sql = spelled(form.sql, stage.server.dialect(), NEW, key);
    let outcome = match stage.ask(&sql)? {
        Reply::Answered(outcome) => outcome,
        Reply::Waits => {
            let rollback = stage.server.dialect().spelling.rollback.clone();
            stage.other.must(&rollback)?;
            stage.tested.finish()?;
            return Ok(SeenChange::Waited);
        }
    };
    let found = match (&outcome, form.sign) {
        (Outcome::Rejected(error), sign) => {
            if error.class == ErrorClass::Busy {
                return Ok(SeenChange::Busy);
            }
            if error.class == ErrorClass::Serialization {
                return Ok(SeenChange::Refused(error.code.clone()));
            }
            if error.class == ErrorClass::ForeignKey && sign == Sign::Referenced {
                return Ok(SeenChange::Old);
            }
            let shows = (error.class == ErrorClass::Duplicate && sign == Sign::Duplicate)
                || (error.class == ErrorClass::ForeignKey && sign == Sign::Held);
            if !shows {
                accepted(&sql, outcome)?;
            }
            shows
        }
        (outcome, Sign::Rows) => !outcome.rows().is_empty(),
        (outcome, Sign::Affected(count)) => *outcome == Outcome::Affected(count),
        (outcome, Sign::Nothing) => *outcome == Outcome::Affected(0),
        (_, Sign::Duplicate | Sign::Held) => false,
        (_, Sign::Referenced) => true,
        (_, Sign::Then(query)) => {
            let query = spelled(query, stage.server.dialect(), NEW, key);
            !stage.tested.must(&query)?.rows().is_empty()
        }
    };
    Ok(if found {
        SeenChange::New
    } else {
        SeenChange::Old
    })
}

fn spelled(sql: &str, dialect: &Dialect, seen: i64, key: i64) -> String {
    let clause = |name| {
        dialect
            .spelling
            .lock_clauses
            .get(name)
            .map_or("", String::as_str)
    };
    sql.replace("{seen}", &seen.to_string())
        .replace("{key}", &key.to_string())
        .replace("{update}", clause("update"))
        .replace("{share}", clause("share"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_has_its_own_picture() {
        let refused = || SeenChange::Refused("1020".to_owned());
        let pictures = [
            (SeenChange::New, SeenChange::New, ReadMode::Anything),
            (
                SeenChange::Old,
                SeenChange::New,
                ReadMode::StatementSnapshot,
            ),
            (
                SeenChange::Old,
                SeenChange::Old,
                ReadMode::TransactionSnapshot,
            ),
            (SeenChange::Waited, SeenChange::New, ReadMode::Current),
            (SeenChange::Waited, refused(), ReadMode::Current),
            (SeenChange::Busy, refused(), ReadMode::TransactionSnapshot),
        ];
        for (during, after, mode) in pictures {
            assert_eq!(possible_modes(&during, &after, true), [mode]);
        }
        // A dirty read that is gone after the commit, or a wait that ends in old rows, is no mode.
        for (during, after) in [
            (SeenChange::New, SeenChange::Old),
            (SeenChange::Waited, SeenChange::Old),
            (SeenChange::Refused("1020".to_owned()), SeenChange::New),
        ] {
            assert!(possible_modes(&during, &after, true).is_empty());
        }
    }
}
