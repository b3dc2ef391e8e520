//! A folder of findings as JUnit XML, which CI servers read.
//!
//! What XML 1.0 has no place for (section 2.2, production 2) is shown as escapes, by [`printable`]. The elements
//! are those of the schema `junit-10.xsd` of Jenkins' xUnit plugin.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::list::shows_in;
use super::time::times;
use super::time::utc;
use crate::model::printable;
use crate::triage::{Group, GroupState, RunInFolder, TriageFolder};

/// A test case of the file.
struct JunitCase {
    class: String,
    name: String,
    result: JunitResult,
}

/// What a test case came to: a word for its kind, a line, and more lines.
enum JunitResult {
    Passed,
    Skipped(String),
    Failed {
        kind: &'static str,
        message: String,
        text: String,
    },
    Error(String),
}

/// The XML of a folder: a test case for each group, and one for each run. New groups, regressions and flaky ones
/// have failed; known ones are skipped; what a recheck did not see any more has passed. A run has passed
/// unless its numbers cannot be read. `problem` is why a run could not go on; it fails the file.
///
/// Flaky groups are failures, and no `flakyFailure`: CI servers take that for a pass, and a violation that shows
/// now and then is one.
///
/// # Errors
/// None that a writer into memory could have.
pub fn junit(folder: &TriageFolder, problem: Option<&str>) -> io::Result<String> {
    let runs = folder.runs.iter().map(|run| of_run(run, problem));
    let cases: Vec<JunitCase> = runs.chain(folder.groups.iter().map(of_group)).collect();
    xml(&folder.path.display().to_string(), &cases, &folder.left_out)
}

/// The XML of a run that came to no case: it fails the file. `place` is the run's folder, `problem` why it could not
/// begin.
///
/// # Errors
/// None that a writer into memory could have.
pub fn junit_of_no_run(place: &str, problem: &str) -> io::Result<String> {
    let case = JunitCase {
        class: "run".to_owned(),
        name: "run that came to no case".to_owned(),
        result: JunitResult::Error(problem.to_owned()),
    };
    xml(place, &[case], &[])
}

fn xml(place: &str, cases: &[JunitCase], left_out: &[String]) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = counts(cases);
    let totals = counts.iter().filter(|(name, _)| *name != "skipped");
    writer
        .create_element("testsuites")
        .with_attribute(("name", "rashomon"))
        .with_attributes(totals.map(|(name, count)| (*name, count.as_str())))
        .write_inner_content(|writer| suite(writer, place, (cases, left_out), &counts))?;
    let text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    Ok(format!("{text}\n"))
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    place: &str,
    (cases, left_out): (&[JunitCase], &[String]),
    counts: &[(&'static str, String)],
) -> io::Result<()> {
    let name = one_line(place);
    let counts = counts.iter();
    writer
        .create_element("testsuite")
        .with_attribute(("name", name.as_str()))
        .with_attributes(counts.map(|(name, count)| (*name, count.as_str())))
        .write_inner_content(|writer| {
            for case in cases {
                write_case(writer, case)?;
            }
            if !left_out.is_empty() {
                let text = printable(&format!("left out:\n{}", left_out.join("\n")));
                let element = writer.create_element("system-err");
                element.write_text_content(BytesText::new(&text))?;
            }
            Ok(())
        })?;
    Ok(())
}

/// The numbers that a suite's attributes tell.
fn counts(cases: &[JunitCase]) -> Vec<(&'static str, String)> {
    let count = |of: fn(&JunitResult) -> bool| cases.iter().filter(|c| of(&c.result)).count();
    let counts = [
        ("tests", cases.len()),
        (
            "failures",
            count(|r| matches!(r, JunitResult::Failed { .. })),
        ),
        ("errors", count(|r| matches!(r, JunitResult::Error(_)))),
        ("skipped", count(|r| matches!(r, JunitResult::Skipped(_)))),
    ];
    counts
        .map(|(name, count)| (name, count.to_string()))
        .to_vec()
}

fn write_case(writer: &mut Writer<Vec<u8>>, case: &JunitCase) -> io::Result<()> {
    let (class, name) = (one_line(&case.class), one_line(&case.name));
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", class.as_str()))
        .with_attribute(("name", name.as_str()));
    match &case.result {
        JunitResult::Passed => element.write_empty()?,
        JunitResult::Skipped(reason) => element.write_inner_content(|writer| {
            let reason = one_line(reason);
            let skipped = writer.create_element("skipped");
            skipped
                .with_attribute(("message", reason.as_str()))
                .write_empty()?;
            Ok(())
        })?,
        JunitResult::Failed {
            kind,
            message,
            text,
        } => element.write_inner_content(|writer| {
            let (message, text) = (one_line(message), printable(text));
            let failure = writer.create_element("failure");
            let failure = failure.with_attribute(("type", *kind));
            let failure = failure.with_attribute(("message", message.as_str()));
            failure.write_text_content(BytesText::new(&text))?;
            Ok(())
        })?,
        JunitResult::Error(message) => element.write_inner_content(|writer| {
            let message = one_line(message);
            let error = writer.create_element("error");
            error
                .with_attribute(("message", message.as_str()))
                .write_empty()?;
            Ok(())
        })?,
    };
    Ok(())
}

fn of_run(run: &RunInFolder, problem: Option<&str>) -> JunitCase {
    let (class, result) = match &run.checkpoint {
        Ok(checkpoint) => (
            checkpoint.server.clone(),
            problem.map_or(JunitResult::Passed, |problem| {
                JunitResult::Error(problem.to_owned())
            }),
        ),
        Err(reason) => ("run".to_owned(), JunitResult::Error(reason.clone())),
    };
    let name = format!("run {}", run.name());
    JunitCase {
        class,
        name,
        result,
    }
}

fn of_group(group: &Group) -> JunitCase {
    let first = group.first_file();
    let result = match (group.state, &group.explanation) {
        (GroupState::Fixed, _) => JunitResult::Passed,
        (GroupState::Known, Some(known)) => {
            let note = known.note.iter().map(|note| format!(": {note}"));
            JunitResult::Skipped(format!("{}{}", known.id, note.collect::<String>()))
        }
        (state, _) => JunitResult::Failed {
            kind: state.slug(),
            message: first.headline.clone(),
            text: text(group),
        },
    };
    JunitCase {
        class: format!("{}.{}", first.server.engine, first.levels),
        name: format!("{} {}", first.anomaly, group.id),
        result,
    }
}

/// What a reader of the failure wants to know next.
fn text(group: &Group) -> String {
    let first = group.first_file();
    let path = first.path.display();
    let known = group.explanation.iter();
    let known = known.map(|known| format!("{} is said to explain it, as fixed\n", known.id));
    format!(
        "{}\n{}seen {}, last {}, on {}\nshows in {} runs of its case\n{path}\n",
        first.headline,
        known.collect::<String>(),
        times(group.sightings()),
        utc(group.last_unix_s()),
        first.server.in_full(),
        shows_in(group),
    )
}

/// A text on one line: a line break in an attribute is read as a blank.
fn one_line(text: &str) -> String {
    printable(text).replace('\n', " ")
}
