//! `rashomon report` on the folder of a run.

use std::path::Path;

use rashomon::reproducer::Registry;

use crate::program::{folder, run, shown};
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
