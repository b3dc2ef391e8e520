//! What judging the statements of a run one by one came to, and the verdict that follows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::evidence::Standing;
use super::allowed::Allowed;
use super::alone::Alone;
use super::finding::{Disagreement, finding, unstable_finding};
use crate::engine::EngineError;
use crate::model::{AnomalyClass, Direction, StatementId, UndecidedReason, Verdict};
use crate::oracle::Evidence;

/// How often a read that disagrees is run alone again, to see whether the engine repeats the
/// prediction. An answer given one time in ten is seen with 88 %, one in four with 99.6 %.
const SECOND_OPINIONS: u32 = 20;

/// How much longer each second opinion waits than the one before: 20 take a tenth of a second, in
/// which another worker's transaction ends. MariaDB answers a read through an index on a virtual
/// column wrongly while one is open.
const REST: Duration = Duration::from_micros(500);

/// What judging the statements of a run came to.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct StatementVerdicts {
    /// What nothing documented explains.
    pub(in crate::oracle) disagreements: Vec<Disagreement>,
    /// Differences that did not recur: the statement gave two answers alone on the same rows.
    pub(in crate::oracle) unstable: Vec<Disagreement>,
    /// The ids of registered behaviours that explain what statements gave.
    known: Vec<String>,
    /// Statements that did not give what they should, and why that says nothing.
    unknown: BTreeMap<StatementId, UndecidedReason>,
    pub(in crate::oracle) tested: BTreeSet<StatementId>,
    /// Why other views do not explain the first disagreement, for people.
    unexplained: String,
    /// What the first disagreement is, where the rows of another moment explain it.
    anomaly: Option<AnomalyClass>,
}

impl StatementVerdicts {
    /// Judges one statement on its view, and where that differs, on every view that documented
    /// behaviour allows.
    pub(in crate::oracle) fn judge(
        &mut self,
        alone: &mut Alone<'_>,
        id: StatementId,
    ) -> Result<(), EngineError> {
        let Some(mismatches) = alone.judge_as_it_went_on(id)? else {
            self.cannot_judge(id);
            return Ok(());
        };
        self.tested.insert(id);
        if mismatches.is_empty() {
            return Ok(());
        }
        if let Some(statement) = alone.evidence.case.statement(id)
            && (alone.is_refused_for_another_row(statement, &mismatches)?
                || alone.is_refused_by_another_check(statement, &mismatches)?
                || alone.is_refused_for_a_newer_row(statement)?)
        {
            return Ok(());
        }
        let unexplained = match alone.allowed(id)? {
            Allowed::AtOneMoment => return Ok(()),
            Allowed::Unknown(reason) => {
                self.tested.remove(&id);
                self.unknown.insert(id, reason);
                return Ok(());
            }
            Allowed::Mixed(doubt) => {
                let Evidence { case, dialect, .. } = alone.evidence;
                let statement = case.statement(id);
                match statement.and_then(|s| dialect.known(doubt, s.effect.kind)) {
                    Some(known) => {
                        self.known.push(known.to_owned());
                        return Ok(());
                    }
                    None => format!("{id} mixes moments ({doubt}), and no id explains that"),
                }
            }
            Allowed::Never { tried: 0 } => String::new(),
            Allowed::Never { tried } => {
                format!("none of {tried} other views that {id} may have had gives this either")
            }
        };
        if self.disagreements.is_empty() {
            self.unexplained = unexplained;
        }
        let differ = mismatches.into_iter();
        self.disagreements
            .extend(differ.map(|m| Disagreement::at(id, m)));
        Ok(())
    }

    /// Notes that the tables refuse the rows that a statement saw.
    pub(in crate::oracle) fn cannot_judge(&mut self, id: StatementId) {
        self.tested.remove(&id);
        self.unknown.insert(id, UndecidedReason::ViewRefused);
    }

    /// Names the first disagreement by the moment whose rows give what the run gave.
    ///
    /// Where no stronger level was claimed than run, only rows that should not be there tell of a moment: a
    /// statement that loses rows for a reason of its own may find as few at another moment by chance.
    pub(in crate::oracle) fn name(&mut self, alone: &mut Alone<'_>) -> Result<(), EngineError> {
        let case = &alone.evidence.case;
        let first = self.disagreements.first();
        let Some((first, id)) = first.and_then(|first| Some((first, first.statement?))) else {
            return Ok(());
        };
        let tells = matches!(first.direction(), Direction::Extra | Direction::Changed);
        if tells || case.claim.is_some() {
            alone.reset()?;
            self.anomaly = alone.anomaly(id)?;
        }
        Ok(())
    }

    /// Counts refusals that had a reason as tested.
    pub(in crate::oracle) fn refusals(&mut self, standings: &BTreeMap<StatementId, Standing>) {
        let refused = standings
            .iter()
            .filter(|(_, standing)| **standing == Standing::RightlyRefused);
        self.tested.extend(refused.map(|(id, _)| *id));
    }

