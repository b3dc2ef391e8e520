//! Who is told of a run while it goes on: `status`, `--metrics`, `--on-finding`, `--wait-for-server`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value as Json;

use crate::commands::assert_described_as;
use crate::program::{
    end, files, folder, program, run, shown, signal, start, summary, until_checkpoint,
};
use crate::servers::{Needs, url};

/// The lines of `status --format json`.
fn status(folder: &str) -> Vec<Json> {
    let ran = run(&["status", folder, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_described_as("status", &ran.out);
    let lines = ran.out.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("a line of JSON")).collect()
}

/// An engine that shows no waits: a statement waits that goes unanswered. A busy machine may have one taken for waiting that
/// is merely slow: its run is no evidence then, and never a finding.
#[test]
fn a_wait_that_no_view_shows_is_known_by_silence() {
    let place = folder();
    let out = shown(place.path());
    let target = "simulated:?flavour=tidb&waits=unseen";
    let fuzz = ["fuzz", target, "--out", &out, "--format", "json"];
    let oracles = ["--oracle", "txcheck,troc,locks"];
    let draw = ["--seed", "5", "--cases", "20"];
    let ran = run(&[&fuzz[..], &draw, &oracles].concat());
    let summary = summary(&ran);
    let verdicts = &summary["verdicts"];
    assert_eq!(verdicts["violation"], 0, "{summary}");
    assert_eq!(verdicts["flaky"], 0, "{summary}");
    assert!(
        verdicts["agree"].as_u64().is_some_and(|agree| agree > 0),
        "{summary}"
    );
    let waited = summary["blocked"].as_u64().unwrap_or(0);
    assert!(waited > 5, "{summary}");
}

/// The answer to a request, head and body.
fn asked(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "{request}\r\nHost: x\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    answer
}

#[test]
fn a_run_is_told_of_while_it_goes_on_and_when_it_is_stopped_or_done() {
    let place = folder();
    let out = shown(place.path());
    let json = ["--out", &out, "--format", "json", "--seed", "3"];
    let going_on = ["fuzz", "sqlite:", "--metrics", "127.0.0.1:0"];
    let (child, first) = start(&[&going_on[..], &json].concat());
    let started: Json = serde_json::from_str(&first).expect("a line of JSON");
    let run_id = started["run"].as_str().expect("the run is named");
    let run_folder = place.path().join("runs").join(run_id);
    until_checkpoint(&run_folder);

    let lines = status(&out);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0]["state"], "running");
    assert_eq!(lines[0]["run"], run_id);
    assert_eq!(lines[0]["seed"], 3);
    assert_eq!(lines[0]["cases_asked"], Json::Null);
    assert_eq!(lines[1]["running"], 1);

    let address = started["metrics"].as_str().expect("it listens somewhere");
    let plain = asked(address, "GET /metrics HTTP/1.1");
    assert!(plain.starts_with("HTTP/1.1 200 OK\r\n"), "{plain}");
    assert!(
        plain.contains("\nrashomon_cases_total{verdict=\"agree\"} "),
        "{plain}"
    );
    let open = "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text; version=1.0.0";
    assert!(asked(address, open).ends_with("# EOF\n"));
    assert!(asked(address, "GET /elsewhere HTTP/1.1").starts_with("HTTP/1.1 404"));
    assert!(asked(address, "POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));

    signal(&child, Signal::TERM);
    assert_eq!(end(child).code, Some(143));
    assert_eq!(status(&out)[0]["state"], "stopped");

    let finished = run(&[&["fuzz", "sqlite:", "--cases", "5"][..], &json].concat());
    let lines = status(&out);
    let done = lines.iter().find(|line| line["state"] == "done");
    let done = done.expect("the second run is done");
    assert_eq!(done["cases"], summary(&finished)["cases"]);
    assert_eq!(done["verdicts"], summary(&finished)["verdicts"]);
    assert_eq!(lines[2]["runs"], 2);
    assert_eq!(lines[2]["running"], 0);
    let human = run(&["status", &out]);
    for words in ["done", "stopped", "findings", "5 of 5 in"] {
        assert!(human.out.contains(words), "no {words}: {}", human.out);
    }
}

#[test]
fn a_folder_without_runs_and_one_that_is_not_there_are_told_apart() {
    let place = folder();
    assert_eq!(run(&["status", &shown(place.path())]).code, Some(4));
    let nowhere = run(&["status", &shown(&place.path().join("nowhere"))]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.err.contains("--out"), "{}", nowhere.err);
}

#[test]
fn an_address_that_is_taken_is_refused_before_the_first_case() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has one").to_string();
    let place = folder();
    let out = shown(place.path());
    let ran = run(&[
        "fuzz",
        "sqlite:",
        "--cases",
        "1",
        "--metrics",
        &address,
        "--out",
        &out,
    ]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains(&address), "{}", ran.err);
}

#[test]
fn a_command_is_told_of_each_finding_once() {
    let test = "a_command_is_told_of_each_finding_once";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let place = folder();
    let told = place.path().join("told");
    let out = place.path().join("found");
    let hook = format!("cat >> '{}'", shown(&told));
    let ran = run(&[
        "fuzz",
        &url,
        "--isolation",
        "read-committed",
        "--claim",
        "serializable",
        "--cases",
        "15",
        "--seed",
        "5",
        "--brief",
        "--allow-shared-server",
        "--on-finding",
        &hook,
        "--out",
        &shown(&out),
    ]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let announced = |line: &&str| {
        ["FINDING", "SMALLER", "FLAKY"]
            .iter()
            .any(|w| line.contains(w))
    };
    let announced = ran.err.lines().filter(announced).count();
    let told = std::fs::read_to_string(&told).expect("it was called");
    let told: Vec<Json> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(told.len(), announced, "{}", ran.err);
    assert!(!told.is_empty(), "{}", ran.err);
    for finding in &told {
        let path = finding["path"].as_str().expect("a path");
        assert!(
            finding["unix_s"].as_u64().is_some_and(|at| at > 0),
            "{finding}"
        );
        // A smaller case of the same signature has taken its place since, or it is there.
        let name = Path::new(path).file_name().expect("a file");
        let name = name.to_str().expect("plain letters");
        assert!(!files(&out, name).is_empty(), "{finding}");
    }
    assert!(ran.out.contains("verdicts"), "{}", ran.out);
    assert!(!ran.out.contains("contention"), "{}", ran.out);
}

#[test]
fn a_server_that_is_not_there_is_waited_for_if_that_was_asked_for() {
    let place = folder();
    let out = shown(place.path());
    let target = [
        "fuzz",
        "mysql://root@127.0.0.1:1",
        "--cases",
        "1",
        "--out",
        &out,
    ];
    let at_once = run(&target);
    assert_eq!(at_once.code, Some(5), "{}", at_once.err);
    assert!(!at_once.err.contains("tried again"), "{}", at_once.err);
    let waited = run(&[&target[..], &["--wait-for-server", "1s"]].concat());
    assert_eq!(waited.code, Some(5), "{}", waited.err);
    assert!(waited.err.contains("tried again"), "{}", waited.err);

    let mut command = program(&[&target[..], &["--wait-for-server", "1h"]].concat());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let errors = child.stderr.as_mut().expect("it is piped");
    let read = BufReader::with_capacity(1, errors).read_line(&mut line);
    assert!(read.is_ok() && line.contains("tried again"), "{line}");
    signal(&child, Signal::INT);
    assert_eq!(end(child).code, Some(130));
}
