//! The text of a report in Markdown, in the order and the words of the product's tracker: versions, how
//! to repeat it in two clients, what was expected, what came, what the manual says, and a checklist.

mod manual;
mod side_by_side;
mod typed;

use std::fmt::Write as _;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::client_step::ClientStep;
use super::maintainers::ClientKind;
use super::scenario::{Scenario, Symptom, one_line};
use super::words;
use crate::reproducer::CaseFile;
use typed::in_order_of_typing;

/// The database of the steps.
const DATABASE: &str = "bug_to_repeat";

pub(super) struct Issue;

impl CaseFormat for Issue {
    fn name(&self) -> &'static str {
        "issue"
    }

    fn about(&self) -> &'static str {
        "a report in Markdown for the product's tracker, with steps to paste into clients"
    }

    fn extension(&self) -> &'static str {
        "md"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let mut scenario = Scenario::of_fault(file)?;
        scenario.steps = in_order_of_typing(scenario.steps);
        Ok(Exported::of(report(&scenario)))
    }
}

fn report(scenario: &Scenario<'_>) -> String {
    let product = scenario.maintainers.product;
    let mut text = format!("# {product}: {}\n\n", words::synopsis(scenario));
    text.push_str(&fields(scenario));
    text.push_str("\n## Description\n\n");
    text.push_str(&description(scenario));
    let headings = &scenario.maintainers.headings;
    let _ = write!(text, "\n## {}\n\n", headings.repeat);
    text.push_str(&how_to_repeat(scenario));
    if is_side_by_side(scenario) {
        text.push_str("\nSide by side, with the answers that were seen:\n\n");
        text.push_str(&fenced("text", &side_by_side::picture(scenario)));
    }
    let came = (headings.actual, actual(scenario));
    let mut parts = [came, (headings.expected, expected(scenario))];
    if headings.expected_first {
        parts.reverse();
    }
    for (heading, part) in parts {
        let _ = write!(text, "\n## {heading}\n\n{part}");
    }
    text.push_str(&settings(scenario));
    text.push_str("\n---\n\n");
    text.push_str(&checklist(scenario));
    text
}

/// The fields of the tracker's form.
fn fields(scenario: &Scenario<'_>) -> String {
    let maintainers = scenario.maintainers;
    let mut text = String::new();
    for (name, value) in maintainers.fields {
        let _ = writeln!(text, "- {name}: {value}");
    }
    let versions = match scenario.versions() {
        none if none.is_empty() => "(fill in)".to_owned(),
        versions => versions,
    };
    let _ = writeln!(text, "- {}: {versions}", maintainers.versions);
    let _ = writeln!(text, "- Isolation level: {}", scenario.levels_text());
    if let Some(reproduced) = scenario.file.header.reproduced {
        let _ = writeln!(
            text,
            "- Repeatable: in {} of {} runs",
            reproduced.hits, reproduced.runs
        );
    }
    text
}

fn description(scenario: &Scenario<'_>) -> String {
    let clients = match scenario.clients.len() {
        1 => "One client runs".to_owned(),
        2 => "Two clients run".to_owned(),
        3 => "Three clients run".to_owned(),
        count => format!("Together {count} clients run"),
    };
    let mut text = format!(
        "{clients} the statements below in the order given, at {}. ",
        scenario.levels_text()
    );
    match scenario.symptom {
        Symptom::Crash => {
            let place = without_answer(scenario).map(|(place, _)| place);
            let place = place.unwrap_or_default();
            let _ = writeln!(
                text,
                "{}.",
                capital(&format!("{place}the server closes the connection"))
            );
        }
        Symptom::Hang => {
            let subject = match without_answer(scenario) {
                Some((place, step)) => format!("{place}{}", words::the_statement(step)),
                None => "one of the statements".to_owned(),
            };
            let _ = writeln!(
                text,
                "{} is never answered, and waits for no lock.",
                capital(&subject)
            );
        }
        Symptom::WrongAnswer | Symptom::NothingWrong => {
            let faults: Vec<String> = scenario
                .disputed()
                .map(|step| {
                    let fault = words::fault(step, &scenario.dialect);
                    match step.client {
                        Some(_) => {
                            let place = place(scenario, step);
                            format!("{place}{} {fault}", words::the_statement(step))
                        }
                        None => fault,
                    }
                })
                .collect();
            let about = words::lock_breach(scenario.file);
            let about = about.map_or(String::new(), |words| format!(": {words}"));
            let _ = writeln!(text, "{}{about}.", capital(&faults.join("; ")));
        }
        Symptom::AsSeen => {
            let _ = writeln!(
                text,
                "No answer is wrong alone; together they cannot be right: {}.",
                words::synopsis(scenario)
            );
        }
    }
    if let Some(claim) = scenario.file.header.claim {
        let _ = writeln!(text, "The answers are judged by what {claim} promises.");
    }
    if let Some(sentence) = manual::sentence(scenario) {
        let _ = write!(
            text,
            "\nThe manual says ({}, {}):\n\n> {}\n",
            sentence.page, sentence.address, sentence.text
        );
    }
    text
}

