//! `rashomon triage` on the folder of a run: what is listed, marked, merged and hidden.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use rashomon::campaign::{self, Parts, StopFlag};
use rashomon::dialect::Dialect;
use rashomon::engine::EngineError;
use rashomon::execute::SerialRun;
use rashomon::model::{Finding, Signature, TestCase, UndecidedReason, Verdict};
use rashomon::oracle::{Evidence, Needs, Oracle, Ruling};
use rashomon::reproducer::Registry;
use serde_json::Value as Json;

use crate::commands::assert_described_as;
use crate::program::{Ran, files, folder, run, shown};
use crate::scripted::{ANY_RUN, Witness, parts, settings};
use crate::servers;

/// Findings of five groups; the last two are one group in two shapes.
const FOUND: [&str; 6] = [
    "lost-update serial not-serializable [READ COMMITTED claimed SERIALIZABLE] differs:lost select",
    "lost-update serial not-serializable [REPEATABLE READ claimed SERIALIZABLE] differs:lost select",
    "serial not-serializable [SERIALIZABLE] differs:lost limit open:update select",
    "serial not-serializable [SERIALIZABLE] differs:lost open:update select",
    "phantom serial not-serializable [SERIALIZABLE] differs:lost select",
    "phantom serial not-serializable [SERIALIZABLE] differs:extra open:insert update",
];

/// Finds the shape of the case's number in every run.
struct Grouped;

impl Oracle for Grouped {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn about(&self) -> &'static str {
        "a violation in every case, by its number"
    }

    fn needs(&self) -> Needs {
        ANY_RUN
    }

    fn excludes(&self, _: &TestCase, _: &Dialect) -> Option<UndecidedReason> {
        None
    }

    fn judge(&self, evidence: &Evidence, _: &mut dyn SerialRun) -> Result<Ruling, EngineError> {
        let sql = &evidence.case.statements[0].sql;
        let number: usize = sql.trim_start_matches("SELECT ").parse().expect("a number");
        let signature = Signature::parse(FOUND[number % FOUND.len()]).expect("a signature");
        Ok(Ruling::bare(Verdict::Violation(Box::new(Finding {
            headline: format!("shape {}", number % FOUND.len()),
            signature,
            differences: Vec::new(),
            explanation: Vec::new(),
        }))))
    }
}

/// Runs twelve cases, and returns the groups that were announced.
pub(crate) fn campaign_in(out: &Path, known: Registry) -> BTreeSet<String> {
    let parts = Parts {
        oracles: vec![&Grouped],
        registry: known,
        ..parts(&[])
    };
    let mut witness = Witness::default();
    let settings = settings(out, 12, 1);
    campaign::run(parts, settings, None, &StopFlag::default(), &mut witness).expect("it starts");
    witness
        .findings
        .into_iter()
        .map(|found| found.signature)
        .collect()
}

fn json(ran: &Ran) -> Vec<Json> {
    assert_described_as("triage", &ran.out);
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect()
}

