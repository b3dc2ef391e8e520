//! Serial: whole committed transactions, one after the other, in some order.
//!
//! Where SERIALIZABLE is run or claimed, some serial order of the committed transactions must give
//! every result, every error class and the final state. Commit order comes first (it is the order
//! of strict two-phase locking), then every order that session order allows: SSI and SQLite's
//! snapshots serialize readers before writers that committed earlier. Needs no instrumentation.
//! `docs/oracle-serial.md` says what this claims and what it may miss.

mod search;

use std::collections::{BTreeMap, BTreeSet};

use self::search::{Search, SearchEnd};
use super::{FREE_PACE, Judgement, Oracle, finding_levels, form_features};
use crate::engine::EngineError;
use crate::execute::{Executor, Instrumentation, SerialRun};
use crate::model::{
    Difference, Execution, Finding, IsolationLevel, Pace, Row, Signature, StatementId,
    StatementKind, TestCase, TransactionId, TransactionStatus, Verdict,
};

/// Transactions run before the search is given up. At some 200 microseconds each this bounds a
/// case to about a second.
const TRANSACTION_BUDGET: u32 = 4_000;

/// The oracle.
#[derive(Clone, Copy, Debug)]
pub struct Serial;

impl Oracle for Serial {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn about(&self) -> &'static str {
        "whole transactions against some serial order, where SERIALIZABLE is run or claimed"
    }

    fn inapplicable(&self, case: &TestCase, _: &dyn Executor) -> Option<String> {
        let serializable = |session| case.judged_level(session) == IsolationLevel::Serializable;
        if case.pace == Pace::Free {
            // Commit order is known roughly, and there are too many transactions for every order.
            return Some(FREE_PACE.to_owned());
        }
        (!case.sessions().into_iter().all(serializable)).then(|| "below-serializable".to_owned())
    }

    fn check(
        &self,
        case: &TestCase,
        executor: &mut dyn Executor,
    ) -> Result<Judgement, EngineError> {
        let execution = executor.execute(case, &Instrumentation::default())?;
        if let Some(reason) = &execution.unreliable {
            return Ok(Judgement::undecided(&reason.clone(), execution));
        }
        let transactions = committed(case, &execution);
        let tested = tested(case, &execution, &transactions);
        if tested.is_empty() {
            return Ok(Judgement::undecided("nothing-committed", execution));
        }
        let mut serial = executor.serial(case)?;
        let search = Search {
            case,
            execution: &execution,
            transactions: &transactions,
            budget: TRANSACTION_BUDGET,
        };
        let verdict = match search.run(&mut *serial)? {
            SearchEnd::Found => Verdict::Agree,
            SearchEnd::OutOfBudget => Verdict::Undecided("serial-orders-out-of-budget".to_owned()),
            SearchEnd::None { tried, first } => {
                let moved = moves_a_key(case, &execution, &mut *serial)?;
                let mut finding = finding(case, &transactions, tried, *first);
                let features = &mut finding.signature.features;
                features.extend(moved.then(|| "moved-key".to_owned()));
                features.extend((execution.waits() > 0).then(|| "resumed".to_owned()));
                features.sort();
                Verdict::Violation(Box::new(finding))
            }
        };
        drop(serial);
        Ok(Judgement {
            verdict,
            tested,
            untested: BTreeMap::new(),
            acyclic: None,
            execution,
        })
    }
}

/// The committed transactions that read or wrote, in commit order.
fn committed(case: &TestCase, execution: &Execution) -> Vec<TransactionId> {
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
fn tested(
    case: &TestCase,
    execution: &Execution,
    transactions: &[TransactionId],
) -> BTreeSet<StatementId> {
    let predicts = |id: StatementId| {
        execution.records.get(&id).is_some_and(|record| {
            !record
                .outcome
                .error_class()
                .is_some_and(|class| class.is_concurrency())
        })
    };
    case.user_statements()
        .filter(|s| transactions.contains(&s.id.transaction) && !s.effect.depends_on_locks)
        .map(|s| s.id)
        .filter(|&id| predicts(id))
        .collect()
}

/// Whether the run left a row at another unique key than the set-up gave it: for the engine a
/// deletion and an insertion, which a statement that waits may pass over.
fn moves_a_key(
    case: &TestCase,
    execution: &Execution,
    serial: &mut dyn SerialRun,
) -> Result<bool, EngineError> {
    serial.reset()?;
    for table in &case.tables {
        let Some(row_key) = table.row_key.as_deref().and_then(|key| table.column(key)) else {
            continue;
        };
        let keys: BTreeSet<usize> = table
            .unique_keys
            .iter()
            .flatten()
            .filter_map(|key| table.column(key))
            .collect();
        let before = serial.contents(&table.name)?;
        let after = execution.final_state.get(&table.name).into_iter().flatten();
        let moved = |row: &Row| {
            let same_row = |other: &&Row| other.get(row_key) == row.get(row_key);
            let differs = |other: &Row| keys.iter().any(|&key| other.get(key) != row.get(key));
            before.iter().find(same_row).is_some_and(differs)
        };
        if after.clone().any(moved) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The finding that no serial order explains the run; told by where the commit order fails.
fn finding(
    case: &TestCase,
    transactions: &[TransactionId],
    tried: u32,
    first: Difference,
) -> Finding {
    let mut features: BTreeSet<String> = case
        .user_statements()
        .filter(|s| transactions.contains(&s.id.transaction))
        .filter(|s| s.effect.kind != StatementKind::Opaque)
        .flat_map(|s| {
            let nowait = s.effect.nowait.then(|| "nowait".to_owned());
            nowait.into_iter().chain([s.effect.kind.to_string()])
        })
        .collect();
    let place_of = first.statement.and_then(|id| case.statement(id));
    features.extend(place_of.into_iter().flat_map(|s| form_features(case, s)));
    let order: Vec<String> = transactions.iter().map(TransactionId::to_string).collect();
    let place = first
        .statement
        .map_or("the final state".to_owned(), |id| id.to_string());
    Finding {
        signature: Signature {
            oracle: "serial".to_owned(),
            kind: "not-serializable".to_owned(),
            levels: finding_levels(case),
            features: features.into_iter().collect(),
        },
        headline: format!(
            "no serial order of {} explains the run: in commit order, {place} has {} differing: got {}, serially {}",
            order.join(", "),
            first.aspect,
            first.got,
            first.expected
        ),
        explanation: vec![
            format!("commit order: {}", order.join(" ")),
            format!("transactions run in search of a serial order: {tried}"),
        ],
        differences: vec![first],
    }
}
