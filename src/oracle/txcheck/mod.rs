//! TxCheck: the statement-dependency oracle (OSDI 2023), made read-mode correct.
//!
//! Run the case interleaved, learn what every statement saw, infer the statement dependency graph,
//! keep an acyclic part as large as possible, run its statements one after another without
//! transactions in a topological order, and compare every outcome and the final content of
//! every table. `docs/oracle-txcheck.md` says what this claims and what it may miss.

mod check;
mod dependency;
mod plan;

use std::collections::{BTreeMap, BTreeSet};

use self::check::Check;
use self::plan::Plan;
use super::view::{
    Alone, Disagreement, Standing, finding, self_check_fails, standings, unstable_finding,
};
use super::{Evidence, Needs, Oracle, Ruling};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{Doubt, Pace, StatementId, TestCase, UndecidedReason, Verdict};
use crate::observe::Learner;

/// How often a read that disagrees is run alone again, to see whether the engine repeats the
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

    fn needs(&self) -> Needs {
        Needs {
            pace: Pace::Scheduled,
            learner: Some(self.learner),
            row_identity: true,
            serial: true,
        }
    }

    fn excludes(&self, _: &TestCase, _: &Dialect) -> Option<UndecidedReason> {
        None
    }

    fn judge(
        &self,
        evidence: &Evidence,
        serial: &mut dyn SerialRun,
    ) -> Result<Ruling, EngineError> {
        let check = Check {
            evidence,
            standings: standings(evidence),
        };
        if let Some(reason) = check.blind() {
            return Ok(Ruling::undecided(reason));
        }
        let result = check.judge(serial)?;
        Ok(Ruling {
            verdict: check.verdict(&result),
            untested: check.untested(&result.tested),
            acyclic: Some(result.acyclic),
            tested: result.tested,
        })
    }
}

/// What the serial runs came to.
struct Judged {
    disagreements: Vec<Disagreement>,
    /// Differences that did not recur: the statement gave two answers alone on the same rows.
    unstable: Vec<Disagreement>,
    tested: BTreeSet<StatementId>,
    /// Statements in the acyclic part, of those that could have been.
    acyclic: (usize, usize),
    explanation: Vec<String>,
}

