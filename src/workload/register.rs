//! General register workloads: a fixed number of operations in a transaction, a share of them
//! reads; writes are blind. The parameters are those of PolySI (VLDB 2023, section 5.1) and Chronos
//! (Table I).

use super::mini_transaction::end;
use super::plan::{PlannedOperation, TransactionPlan};
use super::{Defaults, SessionDraws, Workload, WorkloadSettings};

pub(super) struct Register;

impl Workload for Register {
    fn name(&self) -> &'static str {
        "register"
    }

    fn about(&self) -> &'static str {
        "reads and blind writes, --ops of them a transaction"
    }

    fn defaults(&self) -> Defaults {
        Defaults {
            keys: 1000,
            operations: Some(8),
            reads_percent: 50,
        }
    }

    fn plan(
        &self,
        draw: &mut SessionDraws,
        _written: u64,
        settings: &WorkloadSettings,
    ) -> TransactionPlan {
        let steps = (0..settings.operations.max(1)).map(|_| {
            let is_read = draw.percent(settings.reads_percent);
            let key = draw.key();
            if is_read {
                PlannedOperation::Read(key)
            } else {
                PlannedOperation::Write(key)
            }
        });
        TransactionPlan {
            steps: steps.collect(),
            end: end(draw),
        }
    }
}
