//! Which transactions must be there after the crash, which may be, and what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::{RowAddress, RowLedger};
use super::tables::{Expected, RecoveredRows, Write};
use crate::model::{
    Aspect, Difference, Direction, ErrorClass, Execution, FindingKind, Outcome, Row, StatementId,
    StatementKind, TestCase, TransactionId, TransactionStatus, UndecidedReason, rows_text,
};

/// Every choice of the transactions in doubt is tried: 2 to this power at most. A session leaves one.
const IN_DOUBT_MAX: usize = 10;

/// Rows that a finding shows.
const ROWS_SHOWN: usize = 12;

/// Transactions that a finding names.
const TRANSACTIONS_SHOWN: usize = 20;

/// What the answers say of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Its commit was acknowledged: it has to be there.
    Acknowledged,
    /// Its commit was sent, and there is no answer, or a refusal that does not say that it was undone: it
    /// may be there, as a whole.
    InDoubt,
    /// It was not committed: nothing of it may be there.
    Ended,
}

/// A run before the crash, and what was found after it.
pub(super) struct Judgement<'a> {
    case: &'a TestCase,
    fates: BTreeMap<TransactionId, Fate>,
    writes: Vec<Write<'a>>,
    found: RecoveredRows,
    /// The transactions in doubt that took place, in the choice that explains most.
    chosen: BTreeSet<TransactionId>,
    expected: Expected,
}

/// What is wrong.
pub(super) struct CrashLoss {
    pub(super) kind: FindingKind,
    pub(super) headline: String,
    pub(super) differences: Vec<Difference>,
    pub(super) explanation: Vec<String>,
}

impl<'a> Judgement<'a> {
    /// Finds the choice of transactions in doubt that explains most of what was found.
    ///
    /// # Errors
    /// Why nothing can be said of the run.
    pub(super) fn of(
        case: &'a TestCase,
        execution: &Execution,
        ledger: &'a RowLedger,
    ) -> Result<Self, UndecidedReason> {
        let found = RecoveredRows::of(case, execution).ok_or(UndecidedReason::StrangeCell)?;
        let ids = execution.transactions.keys();
        let fates: BTreeMap<TransactionId, Fate> =
            ids.map(|id| (*id, fate(case, execution, *id))).collect();
        let writes = writes(case, execution, ledger, &fates)?;
        let doubtful: Vec<TransactionId> = fates
            .iter()
            .filter(|(id, fate)| {
                **fate == Fate::InDoubt && writes.iter().any(|w| w.transaction == **id)
            })
            .map(|(id, _)| *id)
            .collect();
        if doubtful.len() > IN_DOUBT_MAX {
            return Err(UndecidedReason::TooManyInDoubt);
        }
        let choices = (0..1_u32 << doubtful.len()).map(|choice| {
            let chosen = doubtful.iter().enumerate();
            let chosen = chosen.filter(|(bit, _)| choice >> bit & 1 == 1);
            chosen
                .map(|(_, id)| *id)
                .collect::<BTreeSet<TransactionId>>()
        });
        let mut best: Option<(usize, BTreeSet<TransactionId>, Expected)> = None;
        for chosen in choices {
            let takes_place = |id| match fates.get(&id) {
                Some(Fate::Acknowledged) => true,
                Some(Fate::InDoubt) => chosen.contains(&id),
                Some(Fate::Ended) | None => false,
            };
            let expected = Expected::of(ledger, &writes, takes_place);
            let distance = expected.distance(&found);
            if best.as_ref().is_none_or(|(least, ..)| distance < *least) {
                best = Some((distance, chosen, expected));
            }
            if distance == 0 {
                break;
            }
        }
        let (_, chosen, expected) = best.ok_or(UndecidedReason::NothingRan)?;
        Ok(Self {
            case,
            fates,
            writes,
            found,
            chosen,
            expected,
        })
    }

