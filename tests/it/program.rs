//! The program, run as its users run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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
    let section = page.split("## Lines of JSON").nth(1).expect("the section");
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
