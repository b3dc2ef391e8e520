//! Which versions a statement reads: decided from what it saw of another session's change.
//!
//! Three experiments each. *During*: the change is not committed when the statement runs. *After*:
//! it was committed after the tested transaction took its snapshot. *Then*: the statement ran, and
//! the other session tries to change what it read.

use super::stage::{Reply, Stage};
use super::variant::{Sign, Variant};
use super::{Entry, Judgement};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::model::{ErrorClass, IsolationLevel, Outcome, ReadMode};

/// The value before the change, and the one after it.
const OLD: i64 = 1;
const NEW: i64 = 101;
/// What the other session writes to find out whether it is kept out.
const FOREIGN: i64 = 55;

/// What a statement saw of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
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

impl Seen {
    fn word(&self) -> String {
        match self {
            Self::Old => "old".to_owned(),
            Self::New => "new".to_owned(),
            Self::Waited => "waits".to_owned(),
            Self::Busy => "busy".to_owned(),
            Self::Refused(code) => format!("refused ({code})"),
            Self::Prevented => "nobody else can commit".to_owned(),
        }
    }
}

/// Probes one form at a level, inside a transaction (`explicit`) or outside.
pub(super) fn probe(
    stage: &mut Stage<'_>,
    level: IsolationLevel,
    form: &Variant,
    explicit: bool,
) -> Result<Entry, EngineError> {
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
    if form.may_pass_over && (&during, &after) == (&Seen::Old, &Seen::New) {
        possible.push(ReadMode::Current);
    }
    // Whatever a target is looked for by, what fits is waited for.
    if form.role.is_target() && possible == [ReadMode::Current] {
        possible.push(ReadMode::Anything);
    }
    let waits = stage.server.waits();
    let locks = claimed == ReadMode::Current || form.role.is_target();
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
    Ok(Entry {
        subject: format!("{place}.{}.{}", level.slug(), form.role),
        form: form.form.to_owned(),
        claimed: claimed.slug().to_owned(),
        measured: format!(
            "{} (during: {}; after: {}{then})",
            if words.is_empty() {
                "no mode".to_owned()
            } else {
                words.join(" or ")
            },
            during.word(),
            after.word(),
        ),
        judgement: if possible.contains(&claimed) && holds {
            Judgement::Right
        } else {
            Judgement::Wrong
        },
    })
}

/// The modes that are in accord with what was seen.
fn possible_modes(during: &Seen, after: &Seen, explicit: bool) -> Vec<ReadMode> {
    use ReadMode::{Anything, Current, StatementSnapshot, TransactionSnapshot};
    match (during, after) {
        (Seen::New, Seen::New) => vec![Anything],
        // Alone in its transaction, a statement's snapshot is the transaction's.
        (Seen::Old, Seen::New) if explicit => vec![StatementSnapshot],
        (Seen::Old, Seen::New) => vec![StatementSnapshot, TransactionSnapshot],
        (Seen::Waited, Seen::New | Seen::Refused(_)) => vec![Current],
        (Seen::Old, Seen::Old) => vec![TransactionSnapshot],
        // Where nothing waits, who is refused has told nothing but that it would not read on.
        (Seen::Busy, Seen::Old | Seen::Refused(_)) => vec![TransactionSnapshot],
        (Seen::Busy, Seen::New) if !explicit => vec![StatementSnapshot, TransactionSnapshot],
        (Seen::Old | Seen::Busy, Seen::Prevented) => vec![TransactionSnapshot],
        _ => Vec::new(),
    }
}

fn during(stage: &mut Stage<'_>, form: &Variant, explicit: bool) -> Result<Seen, EngineError> {
    let (key, begin) = (stage.key(), stage.begin());
    stage.other.must(begin)?;
    stage.other.must(&form.subject.write(NEW, key))?;
    if explicit {
        stage.tested.must(begin)?;
    }
    seen(stage, form)
}