impl Check<'_> {
    /// Why nothing can be said about this run at all.
    fn blind(&self) -> Option<UndecidedReason> {
        const SEVERAL: UndecidedReason = UndecidedReason::ChangeOfSeveralWriters;
        let unsure = &self.evidence.account.unsure;
        if unsure.values().any(|reason| *reason == SEVERAL) {
            return Some(SEVERAL);
        }
        // Two writes resumed at one moment, the second over the first: no observation shows the
        // version between.
        if self_check_fails(self.evidence) {
            return Some(UndecidedReason::ChangesAndAffectedRowsDisagree);
        }
        const OPAQUE: UndecidedReason = UndecidedReason::OpaqueStatement;
        let opaque_ran = |(id, standing): (&StatementId, &Standing)| {
            let record = self.evidence.execution.records.get(id);
            *standing == Standing::Skipped(OPAQUE)
                && record.is_some_and(|r| r.outcome.error_class().is_none())
        };
        self.standings.iter().any(opaque_ran).then_some(OPAQUE)
    }

    /// Why each statement that was answered and not compared was not.
    fn untested(&self, tested: &BTreeSet<StatementId>) -> BTreeMap<StatementId, UndecidedReason> {
        self.standings
            .iter()
            .filter(|(id, _)| !tested.contains(id))
            .map(|(id, standing)| match standing {
                Standing::Skipped(reason) => (*id, *reason),
                Standing::Judged | Standing::Doubtful(_) | Standing::RightlyRefused => {
                    (*id, UndecidedReason::Undone)
                }
            })
            .collect()
    }

    fn judge(&self, serial: &mut dyn SerialRun) -> Result<Judged, EngineError> {
        let plan = self.plan();
        let mut replay = Alone::start(self.evidence, serial);
        let mut disagreements = Vec::new();
        let mut unstable = Vec::new();
        let found = self.serial_run(&mut replay, &plan)?;
        if !found.is_empty() {
            // Again, looking at every effect, so that the first difference is told, not its
            // consequences.
            replay.careful = true;
            replay.reset()?;
            disagreements = self.serial_run(&mut replay, &plan)?;
            let again = |id: &StatementId| disagreements.iter().any(|d| d.statement == Some(*id));
            let is_gone = |d: &Disagreement| d.statement.is_some_and(|id| !again(&id));
            unstable.extend(found.into_iter().filter(is_gone));
        }
        let run = plan
            .order
            .iter()
            .filter(|id| !plan.placeholders.contains(id));
        let mut tested: BTreeSet<StatementId> = run.copied().collect();
        let kept = tested.len();
        for &id in &plan.on_own_view {
            let mismatches = replay.judge(id, true)?;
            disagreements.extend(mismatches.into_iter().map(|m| Disagreement::at(id, m)));
            tested.insert(id);
        }
        let refused =
            |(_, standing): &(&StatementId, &Standing)| **standing == Standing::RightlyRefused;
        tested.extend(self.standings.iter().filter(refused).map(|(id, _)| *id));
        self.ask_again(&mut replay, &mut disagreements, &mut unstable)?;
        tested.retain(|id| !unstable.iter().any(|d| d.statement == Some(*id)));
        let explanation = self.explain(&plan, &replay, &disagreements);
        Ok(Judged {
            disagreements,
            unstable,
            tested,
            acyclic: (kept, plan.graph.statements.len()),
            explanation,
        })
    }

    /// Drops read mismatches that a serial re-run reproduces without concurrency: run alone on the
    /// same rows again and again, the engine gives the answer of the interleaved run, too.
    ///
    /// A plan that changes with the statistics of a table can give another answer (a wrong one:
    /// a bug, but none of transactions), and then the serial run predicts nothing.
    fn ask_again(
        &self,
        replay: &mut Alone<'_>,
        disagreements: &mut Vec<Disagreement>,
        unstable: &mut Vec<Disagreement>,
    ) -> Result<(), EngineError> {
        let reads = |id: &StatementId| {
            self.evidence
                .case
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
                replay.reset()?;
                if replay.judge(id, true)?.is_empty() {
                    unstable.extend(disagreements.extract_if(.., |d| d.statement == Some(id)));
                    break;
                }
            }
        }
        Ok(())
    }

    fn serial_run(
        &self,
        replay: &mut Alone<'_>,
        plan: &Plan,
    ) -> Result<Vec<Disagreement>, EngineError> {
        let mut found = Vec::new();
        for &id in &plan.order {
            if plan.placeholders.contains(&id) {
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
        replay: &Alone<'_>,
        disagreements: &[Disagreement],
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(first) = disagreements.first() else {
            return lines;
        };
        let names: Vec<String> = plan.order.iter().map(StatementId::to_string).collect();
        if !names.is_empty() {
            lines.push(format!("serial order: {}", names.join(" ")));
        }
        if let Some(cycle) = &plan.cycle {
            lines.push(format!("a cycle was broken: {cycle}"));
        }
        if let Some(id) = first.statement {
            lines.extend(self.read_modes_text(id));
            lines.extend(replay.view_text(id));
        }
        lines.extend(self.evidence.account.unexplained.iter().cloned());
        lines
    }

    fn read_modes_text(&self, id: StatementId) -> Option<String> {
        let case = &self.evidence.case;
        let statement = case.statement(id)?;
        let level = case.judged_level(statement.session);
        let explicit = case.is_explicit(id.transaction);
        let modes: Vec<String> = statement
            .effect
            .uses
            .iter()
            .map(|u| {
                let mode = self.evidence.dialect.read_mode(level, u.role, explicit);
                format!("{} as {} reads {mode}", u.table, u.role)
            })
            .collect();
        Some(format!("at {level}, {id}: {}", modes.join("; ")))
    }

    /// The registered quirk that a disagreement may be.
    fn doubt(&self, disagreement: &Disagreement) -> Option<(StatementId, Doubt)> {
        let id = disagreement.statement?;
        match self.standings.get(&id)? {
            Standing::Doubtful(doubt) => Some((id, *doubt)),
            Standing::Judged | Standing::RightlyRefused | Standing::Skipped(_) => None,
        }
    }

    fn verdict(&self, judged: &Judged) -> Verdict {
        let all = &judged.disagreements;
        if let Some(first) = all.iter().find(|d| self.doubt(d).is_none()) {
            let explanation = judged.explanation.clone();
            let finding = finding("txcheck", self.evidence, first, all, explanation);
            return Verdict::Violation(Box::new(finding));
        }
        if let Some((id, doubt)) = all.first().and_then(|d| self.doubt(d)) {
            let statement = self.evidence.case.statement(id);
            let known = statement.and_then(|s| self.evidence.dialect.known(doubt, s.effect.kind));
            return known.map_or(
                Verdict::Undecided(UndecidedReason::MixedRowsAfterWait),
                |id| Verdict::Known(id.to_owned()),
            );
        }
        if let Some(first) = judged.unstable.first() {
            return Verdict::Violation(Box::new(unstable_finding("txcheck", self.evidence, first)));
        }
        let registered = self.evidence.account.registered.iter();
        let mut tested = registered.filter(|(id, _)| judged.tested.contains(id));
        if let Some(known) = tested.find_map(|(id, doubt)| {
            let statement = self.evidence.case.statement(*id)?;
            self.evidence.dialect.known(*doubt, statement.effect.kind)
        }) {
            return Verdict::Known(known.to_owned());
        }
        if judged.tested.is_empty() && self.evidence.case.user_statements().next().is_some() {
            let reason = self.standings.values().find_map(|standing| match standing {
                Standing::Skipped(reason) => Some(*reason),
                Standing::Judged | Standing::Doubtful(_) | Standing::RightlyRefused => None,
            });
            return Verdict::Undecided(reason.unwrap_or(UndecidedReason::NothingRan));
        }
        Verdict::Agree
    }
}
