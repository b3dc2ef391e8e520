//! Summaries of made-up runs, as people and programs read them.

use clap::{Args as _, FromArgMatches as _};

use serde_json::json;

use super::*;
use crate::campaign::{FlakyFinding, ServerDown, Sightings, Verdicts};
use crate::cli::fuzz::settings::plan;
use crate::engine::Identity;

fn typed() -> FuzzArguments {
    let command = FuzzArguments::augment_args(clap::Command::new("fuzz"));
    let matches = command.get_matches_from(["fuzz", "--seed", "1", "--cases", "20"]);
    FuzzArguments::from_arg_matches(&matches).expect("it is well typed")
}

/// A finished run in which every case agreed.
fn clean() -> RunSummary {
    let verdicts = Verdicts {
        agree: 20,
        ..Verdicts::default()
    };
    RunSummary {
        settings: plan(&typed(), || Ok(7)).expect("it makes a run").0,
        identity: Identity {
            engine: "sqlite".to_owned(),
            version_text: "3.51.0".to_owned(),
            version: "3.51.0".parse().expect("a version"),
            variables: BTreeMap::new(),
            session_setup: Vec::new(),
            isolation_setup: BTreeMap::new(),
        },
        statistics: Statistics {
            verdicts,
            ..Statistics::default()
        },
        findings: Vec::new(),
        flaky: Vec::new(),
        elapsed: std::time::Duration::from_secs(2),
        next_index: 20,
        signal: None,
        failure: None,
        server_down: None,
    }
}

fn words(summary: &RunSummary) -> String {
    human(summary, &typed(), Style::of_stdout())
}

fn down() -> Option<ServerDown> {
    Some(ServerDown {
        cases: vec![17],
        error: "cannot connect".to_owned(),
    })
}

#[test]
fn a_run_whose_canary_was_not_heard_exits_70_whatever_it_found() {
    let mut summary = clean();
    summary.statistics.canaries.planted = 2;
    assert_eq!(exit(&summary), Exit::Clean);
    assert!(words(&summary).contains("canaries  2 of 2 heard\n"));
    let unheard = &mut summary.statistics.canaries.unheard;
    unheard.insert(9_999, vec!["serial".to_owned()]);
    for violations in [0, 3] {
        summary.statistics.verdicts.violation = violations;
        assert_eq!(exit(&summary), Exit::Internal);
    }
    let text = words(&summary);
    assert!(text.contains("1 of 2 heard"), "{text}");
    assert!(
        text.contains("NOT HEARD beside case 9999: serial"),
        "{text}"
    );
    let json = &summary_json::machine(&summary)["canaries"];
    assert_eq!(
        json,
        &json!({ "planted": 2, "unheard": { "9999": ["serial"] } })
    );
}

#[test]
fn a_run_whose_server_is_down_at_its_end_exits_5_and_names_the_case() {
    let mut summary = RunSummary {
        server_down: down(),
        ..clean()
    };
    for violations in [0, 3] {
        summary.statistics.verdicts.violation = violations;
        assert_eq!(exit(&summary), Exit::Environment);
    }
    let text = words(&summary);
    assert!(text.contains("lost in case 17"), "{text}");
    assert!(text.contains("cannot connect"), "{text}");
    let failure = summary_json::machine(&summary)["failure"].to_string();
    assert!(failure.contains("case 17"), "{failure}");
}

#[test]
fn a_server_given_up_on_is_told_with_the_case_it_was_lost_in() {
    let summary = RunSummary {
        server_down: down(),
        failure: Some("the server did not come back in 600 s".to_owned()),
        ..clean()
    };
    assert_eq!(exit(&summary), Exit::Environment);
    let text = words(&summary);
    assert!(
        text.contains("lost in case 17; the server did not come back"),
        "{text}"
    );
}

#[test]
fn a_disk_that_is_full_is_exit_5_whatever_was_found_and_whatever_ended_the_run() {
    for (violation, signal) in [(0, None), (2, None), (2, Some(2))] {
        let mut summary = RunSummary {
            failure: Some("cannot write: the disk is full".to_owned()),
            signal,
            ..clean()
        };
        summary.statistics.verdicts.violation = violation;
        assert_eq!(exit(&summary), Exit::Environment);
    }
}

#[test]
fn the_summary_says_what_each_oracle_judged_and_what_it_left() {
    let mut summary = clean();
    let statistics = &mut summary.statistics;
    let judged = Verdicts {
        agree: 14,
        undecided: 1,
        ..Verdicts::default()
    };
    statistics.oracles.insert("txcheck".to_owned(), judged);
    for (key, count) in [
        ("txcheck: free-pace", 5),
        ("serial: below-serializable", 20),
    ] {
        statistics.inapplicable.insert(key.to_owned(), count);
    }
    statistics.untested.insert("depends-on-locks".to_owned(), 3);
    let text = words(&summary);
    for line in [
        "txcheck  judged 15 cases: agree 14, undecided 1\n",
        "left 5 free-pace: the oracle judges schedules, and the case has none\n",
        "a case that one oracle leaves undecided counts by what another one says of it\n",
        "serial  judged no case\n",
        "left 20 below-serializable: the oracle judges serializability",
        "untested  3 depends-on-locks: SKIP LOCKED: its result depends on locks\n",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn a_run_asks_every_oracle_that_leaves_the_server_alive_unless_some_are_named() {
    let every = crate::oracle::ORACLES.iter().filter(|o| !o.needs().crash);
    let every: Vec<&str> = every.map(|oracle| oracle.name()).collect();
    let (settings, _) = plan(&typed(), || Ok(7)).expect("it makes a run");
    assert_eq!(settings.oracles, every);
    let one = FuzzArguments {
        oracle: vec!["serial".to_owned()],
        ..typed()
    };
    let (settings, _) = plan(&one, || Ok(7)).expect("it makes a run");
    assert_eq!(settings.oracles, ["serial"]);
}

#[test]
fn a_run_with_nothing_but_flaky_cases_exits_1_and_shows_them() {
    let mut summary = clean();
    assert_eq!(exit(&summary), Exit::Clean);
    assert!(words(&summary).contains("findings  none\n"));
    summary.statistics.verdicts.flaky = 1;
    summary.flaky = vec![FlakyFinding {
        path: "out/flaky/x.sql".to_owned(),
        headline: "rows differ".to_owned(),
        size: 4,
        sightings: Sightings {
            count: 2,
            ..Sightings::default()
        },
        hits: 5,
        runs: 90,
    }];
    assert_eq!(exit(&summary), Exit::Finding);
    let text = words(&summary);
    for words in [
        "none that shows every time",
        "out/flaky/x.sql",
        "5/90 runs, from 2 cases: rows differ",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(
        summary_json::machine(&summary)["flaky"],
        json!(["out/flaky/x.sql"])
    );
}

#[test]
fn what_was_not_minimized_is_counted_as_such() {
    let mut summary = clean();
    assert_eq!(summary_json::machine(&summary)["unminimized"], 0);
    summary.statistics.unminimized = 3;
    assert_eq!(summary_json::machine(&summary)["unminimized"], 3);
    let text = words(&summary);
    assert!(
        text.contains("3 further violations not minimized"),
        "{text}"
    );
}

#[test]
fn an_interrupted_run_ends_by_its_signal() {
    for (signal, ends) in [(2, Exit::Interrupted), (15, Exit::Terminated)] {
        let summary = RunSummary {
            signal: Some(signal),
            server_down: down(),
            ..clean()
        };
        assert_eq!(exit(&summary), ends);
        assert!(words(&summary).contains("case 17"));
    }
}
