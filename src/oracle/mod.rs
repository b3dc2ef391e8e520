//! Oracles: each judges a case by an account of its own.

mod compare;
pub mod crash;
mod history;
mod serial;
mod txcheck;

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::EngineError;
use crate::execute::Executor;
use crate::model::{CaseStatement, Execution, StatementId, TableShape, TestCase, Verdict};
use crate::observe::Learner;

pub use history::History;
pub use serial::Serial;
pub use txcheck::TxCheck;

/// Every oracle, in the order of `--help`.
pub const ORACLES: &[&dyn Oracle] = &[
    &TxCheck {
        learner: Learner::Observer,
    },
    &Serial,
    &History,
];

/// Why an oracle that judges schedules has nothing to say.
const FREE_PACE: &str = "free-pace";

/// What an oracle says, and what it looked at.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The statements whose outcome was compared with a prediction.
    pub tested: BTreeSet<StatementId>,
    /// Why others that were answered could not be: a slug each.
    pub untested: BTreeMap<StatementId, &'static str>,
    /// For graph oracles: statements kept in the acyclic part, of those that last.
    pub acyclic: Option<(usize, usize)>,
    /// The interleaved run that was judged.
    pub execution: Execution,
}

impl Judgement {
    /// Nothing can be said of this run, and why.
    pub fn undecided(reason: &str, execution: Execution) -> Self {
        Self {
            verdict: Verdict::Undecided(reason.to_owned()),
            tested: BTreeSet::new(),
            untested: BTreeMap::new(),
            acyclic: None,
            execution,
        }
    }
}

/// One oracle.
pub trait Oracle: Sync {
    /// As `--oracle` names it.
    fn name(&self) -> &'static str;

    /// One line for `--help`.
    fn about(&self) -> &'static str;

    /// Why the oracle has nothing to say about this case, or nothing if it has.
    fn inapplicable(&self, case: &TestCase, executor: &dyn Executor) -> Option<String>;

    /// Runs the case and judges it.
    ///
    /// # Errors
    /// When there is no answer from the engine; the caller decides what that means.
    fn check(&self, case: &TestCase, executor: &mut dyn Executor)
    -> Result<Judgement, EngineError>;
}

/// The levels of a case as signatures name them: run, and claimed where that is stronger.
fn finding_levels(case: &TestCase) -> Vec<String> {
    let levels: BTreeSet<String> = case
        .sessions()
        .into_iter()
        .map(|session| {
            let (run, judged) = (case.level(session), case.judged_level(session));
            if run == judged {
                run.to_string()
            } else {
                format!("{run} claimed {judged}")
            }
        })
        .collect();
    levels.into_iter().collect()
}

/// What of a statement's form, and of the tables it names, findings are told apart by: engines have
/// code of their own for it.
fn form_features(case: &TestCase, statement: &CaseStatement) -> Vec<String> {
    let effect = &statement.effect;
    let tables = || effect.uses.iter().filter_map(|u| case.table(&u.table));
    [
        ("nowait", effect.nowait),
        ("order-by", effect.sorted),
        ("limit", effect.limited),
        ("partitioned", tables().any(|table| table.partitioned)),
        (
            "indexed-generated-column",
            tables().any(TableShape::indexes_generated_column),
        ),
    ]
    .into_iter()
    .filter(|(_, holds)| *holds)
    .map(|(name, _)| name.to_owned())
    .collect()
}
