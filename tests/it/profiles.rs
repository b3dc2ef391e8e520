//! `fuzz --profile NAME`: settings from a file, behind those of the command line.

use crate::commands::assert_described_as;
use crate::program::{Ran, folder, program, ran, shown, summary, write};

const FILE: &str = "[profile.quick]
cases = 4
seed = 7
isolation = \"serializable\"
brief = true
oracle = [\"serial\", \"txcheck\"]
";

/// What a run in a folder of its own comes to.
fn run_in(folder: &tempfile::TempDir, arguments: &[&str]) -> Ran {
    let mut command = program(arguments);
    command
        .current_dir(folder.path())
        .env("RASHOMON_LOG", "error");
    ran(&command.output().expect("the program runs"))
}

#[test]
fn a_run_has_the_settings_of_its_profile_and_those_of_the_command_line_before_them() {
    let place = folder();
    write(&place, "rashomon.toml", FILE);
    let json = ["--format", "json"];
    let plain = run_in(
        &place,
        &[&["fuzz", "--profile", "quick"][..], &json].concat(),
    );
    assert_eq!(plain.code, Some(0), "{}", plain.err);
    assert_eq!(summary(&plain)["cases"], 4, "{}", plain.out);
    assert_eq!(summary(&plain)["seed"], 7, "{}", plain.out);
    let typed = [
        "fuzz",
        "--profile",
        "quick",
        "--cases",
        "3",
        "--oracle",
        "serial",
    ];
    let typed = run_in(&place, &[&typed[..], &json].concat());
    assert_eq!(summary(&typed)["cases"], 3, "{}", typed.out);
    assert_eq!(summary(&typed)["seed"], 7, "{}", typed.out);
    assert!(
        typed.out.contains("\"oracles\":[\"serial\"]"),
        "{}",
        typed.out
    );
    // What a resumed run brings of its own is not asked of the profile.
    let run_id = typed.out.split("\"run\":\"").nth(1).expect("it is named");
    let resumed = format!("reproducers/runs/{}", &run_id[..8]);
    let resumed = ["fuzz", "--profile", "quick", "--resume", &resumed];
    let resumed = run_in(&place, &[&resumed[..], &json].concat());
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert_eq!(summary(&resumed)["cases"], 4, "{}", resumed.out);
}

#[test]
fn every_setting_is_explained_with_where_it_comes_from_and_nothing_runs() {
    let place = folder();
    let file = write(&place, "own.toml", FILE);
    let words = [
        "fuzz",
        "mysql://root:s3cret@h:1",
        "--profile",
        "quick",
        "--config",
        &file,
    ];
    let words = [&words[..], &["--seed", "9", "--explain-settings"]].concat();
    let told = run_in(&place, &words);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(!told.out.contains("s3cret"), "{}", told.out);
    for line in [
        ["target", "mysql://root@h:1", "command line"],
        ["seed", "9", "command line"],
        ["cases", "4", "profile quick"],
        ["oracle", "serial,txcheck", "profile quick"],
        ["brief", "true", "profile quick"],
        ["workers", "1", "default"],
        ["junit", "not set", "default"],
        ["log", "error", "environment RASHOMON_LOG"],
        ["password", "not set", "default"],
    ] {
        let is_it = |told: &str| {
            let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
            told == line.join(" ")
        };
        assert!(told.out.lines().any(is_it), "no {line:?}: {}", told.out);
    }
    let without = run_in(&place, &["fuzz", "--explain-settings", "--format", "json"]);
    assert_eq!(without.code, Some(0), "{}", without.err);
    let lines = without.out.lines().count() as u64;
    assert_eq!(summary(&without)["settings"], lines - 1);
    assert_described_as("explain-settings", &without.out);
    assert!(!place.path().join("reproducers").exists(), "nothing ran");
}

#[test]
fn a_file_or_a_profile_that_is_not_there_is_told_with_the_remedy() {
    let place = folder();
    let missing = run_in(&place, &["fuzz", "--profile", "quick"]);
    assert_eq!(missing.code, Some(2), "{}", missing.err);
    assert!(missing.err.contains("--config"), "{}", missing.err);
    let file = write(&place, "rashomon.toml", "[profile.quick]\nworker = 2\n");
    let wrong = run_in(&place, &["fuzz", "--profile", "quick", "--config", &file]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    let says = format!("{}:2: ", shown(file.as_ref()));
    for words in [says.as_str(), "\"worker\"", "\"workers\""] {
        assert!(wrong.err.contains(words), "no {words}: {}", wrong.err);
    }
    let alone = run_in(&place, &["fuzz", "--config", &file]);
    assert_eq!(alone.code, Some(2), "{}", alone.err);
    assert!(alone.err.contains("--profile"), "{}", alone.err);
}