/// `in step 3 `, as the steps are numbered side by side; empty where one client has them all, or the statement is no step.
fn place(scenario: &Scenario<'_>, step: &ClientStep) -> String {
    let mut steps = scenario.steps.iter();
    let at = steps.position(|other| step.id.is_some() && other.id == step.id);
    let at = at.filter(|_| is_side_by_side(scenario));
    at.map_or_else(String::new, |at| format!("in step {} ", at + 1))
}

/// Whether the steps are shown side by side.
fn is_side_by_side(scenario: &Scenario<'_>) -> bool {
    scenario.clients.len() > 1
}

/// The statement that has no answer, or at which the server was lost, with its place.
fn without_answer<'s>(scenario: &'s Scenario<'_>) -> Option<(String, &'s ClientStep)> {
    let step = scenario.without_answer()?;
    Some((place(scenario, step), step))
}

fn how_to_repeat(scenario: &Scenario<'_>) -> String {
    let mut text = preparation(scenario);
    let waits = match scenario.steps.iter().any(|step| step.waits) {
        true => " A statement that waits is left waiting while the other client goes on.",
        false => "",
    };
    let _ = writeln!(text, "\nThen paste these, one after another.{waits}");
    for block in scenario
        .steps
        .chunk_by(|one, next| one.client == next.client)
    {
        let first = scenario.clients.keys().next().copied();
        let number = block[0].client.or(first).unwrap_or_default();
        let _ = write!(text, "\nClient {number}:\n\n");
        text.push_str(&remarked(block, scenario));
    }
    if !scenario.afterwards.is_empty() {
        text.push_str("\nAt last, when every other client is closed:\n\n");
        text.push_str(&remarked(&scenario.afterwards, scenario));
    }
    if scenario.maintainers.clients != ClientKind::Sqlite {
        let _ = write!(
            text,
            "\nWhen all clients are closed, `DROP DATABASE {DATABASE};` takes the tables away.\n"
        );
    }
    text
}

/// What makes the tables, and what each client executes first.
fn preparation(scenario: &Scenario<'_>) -> String {
    let mut text = String::new();
    let is_server = scenario.maintainers.clients != ClientKind::Sqlite;
    let client = scenario.maintainers.client;
    match (is_server, scenario.clients.len()) {
        (true, 1) => {
            let _ = writeln!(text, "Open one `{client}` client. Make the tables:\n");
        }
        (true, count) => {
            let _ = writeln!(
                text,
                "Open {count} `{client}` clients of one server. Make the tables in client 1:\n"
            );
        }
        (false, count) => {
            let _ = writeln!(
                text,
                "Open {count} `{client}` shells on one new file. Make the tables in client 1:\n"
            );
        }
    }
    let mut setup = Vec::new();
    if is_server {
        setup.push(format!("CREATE DATABASE {DATABASE};"));
    }
    setup.extend(change_database(scenario.maintainers.clients));
    let first = scenario.clients.values().next();
    setup.extend(first.into_iter().flatten().map(ended));
    setup.extend(scenario.setup().map(ended));
    text.push_str(&lines(&setup));
    for (number, own) in scenario.clients.iter().skip(1) {
        let mut setup: Vec<String> = change_database(scenario.maintainers.clients)
            .into_iter()
            .collect();
        setup.extend(own.iter().map(ended));
        if !setup.is_empty() {
            let _ = write!(text, "\nPrepare client {number}:\n\n{}", lines(&setup));
        }
    }
    text
}

/// Statements with what was seen of them, in a block to paste.
fn remarked(steps: &[ClientStep], scenario: &Scenario<'_>) -> String {
    let lines = steps.iter();
    let lines = lines.map(|step| format!("{};{}\n", step.sql, remark(step, scenario)));
    fenced("sql", &lines.collect::<String>())
}

/// What was seen of a step, as a comment behind it.
fn remark(step: &ClientStep, scenario: &Scenario<'_>) -> String {
    let told = words::told(step, scenario);
    match told.is_empty() {
        true => String::new(),
        false => format!("  -- {}", told.replace('\n', " ")),
    }
}

