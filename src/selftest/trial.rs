//! One trial: cases at one level, with one fault or with none.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::campaign::{CaseSource, Generator, WorkloadShare};
use crate::engine::{self, EngineError, EngineFlavour, Fault, OpenOptions};
use crate::execute::Driver;
use crate::generate::{GenerateOptions, LevelChoice};
use crate::grammar::Grammar;
use crate::model::{IsolationLevel, TestCase};
use crate::oracle::crash::CRASH;
use crate::oracle::{ORACLES, hear};

/// How long an unanswered statement may run: no lock of a case is held for as long, on a busy machine
/// either.
const PATIENCE: Duration = Duration::from_secs(10);

/// Cases that follow the first violation, so that other oracles can find the fault, too.
const CASES_AFTERWARDS: u64 = 20;

/// One fault at one level, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultTrial {
    pub flavour: EngineFlavour,
    /// How many of a million opportunities the fault takes.
    pub per_million: u32,
    pub fault: Option<Fault>,
    pub level: IsolationLevel,
}

/// What came of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialResult {
    /// By oracle, how many cases it took to its first violation.
    pub first: BTreeMap<&'static str, u64>,
    /// Cases that ran.
    pub cases: u64,
    /// Cases with a violation.
    pub violations: usize,
}

impl TrialResult {
    /// Whether some oracle found something.
    pub fn is_found(&self) -> bool {
        !self.first.is_empty()
    }

    fn violates(&mut self, oracle: &'static str, cases: u64) {
        self.first.entry(oracle).or_insert(cases);
    }
}

impl FaultTrial {
    /// Runs cases until the fault is found, and all of them where there is none.
    pub(super) fn run(self, seed: u64, cases: u64) -> Result<TrialResult, EngineError> {
        let options = OpenOptions {
            deadline: PATIENCE,
            run_id: "selftest".to_owned(),
            ..OpenOptions::default()
        };
        let target = self.flavour.target(self.fault.as_slice(), self.per_million);
        let server = engine::open(&target, &options)?;
        let dialect = server.dialect().clone();
        let grammar = Grammar::builtin(&dialect.engine)
            .map_err(|error| EngineError::Target(error.to_string()))?;
        let options = GenerateOptions {
            levels: LevelChoice::One(self.level),
            ..GenerateOptions::default()
        };
        let generator = Generator {
            seed,
            workloads: WorkloadShare::of(ORACLES, &options, &dialect),
            options,
            grammar,
            dialect,
        };
        let mut driver = Driver::open(&*server, "rashomon_selftest")?;
        let mut result = TrialResult::default();
        let mut last = cases;
        for number in 1..=cases {
            if number > last {
                break;
            }
            let case = generator.case(number - 1).case;
            self.judge(&case, number, &mut driver, &mut result)?;
            if self.fault.is_some() && result.is_found() {
                last = last.min(number + CASES_AFTERWARDS);
                // What no later case would end sooner: each costs the patience.
                if result.first.contains_key(CRASH) {
                    last = number;
                }
            }
        }
        driver.close()?;
        Ok(result)
    }

    fn judge(
        self,
        case: &TestCase,
        number: u64,
        driver: &mut Driver<'_>,
        result: &mut TrialResult,
    ) -> Result<(), EngineError> {
        result.cases = number;
        let before = result.violations;
        match hear(case, driver, ORACLES) {
            Ok(hearing) => {
                let violations = hearing.rulings.iter();
                for heard in violations.filter(|heard| heard.finding().is_some()) {
                    result.violates(heard.oracle, number);
                    result.violations = before + 1;
                }
            }
            // The campaign makes a finding of it, when the same statement hangs every time.
            Err(EngineError::Hang { .. }) => {
                result.violates(CRASH, number);
                result.violations = before + 1;
            }
            // A case that cannot be set up is undecided.
            Err(EngineError::Setup { .. } | EngineError::Rejected { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