fn after(stage: &mut Stage<'_>, form: &Variant, explicit: bool) -> Result<Seen, EngineError> {
    let (key, begin) = (stage.key(), stage.begin());
    if explicit {
        stage.tested.must(begin)?;
        stage.tested.must("SELECT pkey FROM w")?;
    }
    let change = form.subject.write(NEW, key);
    if let Outcome::Rejected(error) = stage.other.run(&change)? {
        return Ok(match error.class {
            ErrorClass::Busy => Seen::Prevented,
            _ => Seen::Refused(error.code),
        });
    }
    seen(stage, form)
}

/// Whether the other session is kept from what the statement has read.
fn keeps_out(stage: &mut Stage<'_>, form: &Variant) -> Result<bool, EngineError> {
    let (key, begin) = (stage.key(), stage.begin());
    stage.tested.must(begin)?;
    let sql = spelled(form.sql, stage.server.dialect(), OLD, key);
    stage.tested.must(&sql)?;
    stage.other.must(begin)?;
    let change = form.subject.write(FOREIGN, key);
    match stage.ask_other(&change)? {
        Reply::Waits => {
            let rollback = stage.server.dialect().spelling.rollback.clone();
            stage.tested.must(&rollback)?;
            stage.other.finish()?;
            Ok(true)
        }
        Reply::Answered(Outcome::Rejected(error)) => Ok(error.class == ErrorClass::Busy),
        Reply::Answered(_) => Ok(false),
    }
}

/// Runs the statement and tells what it saw.
fn seen(stage: &mut Stage<'_>, form: &Variant) -> Result<Seen, EngineError> {
    let key = stage.key();
    let sql = spelled(form.sql, stage.server.dialect(), NEW, key);
    let outcome = match stage.ask(&sql)? {
        Reply::Answered(outcome) => outcome,
        Reply::Waits => {
            let rollback = stage.server.dialect().spelling.rollback.clone();
            stage.other.must(&rollback)?;
            stage.tested.finish()?;
            return Ok(Seen::Waited);
        }
    };
    let found = match (&outcome, form.sign) {
        (Outcome::Rejected(error), sign) => match error.class {
            ErrorClass::Busy => return Ok(Seen::Busy),
            ErrorClass::Serialization => return Ok(Seen::Refused(error.code.clone())),
            ErrorClass::Duplicate if sign == Sign::Duplicate => true,
            _ => {
                super::stage::accepted(&sql, outcome)?;
                false
            }
        },
        (outcome, Sign::Rows) => !outcome.rows().is_empty(),
        (outcome, Sign::Affected(count)) => *outcome == Outcome::Affected(count),
        (outcome, Sign::Nothing) => *outcome == Outcome::Affected(0),
        (_, Sign::Duplicate) => false,
        (_, Sign::Then(query)) => {
            let query = spelled(query, stage.server.dialect(), NEW, key);
            !stage.tested.must(&query)?.rows().is_empty()
        }
    };
    Ok(if found { Seen::New } else { Seen::Old })
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
        let refused = || Seen::Refused("1020".to_owned());
        let pictures = [
            (Seen::New, Seen::New, ReadMode::Anything),
            (Seen::Old, Seen::New, ReadMode::StatementSnapshot),
            (Seen::Old, Seen::Old, ReadMode::TransactionSnapshot),
            (Seen::Waited, Seen::New, ReadMode::Current),
            (Seen::Waited, refused(), ReadMode::Current),
            (Seen::Busy, refused(), ReadMode::TransactionSnapshot),
        ];
        for (during, after, mode) in pictures {
            assert_eq!(possible_modes(&during, &after, true), [mode]);
        }
        // A dirty read that is gone after the commit, or a wait that ends in old rows, is no mode.
        for (during, after) in [
            (Seen::New, Seen::Old),
            (Seen::Waited, Seen::Old),
            (Seen::Refused("1020".to_owned()), Seen::New),
        ] {
            assert!(possible_modes(&during, &after, true).is_empty());
        }
    }
}
