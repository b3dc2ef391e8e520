//! The tester tested: which planted faults are found, by which oracle, and how soon; and whether
//! anything is found where nothing is wrong.
//!
//! A trial is one fault at one level, or no fault at one level: cases are drawn, run and judged as a
//! campaign does, on a simulated server of the trial's own. Trials share nothing, so that their results
//! do not depend on how many threads work on them.

mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};

use crate::engine::{EngineError, EngineFlavour, Fault};
use crate::model::IsolationLevel;

pub use trial::{FaultTrial, TrialResult};

/// What is tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelftestSettings {
    /// Cases of a trial at most.
    pub cases: u64,
    pub seed: u64,
    /// Only this flavour of the engine.
    pub flavour: Option<EngineFlavour>,
    /// How many of a million opportunities a fault takes.
    pub per_million: u32,
    /// Only this fault, and no trial without one.
    pub fault: Option<Fault>,
    /// Only this level.
    pub level: Option<IsolationLevel>,
    /// Threads that share the trials.
    pub threads: usize,
}

/// What came of all trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelftestReport {
    pub faults: BTreeMap<(EngineFlavour, Fault, IsolationLevel), TrialResult>,
    pub clean: BTreeMap<(EngineFlavour, IsolationLevel), TrialResult>,
}

impl SelftestReport {
    /// Violations where nothing is wrong, case by case.
    pub fn false_alarms(&self) -> usize {
        self.clean.values().map(|result| result.violations).sum()
    }

    /// Cases that ran where nothing is wrong.
    pub fn cases_clean(&self) -> u64 {
        self.clean.values().map(|result| result.cases).sum()
    }

    /// The flavours that were tried.
    pub fn flavours(&self) -> BTreeSet<EngineFlavour> {
        let faults = self.faults.keys().map(|(flavour, ..)| *flavour);
        let clean = self.clean.keys().map(|(flavour, _)| *flavour);
        faults.chain(clean).collect()
    }

    /// What came of the trials of one flavour.
    #[must_use]
    pub fn of(&self, flavour: EngineFlavour) -> Self {
        let mut only = self.clone();
        only.faults.retain(|(other, ..), _| *other == flavour);
        only.clean.retain(|(other, _), _| *other == flavour);
        only
    }

    /// After how many cases a fault at a level was first found, in the middle of all that were.
    pub fn median(&self) -> Option<u64> {
        let firsts = self.faults.values();
        let firsts = firsts.filter_map(|result| result.first.values().min().copied());
        let mut firsts: Vec<u64> = firsts.collect();
        firsts.sort_unstable();
        firsts.get(firsts.len() / 2).copied()
    }

    /// Faults that no oracle found at a level.
    pub fn missed(&self) -> impl Iterator<Item = (EngineFlavour, Fault, IsolationLevel)> {
        let missed = self.faults.iter().filter(|(_, result)| !result.is_found());
        missed.map(|(trial, _)| *trial)
    }

    /// Whether every fault was found, and nothing where nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.missed().next().is_none() && self.false_alarms() == 0
    }
}

/// The trials of a test: flavour by flavour, those without faults last.
fn trials(settings: &SelftestSettings) -> Vec<FaultTrial> {
    let is_wanted = |level: &IsolationLevel| settings.level.is_none_or(|only| only == *level);
    let mut all = Vec::new();
    let flavours = EngineFlavour::ALL.into_iter();
    for flavour in flavours.filter(|flavour| settings.flavour.is_none_or(|only| only == *flavour)) {
        let trial = |fault, level: &IsolationLevel| FaultTrial {
            flavour,
            per_million: settings.per_million,
            fault,
            level: *level,
        };
        let faults = Fault::all().filter(|fault| settings.fault.is_none_or(|only| only == *fault));
        all.extend(faults.flat_map(|fault| {
            let levels = flavour
                .broken_by(fault)
                .iter()
                .filter(|level| is_wanted(level));
            levels.map(move |level| trial(Some(fault), level))
        }));
        if settings.fault.is_none() {
            let levels = flavour.levels().iter().filter(|level| is_wanted(level));
            all.extend(levels.map(|level| trial(None, level)));
        }
    }
    all
}

/// Runs all trials. `listener` is told of each as it ends, in the order in which they end.
///
/// # Errors
/// When a trial cannot run.
pub fn run(
    settings: &SelftestSettings,
    listener: &mut dyn FnMut(FaultTrial, &TrialResult),
) -> Result<SelftestReport, EngineError> {
    let mut open = trials(settings);
    open.reverse();
    let open = Mutex::new(open);
    let (sender, results) = mpsc::channel();
    let mut report = SelftestReport::default();
    std::thread::scope(|scope| {
        for _ in 0..settings.threads.max(1) {
            let sender = sender.clone();
            let next = || open.lock().unwrap_or_else(PoisonError::into_inner).pop();
            scope.spawn(move || {
                while let Some(trial) = next() {
                    let result = trial.run(settings.seed, settings.cases);
                    if sender.send((trial, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (trial, result) in &results {
            let result = result?;
            listener(trial, &result);
            match trial.fault {
                Some(fault) => report
                    .faults
                    .insert((trial.flavour, fault, trial.level), result),
                None => report.clean.insert((trial.flavour, trial.level), result),
            };
        }
        Ok(report)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> SelftestSettings {
        SelftestSettings {
            cases: 1,
            seed: 1,
            flavour: Some(EngineFlavour::default()),
            per_million: 1_000_000,
            fault: None,
            level: None,
            threads: 1,
        }
    }

    #[test]
    fn a_fault_is_tried_at_the_levels_that_it_breaks_and_nowhere_else() {
        let mut one = settings();
        one.fault = Some(Fault::WriteSkew);
        let only = FaultTrial {
            flavour: EngineFlavour::default(),
            per_million: 1_000_000,
            fault: Some(Fault::WriteSkew),
            level: IsolationLevel::Serializable,
        };
        assert_eq!(trials(&one), [only]);
        one.level = Some(IsolationLevel::ReadCommitted);
        assert_eq!(trials(&one), []);
    }

    #[test]
    fn without_a_choice_every_level_is_tried_without_faults_too() {
        let mut settings = settings();
        settings.flavour = None;
        let without = trials(&settings);
        let clean = without.iter().filter(|trial| trial.fault.is_none());
        let levels = EngineFlavour::ALL
            .iter()
            .map(|flavour| flavour.levels().len());
        assert_eq!(clean.count(), levels.sum::<usize>());
    }
}
