//! The program, run as its users run it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use tempfile::TempDir;

/// What a program that ended came to.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rashomon"));
    // What a run leaves beside its --out must not lie in the repository.
    command.current_dir(std::env::temp_dir());
    command.args(arguments).stdin(Stdio::null());
    for name in [
        "RASHOMON_LOG",
        "RASHOMON_PASSWORD",
        "NO_COLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        code: output.status.code(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

pub(crate) fn run(arguments: &[&str]) -> Ran {
    ran(&program(arguments).output().expect("the program runs"))
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

pub(crate) fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("the folder is made");
    std::fs::write(&path, text).expect("the file is written");
    shown(&path)
}

/// The last line of `--format json`.
pub(crate) fn summary(ran: &Ran) -> Json {
    let last = ran
        .out
        .lines()
        .last()
        .unwrap_or_else(|| panic!("no output: {}", ran.err));
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"))
}

/// Holds lines of JSON to the section of the page that describes them.
pub(crate) fn assert_documented(ran: &Ran) {
    let page = include_str!("../../docs/checkers.md");
    assert_documented_in(ran, page, "## Lines of JSON");
}

/// Every event and field of the lines of JSON is named in a section of a page.
pub(crate) fn assert_documented_in(ran: &Ran, page: &str, heading: &str) {
    let section = page.split(heading).nth(1).expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    for line in ran.out.lines() {
        let line: Json = serde_json::from_str(line).expect("JSON");
        let event = line["event"].as_str().expect("a name").to_owned();
        let fields = line.as_object().expect("an object").keys();
        for field in fields.filter(|field| *field != "v").chain([&event]) {
            assert!(section.contains(&format!("`{field}`")), "{field}: {line}");
        }
    }
}

pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            paths.extend(files(&path, ending));
        } else if shown(&path).ends_with(ending) {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// How long a program of these tests may take to end, on a machine with much else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Starts a run that does not end by itself, and waits for its first line.
pub(crate) fn start(arguments: &[&str]) -> (Child, String) {
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

pub(crate) fn end(mut child: Child) -> Ran {
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

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process");
    kill_process(pid, signal).expect("it is signalled");
}

/// Waits until the run of this folder can be resumed.
pub(crate) fn until_checkpoint(run_folder: &Path) {
    let patience = Instant::now();
    while rashomon::campaign::read_checkpoint(run_folder).is_err() {
        assert!(patience.elapsed() < PATIENCE, "no checkpoint comes");
        std::thread::sleep(Duration::from_millis(20));
    }
}