    /// The answered writes of acknowledged transactions.
    pub(super) fn acknowledged_writes(&self) -> BTreeSet<StatementId> {
        let is_acknowledged =
            |write: &&Write<'_>| self.fate(write.transaction) == Fate::Acknowledged;
        let writes = self.writes.iter().filter(is_acknowledged);
        writes.map(|write| write.statement).collect()
    }

    fn fate(&self, id: TransactionId) -> Fate {
        self.fates.get(&id).copied().unwrap_or(Fate::Ended)
    }

    /// What is wrong with the tables; none where some choice explains them.
    pub(super) fn loss(&self) -> Option<CrashLoss> {
        let differing = self.expected.differing(&self.found);
        if differing.is_empty() && self.expected.impossible.is_empty() {
            return None;
        }
        let sorted = Sorted::of(self, &differing);
        let (kind, headline) = sorted.told(self);
        let differences: Vec<Difference> = differing
            .iter()
            .take(ROWS_SHOWN)
            .map(|key| self.difference(key))
            .collect();
        let mut explanation = sorted.lines(self);
        let shown = differing
            .iter()
            .take(ROWS_SHOWN)
            .map(|key| self.told_row(key));
        explanation.extend(shown);
        let left = differing.len().saturating_sub(ROWS_SHOWN);
        if left > 0 {
            explanation.push(format!("and {left} more rows"));
        }
        Some(CrashLoss {
            kind,
            headline,
            differences,
            explanation,
        })
    }

    /// The transactions whose commit got no answer, and whether they are there.
    pub(super) fn doubts(&self) -> Vec<String> {
        let doubtful = self
            .fates
            .iter()
            .filter(|(_, fate)| **fate == Fate::InDoubt);
        doubtful
            .map(|(id, _)| {
                let is_there = if self.chosen.contains(id) {
                    "is there"
                } else {
                    "is not there"
                };
                format!(
                    "{}: its commit got no answer, and it {is_there}",
                    self.named(*id)
                )
            })
            .collect()
    }

    fn named(&self, id: TransactionId) -> String {
        match self.case.session_of(id) {
            Some(session) => format!("{id} ({session})"),
            None => id.to_string(),
        }
    }

    /// Transactions whose change of a row left what was found there.
    fn writers_of(&self, key: &RowAddress, row: &Row) -> BTreeSet<TransactionId> {
        let writes = self.writes.iter().filter(|write| write.key == key);
        let writes = writes.filter(|write| write.change.leaves(row));
        writes.map(|write| write.transaction).collect()
    }

    fn difference(&self, key: &RowAddress) -> Difference {
        let expected = self.expected.rows.get(key).and_then(|e| e.row.as_ref());
        let found = self.found.rows.get(key);
        Difference {
            statement: None,
            aspect: Aspect::FinalState,
            direction: match (expected, found) {
                (Some(_), None) => Direction::Lost,
                (None, Some(_)) => Direction::Extra,
                (Some(_), Some(_)) | (None, None) => Direction::Changed,
            },
            expected: format!("{}: {}", key.0, shown(expected)),
            got: format!("{}: {}", key.0, shown(found)),
        }
    }

    fn told_row(&self, key: &RowAddress) -> String {
        let expected = self.expected.rows.get(key);
        let by = match expected.and_then(|expected| expected.writer) {
            Some(writer) => format!(" by {}", self.named(writer)),
            None => String::new(),
        };
        let found = self.found.rows.get(key);
        let from: Vec<String> = found
            .map(|row| self.writers_of(key, row))
            .into_iter()
            .flatten()
            .map(|id| self.named(id))
            .collect();
        let from = match from.as_slice() {
            [] => String::new(),
            from => format!(" of {}", from.join(", ")),
        };
        let row = expected.and_then(|expected| expected.row.as_ref());
        format!(
            "{} {}: expected {}{by}, found {}{from}",
            key.0,
            key.1,
            shown(row),
            shown(found)
        )
    }
}

