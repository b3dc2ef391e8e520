//! Answers that no consistency model speaks of: what a transaction that did not commit has read, and how many rows a
//! write says that it changed.
//!
//! Above READ UNCOMMITTED a statement sees what was committed, and what its own transaction wrote, however that ends
//! later (MySQL manual, "Transaction Isolation Levels"; PostgreSQL manual, 13.2). A write by the key of a row that is
//! there changes one row: nobody takes rows away, and it puts in a value that the row never had.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::{only_number, sent_last};
use crate::model::{
    Anomaly, Aspect, Difference, Direction, Finding, FindingKind, Outcome, ReadMode, Role,
    Signature, StatementId, StatementKind, StatementRecord, Tick, TransactionId, TransactionStatus,
};
use crate::oracle::Evidence;
use crate::oracle::signature::{differs, finding_levels};
use crate::statement::KeyAccess;
use crate::workload::KeyAccesses;

/// What is said of a write that was refused, or changed nothing.
const NOT_DONE: &str = "was to write, and did not";

/// What was said of these answers.
pub(super) struct JudgedAnswers {
    /// The statements of transactions that did not commit whose answers were compared.
    pub(super) tested: BTreeSet<StatementId>,
    pub(super) finding: Option<Finding>,
}

/// Judges them, in the order of the case.
pub(super) fn judge(evidence: &Evidence, keys: &KeyAccesses) -> JudgedAnswers {
    let mut judged = JudgedAnswers {
        tested: BTreeSet::new(),
        finding: None,
    };
    let execution = &evidence.execution;
    // What was under way then was not answered, and others judge what a crash leaves.
    if execution.crash.is_some() {
        return judged;
    }
    let run = Run::of(evidence, keys);
    for (id, access) in &keys.accesses {
        let (Some(record), Some(status)) = (
            execution.records.get(id),
            execution.transactions.get(&id.transaction),
        ) else {
            continue;
        };
        let has_committed = matches!(status, TransactionStatus::Committed(_));
        let found = match access.written {
            Some(_) => record
                .changed_rows()
                .map(|count| run.miscount(record, access, count)),
            None if has_committed || !run.sees_the_committed(*id) => None,
            None => match &record.outcome {
                Outcome::Rows(_) => Some(run.unreadable(record, access)),
                Outcome::Affected(_) | Outcome::Rejected(_) => None,
            },
        };
        let Some(found) = found else {
            continue;
        };
        if !has_committed {
            judged.tested.insert(*id);
        }
        judged.finding = judged.finding.or(found);
    }
    judged
}

/// What is known of the writes of a run.
struct Run<'e> {
    evidence: &'e Evidence,
    keys: &'e KeyAccesses,
    /// By key and value: the statement that writes it, and no other does.
    writers: BTreeMap<(i64, i64), StatementId>,
}

impl<'e> Run<'e> {
    fn of(evidence: &'e Evidence, keys: &'e KeyAccesses) -> Self {
        let writes = keys.accesses.iter();
        let writes = writes.filter_map(|(id, access)| Some(((access.key, access.written?), *id)));
        Self {
            evidence,
            keys,
            writers: writes.collect(),
        }
    }

    /// Whether a read sees nothing of other transactions that was not committed.
    fn sees_the_committed(&self, read: StatementId) -> bool {
        let case = &self.evidence.case;
        let Some(session) = case.session_of(read.transaction) else {
            return false;
        };
        let explicit = case.is_explicit(read.transaction);
        let level = case.judged_level(session);
        let dialect = &self.evidence.dialect;
        dialect.read_mode(level, Role::PlainSelect, explicit) != ReadMode::Anything
    }

    /// The last value that a transaction wrote to a key, before this place in it.
    fn written_by(&self, transaction: TransactionId, key: i64, before: u32) -> Option<i64> {
        let accesses = self.keys.accesses.iter();
        let own = accesses.filter(|(id, access)| {
            id.transaction == transaction
                && id.position < before
                && access.key == key
                && self.has_written(**id)
        });
        own.filter_map(|(_, access)| access.written).next_back()
    }

    fn has_written(&self, write: StatementId) -> bool {
        let record = self.evidence.execution.records.get(&write);
        record.and_then(StatementRecord::changed_rows) == Some(1)
    }

