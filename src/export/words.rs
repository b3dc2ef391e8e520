//! Answers and faults in the words of people who know the engine and not this program.

use super::scenario::{ClientStep, Scenario, Symptom, kind_of};
use crate::dialect::Dialect;
use crate::model::{ErrorClass, FindingKind, LockBreach, Signature, StatementKind};
use crate::reproducer::{CaseFile, Expectation, Registry};

/// An answer, as a person tells it.
pub(super) fn answer(answer: &Expectation, dialect: &Dialect) -> String {
    match answer {
        Expectation::Rows(rows) if rows.is_empty() => "no rows".to_owned(),
        Expectation::Rows(_) => answer.to_string(),
        Expectation::Affected(1) => "1 row changed".to_owned(),
        Expectation::Affected(count) => format!("{count} rows changed"),
        Expectation::Error(class) => {
            let codes = dialect.error_codes(*class);
            let codes = match codes.as_slice() {
                [] => String::new(),
                codes => format!(" {}", codes.join(" or ")),
            };
            format!("error{codes} ({})", error_words(*class))
        }
        Expectation::Accepted => "no error".to_owned(),
        Expectation::Waits => "it waits for a lock".to_owned(),
        Expectation::DoesNotWait => "it does not wait".to_owned(),
    }
}

/// The answers that are right, as alternatives.
pub(super) fn alternatives(answers: &[Expectation], dialect: &Dialect) -> String {
    let answers: Vec<String> = answers.iter().map(|one| answer(one, dialect)).collect();
    answers.join(", or ")
}

/// What was seen of a step, and what is right where that is another answer.
pub(super) fn told(step: &ClientStep, scenario: &Scenario<'_>) -> String {
    let mut parts = Vec::new();
    if step.id.is_none() && step.client.is_some() {
        parts.push("takes the transaction's snapshot".to_owned());
    }
    if step.waits {
        parts.push("waits".to_owned());
    }
    if let Some(seen) = &step.seen {
        let goes_on = if step.waits { "then " } else { "" };
        parts.push(format!("{goes_on}{}", answer(seen, &scenario.dialect)));
    }
    for client in &step.resumes {
        parts.push(format!("client {client} goes on"));
    }
    if step.is_disputed() {
        let right = alternatives(&step.right, &scenario.dialect);
        parts.push(format!("expected: {right}"));
    }
    parts.join("; ")
}

/// The number and the text of the internal error that a file is about, from its headline.
pub(super) fn internal_error(file: &CaseFile) -> Option<String> {
    if kind_of(file) != Some(FindingKind::InternalError) {
        return None;
    }
    let (_, message) = file.header.comments.last.first()?.split_once("): ")?;
    Some(message.to_owned())
}

/// What an error of this class is about.
pub(super) fn error_words(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Deadlock => "deadlock",
        ErrorClass::Serialization => "a row has changed since the snapshot",
        ErrorClass::LockTimeout => "lock not granted",
        ErrorClass::Busy => "the database is locked",
        ErrorClass::Duplicate => "duplicate key",
        ErrorClass::NotNull => "NULL in a column that is NOT NULL",
        ErrorClass::ForeignKey => "foreign key",
        ErrorClass::Check => "CHECK constraint",
        ErrorClass::Data => "a value does not fit",
        ErrorClass::Interrupted => "interrupted",
        ErrorClass::Syntax => "the statement is not understood",
        ErrorClass::Missing => "an object is missing",
        ErrorClass::Unsupported => "not supported",
        ErrorClass::FailedTransaction => "the transaction has failed",
        ErrorClass::ReadOnly => "a write in a READ ONLY transaction",
        ErrorClass::Privilege => "no privilege",
        ErrorClass::Resource => "a resource is used up",
        ErrorClass::Internal => "internal error",
        ErrorClass::Other => "any other",
    }
}

/// The fault in half a sentence, as a synopsis has it: `SELECT loses rows at READ COMMITTED`.
pub(super) fn synopsis<M>(scenario: &Scenario<'_, M>) -> String {
    let levels = scenario.levels_text();
    if let Some(note) = registered_note(scenario.file) {
        return note;
    }
    match (scenario.symptom, scenario.disputed().next()) {
        (Symptom::Crash, _) => format!("the server crashes at {levels}"),
        (Symptom::Hang, _) => format!("a statement is never answered at {levels}"),
        (Symptom::WrongAnswer | Symptom::AsSeen, Some(step)) => {
            let level = step.client.and_then(|client| scenario.level(client));
            let level = level.map_or(levels, |level| level.to_string());
            format!("{} at {level}", fault(step, &scenario.dialect))
        }
        (Symptom::NothingWrong, _) => format!("transactions side by side at {levels}"),
        (Symptom::WrongAnswer | Symptom::AsSeen, None) => {
            let kind = scenario.file.header.kind.as_deref();
            let kind = kind.and_then(FindingKind::from_slug);
            format!(
                "{} at {levels}",
                kind.map_or("wrong answers".to_owned(), kind_words)
            )
        }
    }
}