/// A row for a message; long texts are cut.
fn shown(row: Option<&Row>) -> String {
    const LENGTH_MAX: usize = 32;
    let Some(row) = row else {
        return "no row".to_owned();
    };
    let text = rows_text(std::slice::from_ref(row));
    match text.char_indices().nth(LENGTH_MAX) {
        Some((at, _)) => format!("{}..", &text[..at]),
        None => text,
    }
}

/// The transactions with which something is wrong.
#[derive(Default)]
struct Sorted {
    /// Acknowledged, and nothing of them is there that should be.
    lost: BTreeSet<TransactionId>,
    /// A part of them is there.
    torn: BTreeSet<TransactionId>,
    /// Not committed, and something of them is there.
    surviving: BTreeSet<TransactionId>,
}

impl Sorted {
    fn of(judgement: &Judgement<'_>, differing: &BTreeSet<RowAddress>) -> Self {
        let mut sorted = Self::default();
        let mut missing: BTreeSet<TransactionId> = BTreeSet::new();
        for key in differing {
            let expected = judgement.expected.rows.get(key);
            missing.extend(expected.and_then(|expected| expected.writer));
            let Some(row) = judgement.found.rows.get(key) else {
                continue;
            };
            let writers = judgement.writers_of(key, row);
            if writers.iter().all(|id| judgement.fate(*id) == Fate::Ended) {
                sorted.surviving.extend(writers);
            } else {
                let is_absent = |id: &TransactionId| {
                    judgement.fate(*id) == Fate::InDoubt && !judgement.chosen.contains(id)
                };
                sorted.torn.extend(writers.into_iter().filter(is_absent));
            }
        }
        missing.extend(judgement.expected.impossible.iter().map(|(id, _)| *id));
        for id in missing {
            let mut last = judgement.expected.rows.iter();
            // Its changes that nobody changed again are there.
            let is_kept = last.any(|(key, row)| row.writer == Some(id) && !differing.contains(key));
            if is_kept || judgement.fate(id) == Fate::InDoubt {
                sorted.torn.insert(id);
            } else {
                sorted.lost.insert(id);
            }
        }
        sorted
    }

    fn told(&self, judgement: &Judgement<'_>) -> (FindingKind, String) {
        let of = |ids: &BTreeSet<TransactionId>| match ids.first() {
            Some(first) if ids.len() > 1 => {
                format!("{} and {} more", judgement.named(*first), ids.len() - 1)
            }
            Some(first) => judgement.named(*first),
            None => String::new(),
        };
        if !self.lost.is_empty() {
            let headline = format!("acknowledged commits are lost: {}", of(&self.lost));
            (FindingKind::LostCommit, headline)
        } else if !self.torn.is_empty() {
            let headline = format!("a part of a transaction is there: {}", of(&self.torn));
            (FindingKind::TornTransaction, headline)
        } else if !self.surviving.is_empty() {
            let headline = format!("what was not committed is there: {}", of(&self.surviving));
            (FindingKind::UncommittedSurvives, headline)
        } else {
            let headline = "rows are there that no transaction can have left".to_owned();
            (FindingKind::UnexplainedRow, headline)
        }
    }

