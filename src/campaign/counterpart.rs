//! `--against`: does another server do the same?
//!
//! A case in which the oracles found nothing is run on the counterpart, too. Where the two runs part, and
//! each server repeats its own, the oracles judge the case on the counterpart: what they find there is a
//! finding about it. What they leave is undecided, and the first case of its shape is kept, minimized.

use super::activity::PursuitNote;
use super::comparison::{
    Compared, Freedom, Parting, PartingKind, RunComparison, compare, difference, shape_of, told,
};
use super::conclusion::Conclusion;
use super::event::RunEvent;
use super::parts::Drawn;
use super::publish;
use super::pursue::{Pursuit, PursuitError};
use super::shared::Shared;
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::{Executor, Instrumentation};
use crate::minimize::{self, MinimizeBudget, MinimizeEnd};
use crate::model::{Execution, SessionId, TestCase, UndecidedReason, Verdict};
use crate::oracle::hear;

/// One case on both servers.
pub(super) struct Comparing<'a> {
    pub shared: &'a Shared,
    /// The same run with the counterpart as its server.
    pub other_shared: &'a Shared,
    pub executor: &'a mut dyn Executor,
    pub other: &'a mut dyn Executor,
    pub index: u64,
    pub note: PursuitNote,
}

/// One run on each server.
struct Pair {
    first: Execution,
    second: Execution,
    comparison: RunComparison,
}

/// In which respects two servers may answer this case differently, by their dialects.
fn freedom(case: &TestCase, here: &Dialect, there: &Dialect) -> Freedom {
    let refuses_freely = |session: &SessionId| {
        let level = case.level(*session);
        [here, there]
            .iter()
            .any(|dialect| dialect.serialization_cause(level).is_free())
    };
    Freedom {
        counts: here.affected_rows != there.affected_rows,
        refusals: case.sessions().into_iter().filter(refuses_freely).collect(),
    }
}

