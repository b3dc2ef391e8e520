//! What the levels of a run's transactions promise.

use crate::dialect::SerializationCause;
use crate::model::{ConsistencyModel, IsolationLevel, TransactionId};
use crate::oracle::Evidence;

/// The model that a transaction's level promises. Where a level is serializable by refusing what conflicts, it looks at
/// transactions of its own kind alone: beside others it promises its snapshot (PostgreSQL manual, "Serializable Isolation Level": the
/// guarantee is one of Serializable transactions).
pub(super) fn promised(
    evidence: &Evidence,
    transaction: TransactionId,
) -> Option<ConsistencyModel> {
    let level = level(evidence, transaction)?;
    match refuses_conflicts(evidence, level) && beside_weaker(evidence) {
        true => Some(ConsistencyModel::Snapshot),
        false => evidence.dialect.promise(level),
    }
}

/// Whether transactions of a level that refuses what conflicts among its own run beside weaker ones. Among themselves they are
/// serializable all the same: each conflict of a circle of such transactions is one of two of them.
pub(super) fn serializable_among_others(evidence: &Evidence) -> bool {
    let case = &evidence.case;
    let mut sessions = case.sessions().into_iter();
    let refuses = |session| refuses_conflicts(evidence, case.judged_level(session));
    sessions.any(refuses) && beside_weaker(evidence)
}

/// Whether the level of a transaction is serializable.
pub(super) fn is_serializable(evidence: &Evidence, transaction: TransactionId) -> bool {
    let level = level(evidence, transaction);
    level.is_some_and(|level| promises_serializability(evidence, level))
}

fn level(evidence: &Evidence, transaction: TransactionId) -> Option<IsolationLevel> {
    let case = &evidence.case;
    Some(case.judged_level(case.session_of(transaction)?))
}

fn promises_serializability(evidence: &Evidence, level: IsolationLevel) -> bool {
    let promise = evidence.dialect.promise(level);
    promise.is_some_and(|model| model >= ConsistencyModel::Serializable)
}

fn refuses_conflicts(evidence: &Evidence, level: IsolationLevel) -> bool {
    let cause = evidence.dialect.serialization_cause(level);
    cause == SerializationCause::ReadWriteConflict && promises_serializability(evidence, level)
}

fn beside_weaker(evidence: &Evidence) -> bool {
    let case = &evidence.case;
    let mut sessions = case.sessions().into_iter();
    sessions.any(|session| !promises_serializability(evidence, case.judged_level(session)))
}