    fn lines(&self, judgement: &Judgement<'_>) -> Vec<String> {
        let all = [
            (&self.lost, "acknowledged, and their changes are gone"),
            (
                &self.torn,
                "a part of their changes is there, and a part is not",
            ),
            (
                &self.surviving,
                "not committed, and changes of them are there",
            ),
        ];
        let told = all.into_iter().filter(|(ids, _)| !ids.is_empty());
        told.map(|(ids, what)| {
            let named = ids.iter().take(TRANSACTIONS_SHOWN);
            let named: Vec<String> = named.map(|id| judgement.named(*id)).collect();
            let more = match ids.len().saturating_sub(TRANSACTIONS_SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{what}: {}{more}", named.join(", "))
        })
        .collect()
    }
}

/// What the answers say of a transaction.
fn fate(case: &TestCase, execution: &Execution, id: TransactionId) -> Fate {
    match execution.transactions.get(&id) {
        Some(TransactionStatus::Committed(_)) => Fate::Acknowledged,
        Some(TransactionStatus::Indeterminate) => Fate::InDoubt,
        Some(TransactionStatus::Aborted(_)) => {
            let commits = case.statements.iter().filter(|s| {
                s.id.transaction == id
                    && (s.effect.kind == StatementKind::Commit || !case.is_explicit(id))
            });
            let mut refused = commits
                .filter_map(|s| execution.records.get(&s.id))
                .filter_map(|record| record.outcome.error_class());
            match refused.any(leaves_doubt) {
                true => Fate::InDoubt,
                false => Fate::Ended,
            }
        }
        None => Fate::Ended,
    }
}

/// Whether a commit that was refused with such an error may have taken place all the same: a server that
/// dies may answer anything.
fn leaves_doubt(class: ErrorClass) -> bool {
    match class {
        ErrorClass::Deadlock
        | ErrorClass::Serialization
        | ErrorClass::LockTimeout
        | ErrorClass::Busy
        | ErrorClass::Duplicate
        | ErrorClass::NotNull
        | ErrorClass::ForeignKey
        | ErrorClass::Check
        | ErrorClass::Data
        | ErrorClass::Syntax
        | ErrorClass::Missing
        | ErrorClass::TableChanged
        | ErrorClass::Unsupported
        | ErrorClass::FailedTransaction
        | ErrorClass::ReadOnly
        | ErrorClass::Privilege => false,
        ErrorClass::Interrupted
        | ErrorClass::SchemaChanged
        | ErrorClass::Resource
        | ErrorClass::Internal
        | ErrorClass::Other => true,
    }
}

/// Every change of a row, in the order in which its writers held its lock: that of the answers. A statement
/// is answered before its transaction ends, and the next writer of the row is answered after that end.
fn writes<'a>(
    case: &TestCase,
    execution: &Execution,
    ledger: &'a RowLedger,
    fates: &BTreeMap<TransactionId, Fate>,
) -> Result<Vec<Write<'a>>, UndecidedReason> {
    let mut answered = Vec::new();
    let mut unanswered = Vec::new();
    for (id, changes) in &ledger.changes {
        let fate = fates.get(&id.transaction).copied();
        let record = execution.records.get(id);
        let is_doubtful = fate == Some(Fate::InDoubt) && !case.is_explicit(id.transaction);
        let outcome = record.map(|record| &record.outcome);
        let is_certain = match outcome {
            Some(outcome) if outcome.row_count() == Some(0) => continue,
            Some(Outcome::Affected(_) | Outcome::Rows(_)) => true,
            // Nothing of it can be there, unless it is its own transaction and that is in doubt.
            Some(Outcome::Rejected(_)) | None if !is_doubtful => continue,
            Some(Outcome::Rejected(_)) | None => false,
        };
        let writes = changes.iter().map(|(key, change)| Write {
            transaction: id.transaction,
            statement: *id,
            key,
            change,
            is_certain,
        });
        match record.filter(|_| is_certain) {
            Some(record) => answered.extend(writes.map(|write| (record.answered, write))),
            None => unanswered.extend(writes),
        }
    }
    answered.sort_by_key(|(tick, _)| *tick);
    // When one took place that got no answer is not known where others changed its row as well.
    for write in &unanswered {
        let sent = execution
            .events
            .iter()
            .find(|event| event.statement == write.statement);
        let sent = sent.map(|event| event.tick).unwrap_or_default();
        let is_after = |(tick, other): &(_, Write<'_>)| *tick > sent && other.key == write.key;
        if answered.iter().any(is_after) {
            return Err(UndecidedReason::ChangeOfSeveralWriters);
        }
    }
    let answered = answered.into_iter().map(|(_, write)| write);
    Ok(answered.chain(unanswered).collect())
}
