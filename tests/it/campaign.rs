//! The loop around the oracles, on scripted engines: nothing is lost, counted twice or made up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rashomon::campaign::{
    self, Activity, Canary, CanaryCount, CaseSource, Cases, Checkpoint, Drawn, Parts, RunSettings,
    RunSummary, StopFlag,
};
use rashomon::dialect::Dialect;
use rashomon::generate::GenerateOptions;
use rashomon::grammar::Grammar;

use crate::scripted::{
    Content, Numbered, StopsTheRun, Witness, parts, scripted_engine, settings, sqlite_dialect,
};

fn run(
    settings: RunSettings,
    losses: &[(u64, u32)],
    resumed: Option<Checkpoint>,
    witness: &mut Witness,
) -> RunSummary {
    let stop = StopFlag::default();
    campaign::run(parts(losses), settings, resumed, &stop, witness).expect("the run starts")
}

/// A run that is stopped when this case is drawn.
fn stopped(parts: Parts, settings: RunSettings, at: u64, witness: &mut Witness) -> RunSummary {
    let stop = StopFlag::default();
    let cases = StopsTheRun {
        at,
        stop: stop.clone(),
    };
    let parts = Parts {
        cases: Arc::new(cases),
        ..parts
    };
    campaign::run(parts, settings, None, &stop, witness).expect("the run starts")
}

#[test]
fn every_case_is_judged_once_whatever_the_number_of_workers() {
    for workers in [1, 2, 4] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut witness = Witness::default();
        let summary = run(
            settings(folder.path(), 90, workers),
            &[],
            None,
            &mut witness,
        );
        let verdicts = summary.statistics.verdicts;
        assert_eq!(
            (verdicts.agree, verdicts.undecided),
            (81, 9),
            "{workers} workers"
        );
        assert_eq!(verdicts.total(), 90);
        assert_eq!(witness.activities, vec![Activity::Ended; workers]);
        assert_eq!(summary.next_index, 90);
        assert_eq!(
            summary.statistics.undecided,
            [("nothing-ran".to_owned(), 9)].into()
        );
        assert_eq!(summary.failure, None);
    }
}

/// What the generator draws, as it is drawn by the workers of a run.
struct Kept {
    generator: campaign::Generator,
    cases: Mutex<BTreeMap<u64, String>>,
}

impl CaseSource for Kept {
    fn case(&self, index: u64) -> Drawn {
        let drawn = self.generator.case(index);
        let text = format!("{:?} {:?}", drawn.case, drawn.productions);
        let before = self
            .cases
            .lock()
            .expect("no worker panics")
            .insert(index, text);
        assert_eq!(before, None, "case {index} is drawn once");
        drawn
    }
}

#[test]
fn the_cases_of_a_seed_are_the_same_bytes_with_one_two_and_four_workers() {
    let generator = || campaign::Generator {
        seed: 4711,
        options: GenerateOptions::default(),
        grammar: Grammar::builtin("sqlite").expect("it parses"),
        dialect: Dialect::clone(&sqlite_dialect()),
        workloads: campaign::WorkloadShare::None,
    };
    let drawn_by = |workers: usize| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kept = Arc::new(Kept {
            generator: generator(),
            cases: Mutex::default(),
        });
        let parts = Parts {
            cases: Arc::clone(&kept) as Arc<dyn CaseSource>,
            oracles: vec![&Content],
            ..parts(&[])
        };
        let settings = settings(folder.path(), 300, workers);
        let summary = campaign::run(
            parts,
            settings,
            None,
            &StopFlag::default(),
            &mut Witness::default(),
        );
        assert_eq!(
            summary.expect("the run starts").statistics.verdicts.agree,
            300
        );
        kept.cases.lock().expect("no worker panicked").clone()
    };
    let one = drawn_by(1);
    assert_eq!(one.len(), 300);
    for workers in [2, 4] {
        assert_eq!(one, drawn_by(workers), "{workers} workers");
    }
    // Each one alone, last first: nothing carries over from case to case.
    for (index, text) in one.iter().rev() {
        let alone = generator().case(*index);
        assert_eq!(*text, format!("{:?} {:?}", alone.case, alone.productions));
    }
}

