//! TxCheck: the statement-dependency oracle (OSDI 2023), made read-mode correct.
//!
//! Run the case interleaved, learn what every statement saw, infer the statement dependency graph,
//! keep an acyclic part as large as possible, run its statements one after another without
//! transactions in several topological orders, and compare every outcome and the final content of
//! every table. `docs/oracle-txcheck.md` says what this claims and what it may miss.

mod dependency;
mod finding;
mod judged;
mod plan;
mod replay;

use std::collections::{BTreeMap, BTreeSet};

use self::finding::Disagreement;
use self::judged::{Standing, standings};
use self::plan::Plan;
use self::replay::Replay;
use super::{FREE_PACE, Judgement, Oracle};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::{Executor, SerialRun};
use crate::model::{Execution, Pace, Row, StatementId, TestCase, Verdict};
use crate::observe::{Account, Learner, Timeline, instrument, learn, with_row_identity};

/// How often a case is run again in its observed order, so that no probe is parted from its
/// statement (TxCheck, section 4, "Blocking Scheduling").
const BLOCKING_ROUNDS: u32 = 3;

/// How often a read that disagrees is run alone again, to see whether the engine stands by the
/// prediction. An answer given one time in ten is seen with 88 %, one in four with 99.6 %.
const SECOND_OPINIONS: u32 = 20;

/// The oracle, with the learner it trusts.
#[derive(Clone, Copy, Debug)]
pub struct TxCheck {
    pub learner: Learner,
}

impl Oracle for TxCheck {
    fn name(&self) -> &'static str {
        "txcheck"
    }

    fn about(&self) -> &'static str {
        "each statement against a serial run on the rows it saw (statement dependency graphs)"
    }

    fn inapplicable(&self, case: &TestCase, executor: &dyn Executor) -> Option<String> {
        if case.pace == Pace::Free {
            return Some(FREE_PACE.to_owned());
        }
        with_row_identity(case, executor.dialect())
            .is_none()
            .then(|| "no-row-identity".to_owned())
    }

    fn check(
        &self,
        case: &TestCase,
        executor: &mut dyn Executor,
    ) -> Result<Judgement, EngineError> {
        let Some(case) = with_row_identity(case, executor.dialect()) else {
            return Ok(Judgement::undecided(
                "no-row-identity",
                Execution::default(),
            ));
        };
        let (case, execution) = self.run(case, executor)?;
        if let Some(reason) = &execution.unreliable {
            return Ok(Judgement::undecided(&reason.clone(), execution));
        }
        let dialect = executor.dialect().clone();
        let mut serial = executor.serial(&case)?;
        let initial = initial_state(&case, &mut *serial)?;
        let account = learn(&case, &execution, &initial, &dialect, self.learner);
        let check = Check {
            timeline: Timeline::new(&case, &execution),
            standings: standings(&case, &execution, &account, &dialect),
            case: &case,
            account: &account,
            execution: &execution,
            dialect: &dialect,
            initial: &initial,
        };
        if let Some(reason) = check.blind() {
            drop(serial);
            return Ok(Judgement::undecided(reason, execution));
        }
        let result = check.judge(&mut *serial)?;
        let tested = result.tested.iter().copied().collect();
        let untested = check.untested(&result.tested);
        let verdict = check.verdict(&result);
        Ok(Judgement {
            verdict,
            tested,
            untested,
            acyclic: Some(result.acyclic),
            execution,
        })
    }
}

impl TxCheck {
    /// Runs the case; by probes, again in the observed order while probes are parted.
    fn run(
        &self,
        mut case: TestCase,
        executor: &mut dyn Executor,
    ) -> Result<(TestCase, Execution), EngineError> {
        let rounds = if self.learner == Learner::Probes {
            BLOCKING_ROUNDS
        } else {
            1
        };
        for round in 1.. {
            let plan = instrument(&case, executor.dialect(), self.learner);
            let execution = executor.execute(&case, &plan)?;
            let parted = execution.probes.iter().any(|probe| probe.parted);
            if round == rounds || !parted {
                return Ok((case, execution));
            }
            case = case.in_order(&execution.execution_order());
        }
        unreachable!("the loop ends by its last round")
    }
}

/// Every table as the set-up leaves it.
fn initial_state(
    case: &TestCase,
    serial: &mut dyn SerialRun,
) -> Result<BTreeMap<String, Vec<Row>>, EngineError> {
    case.tables
        .iter()
        .map(|table| Ok((table.name.clone(), serial.contents(&table.name)?)))
        .collect()
}

