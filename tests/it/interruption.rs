//! Ctrl-C, SIGTERM and SIGKILL: nothing torn, nothing lost, and the run goes on.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

use crate::program::{Ran, folder, program, ran, run, shown, summary};

/// How long a program of these tests may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a run that does not end by itself, and waits for its first line.
fn start(arguments: &[&str]) -> (Child, String) {
    let mut command = program(arguments);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut first = String::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    BufReader::with_capacity(1, stdout)
        .read_line(&mut first)
        .expect("a line comes");
    (child, first)
}

fn end(mut child: Child) -> Ran {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if child.try_wait().expect("it is ours").is_some() {
            return ran(&child.wait_with_output().expect("its output is read"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    panic!("the program did not end within {PATIENCE:?}");
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process");
    kill_process(pid, signal).expect("it is signalled");
}

#[test]
fn interruption_prints_the_summary_and_how_to_go_on_and_the_run_goes_on() {
    for (number, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = folder();
        let out = shown(folder.path());
        let (child, first) = start(&["fuzz", "sqlite:", "--seed", "3", "--out", &out]);
        assert!(first.starts_with("seed 3 "), "{first}");
        std::thread::sleep(Duration::from_millis(1500));
        signal(&child, number);
        let ran = end(child);
        assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.err);
        let command = ran
            .out
            .lines()
            .find(|line| line.contains("--resume"))
            .expect("a command");
        let run_folder = command
            .split_whitespace()
            .last()
            .expect("a folder")
            .to_owned();
        let resumed = run(&[
            "fuzz",
            "--resume",
            &run_folder,
            "--cases",
            "120",
            "--format",
            "json",
        ]);
        assert!(
            resumed.code.is_some_and(|code| code == 0 || code == 4),
            "{}",
            resumed.err
        );
        let summary = summary(&resumed);
        assert_eq!(summary["seed"], 3);
        assert!(
            summary["cases"].as_u64().is_some_and(|cases| cases >= 120),
            "{summary}"
        );
    }
}

#[test]
fn a_killed_run_leaves_a_checkpoint_and_no_torn_file() {
    let folder = folder();
    let out = shown(folder.path());
    for _ in 0..3 {
        let (child, _) = start(&["fuzz", "sqlite:", "--seed", "5", "--out", &out]);
        std::thread::sleep(Duration::from_millis(400));
        signal(&child, Signal::KILL);
        end(child);
    }
    let runs: Vec<PathBuf> = std::fs::read_dir(folder.path().join("runs"))
        .expect("runs were recorded")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    assert_eq!(runs.len(), 3);
    for run_folder in runs {
        rashomon::campaign::read_checkpoint(&run_folder).expect("a checkpoint is there");
        let text = std::fs::read_to_string(run_folder.join("run.json")).expect("a record is there");
        serde_json::from_str::<Json>(&text).expect("it is whole");
    }
}
