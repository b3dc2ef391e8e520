//! `rashomon report` and JUnit XML on the folder of a run.

use std::path::Path;

use rashomon::reproducer::Registry;

use crate::program::{folder, program, ran, run, shown, summary};
use crate::triage::campaign_in;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("it is there")
}

#[test]
fn the_page_of_a_folder_has_its_groups_and_is_not_written_over() {
    let out = folder();
    campaign_in(out.path(), Registry::empty());
    let (from, page) = (shown(out.path()), out.path().join("report.html"));
    let to = shown(&page);
    let report = |more: &[&str]| run(&[&["report", &from, "-o", &to], more].concat());
    let first = report(&[]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    assert_eq!(first.out, format!("{to}: 5 groups\n"));
    let html = text(&page);
    assert_eq!(html.matches("<article class=\"group\"").count(), 5);
    assert_eq!(html.matches("<article class=\"run\"").count(), 1);
    assert!(html.contains("12 of 12 in "), "the cases of the run");
    // Every case was judged at a time that the run has kept.
    let drawn: u64 = html.split("<rect class=\"violation\"").skip(1).count() as u64;
    assert!(drawn > 0, "verdicts over time");
    std::fs::write(&page, "mine").expect("writable");
    let second = report(&[]);
    assert_eq!(second.code, Some(2));
    assert!(second.err.contains("--force"), "{}", second.err);
    assert_eq!(text(&page), "mine");
    assert_eq!(report(&["--force"]).code, Some(0));
    assert_eq!(text(&page).matches("<article class=\"group\"").count(), 5);
    let missing = run(&["report", "/nonexistent", "-o", &to, "--force"]);
    assert_eq!(missing.code, Some(2), "{}", missing.err);
}

#[test]
fn a_case_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let out = folder();
    campaign_in(out.path(), Registry::empty());
    std::fs::write(out.path().join("scripted/torn<b>.sql"), "SELECT 1").expect("writable");
    let page = out.path().join("report.html");
    let ran = run(&["report", &shown(out.path()), "-o", &shown(&page)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let html = text(&page);
    assert!(html.contains("torn&lt;b&gt;.sql") && !html.contains("torn<b>"));
    assert_eq!(html.matches("<article class=\"group\"").count(), 5);
}

#[test]
fn the_list_as_junit_has_a_test_case_a_group_and_skips_what_is_marked() {
    let out = folder();
    let groups = campaign_in(out.path(), Registry::empty());
    let from = shown(out.path());
    let marked = groups.first().expect("a group");
    let mark = ["triage", &from, "mark", marked, "--known", "K<1>"];
    assert_eq!(run(&mark).code, Some(0));
    let xml = run(&["triage", &from, "--format", "junit"]);
    assert_eq!(xml.code, Some(0), "{}", xml.err);
    let count = |what: &str| xml.out.matches(what).count();
    // Five groups and the run.
    assert_eq!(
        (count("<testcase "), count("<failure "), count("<skipped ")),
        (6, 4, 1)
    );
    assert!(
        xml.out.contains("<skipped message=\"K&lt;1&gt;\"/>"),
        "{}",
        xml.out
    );
    assert!(
        xml.out
            .starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>")
    );
    let refused = run(&["triage", &from, "show", marked, "--format", "junit"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("recheck"), "{}", refused.err);
}

#[test]
fn a_run_writes_what_it_has_seen_and_not_what_others_have() {
    let out = folder();
    campaign_in(out.path(), Registry::empty());
    let path = out.path().join("junit.xml");
    let to = shown(&path);
    let from = shown(out.path());
    let fuzz = [
        "fuzz", "sqlite:", "--cases", "3", "--seed", "3", "--out", &from, "--junit", &to,
    ];
    let done = run(&[&fuzz[..], &["--format", "json"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let xml = text(&path);
    let run_id = summary(&done)["run"]
        .as_str()
        .expect("it is named")
        .to_owned();
    assert!(xml.contains(&format!("name=\"run {run_id}\"/>")), "{xml}");
    assert!(
        xml.contains("<testsuites name=\"rashomon\" tests=\"1\" failures=\"0\" errors=\"0\">"),
        "{xml}"
    );
    // A run that comes to no case leaves no file that could be taken for its own.
    let server = "mariadb://root@127.0.0.1:1";
    let unreached = run(&[
        "fuzz", server, "--cases", "3", "--out", &from, "--junit", &to,
    ]);
    assert_eq!(unreached.code, Some(5), "{}", unreached.err);
    let xml = text(&path);
    assert!(
        xml.contains("<testsuites name=\"rashomon\" tests=\"1\" failures=\"0\" errors=\"1\">"),
        "{xml}"
    );
    assert!(
        xml.contains("<error message=") && xml.contains("127.0.0.1:1"),
        "{xml}"
    );
    let nowhere = shown(&out.path().join("none/junit.xml"));
    let refused = ran(
        &program(&["fuzz", "sqlite:", "--cases", "3", "--junit", &nowhere])
            .output()
            .expect("it runs"),
    );
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--junit"), "{}", refused.err);
}
