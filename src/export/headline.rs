//! What the headline of a file says of the statement that it is about.

use crate::dialect::Dialect;
use crate::model::{Effect, ErrorClass, FindingKind, LockBreach, StatementId};
use crate::reproducer::{CaseFile, Expectation};
use crate::statement::analyze;

/// What is wrong, as the file says.
pub(super) fn kind_of(file: &CaseFile) -> Option<FindingKind> {
    file.header.kind.as_deref().and_then(FindingKind::from_slug)
}

/// The statement that the headline names; none where it names none.
pub(super) fn statement(file: &CaseFile) -> Option<StatementId> {
    let words = headline(file)?.split([' ', ':', ',']);
    words.into_iter().find_map(|word| word.parse().ok())
}

/// What that statement came to, where the headline tells more of it than the answer does.
pub(super) fn outcome(file: &CaseFile) -> Option<String> {
    let kind = kind_of(file)?;
    if kind == FindingKind::InternalError {
        let (_, message) = headline(file)?.split_once("): ")?;
        return Some(message.to_owned());
    }
    if kind == FindingKind::Hang {
        return Some("never answered".to_owned());
    }
    (kind == FindingKind::Crash).then(|| "the server closes the connection".to_owned())
}

/// What is right of that statement, where the kind of the finding says so and no note of the file.
pub(super) fn right(
    file: &CaseFile,
    seen: Option<&Expectation>,
    effect: &Effect,
) -> Option<Expectation> {
    let kind = kind_of(file)?;
    let FindingKind::Lock(breach) = kind else {
        // An internal error is right nowhere, whatever the right answer is.
        let internal = Expectation::Error(ErrorClass::Internal);
        let is_internal = kind == FindingKind::InternalError && seen == Some(&internal);
        return is_internal.then_some(Expectation::Accepted);
    };
    match breach {
        LockBreach::UnlockedWrite
        | LockBreach::UnlockedRead
        | LockBreach::UnkeptRow
        | LockBreach::UnkeptRange
        | LockBreach::UnkeptTable => match effect.nowait {
            true => Some(Expectation::Error(ErrorClass::LockTimeout)),
            // Under SKIP LOCKED other rows are right, and nobody says which.
            false => (!effect.depends_on_locks).then_some(Expectation::Waits),
        },
        LockBreach::UnfoundedRefusal => Some(Expectation::Accepted),
        LockBreach::Waited | LockBreach::KeptPastEnd => Some(Expectation::DoesNotWait),
        LockBreach::UnrefusedNewerRow => Some(Expectation::Error(ErrorClass::Serialization)),
        LockBreach::WrongSkip => None,
    }
}

/// The statement that a finding is about, and what is right of it, where the kind of the finding says so and no note of
/// the file: a statement that should have waited for a lock.
pub(super) fn right_by_kind(
    file: &CaseFile,
    dialect: &Dialect,
) -> Option<(StatementId, Expectation)> {
    let id = statement(file)?;
    let line = file.lines.iter().find(|line| line.number == Some(id))?;
    if !line.expectations().is_empty() {
        return None;
    }
    let effect = analyze(&line.sql, dialect);
    let seen = line.observations().into_iter().next();
    Some((id, right(file, seen.as_ref(), &effect)?))
}

fn headline(file: &CaseFile) -> Option<&str> {
    file.header.comments.last.first().map(String::as_str)
}