fn listed(out: &str) -> Vec<Json> {
    let ran = run(&["triage", out, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    json(&ran)
}

fn groups() -> BTreeSet<String> {
    let signatures = FOUND
        .iter()
        .map(|text| Signature::parse(text).expect("a signature"));
    signatures.map(|signature| signature.id()).collect()
}

#[test]
fn a_mark_hides_its_group_in_the_next_run_of_the_seed_and_no_other() {
    let all = groups();
    assert_eq!(all.len(), 5);
    for marked in &all {
        let (first, second) = (folder(), folder());
        assert_eq!(campaign_in(first.path(), Registry::empty()), all);
        let out = shown(first.path());
        let ran = run(&[
            "triage",
            &out,
            "mark",
            marked,
            "--known",
            "K-1",
            "--note",
            "as \"told\"",
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let marks = Registry::of_folder(first.path()).expect("it reads");
        let others: BTreeSet<String> = all.iter().filter(|id| *id != marked).cloned().collect();
        assert_eq!(campaign_in(second.path(), marks), others, "{marked}");
        for group in listed(&out).iter().filter(|line| line["event"] == "group") {
            let is_marked = group["signature"] == marked.as_str();
            assert_eq!(group["state"], if is_marked { "known" } else { "new" });
            assert_eq!(group["known_id"] == "K-1", is_marked);
        }
        let words = run(&["triage", &out]);
        let line = words.out.lines().find(|line| line.contains(marked));
        let line = line.expect("the group has a line");
        assert!(line.starts_with("known  "), "{line}");
        assert!(line.contains("  K-1: "), "{line}");
    }
}

#[test]
fn a_group_is_one_line_with_what_its_run_saw() {
    let out = folder();
    campaign_in(out.path(), Registry::empty());
    let lines = listed(&shown(out.path()));
    let [groups @ .., summary] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert_eq!(groups.len(), 5);
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["states"]["new"], 5);
    let phantom = groups
        .iter()
        .find(|group| group["anomaly"] == "phantom")
        .expect("a phantom");
    assert_eq!(phantom["group"], "phantom [SERIALIZABLE]");
    assert_eq!(
        (&phantom["sightings"], &phantom["engines"][0]),
        (&4.into(), &"scripted".into())
    );
    assert_eq!((&phantom["hits"], &phantom["runs"]), (&3.into(), &3.into()));
    let id = phantom["signature"].as_str().expect("a signature");
    let shown = run(&[
        "triage",
        &shown(out.path()),
        "show",
        &id[..6],
        "--format",
        "json",
    ]);
    assert_eq!(
        json(&shown)[0]["shapes"].as_array().map(Vec::len),
        Some(2),
        "{}",
        shown.out
    );
    let words = run(&["triage", &crate::program::shown(out.path())]);
    assert_eq!(words.out.lines().count(), 7, "{}", words.out);
    assert!(
        words
            .out
            .ends_with("5 new, 0 known, 0 flaky, 0 fixed, 0 regression\n"),
        "{}",
        words.out
    );
}

#[test]
fn a_mark_that_is_taken_away_leaves_the_file_as_it_was() {
    let out = folder();
    campaign_in(out.path(), Registry::empty());
    let shown = shown(out.path());
    let ids: Vec<String> = groups().into_iter().collect();
    let marks = out.path().join("known.toml");
    let text = || std::fs::read_to_string(&marks).expect("it is there");
    let code = |arguments: &[&str]| run(&[&["triage", &shown], arguments].concat()).code;
    assert_eq!(code(&["unmark", &ids[0]]), Some(2));
    assert_eq!(code(&["mark", &ids[0], "--not-a-bug"]), Some(0));
    let one = text();
    assert_eq!(
        code(&["mark", &ids[1], "--upstream", "https://bugs.mysql.com/1"]),
        Some(0)
    );
    // A mark is not written over.
    assert_eq!(code(&["mark", &ids[1], "--known", "K-2"]), Some(2));
    assert_eq!(code(&["unmark", &ids[1]]), Some(0));
    assert_eq!(text(), one);
    assert_eq!(code(&["mark", &ids[0]]), Some(2));
    assert_eq!(code(&["show", "0000"]), Some(2));
}

#[test]
fn merging_a_folder_twice_changes_nothing() {
    let (out, into) = (folder(), folder());
    campaign_in(out.path(), Registry::empty());
    let (from, all) = (shown(out.path()), shown(into.path()));
    let merge = || run(&["triage", &all, "merge", &from, "--format", "json"]);
    let (first, second) = (json(&merge()), json(&merge()));
    assert_eq!(
        (&first[0]["files"], &first[0]["runs"]),
        (&5.into(), &1.into())
    );
    assert_eq!(
        (&second[0]["files"], &second[0]["runs"]),
        (&0.into(), &0.into())
    );
    assert_eq!(first[1..], second[1..]);
    let bare = |mut line: Json| {
        line.as_object_mut().expect("an object").remove("files");
        line.as_object_mut().expect("an object").remove("folder");
        line
    };
    let told: Vec<Json> = first[1..].iter().cloned().map(bare).collect();
    let own: Vec<Json> = listed(&from).into_iter().map(bare).collect();
    assert_eq!(told, own);
    assert_eq!(run(&["triage", &all, "merge", &all]).code, Some(2));
}

/// When a run was saved last is told by its file's time.
#[test]
fn a_merged_run_was_saved_when_it_was() {
    let (out, into) = (folder(), folder());
    campaign_in(out.path(), Registry::empty());
    let saved = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let records = |folder: &Path| {
        let records = files(&folder.join("runs"), ".json");
        assert!(!records.is_empty());
        records
    };
    for file in records(out.path()) {
        let file = std::fs::File::options()
            .write(true)
            .open(file)
            .expect("it opens");
        file.set_modified(saved).expect("its time is set");
    }
    let (from, all) = (shown(out.path()), shown(into.path()));
    assert_eq!(run(&["triage", &all, "merge", &from]).code, Some(0));
    for file in records(into.path()) {
        let modified = std::fs::metadata(&file).and_then(|file| file.modified());
        assert_eq!(modified.expect("a time"), saved, "{}", file.display());
    }
}

#[test]
fn nothing_is_merged_where_one_of_the_folders_is_none() {
    let (out, into) = (folder(), folder());
    campaign_in(out.path(), Registry::empty());
    let all = into.path().join("all");
    let (from, all_shown) = (shown(out.path()), shown(&all));
    let missing = shown(&into.path().join("monday"));
    let ran = run(&["triage", &all_shown, "merge", &from, &missing]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("monday is no folder"), "{}", ran.err);
    assert!(!all.join("runs").exists());
}

#[test]
fn a_folder_that_is_not_there_is_named_with_what_to_name_instead() {
    let out = folder();
    let missing = shown(&out.path().join("mondy"));
    let page = shown(&out.path().join("report.html"));
    for arguments in [
        &["triage", &missing][..],
        &["triage", &missing, "show", "2fcdb124"],
        &["triage", &missing, "mark", "2fcdb124", "--not-a-bug"],
        &["triage", &missing, "unmark", "2fcdb124"],
        &["triage", &missing, "recheck"],
        &["report", &missing, "-o", &page],
        &["status", &missing],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        let told =
            format!("there is no folder {missing}: name the one that `fuzz` was given as --out");
        assert!(ran.err.contains(&told), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn what_cannot_be_read_is_named_and_hides_nothing() {
    let out = folder();
    campaign_in(out.path(), Registry::empty());
    let shown = shown(out.path());
    let torn = out.path().join("scripted/torn.sql");
    std::fs::write(&torn, "SELECT 1").expect("it is writable");
    let lines = listed(&shown);
    let summary = lines.last().expect("a summary");
    assert_eq!(summary["groups"], 5);
    let left_out = summary["left_out"][0].as_str().expect("a sentence");
    assert!(left_out.contains("torn.sql:1:1"), "{left_out}");
    std::fs::write(out.path().join("known.toml"), "format = 3\nknown = 1\n").expect("writable");
    let ran = run(&["triage", &shown]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("known.toml:2:"), "{}", ran.err);
    let missing = run(&["triage", "/nonexistent"]);
    assert_eq!(missing.code, Some(2));
}

/// Types keys into a program on a pseudo-terminal, each after its words have shown, and tells everything
/// that was written to it and the exit code.
fn on_a_terminal(command: &str, keys: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut script = Command::new("script")
        .args([
            "--quiet",
            "--return",
            "--flush",
            "--command",
            command,
            "/dev/null",
        ])
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script(1) starts");
    let mut input = script.stdin.take().expect("it is piped");
    let mut output = script.stdout.take().expect("it is piped");
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    for (words, typed) in keys {
        while !String::from_utf8_lossy(&shown).contains(words) {
            let count = output.read(&mut piece).expect("it is read");
            assert!(count > 0, "{words}: {}", String::from_utf8_lossy(&shown));
            shown.extend_from_slice(&piece[..count]);
        }
        input.write_all(typed.as_bytes()).expect("it takes keys");
    }
    output.read_to_end(&mut shown).expect("it is read");
    drop(input);
    let status = script.wait().expect("it ends");
    (String::from_utf8_lossy(&shown).into_owned(), status.code())
}

#[test]
fn the_view_opens_and_marks_a_group_and_leaves_the_terminal_as_it_was() {
    const TEST: &str = "the_view_opens_and_marks_a_group_and_leaves_the_terminal_as_it_was";
    if !servers::tool(TEST, "script", Command::new("script").arg("--version")) {
        return;
    }
    let place = folder();
    campaign_in(place.path(), Registry::empty());
    let program = env!("CARGO_BIN_EXE_rashomon");
    // A pseudo-terminal whose other end is a pipe has no size of its own. A view that hangs is ended.
    let command = format!(
        "stty rows 24 cols 80; exec timeout --foreground 120 {program} triage '{}' -i",
        shown(place.path())
    );
    // The groups stand by the second that each was last seen in: which is second, the list tells.
    let groups = listed(&shown(place.path()));
    let second = groups[1]["files"][0].as_str().expect("a path");
    let second = format!("scripted/{}", second.rsplit('/').next().expect("a name"));
    // What has not changed on the screen, blanks too, is not written again: these stand in one piece.
    let keys = [
        ("Enter open", "j\r"),
        (&second, "qm"),
        ("known", "K-1 a note\r"),
        ("ended", "qq"),
    ];
    let (text, code) = on_a_terminal(&command, &keys);
    let marks = std::fs::read_to_string(place.path().join("known.toml")).expect("it was marked");
    assert!(
        marks.contains("\"K-1\"") && marks.contains("a note"),
        "{marks}"
    );
    assert_eq!(code, Some(0), "{text}");
    let (entered, left) = ("\u{1b}[?1049h", "\u{1b}[?1049l");
    let (entered, left) = (text.find(entered), text.rfind(left));
    assert!(entered.is_some() && entered < left, "{text:?}");
    let piped = run(&["triage", &shown(place.path()), "-i"]);
    assert_eq!(piped.code, Some(2), "{}{}", piped.out, piped.err);
    assert!(piped.err.contains("needs a terminal"), "{}", piped.err);
}
