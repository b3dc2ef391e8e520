//! Lightweight transactions: one compare-and-set each, by UPDATE .. WHERE in autocommit (MTC,
//! section IV-E). Their histories are checked for linearizability.

use super::plan::{PlannedOperation, TransactionEnd, TransactionPlan};
use super::{Defaults, SessionDraws, Workload, WorkloadSettings};

pub(super) struct Lightweight;

impl Workload for Lightweight {
    fn name(&self) -> &'static str {
        "lightweight"
    }

    fn about(&self) -> &'static str {
        "one compare-and-set each, by UPDATE .. WHERE in autocommit"
    }

    fn defaults(&self) -> Defaults {
        Defaults {
            keys: 10,
            operations: None,
            reads_percent: 0,
        }
    }

    fn is_one_statement(&self) -> bool {
        true
    }

    fn plan(
        &self,
        draw: &mut SessionDraws,
        _written: u64,
        settings: &WorkloadSettings,
    ) -> TransactionPlan {
        let is_read = draw.percent(settings.reads_percent);
        let key = draw.key();
        TransactionPlan {
            steps: vec![if is_read {
                PlannedOperation::Read(key)
            } else {
                PlannedOperation::CompareAndSet(key)
            }],
            end: TransactionEnd::Autocommit,
        }
    }
}
