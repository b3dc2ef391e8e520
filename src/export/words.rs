//! Answers and faults in the words of people who know the engine and not this program.

use super::client_step::ClientStep;
use super::headline::kind_of;
use super::scenario::{Scenario, Symptom};
use crate::dialect::Dialect;
use crate::model::{ErrorClass, FindingKind, LockBreach, Signature, StatementKind};
use crate::reproducer::{CaseFile, Expectation, Registry};

/// An answer, as a person tells it.
pub(super) fn answer(answer: &Expectation, dialect: &Dialect) -> String {
    match answer {
        Expectation::Rows(rows) if rows.is_empty() => "an empty result".to_owned(),
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
    if let Some(seen) = outcome(step, &scenario.dialect) {
        let goes_on = if step.waits { "then " } else { "" };
        parts.push(format!("{goes_on}{seen}"));
    }
    for client in &step.resumes {
        parts.push(format!("client {client} goes on"));
    }
    if step.is_decisive {
        parts.push("where another client is rejected in its place, start again".to_owned());
    }
    if step.is_disputed() {
        let right = alternatives(&step.right, &scenario.dialect);
        parts.push(format!("expected: {right}"));
    }
    parts.join("; ")
}

/// What a step came to where the bug was seen.
pub(super) fn outcome(step: &ClientStep, dialect: &Dialect) -> Option<String> {
    let seen = step.seen.as_ref();
    let told = step.outcome.clone();
    told.or_else(|| seen.map(|seen| answer(seen, dialect)))
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
        ErrorClass::TableChanged => "the table has changed since the snapshot",
        ErrorClass::SchemaChanged => "the schema has changed beside the transaction",
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
        (Symptom::Hang, _) => match scenario.without_answer() {
            Some(step) => format!("{} is never answered at {levels}", a_statement(step)),
            None => format!("a statement is never answered at {levels}"),
        },
        (Symptom::WrongAnswer | Symptom::AsSeen, Some(step)) => {
            let level = step.client.and_then(|client| scenario.level(client));
            let level = level.map_or(levels, |level| level.to_string());
            let fault = fault(step, &scenario.dialect);
            match step.client {
                Some(_) => format!("{} {fault} at {level}", a_statement(step)),
                None => format!("{fault} at {level}"),
            }
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

/// What is wrong with the answer of one statement, as its name is followed by it; a sentence of its own where it
/// is no statement of a client.
pub(super) fn fault(step: &ClientStep, dialect: &Dialect) -> String {
    if step.client.is_none() {
        return "the tables hold wrong rows afterwards".to_owned();
    }
    if step.waits_wrongly() {
        return match step.waits {
            true => "waits for a lock".to_owned(),
            false => "does not wait for a lock".to_owned(),
        };
    }
    let Some(right) = step.right.first() else {
        return "is answered wrongly".to_owned();
    };
    let Some(seen) = &step.seen else {
        return format!("does not answer with {}", answer(right, dialect));
    };
    match (seen, right) {
        (Expectation::Error(class), _) => {
            let told = step.outcome.as_deref();
            match told.and_then(|told| told.split(':').next()) {
                Some(number) => format!("is rejected with {number} ({})", error_words(*class)),
                None => format!("is rejected with {}", answer(seen, dialect)),
            }
        }
        (_, Expectation::Error(class)) => {
            format!("is answered instead of rejected ({})", error_words(*class))
        }
        (Expectation::Rows(seen), Expectation::Rows(right)) if seen.len() < right.len() => {
            "loses rows".to_owned()
        }
        (Expectation::Rows(seen), Expectation::Rows(right)) if seen.len() > right.len() => {
            "returns rows that it should not".to_owned()
        }
        (Expectation::Affected(seen), Expectation::Affected(right)) => {
            let rows = if *seen == 1 { "row" } else { "rows" };
            format!("changes {seen} {rows} instead of {right}")
        }
        _ => "returns wrong rows".to_owned(),
    }
}

/// The name of a step's statement as the subject of a headline.
fn a_statement(step: &ClientStep) -> &'static str {
    statement_name(step).unwrap_or("a statement")
}

/// The name of a step's statement as the subject of a sentence about this one.
pub(super) fn the_statement(step: &ClientStep) -> String {
    format!("the {}", statement_name(step).unwrap_or("statement"))
}

/// The statement by its keywords; none where it is of no kind that has a name.
fn statement_name(step: &ClientStep) -> Option<&'static str> {
    Some(match step.effect.kind {
        StatementKind::Select => "SELECT",
        StatementKind::LockingSelect if step.effect.nowait => "locking SELECT with NOWAIT",
        StatementKind::LockingSelect => "locking SELECT",
        StatementKind::Insert => "INSERT",
        StatementKind::InsertSelect => "INSERT .. SELECT",
        StatementKind::Replace => "REPLACE",
        StatementKind::Update => "UPDATE",
        StatementKind::Delete => "DELETE",
        StatementKind::Merge => "MERGE",
        StatementKind::Commit => "COMMIT",
        StatementKind::Rollback => "ROLLBACK",
        StatementKind::LockTable => "LOCK TABLE",
        StatementKind::Begin
        | StatementKind::BeginSnapshot
        | StatementKind::BeginImmediate
        | StatementKind::Savepoint
        | StatementKind::RollbackTo
        | StatementKind::ReleaseSavepoint
        | StatementKind::Set
        | StatementKind::PhysicalDdl
        | StatementKind::Opaque => return None,
    })
}

/// What a file is about whose finding is a broken promise about locks.
pub(super) fn lock_breach(file: &CaseFile) -> Option<String> {
    let kind = kind_of(file)?;
    matches!(kind, FindingKind::Lock(_)).then(|| kind_words(kind))
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
        FindingKind::WrongCommandTag => "an answer that names another command",
        FindingKind::NumberGivenAgain => "a counter that gives a number again",
        FindingKind::MistoldNumber => "an answer that names a wrong number of a counter",
        FindingKind::InternalError => "an internal error",
        FindingKind::Anomaly(anomaly) => return anomaly.to_string(),
        FindingKind::Lock(breach) => match breach {
            LockBreach::UnlockedWrite => "a write that does not wait for a lock",
            LockBreach::UnlockedRead => "a locking read that does not wait for a lock",
            LockBreach::UnkeptRow => "a locked row that can be changed",
            LockBreach::UnkeptTable => "a locked table that can be used",
            LockBreach::UnkeptRange => "a locked range that a row can join",
            LockBreach::UnfoundedRefusal => "a refusal for a lock that nobody holds",
            LockBreach::WrongSkip => "SKIP LOCKED skips other rows than the locked ones",
            LockBreach::Waited => "a read that must not wait waits for a lock",
            LockBreach::UnrefusedNewerRow => {
                "a row that is newer than the snapshot is written or locked"
            }
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
