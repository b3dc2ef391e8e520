//! The canary: a case with planted faults among the cases of a run, which its oracles must hear.
//!
//! It is judged on a simulated engine that loses a commit, takes no lock and shows what is not committed, by the
//! oracles of the run and through the same door as every case. Whether one is due depends on the index of the case beside it and on
//! nothing else, and it is counted together with that case: the same canaries are judged whatever the
//! number of workers, and none twice when a run is resumed. What is heard is no finding.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::parts::Canary;
use super::workplace::ServerWorkplace;
use crate::engine::{self, EngineError, EngineFlavour, Fault, OpenOptions};
use crate::observe::Learner;
use crate::oracle::{Oracle, hear};
use crate::reproducer;

/// Cases of a run to one canary.
pub const CANARY_EVERY: u64 = 10_000;

/// The oracles that hear the canary. `isolation` leaves a run with a lost commit to the account of changes;
/// `history` judges the free pace, at which no planted fault is sure to bite; `recovery` and `crash` judge what
/// happens to a server.
const HEARD_BY: [&str; 4] = ["txcheck", "troc", "serial", "locks"];

/// How often a fault bites: always.
const ALWAYS: u32 = 1_000_000;

/// What came of one canary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CanaryVerdict {
    /// The case that it was judged with.
    pub(super) index: u64,
    /// The oracles that should have heard it and did not.
    pub(super) unheard_by: Vec<String>,
}

/// The canaries of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryCount {
    pub planted: u64,
    /// By the case that it was judged with: the oracles that did not hear it.
    pub unheard: BTreeMap<u64, Vec<String>>,
}

impl CanaryCount {
    /// What people are told: how many were heard, then each that was not. Nothing where none was planted.
    pub fn told(&self) -> Vec<String> {
        let heard = self.planted - self.unheard.len() as u64;
        let count = (self.planted > 0).then(|| format!("{heard} of {} heard", self.planted));
        let unheard = self.unheard.iter().map(|(index, oracles)| {
            let oracles = oracles.join(", ");
            format!("NOT HEARD beside case {index}: {oracles}; trust nothing that was not found")
        });
        count.into_iter().chain(unheard).collect()
    }

    pub(super) fn count(&mut self, verdict: &CanaryVerdict) {
        self.planted += 1;
        if !verdict.unheard_by.is_empty() {
            let unheard = verdict.unheard_by.clone();
            self.unheard.insert(verdict.index, unheard);
        }
    }
}

impl Canary {
    /// The canary of every run.
    ///
    /// # Errors
    /// When the simulated engine does not open, or the case cannot be read: a defect of the program.
    pub fn planted() -> Result<Self, EngineError> {
        let faults = [Fault::CommitLost, Fault::MissingRowLock, Fault::DirtyRead];
        let target = EngineFlavour::default().target(&faults, ALWAYS);
        let options = OpenOptions {
            run_id: "canary".to_owned(),
            ..OpenOptions::default()
        };
        let server = engine::open(&target, &options)?;
        let unreadable = |error: String| EngineError::Target(format!("the canary: {error}"));
        let file = reproducer::read(include_str!("canary.sql"), "canary.sql")
            .map_err(|error| unreadable(error.to_string()))?;
        let case = file
            .test_case(server.dialect())
            .map_err(|error| unreadable(error.to_string()))?;
        let identity = server.identity().clone();
        Ok(Self {
            workplace: Arc::new(ServerWorkplace::new(&target, options, identity)),
            case,
            heard_by: HEARD_BY.map(str::to_owned).into(),
            every: CANARY_EVERY,
        })
    }

    /// Judges the canary that belongs to a case, if one does and an oracle is there to hear it.
    pub(super) fn beside(
        &self,
        index: u64,
        worker: usize,
        oracles: &[&dyn Oracle],
    ) -> Option<CanaryVerdict> {
        // Probes take what the engine shows for what is right.
        let is_blind = |oracle: &dyn Oracle| oracle.needs().learner == Some(Learner::Probes);
        let hears = |oracle: &&&dyn Oracle| {
            self.heard_by.iter().any(|name| name == oracle.name()) && !is_blind(**oracle)
        };
        let listening: Vec<&dyn Oracle> = oracles.iter().filter(hears).copied().collect();
        if !(index + 1).is_multiple_of(self.every) || listening.is_empty() {
            return None;
        }
        let mut unheard_by: Vec<String> = listening.iter().map(|o| o.name().to_owned()).collect();
        let judged = self.workplace.work(worker, &mut |executor| {
            let hearing = hear(&self.case, executor, &listening)?;
            let found = hearing.rulings.iter();
            let found: Vec<&str> = found
                .filter(|heard| heard.finding().is_some())
                .map(|heard| heard.oracle)
                .collect();
            unheard_by.retain(|name| !found.contains(&name.as_str()));
            Ok(())
        });
        if let Err(error) = judged {
            tracing::error!("the canary of case {index} could not be judged: {error}");
        }
        Some(CanaryVerdict { index, unheard_by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{BY_PROBES, ORACLES};

    #[test]
    fn every_oracle_that_should_hears_the_canary() {
        let canary = Canary::planted().expect("a canary");
        let verdict = canary.beside(9_999, 0, ORACLES).expect("it is due");
        assert_eq!(verdict.unheard_by, [""; 0]);
        assert_eq!(canary.beside(10_000, 0, ORACLES), None);
        for oracle in BY_PROBES.iter().copied() {
            assert_eq!(canary.beside(9_999, 0, &[oracle]), None);
        }
        for oracle in ORACLES.iter().copied() {
            let alone = canary.beside(19_999, 0, &[oracle]);
            let hears = HEARD_BY.contains(&oracle.name());
            assert_eq!(alone.is_some(), hears, "{}", oracle.name());
            assert!(
                alone.is_none_or(|alone| alone.unheard_by.is_empty()),
                "{}",
                oracle.name()
            );
        }
    }

    #[test]
    fn an_engine_without_faults_leaves_the_canary_unheard() {
        let target = EngineFlavour::default().target(&[], ALWAYS);
        let options = OpenOptions {
            run_id: "silent".to_owned(),
            ..OpenOptions::default()
        };
        let server = engine::open(&target, &options).expect("an engine");
        let identity = server.identity().clone();
        let canary = Canary {
            workplace: Arc::new(ServerWorkplace::new(&target, options, identity)),
            ..Canary::planted().expect("a canary")
        };
        let verdict = canary.beside(9_999, 0, ORACLES).expect("it is due");
        assert_eq!(verdict.unheard_by.len(), HEARD_BY.len(), "{verdict:?}");
    }
}
