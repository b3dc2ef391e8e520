//! A statement of a case as the scheduler and the record see it.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{SessionId, StatementId, StatementKind, TestCase, TransactionId};

use super::{Instrumentation, Probe};

/// A statement of the case as the scheduler needs it.
#[derive(Clone, Debug)]
pub(super) struct ScheduledStatement {
    pub(super) id: StatementId,
    pub(super) session: SessionId,
    pub(super) kind: StatementKind,
    /// Between the BEGIN and the end of a transaction, both included.
    pub(super) explicit: bool,
    /// How many probes are sent before it.
    pub(super) before: usize,
    /// How many probes are sent after it.
    pub(super) after: usize,
    /// The observer reads the tables it wrote once it has answered.
    pub(super) observed: bool,
}

impl ScheduledStatement {
    /// The statements of a case with its instrumentation, in submitted order.
    pub(super) fn of_case(case: &TestCase, instrumentation: &Instrumentation) -> Vec<Self> {
        let explicit: BTreeSet<TransactionId> = case
            .statements
            .iter()
            .filter(|s| s.effect.kind.is_begin())
            .map(|s| s.id.transaction)
            .collect();
        let count = |map: &BTreeMap<StatementId, Vec<Probe>>, id| {
            map.get(id).map_or(0, |probes| probes.len())
        };
        case.statements
            .iter()
            .map(|s| Self {
                id: s.id,
                session: s.session,
                kind: s.effect.kind,
                explicit: explicit.contains(&s.id.transaction),
                before: count(&instrumentation.before, &s.id),
                after: count(&instrumentation.after, &s.id),
                observed: instrumentation.observe.contains_key(&s.id),
            })
            .collect()
    }
}
