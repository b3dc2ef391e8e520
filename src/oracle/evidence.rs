//! One interleaved run and what was learned of it.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::dialect::{ChangedRows, Dialect};
use crate::engine::EngineError;
use crate::execute::{Executor, SerialRun};
use crate::model::{
    CaseStatement, Execution, ProbeAnswer, ReadMode, Role, Row, StatementId, StatementRecord,
    TestCase, TransactionId, UndecidedReason,
};
use crate::observe::{self, Account, Learner, Timeline, instrument, learn};

/// How often a case is run again in its observed order, so that no probe is parted from its
/// statement (TxCheck, section 4, "Blocking Scheduling").
const BLOCKING_ROUNDS: u32 = 3;

/// One interleaved run, made once and judged by every oracle whose needs it meets.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The case as it ran: row keys added, and in another order where probes asked for it.
    pub case: TestCase,
    pub execution: Execution,
    pub dialect: Arc<Dialect>,
    /// Every table as the set-up leaves it, columns in the order of its shape; empty where nothing
    /// was learned.
    pub initial: BTreeMap<String, Vec<Row>>,
    /// Versions, views and changes; empty where nothing was learned.
    pub account: Account,
    /// When transactions committed and when work was undone.
    pub timeline: Timeline,
    /// Several oracles run statements alone: what one of them finds is kept for the others.
    pub(super) shared: bool,
    /// Statements that gave alone, on their view, what the run gave, their effect included.
    pub(super) confirmed: RefCell<BTreeSet<StatementId>>,
    /// How each statement may be judged, once an oracle asked.
    pub(super) standings: OnceCell<BTreeMap<StatementId, Standing>>,
    /// The writes that fail the self-check, once an oracle asked.
    pub(super) miscounts: OnceCell<Vec<Miscount>>,
}

impl Evidence {
    /// The first statement of a transaction that names a table: its snapshot is no older than what was sent, and no newer
    /// than what was answered.
    pub(super) fn first_of_tables(&self, transaction: TransactionId) -> Option<&StatementRecord> {
        let own = self.case.statements.iter();
        let own = own.filter(|s| s.id.transaction == transaction && !s.effect.uses.is_empty());
        let records = own.filter_map(|s| self.execution.records.get(&s.id));
        records.min_by_key(|record| record.sent)
    }

    /// Runs the case; by probes, again in the observed order while probes are parted.
    pub(super) fn run(
        mut case: TestCase,
        learner: Option<Learner>,
        executor: &mut dyn Executor,
    ) -> Result<(TestCase, Execution), EngineError> {
        let rounds = match learner {
            Some(Learner::Probes) => BLOCKING_ROUNDS,
            Some(Learner::Observer) | None => 1,
        };
        for round in 1.. {
            let plan = learner
                .map(|learner| instrument(&case, executor.dialect(), learner))
                .unwrap_or_default();
            let execution = executor.execute(&case, &plan)?;
            let parted = execution.probes.iter().any(ProbeAnswer::is_lost);
            if round == rounds || !parted {
                return Ok((case, execution));
            }
            case = case.in_order(&execution.execution_order());
        }
        unreachable!("the loop ends by its last round")
    }

    /// What can be learned of a run without looking at rows.
    pub(super) fn of_answers(case: TestCase, execution: Execution, dialect: Arc<Dialect>) -> Self {
        Self {
            timeline: Timeline::new(&case, &execution, &dialect),
            case,
            execution,
            dialect,
            initial: BTreeMap::new(),
            account: Account::default(),
            shared: false,
            confirmed: RefCell::default(),
            standings: OnceCell::new(),
            miscounts: OnceCell::new(),
        }
    }

    /// Keeps it for other oracles that this statement gave alone what the run gave.
    pub(super) fn confirm(&self, id: StatementId) {
        self.confirmed.borrow_mut().insert(id);
    }

    /// Whether an oracle ran this statement alone on its view, and it gave what the run gave.
    pub(super) fn is_confirmed(&self, id: StatementId) -> bool {
        self.confirmed.borrow().contains(&id)
    }

    /// The mode in which a statement in its transaction promises to read a table that it uses in
    /// this role.
    pub(super) fn promised_mode(&self, statement: &CaseStatement, role: Role) -> ReadMode {
        observe::promised_mode(&self.case, &self.dialect, statement, role)
    }

    /// Learns versions, views and changes. The serial run is as its set-up left it.
    pub(super) fn learn(
        mut self,
        learner: Learner,
        serial: &mut dyn SerialRun,
    ) -> Result<Self, EngineError> {
        for table in &self.case.tables {
            let rows = serial.contents(&table.name)?;
            self.initial.insert(table.name.clone(), rows);
        }
        self.account = learn(
            &self.case,
            &self.execution,
            &self.timeline,
            &self.initial,
            &self.dialect,
            learner,
        );
        // Whatever was asked before was asked of answers alone.
        (self.standings, self.miscounts) = (OnceCell::new(), OnceCell::new());
        Ok(self)
    }
}

/// How a statement's outcome may be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It must give what it gives on its view.
    Judged,
    /// The same, or what it gives on another view that documented behaviour allows.
    Lenient,
    /// It was refused because another session stood in its way, and one did, or because of a
    /// registered behaviour: nothing more is promised of a refusal.
    RightlyRefused,
    /// Nothing can be said of it, and why.
    Skipped(UndecidedReason),
}

/// A write whose answer counts other rows than those that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Miscount {
    pub(super) statement: StatementId,
    pub(super) answered: u64,
    pub(super) changed: ChangedRows,
    /// Writes that may have replaced a version of it before the observer looked; empty where nothing
    /// excuses the count.
    pub(super) hidden_among: BTreeSet<StatementId>,
}
