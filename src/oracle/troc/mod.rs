//! Troc: transaction oracle construction (ICSE 2023), for any number of tables, sessions and
//! transactions.
//!
//! Take the run apart into independent statements, build for each the view of every table that its
//! level promises, run it alone there, and compare its rows, its count, its error class and its effect
//! with what the interleaved run showed; then compare the newest committed version of every row with
//! the final state. `docs/oracle-troc.md` says what this claims and what it may miss.

use super::compare::{Mismatch, difference_direction, rows_text, table_difference};
use super::evidence::Standing;
use super::view::{Alone, Disagreement, StatementVerdicts, blind, standings, visible};
use super::{Evidence, Needs, Oracle, Ruling};
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{Aspect, ReadMode, Row, StatementId, Tick, TransactionId, TransactionStatus};
use crate::observe::{Learner, Reader};

/// The oracle, with the learner it trusts.
#[derive(Clone, Copy, Debug)]
pub struct Troc {
    pub learner: Learner,
}

impl Oracle for Troc {
    fn name(&self) -> &'static str {
        "troc"
    }

    fn about(&self) -> &'static str {
        "each statement alone on the view that its level promises (transaction oracle construction)"
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
        let standings = standings(evidence);
        if let Some(reason) = blind(evidence) {
            return Ok(Ruling::undecided(reason));
        }
        let mut alone = Alone::start(evidence, serial);
        let mut tally = StatementVerdicts::default();
        for id in evidence.execution.execution_order() {
            if !matches!(
                standings.get(&id),
                Some(Standing::Judged | Standing::Lenient)
            ) {
                continue;
            }
            // Another oracle may have asked the same question.
            if evidence.is_confirmed(id) {
                tally.tested.insert(id);
            } else {
                tally.judge(&mut alone, id)?;
            }
        }
        tally.refusals(standings);
        tally.ask_again(&mut alone)?;
        tally.name(&mut alone)?;
        tally.disagreements.extend(final_state(evidence));
        let explanation = tally.explanation(&alone);
        Ok(Ruling {
            verdict: tally.verdict(self.name(), evidence, standings, explanation),
            untested: tally.untested(standings),
            acyclic: None,
            tested: tally.tested,
        })
    }
}

/// Tables whose final content is not the newest committed version of each row.
///
/// Nothing is said where a COMMIT got no answer: nobody knows whether its rows are there.
fn final_state(evidence: &Evidence) -> Vec<Disagreement> {
    let mut ends = evidence.execution.transactions.values();
    if ends.any(|status| *status == TransactionStatus::Indeterminate) {
        return Vec::new();
    }
    let afterwards = Tick(u32::MAX);
    let nobody = Reader {
        statement: StatementId {
            transaction: TransactionId(u32::MAX),
            position: 0,
        },
        mode: ReadMode::Current,
        at: afterwards,
        snapshot: afterwards,
    };
    let account = &evidence.account;
    let mut found = Vec::new();
    for shape in &evidence.case.tables {
        let Some(got) = evidence.execution.final_state.get(&shape.name) else {
            continue;
        };
        let newest = evidence.timeline.view(&account.chains, &shape.name, nobody);
        let expected: Vec<Row> = newest
            .values()
            .filter_map(|version| account.chains.row((*version)?).cloned())
            .collect();
        let difference = table_difference(&visible(shape, &expected), &visible(shape, got));
        if let Some((missing, extra)) = difference {
            let mismatch = Mismatch {
                aspect: Aspect::FinalState,
                direction: difference_direction(&missing, &extra),
                expected: rows_text(&missing),
                got: rows_text(&extra),
            };
            found.push(Disagreement::finally(shape.name.clone(), mismatch));
        }
    }
    found
}
