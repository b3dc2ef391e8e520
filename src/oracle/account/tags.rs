//! Answers whose words say that something else was done than what was sent, or that count other rows than came with them (PostgreSQL
//! manual, "Frontend/Backend Protocol", CommandComplete; "COMMIT": of a failed transaction it is answered ROLLBACK).

use super::super::Evidence;
use super::failed::{JudgedAnswer, answers};
use super::transactions::{Strangeness, is_in_the_dark};
use crate::model::{FindingKind, Outcome, StatementKind};

/// The first answer of which that is true.
pub(super) fn strangeness(evidence: &Evidence) -> Option<Strangeness> {
    let mut answers = answers(evidence);
    answers.find_map(|answered| other_words(evidence, &answered).or_else(|| other_count(&answered)))
}

fn other_words(evidence: &Evidence, answered: &JudgedAnswer<'_>) -> Option<Strangeness> {
    let JudgedAnswer {
        statement,
        record,
        was_failed,
    } = answered;
    let tag = record.command_tag.as_deref()?;
    let kind = statement.effect.kind;
    let promised = promised(kind, *was_failed);
    let is_by_its_verb = kind.is_control() || begins_with(&statement.sql, promised);
    let is_promised = promised.is_empty() || promised.contains(&tag);
    // A session whose transactions only the engine understands may have had none to commit.
    if is_promised || !is_by_its_verb || is_in_the_dark(evidence, record.id) {
        return None;
    }
    let why = match (kind, was_failed) {
        (StatementKind::Commit, true) => ", because its transaction has failed",
        _ => "",
    };
    Some(Strangeness {
        kind: match kind.is_end() {
            true => FindingKind::WrongTransactionEnd,
            false => FindingKind::WrongCommandTag,
        },
        statement: record.id,
        expected: format!("the command tag {}{why}", promised.join(" or ")),
        got: tag.to_owned(),
    })
}

/// The words that may answer a statement of this kind; none where its text says more than its kind.
fn promised(kind: StatementKind, was_failed: bool) -> &'static [&'static str] {
    match kind {
        StatementKind::Commit if was_failed => &["ROLLBACK"],
        StatementKind::Commit => &["COMMIT"],
        StatementKind::Rollback | StatementKind::RollbackTo => &["ROLLBACK"],
        StatementKind::Begin | StatementKind::BeginSnapshot | StatementKind::BeginImmediate => {
            &["BEGIN", "START TRANSACTION"]
        }
        StatementKind::Savepoint => &["SAVEPOINT"],
        StatementKind::ReleaseSavepoint => &["RELEASE"],
        StatementKind::LockTable => &["LOCK TABLE"],
        StatementKind::Select | StatementKind::LockingSelect => &["SELECT"],
        StatementKind::Insert | StatementKind::InsertSelect => &["INSERT"],
        StatementKind::Update => &["UPDATE"],
        StatementKind::Delete => &["DELETE"],
        StatementKind::Merge => &["MERGE"],
        StatementKind::Replace
        | StatementKind::Set
        | StatementKind::PhysicalDdl
        | StatementKind::Opaque => &[],
    }
}

/// Whether a statement begins with one of these words: `WITH` may stand before any.
fn begins_with(sql: &str, words: &[&str]) -> bool {
    let first = sql.split_whitespace().next().unwrap_or_default();
    words.iter().any(|word| word.eq_ignore_ascii_case(first))
}

fn other_count(answered: &JudgedAnswer<'_>) -> Option<Strangeness> {
    let record = answered.record;
    let is_read = matches!(
        answered.statement.effect.kind,
        StatementKind::Select | StatementKind::LockingSelect
    );
    let Outcome::Rows(rows) = &record.outcome else {
        return None;
    };
    let reported = record.reported.filter(|_| is_read)?;
    (reported != rows.len() as u64).then(|| Strangeness {
        kind: FindingKind::WrongCommandTag,
        statement: record.id,
        expected: format!(
            "a command tag that counts {} rows, as many as came",
            rows.len()
        ),
        got: reported.to_string(),
    })
}
