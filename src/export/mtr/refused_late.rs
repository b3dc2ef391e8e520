//! Refusals for a lock that was not there any more.

use std::collections::BTreeSet;
use std::ptr;

use crate::export::client_step::ClientStep;
use crate::export::scenario::{Scenario, Symptom};
use crate::model::ErrorClass;
use crate::reproducer::Expectation;

/// Whether a statement waited, and was refused for a lock when the last transaction that could be in its way had ended.
/// No oracle says what it should have answered: those that judge what comes behind it take it as refused, and an engine that is right
/// executes it.
pub(super) fn is_refused_late(step: &ClientStep, scenario: &Scenario<'_>) -> bool {
    let refusal = Expectation::Error(ErrorClass::LockTimeout);
    let is_refused = step.seen.as_ref() == Some(&refusal) && step.right.is_empty();
    let Some(client) = step.client.filter(|_| step.waits && is_refused) else {
        return false;
    };
    let mut open = BTreeSet::new();
    let mut is_behind = false;
    for other in &scenario.steps {
        is_behind |= ptr::eq(other, step);
        let Some(number) = other.client.filter(|number| *number != client) else {
            continue;
        };
        let kind = other.effect.kind;
        if kind.is_begin() {
            open.insert(number);
        } else if other.ends_transaction() {
            open.remove(&number);
        }
        if is_behind && other.resumes.contains(&client) {
            let is_gone = kind.is_end() && open.is_empty();
            return is_gone && scenario.symptom == Symptom::WrongAnswer;
        }
    }
    false
}
