//! Transactions that a rejection has ended. What the case has behind it in them was never sent.

use std::collections::BTreeSet;

use super::client_step::ClientStep;
use crate::dialect::{Dialect, RejectionEnd};
use crate::model::{CaseStatement, StatementId, TransactionId};
use crate::reproducer::{CaseLine, Expectation};

/// The transactions that a rejection has ended.
#[derive(Default)]
pub(super) struct EndedTransactions {
    by: BTreeSet<StatementId>,
}

impl EndedTransactions {
    fn hold(&self, transaction: TransactionId) -> bool {
        self.by.iter().any(|id| id.transaction == transaction)
    }

    /// Whether a line stands behind the end of its transaction: in autocommit it would do something else. Its COMMIT or
    /// ROLLBACK does nothing there, and ends the transaction where the engine rejects another one: it stays.
    pub(super) fn never_sent(&self, line: &CaseLine, statement: &CaseStatement) -> bool {
        self.hold(statement.id.transaction)
            && !statement.effect.kind.is_end()
            && line.notes.is_empty()
    }

    pub(super) fn after(&mut self, step: &ClientStep, dialect: &Dialect) {
        let Some(Expectation::Error(class)) = step.seen else {
            return;
        };
        // An engine that is right goes on where the rejection is the fault.
        if !step.is_disputed() && dialect.ends_transaction(class) == RejectionEnd::Always {
            self.by.extend(step.id);
        }
    }

    /// Leaves out each COMMIT and ROLLBACK of such a transaction behind which the client's next answer is wrong: it
    /// would put right what the rejection has left in the session. Where the engine rejects another transaction, what
    /// follows is about nothing, so the rejection decides.
    pub(super) fn without_mending_ends(&self, steps: Vec<ClientStep>) -> Vec<ClientStep> {
        let mends = |(place, step): (usize, &ClientStep)| {
            let transaction = step.id.filter(|_| step.effect.kind.is_end())?.transaction;
            let mut later = steps.iter().skip(place + 1);
            let next = later.find(|other| other.client == step.client)?;
            let is_idle = step.seen.is_none() && step.right.is_empty();
            (self.hold(transaction) && is_idle && next.is_disputed())
                .then_some((place, transaction))
        };
        let mending: Vec<(usize, TransactionId)> =
            steps.iter().enumerate().filter_map(mends).collect();
        let decides = |id: StatementId| {
            let mut ended = mending.iter();
            self.by.contains(&id) && ended.any(|(_, ended)| *ended == id.transaction)
        };
        let kept = steps.into_iter().enumerate();
        let kept = kept.filter(|(place, _)| !mending.iter().any(|(mending, _)| mending == place));
        let marked = kept.map(|(_, step)| ClientStep {
            is_decisive: step.id.is_some_and(decides),
            ..step
        });
        marked.collect()
    }
}
