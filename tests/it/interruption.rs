//! Ctrl-C, SIGTERM and SIGKILL: nothing torn, nothing lost, and the run goes on.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value as Json;

use crate::program::{
    PATIENCE, Ran, end, files, folder, program, ran, run, shown, signal, start, summary,
    until_checkpoint,
};
use crate::servers::{Needs, url};

/// The folder of the run of this first line.
fn run_folder(out: &Path, first: &str) -> PathBuf {
    let run_id = first.split_whitespace().nth(3).expect("the run is named");
    out.join("runs").join(run_id)
}

#[test]
fn an_interrupted_run_prints_summary_and_resume_command_and_resumes() {
    for (number, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = folder();
        let out = shown(folder.path());
        let (child, first) = start(&["fuzz", "sqlite:", "--seed", "3", "--out", &out]);
        assert!(first.starts_with("seed 3 "), "{first}");
        until_checkpoint(&run_folder(folder.path(), &first));
        signal(&child, number);
        let ran = end(child);
        assert_eq!(ran.code, Some(code), "{}{}", ran.out, ran.err);
        let resumed = run_printed(&printed(&ran, "--resume"), "--cases 120 --format json");
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

/// The command of the summary that has this word.
fn printed(ran: &Ran, word: &str) -> String {
    let line = ran.out.lines().find(|line| line.contains(word));
    let line = line.unwrap_or_else(|| panic!("no command with {word}: {}", ran.out));
    let command = line.find("rashomon ").expect("a command");
    line[command..].to_owned()
}

/// Runs a command as it was printed, in a shell, with some words more.
fn run_printed(command: &str, more: &str) -> Ran {
    let command = command.trim_start_matches("rashomon ");
    let script = format!("exec '{}' {command} {more}", env!("CARGO_BIN_EXE_rashomon"));
    let shell = std::process::Command::new("sh")
        .args(["-c", &script])
        .output();
    ran(&shell.expect("a shell"))
}

/// Stops a run at once, and runs the command that it prints.
#[test]
fn the_command_that_resumes_a_run_works_as_it_is_printed() {
    let place = folder();
    let out = shown(&place.path().join("what is found"));
    let password = crate::program::write(&place, "pass word", "secret\n");
    let (child, first) = start(&[
        "fuzz",
        "sqlite:",
        "--seed",
        "3",
        "--out",
        &out,
        "--workers",
        "2",
        "--for",
        "1h",
        "--allow-shared-server",
        "--password-file",
        &password,
        "--explain-grammar",
    ]);
    until_checkpoint(&run_folder(Path::new(&out), &first));
    signal(&child, Signal::INT);
    let ended = end(child);
    let command = printed(&ended, "--resume");
    for words in [
        "what is found",
        "--for 1h",
        "--allow-shared-server",
        "--password-file",
        "--explain-grammar",
    ] {
        assert!(command.contains(words), "{command}");
    }
    let resumed = run_printed(&command, "--cases 30 --format json");
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.out, resumed.err);
    assert_eq!(summary(&resumed)["seed"], 3);
    // The workers are the checkpoint's.
    let record = files(&place.path().join("what is found/runs"), "run.json");
    let record = std::fs::read_to_string(&record[0]).expect("a record");
    let record: Json = serde_json::from_str(&record).expect("JSON");
    assert_eq!(record["settings"]["workers"], 2);
    let again = "sqlite: --cases 31 --format json";
    assert_eq!(
        run_printed(&command, again).code,
        Some(0),
        "the same target"
    );
    let other = run_printed(&command, "sqlite:/elsewhere.db --cases 32");
    assert_eq!(other.code, Some(2), "{}", other.err);
    for words in ["begun on sqlite:", "/elsewhere.db", "another target"] {
        assert!(other.err.contains(words), "{}", other.err);
    }
    for option in ["--seed 4", "--dialect x.toml", "--isolation all"] {
        let refused = run_printed(&command, option);
        assert_eq!(refused.code, Some(2), "{option}: {}", refused.err);
    }
}

#[test]
fn a_run_of_one_case_resumes_to_that_case() {
    let folder = folder();
    let out = shown(folder.path());
    let first = run(&["fuzz", "sqlite:", "--seed", "3:7", "--out", &out]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let run_id = first
        .out
        .split_whitespace()
        .nth(3)
        .expect("the run is named");
    let run_folder = shown(&folder.path().join("runs").join(run_id));
    let again = run(&["fuzz", "--resume", &run_folder, "--format", "json"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(summary(&again)["cases"], 1);
    let more = run(&["fuzz", "--resume", &run_folder, "--cases", "9"]);
    assert_eq!(more.code, Some(2), "{}", more.err);
    assert!(more.err.contains("case 7 alone"), "{}", more.err);
}

/// Waits for a server that accepts connections and never answers, which takes longer than this test.
#[test]
fn a_second_signal_ends_a_program_that_does_not_come_to_its_end() {
    for (number, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = mute.local_addr().expect("an address").port();
        let mut command = program(&["fuzz", &format!("mysql://root@127.0.0.1:{port}")]);
        let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
        let _connection = mute.accept().expect("it connects");
        let begun = Instant::now();
        // Two signals at once may be taken for one.
        let status = loop {
            match child.try_wait().expect("it is ours") {
                Some(status) => break status,
                None => signal(&child, number),
            }
            assert!(begun.elapsed() < PATIENCE / 2, "it goes on");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.code(), Some(code));
    }
}

#[test]
fn a_killed_run_leaves_a_checkpoint_and_no_torn_file() {
    let folder = folder();
    let out = shown(folder.path());
    for _ in 0..3 {
        let (child, first) = start(&["fuzz", "sqlite:", "--seed", "5", "--out", &out]);
        until_checkpoint(&run_folder(folder.path(), &first));
        std::thread::sleep(Duration::from_millis(200));
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

#[test]
fn a_run_folder_in_use_is_refused() {
    let folder = folder();
    let out = shown(folder.path());
    let (child, first) = start(&["fuzz", "sqlite:", "--seed", "5", "--out", &out]);
    let run_folder = run_folder(folder.path(), &first);
    until_checkpoint(&run_folder);
    let second = run(&["fuzz", "--resume", &shown(&run_folder), "--cases", "10"]);
    assert_eq!(second.code, Some(6), "{}{}", second.out, second.err);
    assert!(second.err.contains("another process"), "{}", second.err);
    signal(&child, Signal::INT);
    assert_eq!(end(child).code, Some(130));
}

/// How often the run with findings is killed: `RASHOMON_KILLS`, few by default.
fn kills() -> u64 {
    std::env::var("RASHOMON_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(3)
}

/// Reads events until this many findings were announced, or until there are no more.
fn announced_paths(child: &mut Child, count: usize) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    // Byte by byte: what a bigger buffer took in would be lost to the next call.
    for line in BufReader::with_capacity(1, stdout).lines() {
        // The last line may be cut: it was being written.
        let event = line
            .ok()
            .and_then(|line| serde_json::from_str::<Json>(&line).ok());
        let Some(event) = event.filter(|event| event["event"] == "finding") else {
            continue;
        };
        paths.push(PathBuf::from(event["path"].as_str().expect("a path")));
        if paths.len() == count {
            break;
        }
    }
    paths
}

#[test]
fn a_run_with_findings_killed_at_any_moment_keeps_what_it_announced() {
    let test = "a_run_with_findings_killed_at_any_moment_keeps_what_it_announced";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let mut announced = 0;
    for number in 0..kills() {
        // A folder for each: what an earlier run published is not announced again.
        let folder = folder();
        let out = shown(folder.path());
        let seed = number.to_string();
        let (mut child, _) = start(&[
            "fuzz",
            &url,
            "--allow-shared-server",
            "--isolation",
            "read-committed",
            "--claim",
            "serializable",
            "--oracle",
            "serial",
            "--seed",
            &seed,
            "--out",
            &out,
            "--format",
            "json",
        ]);
        // The first announcement, and then a moment more: other findings are on their way.
        let mut paths = announced_paths(&mut child, 1);
        std::thread::sleep(Duration::from_millis(number * 137 % 1500));
        signal(&child, Signal::KILL);
        paths.extend(announced_paths(&mut child, usize::MAX));
        end(child);
        announced += paths.len();
        for path in paths {
            assert!(path.exists(), "{path:?} was announced and is not there");
        }
        for path in files(&folder.path().join("mariadb"), ".sql") {
            rashomon::reproducer::load(&path).expect("every published case is whole");
            let sidecar = std::fs::read_to_string(path.with_extension("json")).expect("a sidecar");
            serde_json::from_str::<Json>(&sidecar).expect("every sidecar is whole");
        }
        sweeps(&url, folder.path());
    }
    let _ = writeln!(
        std::io::stderr(),
        "{} kills, {announced} findings announced",
        kills()
    );
    run(&["clean", &url, "--allow-shared-server"]);
}

/// The next run in the folder removes what a killed one left half-written.
fn sweeps(url: &str, folder: &Path) {
    let out = shown(folder);
    let swept = run(&[
        "fuzz",
        url,
        "--allow-shared-server",
        "--seed",
        "1",
        "--cases",
        "3",
        "--out",
        &out,
    ]);
    assert_eq!(swept.code, Some(0), "{}{}", swept.out, swept.err);
    let torn = std::fs::read_dir(folder.join("mariadb")).map_or(0, |entries| {
        entries
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().starts_with(".tmp-"))
            .count()
    });
    assert_eq!(torn, 0, "what a killed run left half-written is swept");
}

/// A killed run on SQLite cannot remove its temporary folder: `clean sqlite:` does, and spares that
/// of a run that goes on.
#[test]
fn the_temporary_folder_of_a_killed_run_is_cleaned_and_a_living_ones_is_not() {
    let place = folder();
    let begun = |seed: &str| {
        let mut command = program(&["fuzz", "sqlite:", "--seed", seed, "--format", "json"]);
        command
            .current_dir(place.path())
            .env("TMPDIR", place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().expect("it starts")
    };
    let clean = || {
        let mut command = program(&["clean", "sqlite:"]);
        command.env("TMPDIR", place.path());
        let cleaned = ran(&command.output().expect("it runs"));
        assert_eq!(cleaned.code, Some(0), "{}", cleaned.err);
        cleaned.out
    };
    let (alive, killed) = (begun("6"), begun("7"));
    let patience = Instant::now();
    // A run has two databases, and is not begun before they have their markers.
    while clean().matches("still runs").count() < 4 {
        assert!(patience.elapsed() < PATIENCE, "no database comes");
    }
    signal(&killed, Signal::KILL);
    let dead = format!("process {}", killed.id());
    let living = format!("process {}", alive.id());
    end(killed);
    let cleaned = clean();
    assert!(!cleaned.contains(&dead), "{cleaned}");
    assert_eq!(cleaned.matches(&living).count(), 2, "{cleaned}");
    assert_eq!(cleaned.matches("dropped").count(), 2, "{cleaned}");
    let entries = std::fs::read_dir(place.path()).expect("the folder is read");
    let names = entries.flatten().map(|entry| entry.file_name());
    let left = names.filter(|name| name.to_string_lossy().starts_with("rashomon-"));
    assert_eq!(left.count(), 1, "the folder is gone, too");
    signal(&alive, Signal::INT);
    assert_eq!(end(alive).code, Some(130));
    assert_eq!(clean(), "nothing was left behind\n");
}
