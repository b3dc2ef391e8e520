//! A `.spec` for PostgreSQL's isolationtester (src/test/isolation/README there).
//!
//! It starts the steps in the order of the case, sees by itself which of them wait, and prints every
//! answer. What it should print has names of columns, which a case does not know: there is no expected
//! output beside the file, and comments say what was seen and what is right.

use std::fmt::Write as _;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::client_step::ClientStep;
use super::maintainers::ClientKind;
use super::plan::{Turn, plan};
use super::scenario::Scenario;
use super::words;
use crate::reproducer::CaseFile;

pub(super) struct PgSpec;

impl CaseFormat for PgSpec {
    fn name(&self) -> &'static str {
        "pgspec"
    }

    fn about(&self) -> &'static str {
        "a test for PostgreSQL's isolationtester"
    }

    fn extension(&self) -> &'static str {
        "spec"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let scenario = Scenario::of(file)?;
        check(&scenario)?;
        Ok(Exported {
            text: spec(&scenario),
            beside: None,
            remark: Some(
                "isolationtester prints names of columns, which the case does not know, so there is no \
                 expected output: record it with a server that is right (pg_isolation_regress)"
                    .to_owned(),
            ),
        })
    }
}

/// Refuses what isolationtester cannot run.
fn check(scenario: &Scenario<'_>) -> Result<(), DoesNotApply> {
    if scenario.maintainers.clients != ClientKind::Psql {
        return Err(DoesNotApply(format!(
            "isolationtester runs tests of PostgreSQL, not of {}",
            scenario.maintainers.product
        )));
    }
    match scenario.texts().find(|sql| sql.contains('}')) {
        Some(sql) => Err(DoesNotApply(format!(
            "a brace ends the statement in a spec, and cannot be escaped there: {sql}"
        ))),
        None => Ok(()),
    }
}

fn spec(scenario: &Scenario<'_>) -> String {
    let mut text = format!(
        "# {}: {}\n",
        scenario.maintainers.product,
        comment(&words::synopsis(scenario))
    );
    let versions = scenario.versions();
    if !versions.is_empty() {
        let _ = writeln!(text, "# Seen on {versions}.");
    }
    let setup: Vec<&str> = scenario.setup().collect();
    text.push_str(&block("\nsetup", &setup));
    let gone: Vec<String> = [("VIEW", scenario.views()), ("TABLE", scenario.tables())]
        .into_iter()
        .flat_map(|(what, names)| {
            let drop = move |name| format!("DROP {what} IF EXISTS {name}");
            names.into_iter().map(drop)
        })
        .collect();
    text.push_str(&block("teardown", &gone));
    for (client, setup) in &scenario.clients {
        let _ = write!(text, "\nsession s{client}\n");
        text.push_str(&block("setup", setup));
        for (number, step) in numbered(scenario).filter(|(_, step)| step.client == Some(*client)) {
            text.push_str(&told(&name(number, step), step, scenario));
        }
    }
    if !scenario.afterwards.is_empty() {
        text.push_str("\nsession afterwards\n");
        for (index, step) in scenario.afterwards.iter().enumerate() {
            text.push_str(&told(&format!("end{}", index + 1), step, scenario));
        }
    }
    text.push_str("\npermutation");
    for turn in plan(scenario) {
        match turn {
            Turn::Run { step, .. } | Turn::Send { step, .. } => {
                let at = numbered(scenario).find(|(_, other)| std::ptr::eq(*other, step));
                if let Some((number, step)) = at {
                    let _ = write!(text, " {}", name(number, step));
                }
            }
            Turn::Reap { .. } | Turn::StillWaits(_) | Turn::Disconnect(_) => {}
        }
    }
    for index in 1..=scenario.afterwards.len() {
        let _ = write!(text, " end{index}");
    }
    text.push('\n');
    text
}

/// The steps with their numbers, as reports count them.
fn numbered<'s>(scenario: &'s Scenario<'_>) -> impl Iterator<Item = (usize, &'s ClientStep)> {
    scenario
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| (at + 1, step))
}

/// The name of a step: its client, and its number among all steps.
fn name(number: usize, step: &ClientStep) -> String {
    format!("s{}_{number}", step.client.unwrap_or_default())
}

/// A step, and before it what was seen and what is right.
fn told(name: &str, step: &ClientStep, scenario: &Scenario<'_>) -> String {
    let told = words::told(step, scenario);
    let remark = match told.is_empty() {
        true => String::new(),
        false => format!("# {}\n", comment(&told)),
    };
    format!("{remark}step {name} {{ {}; }}\n", step.sql)
}

/// Statements between braces; nothing where there are none.
fn block(head: &str, statements: &[impl AsRef<str>]) -> String {
    if statements.is_empty() {
        return String::new();
    }
    let lines: String = statements
        .iter()
        .map(|sql| format!("    {};\n", sql.as_ref()))
        .collect();
    format!("{head}\n{{\n{lines}}}\n")
}

fn comment(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