    /// A read of a value that was not there to be read.
    fn unreadable(&self, read: &StatementRecord, access: &KeyAccess) -> Option<Finding> {
        let (id, key) = (read.id, access.key);
        let value = only_number(read.outcome.rows());
        let initial = self.keys.initial.get(&key).copied();
        let own = self.written_by(id.transaction, key, id.position);
        let wanted = own.or(initial);
        if value == wanted {
            return None;
        }
        let Some(value) = value else {
            let words = format!("{id} finds no row of the key {key}, which has one");
            return Some(self.misread(Anomaly::ThinAirRead, words));
        };
        let writer = self.writers.get(&(key, value)).copied();
        let wrote = |what: &str| match writer {
            Some(writer) => format!("{id} reads {value} of the key {key}, which {writer} {what}"),
            None => format!("{id} reads {value} of the key {key}, which nobody wrote"),
        };
        let (anomaly, words) = match (own, writer) {
            (Some(own), Some(writer)) if writer.transaction == id.transaction => (
                Anomaly::NotMyLastWrite,
                wrote(&format!("wrote, and its transaction then {own}")),
            ),
            (Some(own), _) => (
                Anomaly::NotMyOwnWrite,
                format!(
                    "{id} reads {value} of the key {key}, to which its transaction had written {own}"
                ),
            ),
            (None, None) => (Anomaly::ThinAirRead, wrote("")),
            (None, Some(writer)) if writer.transaction == id.transaction => {
                match writer.position < id.position {
                    true => (Anomaly::ThinAirRead, wrote(NOT_DONE)),
                    false => (Anomaly::FutureRead, wrote("writes only later")),
                }
            }
            (None, Some(writer)) => {
                let (anomaly, what) = self.not_committed(writer, key, value, read.answered)?;
                (anomaly, wrote(what))
            }
        };
        Some(self.misread(anomaly, words))
    }

    /// Why another transaction may not see a write at this moment; none where it may.
    fn not_committed(
        &self,
        write: StatementId,
        key: i64,
        value: i64,
        at: Tick,
    ) -> Option<(Anomaly, &'static str)> {
        let transaction = write.transaction;
        let is_last = self.written_by(transaction, key, u32::MAX) == Some(value);
        match self.evidence.execution.transactions.get(&transaction)? {
            TransactionStatus::Aborted(_) => Some((
                Anomaly::AbortedRead,
                "wrote in a transaction that was rolled back",
            )),
            // It may have been carried out without an answer.
            TransactionStatus::Indeterminate if !self.has_written(write) => None,
            TransactionStatus::Committed(_) if !self.has_written(write) => {
                Some((Anomaly::ThinAirRead, NOT_DONE))
            }
            TransactionStatus::Committed(_) | TransactionStatus::Indeterminate if !is_last => {
                Some((
                    Anomaly::IntermediateRead,
                    "wrote, and its transaction overwrote",
                ))
            }
            TransactionStatus::Committed(_) | TransactionStatus::Indeterminate => {
                let sent = sent_last(transaction, &self.evidence.execution)?;
                (at < sent).then_some((
                    Anomaly::DirtyRead,
                    "wrote in a transaction that had not been sent its end",
                ))
            }
        }
    }

    fn misread(&self, anomaly: Anomaly, headline: String) -> Finding {
        let levels = finding_levels(&self.evidence.case);
        let kind = FindingKind::Anomaly(anomaly);
        let told = "a statement sees what was committed, and what its own transaction wrote, whether that commits or not";
        Finding {
            headline,
            signature: Signature::new("history", kind, levels, Vec::new())
                .with_anomaly(anomaly.into()),
            differences: Vec::new(),
            explanation: vec![told.to_owned()],
        }
    }

    /// A write that says it changed another number of rows than it can have.
    fn miscount(&self, write: &StatementRecord, access: &KeyAccess, count: u64) -> Option<Finding> {
        let expected = u64::from(self.keys.initial.contains_key(&access.key));
        let direction = match count.cmp(&expected) {
            std::cmp::Ordering::Less => Direction::Lower,
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => Direction::Higher,
        };
        let difference = Difference {
            statement: Some(write.id),
            aspect: Aspect::Affected,
            direction,
            expected: Outcome::Affected(expected).to_string(),
            got: Outcome::Affected(count).to_string(),
        };
        let levels = finding_levels(&self.evidence.case);
        let kind = FindingKind::Wrong(Aspect::Affected);
        let features = vec![differs(direction), StatementKind::Update.slug().to_owned()];
        Some(Finding {
            headline: difference.to_string(),
            signature: Signature::new("history", kind, levels, features),
            differences: vec![difference],
            explanation: vec![format!(
                "the key {} has {expected} rows all the time, and the value is a new one",
                access.key
            )],
        })
    }
}
