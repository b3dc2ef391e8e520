//! Mini-transactions (MTC, ICDE 2025, definition 8): one or two reads, at most two writes, each of
//! a key that was read before.
//!
//! The shapes are those that Table I needs: every one of its fourteen anomalies is one or two of
//! them gone wrong. Two-key shapes take keys that belong together, so that transactions which meet
//! on one key meet on the other.

use super::plan::{PlannedOperation, TransactionEnd, TransactionPlan};
use super::{Defaults, SessionDraws, Workload, WorkloadSettings};

/// One in this many transactions is rolled back by its client, so that aborted reads can occur.
const ROLLBACK_PERCENT: u32 = 4;

pub(super) struct MiniTransaction;

/// A shape: reads and writes of a first and a second key.
#[derive(Clone, Copy)]
enum On {
    R1,
    R2,
    W1,
    W2,
}
use On::{R1, R2, W1, W2};

/// Shapes that only read, with their weights.
const READS: &[(u32, &[On])] = &[
    // Thin-air, aborted and intermediate reads, session guarantees.
    (2, &[R1]),
    // Fractured reads, long forks, causality violations, non-monotonic reads.
    (6, &[R1, R2]),
    // Non-repeatable reads.
    (2, &[R1, R1]),
];

/// Shapes that write, with their weights.
const WRITES: &[(u32, &[On])] = &[
    // Lost updates, future reads.
    (6, &[R1, W1]),
    // Write skew.
    (5, &[R1, R2, W1]),
    (5, &[R1, R2, W2]),
    // Fractured reads of their writes.
    (5, &[R1, R2, W1, W2]),
    (3, &[R1, W1, R2, W2]),
    // Causality: reads the one, writes the other.
    (3, &[R2, R1, W1]),
    // Not its own write.
    (2, &[R1, W1, R1]),
    // Intermediate reads.
    (2, &[R1, W1, W1]),
    // Not its last write.
    (2, &[R1, W1, W1, R1]),
];

impl Workload for MiniTransaction {
    fn name(&self) -> &'static str {
        "mini-transaction"
    }

    fn about(&self) -> &'static str {
        "one or two reads, at most two writes of keys read before (MTC)"
    }

    fn defaults(&self) -> Defaults {
        Defaults {
            keys: 100,
            operations: None,
            reads_percent: 30,
        }
    }

    fn plan(
        &self,
        draw: &mut SessionDraws,
        _written: u64,
        settings: &WorkloadSettings,
    ) -> TransactionPlan {
        let shapes = if draw.percent(settings.reads_percent) {
            READS
        } else {
            WRITES
        };
        let total = shapes.iter().map(|(weight, _)| weight).sum();
        let mut at = draw.below(total);
        let shape = shapes.iter().find(|(weight, _)| {
            let is_it = at < *weight;
            at = at.saturating_sub(*weight);
            is_it
        });
        let first = draw.key();
        let second = draw.partner(first);
        let steps = shape.map_or(&[R1][..], |(_, shape)| shape);
        let steps = steps.iter().map(|on| match on {
            R1 => PlannedOperation::Read(first),
            R2 => PlannedOperation::Read(second),
            W1 => PlannedOperation::Write(first),
            W2 => PlannedOperation::Write(second),
        });
        TransactionPlan {
            steps: steps.collect(),
            end: end(draw),
        }
    }
}

/// Nearly always a commit.
pub(super) fn end(draw: &mut SessionDraws) -> TransactionEnd {
    if draw.percent(ROLLBACK_PERCENT) {
        TransactionEnd::Rollback
    } else {
        TransactionEnd::Commit
    }
}