    /// Drops read mismatches that a serial re-run reproduces without concurrency: run alone on the
    /// same rows again and again, the engine gives the answer of the interleaved run, too.
    ///
    /// A plan that changes with the statistics of a table can give another answer (a wrong one:
    /// a bug, but none of transactions), and then the serial run predicts nothing.
    pub(in crate::oracle) fn ask_again(
        &mut self,
        alone: &mut Alone<'_>,
    ) -> Result<(), EngineError> {
        let case = &alone.evidence.case;
        let reads = |id: &StatementId| {
            case.statement(*id)
                .is_some_and(|s| !s.effect.kind.is_write())
        };
        let ids: BTreeSet<StatementId> = self
            .disagreements
            .iter()
            .filter_map(|d| d.statement)
            .filter(reads)
            .collect();
        for id in ids {
            for opinion in 0..SECOND_OPINIONS {
                alone.rest(REST * opinion);
                alone.reset()?;
                let again = alone.judge_as_it_went_on(id)?;
                if again.is_some_and(|mismatches| mismatches.is_empty()) {
                    let told = self
                        .disagreements
                        .extract_if(.., |d| d.statement == Some(id));
                    self.unstable.extend(told);
                    break;
                }
            }
        }
        let unstable = &self.unstable;
        self.tested
            .retain(|id| !unstable.iter().any(|d| d.statement == Some(*id)));
        Ok(())
    }

    /// Why each statement that was answered and not compared was not.
    pub(in crate::oracle) fn untested(
        &self,
        standings: &BTreeMap<StatementId, Standing>,
    ) -> BTreeMap<StatementId, UndecidedReason> {
        standings
            .iter()
            .filter(|(id, _)| !self.tested.contains(id))
            .map(|(id, standing)| match standing {
                Standing::Skipped(reason) => (*id, *reason),
                Standing::Judged | Standing::Lenient | Standing::RightlyRefused => {
                    let reason = self.unknown.get(id).copied();
                    (*id, reason.unwrap_or(UndecidedReason::Undone))
                }
            })
            .collect()
    }

    /// The rows that the first statement that differs must see, and by which modes; for explanations.
    pub(in crate::oracle) fn explanation(&self, alone: &Alone<'_>) -> Vec<String> {
        let Some(first) = self.disagreements.first() else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if let Some(id) = first.statement {
            lines.extend(read_modes_text(alone.evidence, id));
            lines.extend(alone.view_text(id));
            lines.extend(Some(self.unexplained.clone()).filter(|text| !text.is_empty()));
            lines.extend(self.anomaly.map(|anomaly| {
                format!("{id} gives this on the rows of another moment, or of two: {anomaly}")
            }));
        }
        lines.extend(alone.evidence.account.unexplained.iter().cloned());
        lines
    }

    /// The verdict of an oracle: a violation, else what is unstable, known or undecided.
    pub(in crate::oracle) fn verdict(
        &self,
        oracle: &str,
        evidence: &Evidence,
        standings: &BTreeMap<StatementId, Standing>,
        explanation: Vec<String>,
    ) -> Verdict {
        if let Some(first) = self.disagreements.first() {
            let mut finding = finding(oracle, evidence, first, &self.disagreements, explanation);
            if let Some(anomaly) = self.anomaly {
                finding.signature = finding.signature.with_anomaly(anomaly);
            }
            return Verdict::Violation(Box::new(finding));
        }
        if let Some(first) = self.unstable.first() {
            return Verdict::Violation(Box::new(unstable_finding(oracle, evidence, first)));
        }
        if let Some(id) = self.known.first() {
            return Verdict::Known(id.clone());
        }
        let registered = evidence.account.registered.iter();
        let mut tested = registered.filter(|(id, _)| self.tested.contains(id));
        if let Some(known) = tested.find_map(|(id, doubt)| {
            let statement = evidence.case.statement(*id)?;
            evidence.dialect.known(*doubt, statement.effect.kind)
        }) {
            return Verdict::Known(known.to_owned());
        }
        if let Some(reason) = self.unknown.values().next() {
            return Verdict::Undecided(*reason);
        }
        if self.tested.is_empty() && evidence.case.user_statements().next().is_some() {
            let reason = standings.values().find_map(|standing| match standing {
                Standing::Skipped(reason) => Some(*reason),
                Standing::Judged | Standing::Lenient | Standing::RightlyRefused => None,
            });
            return Verdict::Undecided(reason.unwrap_or(UndecidedReason::NothingRan));
        }
        Verdict::Agree
    }
}

fn read_modes_text(evidence: &Evidence, id: StatementId) -> Option<String> {
    let case = &evidence.case;
    let statement = case.statement(id)?;
    let level = case.judged_level(statement.session);
    let modes: Vec<String> = statement
        .effect
        .uses
        .iter()
        .map(|u| {
            let mode = evidence.promised_mode(statement, u.role);
            format!("{} as {} reads {mode}", u.table, u.role)
        })
        .collect();
    Some(format!("at {level}, {id}: {}", modes.join("; ")))
}