/// The sentence of the registry about the case's own entry: somebody wrote it for readers like these.
fn registered_note(file: &CaseFile) -> Option<String> {
    let id = file.header.known.as_ref()?;
    let registry = Registry::builtin().ok()?;
    let own = registry.entries.into_iter().find(|entry| {
        let example = entry.example.as_ref().map(Signature::id);
        entry.id == *id && example.is_some() && example == file.header.signature
    });
    own?.note
}

/// What is wrong with the answer of one statement.
pub(super) fn fault(step: &ClientStep, dialect: &Dialect) -> String {
    let name = statement_name(step);
    if step.client.is_none() {
        return "the tables hold wrong rows afterwards".to_owned();
    }
    let Some(right) = step.right.first() else {
        return format!("{name} is answered wrongly");
    };
    let Some(seen) = &step.seen else {
        return format!("{name} does not answer with {}", answer(right, dialect));
    };
    match (seen, right) {
        (Expectation::Error(class), _) => {
            format!("{name} is rejected with an error ({})", error_words(*class))
        }
        (_, Expectation::Error(class)) => format!(
            "{name} is answered instead of rejected ({})",
            error_words(*class)
        ),
        (Expectation::Rows(seen), Expectation::Rows(right)) if seen.len() < right.len() => {
            format!("{name} loses rows")
        }
        (Expectation::Rows(seen), Expectation::Rows(right)) if seen.len() > right.len() => {
            format!("{name} returns rows that it should not")
        }
        (Expectation::Affected(seen), Expectation::Affected(right)) => {
            format!("{name} changes {seen} rows instead of {right}")
        }
        _ => format!("{name} returns wrong rows"),
    }
}

/// The statement by its keywords: `SELECT .. FOR UPDATE NOWAIT`.
fn statement_name(step: &ClientStep) -> String {
    let kind = match step.effect.kind {
        StatementKind::Select => "SELECT",
        StatementKind::LockingSelect if step.effect.nowait => "locking SELECT with NOWAIT",
        StatementKind::LockingSelect => "locking SELECT",
        StatementKind::Insert => "INSERT",
        StatementKind::InsertSelect => "INSERT .. SELECT",
        StatementKind::Replace => "REPLACE",
        StatementKind::Update => "UPDATE",
        StatementKind::Delete => "DELETE",
        StatementKind::Commit => "COMMIT",
        StatementKind::Rollback => "ROLLBACK",
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::BeginImmediate
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint
        | StatementKind::Set
        | StatementKind::Opaque => "a statement",
    };
    kind.to_owned()
}

/// What is wrong with answers of which none is wrong alone.
fn kind_words(kind: FindingKind) -> String {
    let words = match kind {
        FindingKind::NotSerializable => "answers that no serial order of the transactions gives",
        FindingKind::UnexplainedChange => "rows change that no statement changed",
        FindingKind::MiscountedWrite => "a wrong number of changed rows",
        FindingKind::RefusalWithoutCause => "an error without a cause",
        FindingKind::WrongSavepoint => "a savepoint that is lost or wrongly found",
        FindingKind::WrongTransactionEnd => "a transaction that did not end as it was answered",
        FindingKind::NumberGivenAgain => "a counter that gives a number again",
        FindingKind::InternalError => "an internal error",
        FindingKind::Anomaly(anomaly) => return anomaly.to_string(),
        FindingKind::Lock(breach) => match breach {
            LockBreach::UnlockedWrite => "a write that does not wait for a lock",
            LockBreach::UnlockedRead => "a locking read that does not wait for a lock",
            LockBreach::UnkeptRow => "a locked row that can be changed",
            LockBreach::UnkeptRange => "a locked range that a row can join",
            LockBreach::UnfoundedRefusal => "a refusal for a lock that nobody holds",
            LockBreach::WrongSkip => "SKIP LOCKED skips other rows than the locked ones",
            LockBreach::Waited => "a read that must not wait waits for a lock",
            LockBreach::KeptPastEnd => "a statement waits for a transaction that has ended",
        },
        FindingKind::LostCommit => "an acknowledged commit is lost by a crash",
        FindingKind::TornTransaction => "a crash leaves a part of a transaction",
        FindingKind::UncommittedSurvives => "a crash leaves changes that were not committed",
        FindingKind::UnexplainedRow => "a crash leaves rows that no transaction wrote",
        FindingKind::Wrong(_)
        | FindingKind::UnstableSerialAnswer
        | FindingKind::Crash
        | FindingKind::Hang
        | FindingKind::IndexDisagrees
        | FindingKind::TableCheckFailed
        | FindingKind::UnexpectedOutcome => "wrong answers",
    };
    words.to_owned()
}