/// One run with all that was learned from it.
struct Check<'a> {
    case: &'a TestCase,
    execution: &'a Execution,
    account: &'a Account,
    timeline: Timeline,
    standings: BTreeMap<StatementId, Standing>,
    dialect: &'a Dialect,
    initial: &'a BTreeMap<String, Vec<Row>>,
}

/// What the serial runs came to.
struct Judged {
    disagreements: Vec<Disagreement>,
    /// Statements that gave two answers alone on the same rows.
    fickle: BTreeSet<StatementId>,
    tested: BTreeSet<StatementId>,
    /// Statements in the acyclic part, of those that could have been.
    acyclic: (usize, usize),
    explanation: Vec<String>,
}

impl Check<'_> {
    /// Why nothing can be said about this run at all.
    fn blind(&self) -> Option<&'static str> {
        const SEVERAL: &str = "change-of-several-writers";
        if self
            .account
            .unsure
            .values()
            .any(|reason| *reason == SEVERAL)
        {
            return Some(SEVERAL);
        }
        // Two writes resumed at one moment, the second over the first: a version nobody saw.
        if judged::self_check_fails(self.case, self.execution, self.account) {
            return Some(judged::SELF_CHECK);
        }
        let opaque_ran = |(id, standing): (&StatementId, &Standing)| {
            *standing == Standing::Skipped("opaque-statement")
                && self
                    .execution
                    .records
                    .get(id)
                    .is_some_and(|r| r.outcome.error_class().is_none())
        };
        self.standings
            .iter()
            .any(opaque_ran)
            .then_some("opaque-statement")
    }

    /// Why each statement that was answered and not compared was not.
    fn untested(&self, tested: &BTreeSet<StatementId>) -> BTreeMap<StatementId, &'static str> {
        self.standings
            .iter()
            .filter(|(id, _)| !tested.contains(id))
            .map(|(id, standing)| match standing {
                Standing::Skipped(reason) => (*id, *reason),
                _ => (*id, "undone"),
            })
            .collect()
    }

    fn judge(&self, serial: &mut dyn SerialRun) -> Result<Judged, EngineError> {
        let plan = self.plan();
        let mut replay = Replay::new(self.case, self.execution, self.account, serial);
        let mut disagreements = Vec::new();
        let mut fickle = BTreeSet::new();
        for (index, order) in plan.orders.iter().enumerate() {
            if index > 0 {
                replay.reset(self.initial)?;
            } else {
                replay.start(self.initial);
            }
            let found = self.serial_run(&mut replay, order, &plan.placeholders)?;
            if !found.is_empty() {
                // Again, looking at every effect, so that the first difference is told, not its
                // consequences.
                replay.careful = true;
                replay.reset(self.initial)?;
                disagreements = self.serial_run(&mut replay, order, &plan.placeholders)?;
                let again =
                    |id: &StatementId| disagreements.iter().any(|d| d.statement == Some(*id));
                fickle.extend(
                    found
                        .iter()
                        .filter_map(|d| d.statement)
                        .filter(|id| !again(id)),
                );
                break;
            }
        }
        if plan.orders.is_empty() {
            replay.start(self.initial);
        }
        let kept = plan
            .orders
            .first()
            .map_or(0, |o| o.len() - plan.placeholders.len());
        let mut tested: BTreeSet<StatementId> = plan
            .orders
            .iter()
            .flatten()
            .copied()
            .filter(|id| !plan.placeholders.contains(id))
            .collect();
        for &id in &plan.on_own_view {
            let mismatches = replay.judge(id, true)?;
            disagreements.extend(mismatches.into_iter().map(|m| Disagreement::at(id, m)));
            tested.insert(id);
        }
        let refused =
            |(_, standing): &(&StatementId, &Standing)| **standing == Standing::RightlyRefused;
        tested.extend(self.standings.iter().filter(refused).map(|(id, _)| *id));
        self.ask_again(&mut replay, &mut disagreements, &mut fickle)?;
        tested.retain(|id| !fickle.contains(id));
        let explanation = self.explain(&plan, &replay, &disagreements);
        Ok(Judged {
            disagreements,
            fickle,
            tested,
            acyclic: (kept, plan.graph.statements.len()),
            explanation,
        })
    }

    /// Drops the disagreements about reads to whose prediction the engine does not stand: run alone
    /// on the same rows again and again, it gives the answer of the interleaved run, too.
    ///
    /// A plan that changes with the statistics of a table can give another answer (a wrong one:
    /// a bug, but none of transactions), and then the serial run predicts nothing.
    fn ask_again(
        &self,
        replay: &mut Replay<'_>,
        disagreements: &mut Vec<Disagreement>,
        fickle: &mut BTreeSet<StatementId>,
    ) -> Result<(), EngineError> {
        let reads = |id: &StatementId| {
            self.case
                .statement(*id)
                .is_some_and(|s| !s.effect.kind.is_write())
        };
        let ids: BTreeSet<StatementId> = disagreements
            .iter()
            .filter_map(|d| d.statement)
            .filter(reads)
            .collect();
        for id in ids {
            for _ in 0..SECOND_OPINIONS {
                replay.reset(self.initial)?;
                if replay.judge(id, true)?.is_empty() {
                    disagreements.retain(|d| d.statement != Some(id));
                    fickle.insert(id);
                    break;
                }
            }
        }
        Ok(())
    }

    fn serial_run(
        &self,
        replay: &mut Replay<'_>,
        order: &[StatementId],
        placeholders: &BTreeSet<StatementId>,
    ) -> Result<Vec<Disagreement>, EngineError> {
        let mut found = Vec::new();
        for &id in order {
            if placeholders.contains(&id) {
                replay.place(id)?;
            } else {
                let mismatches = replay.judge(id, false)?;
                found.extend(mismatches.into_iter().map(|m| Disagreement::at(id, m)));
            }
        }
        let final_state = replay.compare_final_state()?;
        found.extend(
            final_state
                .into_iter()
                .map(|(t, m)| Disagreement::finally(t, m)),
        );
        Ok(found)
    }

    fn explain(
        &self,
        plan: &Plan,
        replay: &Replay<'_>,
        disagreements: &[Disagreement],
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(first) = disagreements.first() else {
            return lines;
        };
        if let Some(order) = plan.orders.first() {
            let names: Vec<String> = order.iter().map(StatementId::to_string).collect();
            lines.push(format!("serial order: {}", names.join(" ")));
        }
        if let Some(cycle) = &plan.cycle {
            lines.push(format!("a cycle was broken: {cycle}"));
        }
        if let Some(id) = first.statement {
            lines.extend(self.read_modes_text(id));
            lines.extend(replay.view_text(id));
        }
        lines.extend(self.account.unexplained.iter().cloned());
        lines
    }

    fn read_modes_text(&self, id: StatementId) -> Option<String> {
        let statement = self.case.statement(id)?;
        let level = self.case.judged_level(statement.session);
        let explicit = self.case.is_explicit(id.transaction);
        let modes: Vec<String> = statement
            .effect
            .uses
            .iter()
            .map(|u| {
                let mode = self.dialect.read_mode(level, u.role, explicit);
                format!("{} as {} reads {mode}", u.table, u.role)
            })
            .collect();
        Some(format!("at {level}, {id}: {}", modes.join("; ")))
    }

    fn verdict(&self, judged: &Judged) -> Verdict {
        let standing = |d: &&Disagreement| d.statement.and_then(|id| self.standings.get(&id));
        let explained = |d: &&Disagreement| {
            matches!(
                standing(d),
                Some(
                    Standing::MixedAfterWait
                        | Standing::DoubtfulNoOp
                        | Standing::MovedKey
                        | Standing::MovedWhileWaiting
                )
            )
        };
        if let Some(first) = judged.disagreements.iter().find(|d| !explained(d)) {
            let finding = finding::finding(
                self.case,
                self.execution,
                self.dialect,
                first,
                &judged.disagreements,
                judged.explanation.clone(),
            );
            return Verdict::Violation(Box::new(finding));
        }
        if let Some(first) = judged.disagreements.first() {
            let known = match standing(&first) {
                Some(Standing::DoubtfulNoOp) => self.dialect.known_no_op_update.as_ref(),
                Some(Standing::MovedKey) => self.dialect.known_moved_key.as_ref(),
                Some(Standing::MovedWhileWaiting) => {
                    self.dialect.known_moved_while_waiting.as_ref()
                }
                _ => first
                    .statement
                    .and_then(|id| self.case.statement(id))
                    .and_then(|s| self.dialect.known_after_wait.get(&s.effect.kind)),
            };
            return known.map_or_else(
                || Verdict::Undecided("mixed-rows-after-wait".to_owned()),
                |id| Verdict::Known(id.clone()),
            );
        }
        if !judged.fickle.is_empty() {
            return Verdict::Undecided("engine-contradicts-itself".to_owned());
        }
        if judged.tested.is_empty() && self.case.user_statements().next().is_some() {
            let reasons = self.standings.values().find_map(|standing| match standing {
                Standing::Skipped(reason) => Some(*reason),
                _ => None,
            });
            return Verdict::Undecided(reasons.unwrap_or("nothing-ran").to_owned());
        }
        Verdict::Agree
    }
}
