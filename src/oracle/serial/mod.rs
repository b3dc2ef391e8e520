//! Serial: whole committed transactions, one after the other, in some order.
//!
//! Where SERIALIZABLE is run or claimed, some serial order of the committed transactions must give
//! every result, every error class and the final state. Commit order comes first (it is the order
//! of strict two-phase locking), then every order that session order allows: SSI and SQLite's
//! snapshots serialize readers before writers that committed earlier. Needs no instrumentation.
//! `docs/oracle-serial.md` says what this claims and what it may miss.

mod cycle;
mod excuse;
mod newest_children;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::cycle::Cycle;
use self::excuse::{held_read_only, known_views, let_go, newest_children};
use self::search::{SearchEnd, SerialOrderSearch, undone};
use super::compare::place_text;
use super::counted::{self, GivenNumbers};
use super::signature::{differs, finding_levels, replace_above_two_keys, statement_features};
use super::view::{Disagreement, unstable_finding};
use super::{Evidence, Needs, Oracle, Ruling};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    CaseStatement, Difference, Finding, FindingKind, IsolationLevel, Pace, Signature, StatementId,
    TestCase, TransactionId, TransactionStatus, UndecidedReason, Verdict,
};

/// Transactions run before the search is given up. At some 200 microseconds each this bounds a
/// case to about a second.
const TRANSACTION_BUDGET: u32 = 4_000;

/// How often the search is made again when it refuted every order, to see whether the engine
/// repeats what it predicted.
const SECOND_OPINIONS: u32 = 3;

/// How much longer each search waits than the one before, for another worker's transaction to end.
const REST: Duration = Duration::from_millis(30);

/// The oracle.
#[derive(Clone, Copy, Debug)]
pub struct SerialOracle;

impl Oracle for SerialOracle {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn about(&self) -> &'static str {
        "whole transactions against some serial order, where SERIALIZABLE is run or claimed"
    }

    fn needs(&self) -> Needs {
        // At the free pace commit order is known roughly, and there are too many transactions for
        // every order.
        Needs {
            serial: true,
            ..Needs::answers(Pace::Scheduled)
        }
    }

    fn explains_by_versions(&self) -> bool {
        true
    }

    fn excludes(&self, case: &TestCase, _: &Dialect) -> Option<UndecidedReason> {
        let serializable = |session| case.judged_level(session) == IsolationLevel::Serializable;
        let all = case.sessions().into_iter().all(serializable);
        if !all {
            return Some(UndecidedReason::BelowSerializable);
        }
        // What it leaves is another thing in each serial order, and in all of them where nothing is locked.
        let by_locks = |s: &CaseStatement| s.effect.kind.is_write() && s.effect.depends_on_locks;
        let found = case.user_statements().any(by_locks);
        found.then_some(UndecidedReason::DependsOnLocks)
    }

    fn judge(
        &self,
        evidence: &Evidence,
        serial: &mut dyn SerialRun,
    ) -> Result<Ruling, EngineError> {
        let transactions = committed(evidence);
        let tested = tested(evidence, &transactions);
        if tested.is_empty() {
            return Ok(Ruling::undecided(UndecidedReason::NothingCommitted));
        }
        let search = SerialOrderSearch {
            evidence,
            transactions: &transactions,
            budget: TRANSACTION_BUDGET,
            let_go: BTreeSet::new(),
            left_out: BTreeSet::new(),
            asks_newest: BTreeSet::new(),
            to_the_end: true,
        };
        let verdict = match search.run(serial)? {
            SearchEnd::Found => held_read_only(evidence).map_or(Verdict::Agree, Verdict::Known),
            SearchEnd::OutOfBudget => Verdict::Undecided(UndecidedReason::SerialOrdersOutOfBudget),
            SearchEnd::None { .. } if let Some(known) = let_go(&search, serial)? => {
                Verdict::Known(known)
            }
            SearchEnd::None { .. } if let Some(known) = known_views(&search, serial)? => {
                Verdict::Known(known)
            }
            SearchEnd::None { .. } if let Some(known) = newest_children(&search, serial)? => {
                Verdict::Known(known)
            }
            SearchEnd::None { .. } if takes_unknown_numbers(evidence, &transactions) => {
                Verdict::Undecided(UndecidedReason::AutoIncrement)
            }
            SearchEnd::None { tried, first } => {
                let finding = if repeats(&search, serial)? {
                    let features = features(evidence, &transactions, &first)
                        .into_iter()
                        .collect();
                    let cycle = cycle::explain(&search, serial)?;
                    let told = Told {
                        cycle,
                        tried,
                        first: *first,
                    };
                    not_serializable(evidence, &transactions, features, told)
                } else {
                    unstable_finding("serial", evidence, &Disagreement::of(*first))
                };
                Verdict::Violation(Box::new(finding))
            }
        };
        Ok(Ruling {
            verdict,
            tested,
            untested: BTreeMap::new(),
            acyclic: None,
        })
    }
}

