//! How often a finding shows that does not show every time, and the smallest case that shows it as often.

use super::rate::{is_measured, last_that_stays, stays};
use super::rate_search::{FoundAtRate, OneRun, RateSearch};
use super::sighting::{Looking, OneLook, Sameness, Sighting};
use crate::engine::EngineError;
use crate::model::TestCase;
use crate::reproducer::Reproduced;

impl Looking<'_> {
    /// Runs the case until it is known how often it shows a finding, runs that were made before
    /// included; with the last run that shows it.
    fn measure(&mut self, raw: &Sighting, so_far: Reproduced) -> Result<Sighting, EngineError> {
        let mut measured = Sighting {
            reproduced: so_far,
            ..raw.clone()
        };
        while !is_measured(measured.reproduced) && !self.stop.is_urgent() {
            measured.reproduced.runs += 1;
            let signature = &raw.finding.signature;
            if let OneLook::Shown(shown) = self.look(&raw.case, signature, Sameness::Shape)? {
                measured.reproduced.hits += 1;
                (measured.finding, measured.execution) = *shown;
            }
        }
        Ok(measured)
    }

    /// How often a finding shows that does not show every time, and the smallest case that shows it at
    /// that rate; none where it never showed again, or in no smaller case as often.
    ///
    /// The smallest one that the search came to is measured anew. Where it lost the rate after all, an earlier one is taken.
    pub(super) fn minimize_flaky(
        &mut self,
        raw: &Sighting,
    ) -> Result<(Sighting, Option<Sighting>), EngineError> {
        let raw = self.measure(raw, raw.reproduced)?;
        if raw.reproduced.hits == 0 {
            return Ok((raw, None));
        }
        let dialect = self.executor.dialect().clone();
        let differences = &raw.finding.differences;
        let search = RateSearch {
            case: &raw.case,
            named: differences.iter().filter_map(|d| d.statement).collect(),
            rate: raw.reproduced.rate(),
            dialect: &dialect,
        };
        let note = self.note.clone();
        note.minimizing(&raw.case, &raw.case);
        let mut run = |candidate: &TestCase| self.run_once(&raw, candidate);
        let found = search.search(&mut run, &|kept| note.minimizing(&raw.case, kept))?;
        let FoundAtRate { kept, is_complete } = found;
        let mut smallest = if kept.is_empty() {
            Some(raw.clone()).filter(|_| is_complete)
        } else {
            last_that_stays(&kept, |case| {
                let smaller = Sighting {
                    case: case.clone(),
                    ..raw.clone()
                };
                let measured = self.measure(&smaller, Reproduced { hits: 0, runs: 0 })?;
                let stays = stays(measured.reproduced, search.wanted(case));
                Ok::<_, EngineError>(Some(measured).filter(|_| stays))
            })?
        };
        if let Some(smallest) = &mut smallest {
            smallest.may_be_larger = !is_complete;
        }
        Ok((raw, smallest))
    }

    fn run_once(&mut self, raw: &Sighting, candidate: &TestCase) -> Result<OneRun, EngineError> {
        if self.stop.is_urgent() {
            return Ok(OneRun::Stopped);
        }
        let signature = &raw.finding.signature;
        Ok(match self.look(candidate, signature, Sameness::Shape)? {
            OneLook::Shown(_) => OneRun::Shows,
            OneLook::Nothing => OneRun::Hides,
            OneLook::NoCase => OneRun::Impossible,
        })
    }
}
