//! One run of a case before all voices, and the count of what they said.

use std::time::{Duration, Instant};

use super::expectation::{self, EXPECTATION, UnexpectedRejection};
use super::report::{ReplayReport, SERVER_BACK_WITHIN, VoiceReport};
use crate::engine::{EngineError, Identity};
use crate::execute::Executor;
use crate::model::{Execution, Finding, TestCase, UndecidedReason, Verdict};
use crate::oracle::{Explained, Explains, Oracle, crash, hear, tables};
use crate::reproducer::{CaseFile, Registry};

/// Why a run has no result.
pub(super) enum RunError {
    /// The server takes the case not at all: set-up, level.
    CouldNotRun(String),
    NoAnswer(EngineError),
}

/// What a voice said in one run.
struct Word {
    name: String,
    verdict: Verdict,
    /// The finding behind a violation or a known one.
    finding: Option<Finding>,
    regression: Option<String>,
    /// Of the file's expectations: what is not as expected is as the file's notes observed it.
    as_observed: bool,
}

/// Everything said so far.
pub(super) struct Tally<'a> {
    file: &'a CaseFile,
    server: &'a Identity,
    registry: &'a Registry,
    runs: u32,
    /// Runs in which some voice saw a violation, and those in which the worst was known.
    violating_runs: u32,
    known_runs: u32,
    undecided_runs: u32,
    voices: Vec<VoiceReport>,
    rejections: Vec<UnexpectedRejection>,
    /// What the verdict is about: the first violation, else the first known one.
    told: Option<Word>,
    shown: Option<(TestCase, Execution, bool)>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(file: &'a CaseFile, server: &'a Identity, registry: &'a Registry) -> Self {
        Self {
            file,
            server,
            registry,
            runs: 0,
            violating_runs: 0,
            known_runs: 0,
            undecided_runs: 0,
            voices: Vec::new(),
            rejections: Vec::new(),
            told: None,
            shown: None,
        }
    }

    /// Whether any run showed a violation or something known.
    pub(super) fn hit(&self) -> bool {
        self.violating_runs + self.known_runs > 0
    }

    /// Runs the case before the expectations, and before every oracle.
    pub(super) fn run(
        &mut self,
        case: &TestCase,
        executor: &mut dyn Executor,
        oracles: &[&dyn Oracle],
    ) -> Result<(), RunError> {
        self.runs += 1;
        let mut words = Vec::new();
        let mut shown: Option<(TestCase, Execution)> = None;
        match expectation::check(self.file, case, executor) {
            Ok(checked) => {
                let dialect = executor.dialect();
                let internal = crash::internal_error(&checked.case, &checked.execution, dialect);
                if let Some(found) = internal {
                    words.push(self.word(crash::CRASH, Verdict::Violation(Box::new(found))));
                }
                let fault = tables::fault(&checked.case, &checked.execution, dialect);
                if let Some(found) = fault {
                    words.push(self.word(tables::TABLES, Verdict::Violation(Box::new(found))));
                }
                if self.rejections.is_empty() {
                    self.rejections = checked.rejections;
                }
                match checked.verdict {
                    Some(verdict) => {
                        words.push(self.expectation_word(verdict, checked.as_observed));
                    }
                    None => self.inapplicable(EXPECTATION, "the file expects nothing"),
                }
                shown = Some((checked.case, checked.execution));
            }
            Err(error) => words.push(self.outage(case, executor, error)?),
        }
        match hear(case, executor, oracles) {
            Ok(hearing) => {
                for (oracle, reason) in &hearing.inapplicable {
                    self.inapplicable(oracle, reason.slug());
                }
                for heard in &hearing.rulings {
                    let verdict = heard.ruling.verdict.clone();
                    let hits = matches!(verdict, Verdict::Violation(_) | Verdict::Known(_));
                    if hits || shown.is_none() {
                        let run = hearing.run_of(heard);
                        // In the file's own columns, without the row keys that oracles add.
                        let ran = TestCase {
                            setup: case.setup.clone(),
                            tables: case.tables.clone(),
                            ..run.case.clone()
                        };
                        shown = Some((ran, run.execution.clone()));
                    }
                    words.push(self.word(heard.oracle, verdict));
                }
            }
            Err(error) => words.push(self.outage(case, executor, error)?),
        }
        self.count(words, shown);
        Ok(())
    }

    /// A run that ended without an answer: a finding if the case is to blame, which its recurrence
    /// shows. Waits until the server is back.
    fn outage(
        &self,
        case: &TestCase,
        executor: &mut dyn Executor,
        error: EngineError,
    ) -> Result<Word, RunError> {
        if let EngineError::Setup { .. } = error {
            return Err(RunError::CouldNotRun(error.to_string()));
        }
        let statement = executor.interrupted().and_then(|run| run.statement);
        let Some(found) = crash::outage(case, &error, statement, executor.dialect()) else {
            return Err(RunError::NoAnswer(error));
        };
        let started = Instant::now();
        let mut pause = Duration::from_millis(100);
        // A serial run asks for a connection and the case's own tables, and for nothing else.
        while let Err(error) = executor.serial(case).map(|_| ()) {
            if started.elapsed() > SERVER_BACK_WITHIN {
                return Err(RunError::NoAnswer(error));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
        Ok(self.word("crash", Verdict::Violation(Box::new(found))))
    }

    /// What a voice's verdict is after the registry and the file's header had their say.
    fn word(&self, name: &str, verdict: Verdict) -> Word {
        let mut word = Word {
            name: name.to_owned(),
            verdict,
            finding: None,
            regression: None,
            as_observed: false,
        };
        let Verdict::Violation(found) = &word.verdict else {
            return word;
        };
        let found = Finding::clone(found);
        match self.registry.on(self.server).explain(&found.signature) {
            Explained::Known(id) => word.verdict = Verdict::Known(id),
            Explained::Regression(id) => word.regression = Some(id),
            Explained::Not => {
                if let Some(id) = self.explained_by_header(&found) {
                    word.verdict = Verdict::Known(id);
                }
            }
        }
        word.finding = Some(found);
        word
    }

    /// What the expectations say: known when the header names what explains it, and the file's
    /// notes say that it was observed.
    fn expectation_word(&self, verdict: Verdict, as_observed: bool) -> Word {
        let mut word = self.word(EXPECTATION, verdict);
        if let (Verdict::Violation(_), Some(known), true) =
            (&word.verdict, &self.file.header.known, as_observed)
        {
            word.verdict = Verdict::Known(known.clone());
        }
        word.as_observed = as_observed;
        word
    }

    /// Weighs an unmet expectation against the verdict of the oracle that the header names. The
    /// expectations of a reproducer are that oracle's predictions for one run.
    ///
    /// An observed answer is known where the oracle calls the run known. An answer that is neither
    /// expected nor observed is undecided where the oracle agrees with the run: the run is another one
    /// than the recorded one.
    fn settle_expectation(&self, words: &mut [Word]) {
        let own = |word: &&Word| Some(&word.name) == self.file.header.oracle.as_ref();
        let Some(judged) = words.iter().find(own).map(|word| word.verdict.clone()) else {
            return;
        };
        let unmet = |word: &&mut Word| {
            word.name == EXPECTATION && matches!(word.verdict, Verdict::Violation(_))
        };
        let Some(word) = words.iter_mut().find(unmet) else {
            return;
        };
        match judged {
            Verdict::Known(id) if word.as_observed => word.verdict = Verdict::Known(id),
            Verdict::Agree if !word.as_observed => {
                word.verdict = Verdict::Undecided(UndecidedReason::NotAsRecorded);
                word.finding = None;
            }
            Verdict::Agree
            | Verdict::Known(_)
            | Verdict::Undecided(_)
            | Verdict::Flaky { .. }
            | Verdict::Violation(_) => {}
        }
    }

    /// The header's `known` explains a finding of the oracle and kind that the header names.
    fn explained_by_header(&self, found: &Finding) -> Option<String> {
        let header = &self.file.header;
        let same = header.oracle.as_ref() == Some(&found.signature.oracle)
            && header.kind.as_deref() == Some(found.signature.kind.slug());
        header.known.clone().filter(|_| same)
    }

    fn voice(&mut self, name: &str) -> &mut VoiceReport {
        let at = self.voices.iter().position(|voice| voice.name == name);
        let at = at.unwrap_or_else(|| {
            self.voices.push(VoiceReport {
                name: name.to_owned(),
                violations: 0,
                known: 0,
                agreed: 0,
                undecided: 0,
                inapplicable: None,
                worst: None,
            });
            self.voices.len() - 1
        });
        &mut self.voices[at]
    }

    fn inapplicable(&mut self, name: &str, reason: &str) {
        self.voice(name).inapplicable = Some(reason.to_owned());
    }

    fn count(&mut self, mut words: Vec<Word>, shown: Option<(TestCase, Execution)>) {
        self.settle_expectation(&mut words);
        // Of two that weigh the same, the oracle that the file names speaks first.
        words.sort_by_key(|word| Some(&word.name) != self.file.header.oracle.as_ref());
        let mut violates = false;
        let mut known = false;
        let mut agrees = false;
        for word in words {
            let voice = self.voice(&word.name);
            match &word.verdict {
                Verdict::Violation(_) | Verdict::Flaky { .. } => {
                    voice.violations += 1;
                    violates = true;
                }
                Verdict::Known(_) => {
                    voice.known += 1;
                    known = true;
                }
                Verdict::Agree => {
                    voice.agreed += 1;
                    agrees = true;
                }
                Verdict::Undecided(_) => voice.undecided += 1,
            }
            let worst = voice.worst.as_ref().map(Verdict::rank);
            let worse = worst < Some(word.verdict.rank());
            if worse {
                voice.worst = Some(word.verdict.clone());
            }
            let told = self.told.as_ref().map(|told| told.verdict.rank());
            if Some(word.verdict.rank()) > told {
                self.told = Some(word);
            }
        }
        self.violating_runs += u32::from(violates);
        self.known_runs += u32::from(known && !violates);
        self.undecided_runs += u32::from(!violates && !known && !agrees);
        let hits = violates || known;
        let better = self.shown.as_ref().is_none_or(|(_, _, hit)| hits && !hit);
        if let Some((case, execution)) = shown.filter(|_| better) {
            self.shown = Some((case, execution, hits));
        }
    }

    /// The one verdict of all runs, with what stands behind it.
    pub(super) fn report(self, name: &str) -> ReplayReport {
        let told = self.told;
        let worst = told.as_ref().map(|word| word.verdict.clone());
        let (verdict, hits) = match worst {
            Some(Verdict::Violation(found)) if self.violating_runs == self.runs => {
                (Verdict::Violation(found), self.violating_runs)
            }
            Some(Verdict::Violation(_) | Verdict::Flaky { .. }) => {
                let (hits, runs) = (self.violating_runs, self.runs);
                (Verdict::Flaky { hits, runs }, hits)
            }
            Some(Verdict::Known(id)) => (Verdict::Known(id), self.known_runs),
            Some(verdict) => (verdict, 0),
            None => (Verdict::Undecided(UndecidedReason::NoOracleApplies), 0),
        };
        let finding = told.as_ref().and_then(|word| word.finding.clone());
        ReplayReport {
            file: name.to_owned(),
            verdict,
            oracle: told.as_ref().filter(|_| hits > 0).map(|w| w.name.clone()),
            kind: finding.as_ref().map(|f| f.signature.kind.slug().to_owned()),
            hits,
            runs: self.runs,
            undecided_runs: self.undecided_runs,
            could_not_run: None,
            regression_of: told.and_then(|word| word.regression),
            voices: self.voices,
            rejections: self.rejections,
            finding,
            shown: self.shown.map(|(case, execution, _)| (case, execution)),
        }
    }
}