/// Whether a statement of these transactions took numbers from a counter of which the run does not say which.
fn takes_unknown_numbers(evidence: &Evidence, transactions: &[TransactionId]) -> bool {
    let mut statements = evidence.case.user_statements();
    statements.any(|statement| {
        transactions.contains(&statement.id.transaction)
            && counted::numbers(evidence, statement) == GivenNumbers::Unknown
    })
}

/// Whether the engine refutes every serial order again, each time.
///
/// A serial answer that does not recur predicts nothing: run alone, on the same rows, the engine
/// answered otherwise (a plan that changes with the statistics of a table, a read that another
/// session's open transaction disturbs).
fn repeats(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
) -> Result<bool, EngineError> {
    for opinion in 0..SECOND_OPINIONS {
        serial.rest(REST * opinion);
        serial.reset()?;
        if let SearchEnd::Found = search.run(serial)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The committed transactions that read or wrote, in commit order.
fn committed(evidence: &Evidence) -> Vec<TransactionId> {
    let (case, execution) = (&evidence.case, &evidence.execution);
    let mut commits = BTreeMap::new();
    for (&transaction, status) in &execution.transactions {
        let touches = case
            .user_statements()
            .any(|statement| statement.id.transaction == transaction);
        if let (TransactionStatus::Committed(tick), true) = (status, touches) {
            commits.insert((*tick, transaction), transaction);
        }
    }
    commits.into_values().collect()
}

/// The statements of committed transactions whose outcome a serial run predicts.
fn tested(evidence: &Evidence, transactions: &[TransactionId]) -> BTreeSet<StatementId> {
    let (case, execution) = (&evidence.case, &evidence.execution);
    let predicts = |id: StatementId| {
        let record = execution.records.get(&id);
        record.is_some_and(|record| !undone(evidence, record))
    };
    case.user_statements()
        .filter(|s| transactions.contains(&s.id.transaction) && !s.effect.depends_on_locks)
        .map(|s| s.id)
        .filter(|&id| predicts(id))
        .collect()
}

/// What distinguishes the finding: direction, kind, form and circumstances of the statement that differs
/// in commit order; for the final state the kinds of all committed writes.
fn features(
    evidence: &Evidence,
    transactions: &[TransactionId],
    first: &Difference,
) -> BTreeSet<String> {
    let case = &evidence.case;
    if let Some(statement) = first.statement.and_then(|id| case.statement(id)) {
        let texts = [first.expected.as_str(), first.got.as_str()];
        let mut features = statement_features(evidence, statement, first.direction);
        features.extend(replace_above_two_keys(case, statement, first.aspect, texts));
        return features;
    }
    let writes = case
        .user_statements()
        .filter(|s| transactions.contains(&s.id.transaction) && s.effect.kind.is_write());
    let kinds = writes.map(|s| s.effect.kind.to_string());
    kinds.chain([differs(first.direction)]).collect()
}

/// What a refuted search has to tell.
struct Told {
    cycle: Cycle,
    /// Transactions that were run.
    tried: u32,
    /// Where commit order fails.
    first: Difference,
}

/// The finding that no serial order explains the run; told by a cycle of transactions, else by where
/// commit order fails.
fn not_serializable(
    evidence: &Evidence,
    transactions: &[TransactionId],
    features: Vec<String>,
    told: Told,
) -> Finding {
    let Told {
        cycle: Cycle {
            lines: cycle,
            class,
        },
        tried,
        first,
    } = told;
    let kind = FindingKind::NotSerializable;
    let levels = finding_levels(&evidence.case);
    let mut signature = Signature::new("serial", kind, levels, features);
    if let Some(class) = class {
        signature = signature.with_anomaly(class);
    }
    let order: Vec<String> = transactions.iter().map(TransactionId::to_string).collect();
    let headline = match cycle.first() {
        Some(cycle) => format!(
            "no serial order of {} explains the run: {cycle}",
            order.join(", ")
        ),
        None => format!(
            "no serial order of {} explains the run: in commit order {} gives {}, and gave {} in the run",
            order.join(", "),
            place_text(first.statement),
            first.expected,
            first.got
        ),
    };
    let mut explanation: Vec<String> = cycle.into_iter().skip(1).collect();
    explanation.push(format!("commit order: {}", order.join(" ")));
    explanation.push(format!(
        "transactions run in search of a serial order: {tried}"
    ));
    Finding {
        signature,
        headline,
        explanation,
        differences: vec![first],
    }
}
