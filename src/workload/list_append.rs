//! Lists: elements are appended to a text column and read back whole, so that every read shows the
//! version order of its key (Elle, VLDB 2020).
//!
//! Lists must not grow without bound. When the keys in use hold [`APPENDS_PER_KEY`] elements on
//! average, the sessions move on to the next keys. Only written elements count, so an engine that
//! refuses most transactions stays longer at the same keys. After the last keys the first ones are
//! used again.

use super::mini_transaction::end;
use super::plan::{PlannedOperation, TransactionPlan};
use super::{Defaults, SessionDraws, Workload, WorkloadSettings};

/// Elements of a list, on average, before the sessions move on.
const APPENDS_PER_KEY: u64 = 50;

/// Committed transactions per second for which rows are made when only the time is known.
const TRANSACTIONS_PER_SECOND: u64 = 50_000;

/// The assumed length of a run without a limit.
const ENDLESS_SECONDS: u64 = 60;

/// The most rows that are made.
const ROWS_MAX: u64 = 1_000_000;

pub(super) struct ListAppend;

impl Workload for ListAppend {
    fn name(&self) -> &'static str {
        "list-append"
    }

    fn about(&self) -> &'static str {
        "appends to lists and reads of whole lists"
    }

    fn defaults(&self) -> Defaults {
        Defaults {
            keys: 20,
            operations: Some(4),
            reads_percent: 50,
        }
    }

    fn stores_lists(&self) -> bool {
        true
    }

    fn rows(&self, settings: &WorkloadSettings) -> u64 {
        windows(settings) * u64::from(settings.keys)
    }

    fn plan(
        &self,
        draw: &mut SessionDraws,
        written: u64,
        settings: &WorkloadSettings,
    ) -> TransactionPlan {
        let window = written / (APPENDS_PER_KEY * u64::from(settings.keys.max(1)));
        let window = window % windows(settings);
        // At most ROWS_MAX keys: they fit.
        let base = (window * u64::from(settings.keys)) as u32;
        let steps = (0..settings.operations.max(1)).map(|_| {
            let is_read = draw.percent(settings.reads_percent);
            let key = base + draw.key();
            if is_read {
                PlannedOperation::Read(key)
            } else {
                PlannedOperation::Append(key)
            }
        });
        TransactionPlan {
            steps: steps.collect(),
            end: end(draw),
        }
    }
}

/// Appends in a thousand transactions.
fn appends_per_1000(settings: &WorkloadSettings) -> u64 {
    let writes = u64::from(100u32.saturating_sub(settings.reads_percent));
    u64::from(settings.operations.max(1)) * writes * 10
}

/// How many times the sessions move on, the first keys included.
fn windows(settings: &WorkloadSettings) -> u64 {
    let seconds = settings
        .time
        .map_or(ENDLESS_SECONDS, |time| time.as_secs().max(1));
    let by_time = seconds.saturating_mul(TRANSACTIONS_PER_SECOND);
    let transactions = match (settings.transactions, settings.time) {
        (Some(asked), None) => asked,
        (asked, _) => asked.map_or(by_time, |asked| asked.min(by_time)),
    };
    let appends = transactions.saturating_mul(appends_per_1000(settings)) / 1000;
    let keys = u64::from(settings.keys.max(1));
    (appends / (APPENDS_PER_KEY * keys) + 1).clamp(1, (ROWS_MAX / keys).max(1))
}