#[test]
fn a_violation_is_published_once_and_duplicates_are_counted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut witness = Witness::default();
    let mut settings = settings(folder.path(), 400, 2);
    // Without the flaky ones, which the other test is about.
    settings.cases = Cases::Count(Some(398));
    let summary = run(settings, &[], None, &mut witness);
    assert_eq!(summary.statistics.verdicts.violation, 4);
    assert_eq!(witness.findings.len(), 1);
    let text = std::fs::read_to_string(&witness.findings[0].path).expect("it is there");
    let by_hand = "--! session_setup = [\n--!   \"SET sql_mode = ''\",\n--! ]\n";
    assert!(text.contains(by_hand), "{text}");
    assert_eq!(summary.findings.len(), 1);
    assert_eq!(summary.statistics.duplicates, 3);
    let unminimized = folder.path().join("runs/feedface/unminimized");
    let kept = std::fs::read_dir(unminimized).map_or(0, Iterator::count);
    assert_eq!(
        kept, 0,
        "what was kept until its publication is removed after it"
    );
    assert_eq!(
        summary.statistics.known,
        [("SCRIPT-1".to_owned(), 3)].into()
    );
}

#[test]
fn a_violation_that_does_not_recur_every_time_is_flaky_and_kept_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut witness = Witness::default();
    let mut settings = settings(folder.path(), 99, 1);
    settings.cases = Cases::Count(Some(99));
    let summary = run(settings, &[], None, &mut witness);
    assert_eq!(summary.statistics.verdicts.flaky, 1);
    assert_eq!(witness.flaky.len(), 1);
    let flaky = &witness.flaky[0];
    assert!(flaky.hits < flaky.runs, "{} of {}", flaky.hits, flaky.runs);
    assert!(
        flaky.path.starts_with(folder.path().join("flaky")),
        "{:?}",
        flaky.path
    );
    let path = flaky.path.display().to_string();
    let [published] = summary.flaky.as_slice() else {
        panic!("{:?}", summary.flaky);
    };
    assert_eq!(
        (&published.path, &published.headline),
        (&path, &flaky.headline)
    );
    assert_eq!((published.hits, published.runs), (flaky.hits, flaky.runs));
    assert_eq!(
        summary.statistics.oracles["serial"], summary.statistics.verdicts,
        "the only oracle says of every case what the case came to"
    );
}

#[test]
fn a_server_lost_from_outside_is_waited_for_and_is_no_finding() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut witness = Witness::default();
    let losses = [(3, 1), (17, 2), (60, 3)];
    let summary = run(settings(folder.path(), 90, 1), &losses, None, &mut witness);
    assert_eq!(summary.statistics.verdicts.violation, 0);
    assert_eq!(summary.statistics.verdicts.total(), 90);
    assert_eq!(summary.statistics.server_losses, 6);
    assert_eq!(witness.losses, 6);
    assert_eq!(witness.findings.len(), 0);
    let suspects = folder.path().join("runs/feedface/suspects");
    assert_eq!(std::fs::read_dir(suspects).map_or(0, Iterator::count), 0);
}

#[test]
fn a_server_lost_at_the_same_statement_every_time_is_a_crash() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut witness = Witness::default();
    let summary = run(
        settings(folder.path(), 30, 1),
        &[(7, u32::MAX)],
        None,
        &mut witness,
    );
    assert_eq!(summary.statistics.verdicts.violation, 1);
    assert_eq!(summary.statistics.verdicts.total(), 30, "the run went on");
    assert_eq!(witness.findings.len(), 1);
    assert_eq!(summary.statistics.oracles["crash"].violation, 1);
    assert_eq!(witness.findings[0].kind, "crash");
    let file = std::fs::read_to_string(&witness.findings[0].path).expect("it is there");
    assert!(
        file.contains("`rashomon minimize` makes it smaller"),
        "{file}"
    );
}

/// What a run needs with a canary beside every tenth case: of the scripted cases the one that is heard, or one
/// that is not.
fn beside_canaries(case: u64) -> Parts {
    let canary = Canary {
        workplace: Arc::new(scripted_engine(&[])),
        case: Numbered.case(case).case,
        heard_by: vec!["serial".to_owned()],
        every: 10,
    };
    Parts {
        canary: Some(canary),
        ..parts(&[])
    }
}

