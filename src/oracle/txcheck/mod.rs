//! TxCheck: the statement-dependency oracle (OSDI 2023), made read-mode correct.
//!
//! Run the case interleaved, learn what every statement saw, infer the statement dependency graph,
//! keep an acyclic part as large as possible, run its statements one after another without
//! transactions in several topological orders, and compare every outcome and the final content of
//! every table. `docs/oracle-txcheck.md` says what this claims and what it may miss.

mod check;
mod dependency;
mod plan;
#[cfg(test)]
mod tests;

use self::check::Check;
use self::plan::Plan;
use super::view::{Alone, Disagreement, StatementVerdicts, blind, miscounts, standings};
use super::{Evidence, Needs, Oracle, Ruling};
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::StatementId;
use crate::observe::Learner;

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
        Needs::views(self.learner)
    }

    fn judges_statements(&self) -> bool {
        true
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
        if let Some(reason) = blind(evidence) {
            return Ok(Ruling::undecided(reason));
        }
        let Judged {
            tally,
            acyclic,
            explanation,
        } = check.judge(serial)?;
        Ok(Ruling {
            verdict: tally.verdict("txcheck", evidence, check.standings, explanation),
            untested: tally.untested(check.standings),
            acyclic: Some(acyclic),
            tested: tally.tested,
        })
    }
}

/// What the serial runs came to.
struct Judged {
    tally: StatementVerdicts,
    /// Statements in the acyclic part, of those that could have been.
    acyclic: (usize, usize),
    explanation: Vec<String>,
}

impl Check<'_> {
    fn judge(&self, serial: &mut dyn SerialRun) -> Result<Judged, EngineError> {
        let plan = self.plan();
        let mut replay = Alone::start(self.evidence, serial);
        // A write that says one thing and does another may do it where the final state hides it. Where other oracles take
        // over what is confirmed here, every effect is looked at already.
        replay.careful |= !miscounts(self.evidence).is_empty();
        let mut tally = StatementVerdicts::default();
        let (found, mut refused) = self.serial_run(&mut replay, &plan)?;
        if !found.is_empty() {
            // Again, looking at every effect, so that the first difference is told, not its
            // consequences.
            replay.careful = true;
            replay.reset()?;
            (tally.disagreements, refused) = self.serial_run(&mut replay, &plan)?;
            let again = |id: &StatementId| {
                let mut again = tally.disagreements.iter();
                again.any(|d| d.statement == Some(*id))
            };
            let is_gone = |d: &Disagreement| d.statement.is_some_and(|id| !again(&id));
            let gone = found.into_iter().filter(is_gone).collect();
            tally.unstable = gone;
        }
        let run = plan
            .order
            .iter()
            .filter(|id| !plan.placeholders.contains(id));
        tally.tested = run.copied().collect();
        let kept = tally.tested.len();
        refused.into_iter().for_each(|id| tally.cannot_judge(id));
        for &id in &plan.on_own_view {
            tally.judge(&mut replay, id)?;
        }
        tally.refusals(self.standings);
        tally.ask_again(&mut replay)?;
        tally.name(&mut replay)?;
        let explanation = self.explain(&plan, &replay, &tally);
        Ok(Judged {
            tally,
            acyclic: (kept, plan.graph.statements.len()),
            explanation,
        })
    }

    /// What differs, up to a statement whose view the tables refuse; and those that were not judged therefore.
    fn serial_run(
        &self,
        replay: &mut Alone<'_>,
        plan: &Plan,
    ) -> Result<(Vec<Disagreement>, Vec<StatementId>), EngineError> {
        let mut found = Vec::new();
        if plan.order.is_empty() && !plan.graph.statements.is_empty() {
            // No order holds even the effects of the writes: each statement is judged by itself, and
            // nothing can be said of what all of them leave.
            return Ok((found, Vec::new()));
        }
        for (at, &id) in plan.order.iter().enumerate() {
            if plan.placeholders.contains(&id) {
                if replay.place(id)? {
                    continue;
                }
            } else if let Some(mismatches) = replay.judge(id, false)? {
                found.extend(mismatches.into_iter().map(|m| Disagreement::at(id, m)));
                continue;
            }
            return Ok((found, plan.order[at..].to_vec()));
        }
        let final_state = replay.compare_final_state()?;
        found.extend(
            final_state
                .into_iter()
                .map(|(t, m)| Disagreement::finally(t, m)),
        );
        Ok((found, Vec::new()))
    }

    fn explain(&self, plan: &Plan, replay: &Alone<'_>, tally: &StatementVerdicts) -> Vec<String> {
        let mut lines = Vec::new();
        if tally.disagreements.is_empty() {
            return lines;
        }
        let names: Vec<String> = plan.order.iter().map(StatementId::to_string).collect();
        if !names.is_empty() {
            lines.push(format!("serial order: {}", names.join(" ")));
        }
        if let Some(cycle) = &plan.cycle {
            lines.push(format!("a cycle was broken: {cycle}"));
        }
        lines.extend(tally.explanation(replay));
        lines
    }
}