fn actual(scenario: &Scenario<'_>) -> String {
    match scenario.symptom {
        Symptom::Crash | Symptom::Hang => {
            return match (scenario.without_answer(), scenario.symptom) {
                (Some(step), _) => with_answer(step, &seen(step, scenario)),
                (None, Symptom::Crash) => "The server closes the connection.\n".to_owned(),
                (None, _) => "A statement is never answered.\n".to_owned(),
            };
        }
        Symptom::AsSeen => return "All answers together, as they stand above.\n".to_owned(),
        Symptom::WrongAnswer | Symptom::NothingWrong => {}
    }
    each_disputed(scenario, |step| seen(step, scenario))
}

/// What came of a step that is wrong.
fn seen(step: &ClientStep, scenario: &Scenario<'_>) -> String {
    let outcome = words::outcome(step, &scenario.dialect);
    let outcome = outcome.unwrap_or_else(|| "(fill in)".to_owned());
    match (step.waits_wrongly(), step.waits) {
        (true, true) => format!("waits; then {outcome}"),
        (true, false) => format!("{outcome}, without a wait"),
        (false, _) => outcome,
    }
}

fn expected(scenario: &Scenario<'_>) -> String {
    match scenario.symptom {
        Symptom::Crash => return "The server goes on.\n".to_owned(),
        Symptom::Hang => return "Every statement is answered.\n".to_owned(),
        Symptom::AsSeen => {
            return "Answers that the isolation level allows together.\n".to_owned();
        }
        Symptom::WrongAnswer | Symptom::NothingWrong => {}
    }
    let mut text = each_disputed(scenario, |step| {
        words::alternatives(&step.right, &scenario.dialect)
    });
    if scenario.disputed().any(|step| step.may_wait) {
        text.push_str(
            "\nAn engine that answers so may have the statement wait until the other client's transaction has \
             ended: go on with the next step then.\n",
        );
    }
    text
}

/// The statements that are answered wrongly, each with an answer.
fn each_disputed(scenario: &Scenario<'_>, answer: impl Fn(&ClientStep) -> String) -> String {
    let mut text = String::new();
    for step in scenario.disputed() {
        text.push_str(&with_answer(step, &answer(step)));
    }
    text
}

fn with_answer(step: &ClientStep, answer: &str) -> String {
    let lines = format!("{};\n-- {}\n", step.sql, answer.replace('\n', " "));
    fenced("sql", &lines)
}

fn settings(scenario: &Scenario<'_>) -> String {
    let variables = &scenario.file.header.variables;
    if variables.is_empty() {
        return String::new();
    }
    let mut lines = String::new();
    for (name, value) in variables {
        let _ = writeln!(lines, "{} = {}", one_line(name), one_line(value));
    }
    format!("\n## Settings of the server\n\n{}", fenced("text", &lines))
}

fn checklist(scenario: &Scenario<'_>) -> String {
    let maintainers = scenario.maintainers;
    let mut text = format!(
        "Before you file this ({}), and then take this list out:\n\n",
        maintainers.tracker
    );
    let mut item = |line: &str| {
        let _ = writeln!(text, "- [ ] {line}");
    };
    item(
        "The steps above, pasted by hand, show it on the newest release; its version is in the list.",
    );
    item("Versions that do not show it are named, too.");
    if let Some(to_try) = maintainers.to_try {
        item(to_try);
    }
    item("The tracker was searched, by statement and by symptom, for an open report of it.");
    item("The manual does not allow the answer at this isolation level.");
    match &scenario.file.header.known {
        Some(known) if !known.starts_with("unfiled:") => {
            item(&format!(
                "{known} is another bug: where it is this one, comment there."
            ));
        }
        Some(_) | None => {}
    }
    match scenario.runs() {
        1 => {}
        runs => item(&format!(
            "It does not come every time: {runs} runs show it with a probability of 99 %; say so."
        )),
    }
    item("The operating system and how the server was installed are filled in.");
    text
}

/// A statement with its semicolon.
fn ended(sql: impl AsRef<str>) -> String {
    format!("{};", sql.as_ref())
}

/// The line by which a client goes to the database of the steps; none where a file is all there is.
fn change_database(clients: ClientKind) -> Option<String> {
    match clients {
        ClientKind::MySql => Some(format!("USE {DATABASE};")),
        ClientKind::Psql => Some(format!("\\c {DATABASE}")),
        ClientKind::Sqlite => None,
    }
}

/// Lines in a fenced block.
fn lines(lines: &[String]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fenced("sql", &text)
}

/// A fenced block. Its fence is longer than any run of backticks inside.
fn fenced(language: &str, lines: &str) -> String {
    let longest = lines
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", lines.trim_end())
}

/// The text with a capital letter first.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