/// Such a run.
fn canaries(
    settings: RunSettings,
    case: u64,
    resumed: Option<Checkpoint>,
    witness: &mut Witness,
) -> (CanaryCount, RunSummary) {
    let (parts, stop) = (beside_canaries(case), StopFlag::default());
    let summary = campaign::run(parts, settings, resumed, &stop, witness).expect("the run starts");
    (summary.statistics.canaries.clone(), summary)
}

#[test]
fn canaries_are_the_same_whatever_the_number_of_workers_and_are_no_findings() {
    for workers in [1, 2, 4] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = settings(folder.path(), 90, workers);
        let mut witness = Witness::default();
        let (count, summary) = canaries(settings, 97, None, &mut witness);
        assert_eq!((count.planted, count.unheard.len()), (9, 0));
        assert_eq!(summary.statistics.verdicts.total(), 90);
        assert_eq!(summary.statistics.verdicts.violation, 0);
        assert!(summary.findings.is_empty() && summary.flaky.is_empty());
        assert_eq!(witness.unheard, 0);
    }
}

#[test]
fn a_canary_that_is_not_heard_is_told_with_its_case_and_its_oracles() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = settings(folder.path(), 25, 2);
    let mut witness = Witness::default();
    let (count, summary) = canaries(settings, 1, None, &mut witness);
    let by = || vec!["serial".to_owned()];
    assert_eq!(count.unheard, [(9, by()), (19, by())].into());
    assert_eq!((count.planted, witness.unheard), (2, 2));
    assert_eq!(summary.statistics.verdicts.total(), 25);
}

#[test]
fn a_resumed_run_judges_no_canary_twice() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = settings(folder.path(), 90, 2);
    let first = stopped(
        beside_canaries(97),
        settings.clone(),
        30,
        &mut Witness::default(),
    );
    assert!(first.next_index < 90, "it was stopped");
    let checkpoint = campaign::read_checkpoint(&settings.folder()).expect("a checkpoint");
    let mut witness = Witness::default();
    let (count, _) = canaries(settings, 97, Some(checkpoint), &mut witness);
    assert_eq!((count.planted, count.unheard.len()), (9, 0));
}

#[test]
fn an_interrupted_run_resumes_to_the_same_numbers() {
    let whole = tempfile::tempdir().expect("a temporary folder");
    let expected = run(
        settings(whole.path(), 397, 2),
        &[],
        None,
        &mut Witness::default(),
    );
    for stop_at in [1, 40, 120, 300] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = settings(folder.path(), 397, 2);
        let mut first = Witness::default();
        let stopped = stopped(parts(&[]), settings.clone(), stop_at, &mut first);
        assert!(stopped.next_index < 397, "stopped at {stop_at}");
        let checkpoint =
            campaign::read_checkpoint(&settings.folder()).expect("there is a checkpoint");
        let mut second = Witness::default();
        let summary = run(settings, &[], Some(checkpoint), &mut second);
        let verdicts = |summary: &RunSummary| {
            let v = summary.statistics.verdicts;
            // The flaky cases flip with the number of looks at them.
            (v.agree + v.flaky, v.known, v.undecided, v.violation)
        };
        assert_eq!(
            verdicts(&summary),
            verdicts(&expected),
            "stopped at {stop_at}"
        );
        let found = summary
            .findings
            .iter()
            .map(|found| found.sightings.count)
            .collect::<Vec<_>>();
        let expected = expected
            .findings
            .iter()
            .map(|found| found.sightings.count)
            .collect::<Vec<_>>();
        assert_eq!(found, expected);
        assert!(
            first.findings.len() + second.findings.len() == 1,
            "announced once"
        );
    }
}

#[test]
fn a_run_ends_with_a_reason_when_its_folder_is_not_writable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = settings(folder.path(), 200, 1);
    // A folder where the first finding should be kept until it is minimized.
    let obstacle = settings.folder().join("unminimized/case-97.sql");
    std::fs::create_dir_all(obstacle).expect("it is made");
    let summary = run(settings, &[], None, &mut Witness::default());
    assert!(summary.failure.is_some(), "{summary:?}");
    assert!(summary.statistics.verdicts.total() < 200);
}