impl Comparing<'_> {
    /// Runs the case on both servers and follows a difference to its end.
    ///
    /// # Errors
    /// When a server gives no answer, or the disk takes no file.
    pub(super) fn run(&mut self, drawn: &Drawn) -> Result<Compared, PursuitError> {
        let case = &drawn.case;
        let pair = self.pair(case)?;
        let parting = match pair.comparison {
            RunComparison::Same => return Ok(Compared::Alike),
            RunComparison::Incomparable => return Ok(Compared::NotComparable),
            RunComparison::Parted(parting) => parting,
        };
        let shape = shape_of(&parting, case);
        if parting.kind != PartingKind::SetUp {
            let again = self.pair(case)?;
            let repeats = |before: &Execution, now: &Execution| {
                difference(before, now).is_none()
                    && compare(case, before, now, &Freedom::default()) == RunComparison::Same
            };
            let is_stable =
                repeats(&pair.first, &again.first) && repeats(&pair.second, &again.second);
            if !is_stable {
                return Ok(Compared::NotComparable);
            }
            if let Some(verdict) = self.judged_there(case)? {
                return Ok(Compared::Differs { shape, verdict });
            }
        }
        if self.is_new(&shape) {
            self.keep(case, &pair.first, &parting, &shape)?;
        }
        let verdict = Verdict::Undecided(UndecidedReason::EnginesDiffer);
        Ok(Compared::Differs { shape, verdict })
    }

    fn pair(&mut self, case: &TestCase) -> Result<Pair, EngineError> {
        let freedom = freedom(case, self.executor.dialect(), self.other.dialect());
        let first = self.executor.execute(case, &Instrumentation::default())?;
        let second = match self.other.execute(case, &Instrumentation::default()) {
            Ok(second) => second,
            Err(error @ EngineError::Setup { .. }) => {
                return Ok(Pair {
                    first,
                    second: Execution::default(),
                    comparison: RunComparison::Parted(Parting {
                        kind: PartingKind::SetUp,
                        statement: None,
                        first: "takes the set-up".to_owned(),
                        second: error.to_string(),
                    }),
                });
            }
            Err(error) => return Err(error),
        };
        let comparison = match first.unreliable.or(second.unreliable) {
            // What a timer or a contradiction ended says nothing of the other server.
            Some(_) => RunComparison::Incomparable,
            None => compare(case, &first, &second, &freedom),
        };
        Ok(Pair {
            first,
            second,
            comparison,
        })
    }

    /// What the oracles say of the case on the counterpart, where they find something.
    fn judged_there(&mut self, case: &TestCase) -> Result<Option<Verdict>, PursuitError> {
        let hearing = match hear(case, self.other, &self.other_shared.oracles) {
            Ok(hearing) => hearing,
            Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // What is known of another statement of the case explains nothing: a finding alone does.
        let Some(heard) = hearing.violation(|_| true) else {
            return Ok(None);
        };
        let mut pursuit = Pursuit {
            shared: self.other_shared,
            executor: self.other,
            oracle: self.other_shared.oracles[heard.judge],
            index: self.index,
            note: self.note.clone(),
            held: None,
        };
        let pursued = pursuit.run(case, heard, hearing.run_of(heard));
        // The case counts without the counterpart then, so nobody takes the pursuit up again.
        if let Some(held) = pursuit.held.take() {
            let (shared, index) = (self.other_shared, self.index);
            Conclusion { shared, index }.publish_held(&held)?;
        }
        pursued.map(Some)
    }

    /// Whether no case of this shape was kept before; from now on one is.
    fn is_new(&self, shape: &str) -> bool {
        let mut state = self.shared.state();
        !state.statistics.compared.differences.contains_key(shape)
            && state.differences_kept.insert(shape.to_owned())
    }

    /// Minimizes the case, puts it on disk, and tells of it.
    fn keep(
        &mut self,
        case: &TestCase,
        first: &Execution,
        parting: &Parting,
        shape: &str,
    ) -> Result<(), PursuitError> {
        let smaller = self.minimized(case, shape)?;
        let smallest = match &smaller {
            Some(smaller) => match self.pair(smaller)? {
                Pair {
                    first,
                    comparison: RunComparison::Parted(parting),
                    ..
                } => Some((smaller, first, parting)),
                Pair { .. } => None,
            },
            None => None,
        };
        let (case, first, parting) = match &smallest {
            Some((case, first, parting)) => (*case, first, parting),
            None => (case, first, parting),
        };
        let there = &self.other_shared.identity;
        let path = publish::keep_difference(
            self.shared,
            (case, first, parting),
            (there, self.index),
            shape,
        )?;
        self.shared.tell(RunEvent::Differs {
            index: self.index,
            shape: shape.to_owned(),
            difference: told(parting, &self.shared.identity, there),
            path,
        });
        Ok(())
    }

    /// The smallest case whose runs part in the same shape; none where the case is that already.
    fn minimized(&mut self, case: &TestCase, shape: &str) -> Result<Option<TestCase>, EngineError> {
        let dialect = self.executor.dialect().clone();
        let (stop, note) = (self.shared.stop.clone(), self.note.clone());
        let mut parts = |candidate: &TestCase| -> Result<bool, EngineError> {
            if stop.is_urgent() {
                return Ok(false);
            }
            let parted = match self.pair(candidate) {
                Ok(pair) => pair.comparison,
                // Refused by the first server: no candidate.
                Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => return Ok(false),
                Err(error) => return Err(error),
            };
            let is_same = match parted {
                RunComparison::Parted(parting) => shape_of(&parting, candidate) == shape,
                RunComparison::Same | RunComparison::Incomparable => false,
            };
            if is_same {
                note.minimizing(case, candidate);
            }
            Ok(is_same)
        };
        let budget = MinimizeBudget::default();
        let minimized = minimize::minimize(case, &dialect, &mut parts, budget);
        match minimized.end {
            MinimizeEnd::Failed(error) => Err(error),
            MinimizeEnd::Fixpoint | MinimizeEnd::Budget => {
                Ok(Some(minimized.case).filter(|smaller| smaller != case))
            }
        }
    }
}
