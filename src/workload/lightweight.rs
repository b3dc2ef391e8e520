//! Lightweight transactions: one compare-and-set each, by UPDATE .. WHERE in autocommit (MTC,
//! section IV-E). Their histories are checked for linearizability.

use super::plan::{End, Plan, Step};
use super::{Defaults, Draw, Settings, Workload};

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

    fn plan(&self, draw: &mut Draw, _written: u64, settings: &Settings) -> Plan {
        let is_read = draw.percent(settings.reads_percent);
        let key = draw.key();
        Plan {
            steps: vec![if is_read {
                Step::Read(key)
            } else {
                Step::CompareAndSet(key)
            }],
            end: End::Autocommit,
        }
    }
}
